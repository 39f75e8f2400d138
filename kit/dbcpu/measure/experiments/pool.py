"""So much CPU work through K sessions at a time, for several K: how many active sessions are enough?

A round's sessions share M jobs: each takes the next as soon as it is free, as the threads of a pool do. Some of the
jobs may only wait, as for a lock, a disk or another server. They may come as calls over TCP connections: the pool is
then in the driver, between callers on its machine and the sessions. All calls are sent at once, or each caller waits
for its answer before it calls again: a closed loop.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbcpu.errors import UsageError
from dbcpu.formatting import over_connections, plain, plural, seconds
from dbcpu.measure.callers import Callers
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import RoundSetup, run_round
from dbcpu.measure.shared_jobs import Jobs
from dbcpu.measure.workloads import Workload
from dbcpu.record import plan
from dbcpu.record.header import POOL, Plan
from dbcpu.record.plan import ANCHOR_EXECUTIONS, ROUND_OVERHEAD_S, NextRound, RoundSpec
from dbcpu.record.rounds import Round
from dbcpu.targets.base import HasBlockingJobs, Target


@dataclass(frozen=True, slots=True)
class PoolShape(ExperimentShape):
    """``pieces`` is M, of which ``blocking`` only wait, ``block_s`` each; the levels are the K.

    ``connections``: over so many come the jobs as calls; 0: nobody calls. ``one_at_a_time``: as in ``record.Plan``.
    """

    pieces: int = 100
    blocking: int = 0
    block_s: float = 1.0
    connections: int = 0
    one_at_a_time: bool = False
    levels_option: str = field(default="--active", init=False)

    def opened(self, target: Target, workload: Workload) -> None:
        if self.blocking and not (isinstance(target, HasBlockingJobs) and target.blocks_by):
            raise UsageError(
                f"--blocking needs a database whose sessions wait when asked, and this {plain(target.kind)} is none; "
                "leave it out, or try --workload mixed"
            )

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        """``auto``: half the vCPUs, as many, twice as many, ten, and as many as can have a job at once."""
        at_once = self.connections if self.one_at_a_time else self.pieces
        wanted = {max(1, vcpus // 2), vcpus, 2 * vcpus, 10, at_once}
        levels = (
            tuple(sorted(wanted))
            if text.strip() == "auto"
            else plan.parse_levels(text, vcpus, cores, self.levels_option)
        )
        if text.strip() == "auto":
            return tuple(each for each in levels if each <= at_once)
        if max(levels) > self.pieces:
            raise UsageError(
                f"--active {max(levels)} is more than the {self.pieces} jobs: some sessions would have none; "
                f"give --work {max(levels)} or more, or a smaller --active"
            )
        if max(levels) > at_once:
            raise UsageError(
                f"--active {max(levels)} is more than the {plural(at_once, 'connection')}: with one call at a time on "
                f"each of them some sessions would have none; give --connections {max(levels)} or more, or a smaller "
                "--active"
            )
        return levels

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """Shuffled within each repeat; anchors, some pieces of work alone, stand first and last."""
        pools = [each for each in plan.rounds(levels, repeats, seed, variants) if not each.anchor]
        alone = [RoundSpec(1, repeats + at, variants[0], at, anchor=True) for at in range(2)]
        ordered = [alone[0], *pools, alone[1]]
        return tuple(replace(each, order=order) for order, each in enumerate(ordered))

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        every_s, alone_s = (self.pieces - self.blocking) * solo_s, self._alone * solo_s
        waits_s = self.blocking * self.block_s
        pools = [each for each in specs if not each.anchor]
        lasting = [
            max(every_s / min(each.level, vcpus), (every_s + waits_s) / each.level) + ROUND_OVERHEAD_S for each in pools
        ]
        amount = f"{plural(self.pieces, 'job')} shared by the sessions of a round"
        if self.blocking:
            amount += f", {self.blocking} of which only wait, {seconds(self.block_s)} each"
        if self.connections:
            amount += f"; they come as calls {over_connections(self.connections, one_at_a_time=self.one_at_a_time)}"
        return replace(
            preview, amount=amount, duration_s=sum(lasting) + 2 * alone_s, cpu_s=len(pools) * every_s + 2 * alone_s
        )

    def planned(self, made: Plan, target: Target) -> Plan:
        made = replace(made, experiment=POOL, pieces=self.pieces, executions=1, for_s=None)
        if self.blocking:
            made = replace(made, blocking=self.blocking, block_s=self.block_s)
        if not self.connections:
            return made
        return replace(made, connections=self.connections, one_at_a_time=self.one_at_a_time)

    def rounds(
        self,
        setup: RoundSetup,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        jobs = Jobs(self.pieces, self.blocking, self.block_s)
        pool = replace(setup, executions=1, for_s=None, jobs=jobs, weighed=True)
        alone = replace(pool, jobs=Jobs(self._alone))
        calling = Callers(self.connections, one_at_a_time=self.one_at_a_time) if self.connections else nullcontext()
        with calling as callers:
            if callers and callers.pid:
                pids = (*setup.kit_pids, callers.pid)
                pool, alone = replace(pool, callers=callers, kit_pids=pids), replace(alone, kit_pids=pids)
            for spec in specs:
                begun(spec)
                yield run_round(alone if spec.anchor else pool, spec)

    @property
    def _alone(self) -> int:
        return min(ANCHOR_EXECUTIONS, self.pieces)


def open_experiment(options: ExperimentOptions) -> ExperimentShape:
    """``options.pieces`` in all, of which ``options.blocking`` wait."""
    return PoolShape(options.pieces, options.blocking, options.block_s, options.connections, options.one_at_a_time)

"""What a run does with its sessions, where that is not the sweep of levels; the runner asks it at each step.

A member module offers a class ``Experiment`` built on ``Sweep``, which overrides what differs.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

from dbcpu import plan, registry
from dbcpu.config.targets import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import Setting, measure
from dbcpu.measure.workloads import Workload
from dbcpu.plan import NextRound, RoundSpec
from dbcpu.record import Plan, Round, WorkloadInfo
from dbcpu.targets.base import Target, Work


def workload_info(target: Target, work: Work) -> WorkloadInfo:
    """The work as the record names it, with the plan that ``target`` makes of it."""
    return WorkloadInfo(
        name=work.name,
        size=work.size,
        n=work.n,
        rows=work.rows,
        sql=work.sql,
        sql_hash=hashlib.sha256(work.sql.encode()).hexdigest(),
        answer=work.answer,
        plan_shape=target.explain(work),
    )


class Sweep:
    """N sessions released together, for each level N: what ``dbcpu run`` does."""

    survives_failures = False
    """Whether a round that failed as a whole is kept as a gap, and the run goes on."""

    def open(self, request: Request, guard: Guard) -> Target:
        target: Target = registry.load("targets", request.kind).open_target(request, guard)
        return target

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        """Numbers of sessions at once, from ``--sessions`` or what stands for it. Raises UsageError."""
        return plan.parse_levels(text, vcpus, cores)

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """The rounds in their order."""
        return plan.rounds(levels, repeats, seed, variants)

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        """The preview, where the estimates of a sweep do not fit."""
        return preview

    def opened(self, target: Target, workload: Workload) -> None:
        """Told once of the open target and its workload. Raises UsageError where they cannot be used so."""

    def planned(self, made: Plan, target: Target) -> Plan:
        """The plan with what this experiment adds to it."""
        return made

    def rounds(
        self,
        setting: Setting,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        """Each round as soon as it is finished. Raises as ``measure``."""
        return measure(setting, next_round, begun)

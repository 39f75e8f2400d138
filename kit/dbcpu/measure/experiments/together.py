"""Several targets on one host, each alone and then all at once: what does each lose beside the others?

Sessions of all targets go through one gate, so that they are released together. Each target may be held on
CPUs of its own: two partitions of a host, or a noisy neighbour on purpose.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from msgspec.structs import replace

from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.formatting import ranges
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.topology import read_host
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape, GroupMember, workload_info
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import RoundSetup, run_round
from dbcpu.measure.verification import AtGate
from dbcpu.measure.workloads import Workload, load
from dbcpu.record.findings import Finding
from dbcpu.record.header import TOGETHER, Database, Party, Plan
from dbcpu.record.plan import NextRound, RoundSpec
from dbcpu.record.rounds import Clock, Round
from dbcpu.targets.base import (
    CountsItsHost,
    DatabaseSession,
    HostReading,
    LeavesWork,
    NamesItsLimit,
    TakesTurns,
    Target,
    Work,
    open_target,
)
from dbcpu.variants._settings import bind_until_exit


class TargetGroup:
    """Several targets as one; see ``targets.base.Target``. Ordinals are dealt out in the order of the targets.

    ``active_index``: the index of the one whose sessions are opened now; None for all.
    """

    def __init__(self, members: Sequence[GroupMember], guard: Guard) -> None:
        self._members, self._guard = members, guard
        self._stack = ExitStack()
        self.targets: list[Target] = []
        self.works: list[Work] = []
        self.active_index: int | None = None
        self.kind = ""
        self.private = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for member in self._members:
                request = member.request
                request = request.with_options(sessions=str(member.sessions))
                opened = open_target(request, self._guard)
                self.targets.append(stack.enter_context(opened))
            self._stack = stack.pop_all()
        self.kind, self.private = self.targets[0].kind, all(target.private for target in self.targets)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self.targets = []

    def owner_of(self, ordinal: int) -> tuple[int, int]:
        """Index of the target that a session of the coming round belongs to, and its ordinal in the group."""
        if self.active_index is not None:
            return self.active_index, sum(member.sessions for member in self._members[: self.active_index]) + ordinal
        left = ordinal
        for index, member in enumerate(self._members):
            if left < member.sessions:
                return index, ordinal
            left -= member.sessions
        raise UsageError(f"session {ordinal} belongs to no target: there are {ordinal - left} in all")

    def connect(self, ordinal: int, timeout_s: float) -> DatabaseSession:
        index, own = self.owner_of(ordinal)
        session = self.targets[index].connect(own, timeout_s)
        if self.works:
            # Each database has its own text of the same workload.
            session.prepare = partial(_prepare, session.prepare, self.works[index])  # type: ignore[method-assign]
        return session

    def describe(self) -> Database:
        return self.targets[0].describe()

    def explain(self, work: Work) -> str | None:
        return self.targets[0].explain(work)

    def clock(self) -> Clock:
        """Of the first, as uncertain as the others are apart from it: instances of a cluster have a clock each."""
        first, *others = (target.clock() for target in self.targets)
        apart_s = [abs(each.offset_s - first.offset_s) + each.uncertainty_s for each in others]
        return replace(first, uncertainty_s=max([first.uncertainty_s, *apart_s]))

    def connections_free(self) -> int | None:
        """The room of the fullest, as if every target had that much more than its own sessions need."""
        known = self._rooms()
        return sum(member.sessions for member in self._members) + min(known)[0] if known else None

    def connection_limit(self) -> str:
        """See ``targets.base.NamesItsLimit``: of the fullest."""
        known = self._rooms()
        fullest = self.targets[min(known)[1]] if known else None
        return fullest.connection_limit() if isinstance(fullest, NamesItsLimit) else ""

    def _rooms(self) -> list[tuple[int, int]]:
        """How many more sessions than its own each target has room for, with its index; of those that say so."""
        members = enumerate(zip(self.targets, self._members, strict=True))
        free = [(target.connections_free(), member.sessions, index) for index, (target, member) in members]
        return [(room - needed, index) for room, needed, index in free if room is not None]

    def host(self) -> Host | None:
        hosts = [target.host() for target in self.targets]
        if any(host is None for host in hosts):
            return None
        return hosts[0]

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def host_reading(self) -> HostReading | None:
        """See ``targets.base.CountsItsHost``. Of all at once only where they name the same host: one has one set."""
        opened = self.targets if self.active_index is None else [self.targets[self.active_index]]
        found = [each.host_reading() if isinstance(each, CountsItsHost) else None for each in opened]
        known = [each for each in found if each is not None]
        hosts = {each.host for each in known}
        same = len(opened) == 1 or (len(hosts) == 1 and "" not in hosts)
        return known[0] if known and same and len(known) == len(found) else None

    def take_turn(self) -> str | None:
        """See ``targets.base.TakesTurns``."""
        others = (each.take_turn() for each in self.targets if isinstance(each, TakesTurns))
        return next((other for other in others if other is not None), None)

    def still_working(self) -> str:
        """See ``targets.base.LeavesWork``."""
        return "; ".join(filter(None, (each.still_working() for each in self.targets if isinstance(each, LeavesWork))))

    def findings(self) -> tuple[Finding, ...]:
        found = [finding for target in self.targets for finding in target.findings()]
        return tuple(dict.fromkeys(found))


def _prepare(prepare: Callable[[Work], None], own: Work, asked: Work) -> None:
    prepare(replace(own, timeout_s=asked.timeout_s))


@dataclass(slots=True)
class TogetherShape(ExperimentShape):
    """Rounds of each target alone and of all together, in turns."""

    members: tuple[GroupMember, ...]
    survives_failures: bool = field(default=False, init=False)
    _group: TargetGroup | None = field(default=None, init=False)

    def open(self, request: Request, guard: Guard) -> Target:
        self._group = TargetGroup(self.members, guard)
        return self._group

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        return tuple(sorted({*(member.sessions for member in self.members), self._all}))

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """ABBA: each target alone, then all together, then in reverse. One session of each stands first and last."""
        kinds = [*((member.name, member.sessions) for member in self.members), (TOGETHER, self._all)]
        turns = [
            RoundSpec(n, at, name, 0) for at in range(repeats) for name, n in (kinds if at % 2 == 0 else kinds[::-1])
        ]
        alone = [RoundSpec(1, repeats + at, member.name, 0, anchor=True) for at in range(2) for member in self.members]
        ordered = [*alone[: len(self.members)], *turns, *alone[len(self.members) :]]
        return tuple(replace(each, order=order) for order, each in enumerate(ordered))

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        each = ", ".join(f"{member.sessions} on {member.name}{_on(member.cpus)}" for member in self.members)
        return replace(
            preview, target=" and ".join(member.name for member in self.members), amount=f"{each}: {preview.amount}"
        )

    def opened(self, target: Target, workload: Workload) -> None:
        wanted = {cpu for member in self.members for cpu in member.cpus}
        host = target.host()
        if not wanted:
            return
        if host is None:
            raise UsageError(
                "--cpus holds server processes on CPUs, and those of a database elsewhere are out of reach"
            )
        if beyond := wanted - set(read_host(host).limits.allowed_cpus):
            raise UsageError(
                f"--cpus names CPUs that may not be used here: {ranges(beyond)}; dbcpu topology shows them"
            )

    def planned(self, made: Plan, target: Target) -> Plan:
        group = self._opened_group()
        group.works = [load(each.kind, made.workload.name).work(made.workload.size) for each in group.targets]
        parties = tuple(
            Party(member.name, each.describe(), workload_info(each, work), member.sessions, member.cpus)
            for member, each, work in zip(self.members, group.targets, group.works, strict=True)
        )
        variants = (*(member.name for member in self.members), TOGETHER)
        return replace(made, experiment=TOGETHER, parties=parties, variants=variants)

    def rounds(
        self,
        setup: RoundSetup,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        group = self._opened_group()
        names = [member.name for member in self.members]
        setup = replace(setup, gathered=self._hold)
        for spec in specs:
            begun(spec)
            group.active_index = names.index(spec.variant) if spec.variant in names else None
            yield run_round(setup, spec)

    def _hold(self, members: Sequence[AtGate]) -> None:
        """Each verified server process on the CPUs of its target; an unverified one is not touched."""
        for member in members:
            index = self._index(member.session.ordinal)
            cpus, server = self.members[index].cpus, member.server
            if cpus and server.verified and server.pid is not None and server.start_ticks is not None:
                bind_until_exit(server.pid, server.start_ticks, frozenset(cpus))

    def _index(self, ordinal: int) -> int:
        for index, member in enumerate(self.members):
            ordinal -= member.sessions
            if ordinal < 0:
                return index
        return len(self.members) - 1

    @property
    def _all(self) -> int:
        return sum(member.sessions for member in self.members)

    def _opened_group(self) -> TargetGroup:
        assert self._group is not None
        return self._group


def _on(cpus: tuple[int, ...]) -> str:
    return f" (CPUs {ranges(cpus)})" if cpus else ""


def open_experiment(options: ExperimentOptions) -> ExperimentShape:
    """``options.group`` at once."""
    return TogetherShape(options.group)

"""Several targets on one host, each alone and then all at once: what does each lose beside the others?

Sessions of all targets go through one gate, so that they are released together. Each target may be held on
CPUs of its own: two partitions of a host, or a noisy neighbour on purpose.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from dbcpu import registry
from dbcpu.config.targets import Request
from dbcpu.errors import UsageError
from dbcpu.findings import Finding
from dbcpu.formatting import ranges
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.topology import read_host
from dbcpu.measure.experiments.base import Sweep, workload_info
from dbcpu.measure.gate import Member
from dbcpu.measure.preview import Preview
from dbcpu.measure.rounds import Setting, run_round
from dbcpu.measure.workloads import Workload, load
from dbcpu.plan import NextRound, RoundSpec
from dbcpu.record import Clock, Database, Party, Plan, Round
from dbcpu.targets.base import Session, Target, Work
from dbcpu.variants._settings import bind_until_exit

TOGETHER = "together"


@dataclass(frozen=True, slots=True)
class Guest:
    """One target as asked for: how many sessions it gets, and the CPUs its server processes are held on."""

    name: str
    request: Request
    sessions: int
    cpus: tuple[int, ...] = ()


class Household:
    """Several targets as one; see ``targets.base.Target``. Ordinals are dealt out in the order of the targets.

    ``tenant``: the index of the one whose sessions are opened now; None for all.
    """

    def __init__(self, guests: Sequence[Guest], guard: Guard) -> None:
        self._guests, self._guard = guests, guard
        self._stack = ExitStack()
        self.targets: list[Target] = []
        self.works: list[Work] = []
        self.tenant: int | None = None
        self.kind = ""
        self.private = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for guest in self._guests:
                member = registry.load("targets", guest.request.kind)
                options = {**guest.request.options, "sessions": str(guest.sessions)}
                request = replace(guest.request, options=options)
                self.targets.append(stack.enter_context(member.open_target(request, self._guard)))
            self._stack = stack.pop_all()
        self.kind, self.private = self.targets[0].kind, all(target.private for target in self.targets)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self.targets = []

    def place(self, ordinal: int) -> tuple[int, int]:
        """Index of the target that a session of the coming round belongs to, and its ordinal in the household."""
        if self.tenant is not None:
            return self.tenant, sum(guest.sessions for guest in self._guests[: self.tenant]) + ordinal
        left = ordinal
        for index, guest in enumerate(self._guests):
            if left < guest.sessions:
                return index, ordinal
            left -= guest.sessions
        raise UsageError(f"session {ordinal} belongs to no target: there are {ordinal - left} in all")

    def connect(self, ordinal: int, timeout_s: float) -> Session:
        index, own = self.place(ordinal)
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
        """Of the first: they all are on one host."""
        return self.targets[0].clock()

    def connections_free(self) -> int | None:
        """The room of the fullest, as if every target had that much more than its own sessions need."""
        free = [
            (target.connections_free(), guest.sessions)
            for target, guest in zip(self.targets, self._guests, strict=True)
        ]
        known = [room - needed for room, needed in free if room is not None]
        return sum(guest.sessions for guest in self._guests) + min(known) if known else None

    def host(self) -> Host | None:
        hosts = [target.host() for target in self.targets]
        if any(host is None for host in hosts):
            return None
        return hosts[0]

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def findings(self) -> tuple[Finding, ...]:
        found = [finding for target in self.targets for finding in target.findings()]
        return tuple(dict.fromkeys(found))


def _prepare(prepare: Callable[[Work], None], own: Work, asked: Work) -> None:
    prepare(replace(own, timeout_s=asked.timeout_s))


@dataclass(slots=True)
class Experiment(Sweep):
    """Rounds of each guest alone and of all together, in turns."""

    guests: tuple[Guest, ...]
    survives_failures: bool = field(default=False, init=False)
    _household: Household | None = field(default=None, init=False)

    def open(self, request: Request, guard: Guard) -> Target:
        self._household = Household(self.guests, guard)
        return self._household

    def levels(self, text: str, vcpus: int, cores: int | None) -> tuple[int, ...]:
        return tuple(sorted({*(guest.sessions for guest in self.guests), self._all}))

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        """ABBA: the guests alone, then all together, then in reverse. One session of each stands first and last."""
        kinds = [*((guest.name, guest.sessions) for guest in self.guests), (TOGETHER, self._all)]
        turns = [
            RoundSpec(n, at, name, 0) for at in range(repeats) for name, n in (kinds if at % 2 == 0 else kinds[::-1])
        ]
        alone = [RoundSpec(1, repeats + at, guest.name, 0, anchor=True) for at in range(2) for guest in self.guests]
        ordered = [*alone[: len(self.guests)], *turns, *alone[len(self.guests) :]]
        return tuple(replace(each, order=order) for order, each in enumerate(ordered))

    def foreseen(self, preview: Preview, specs: Sequence[RoundSpec], solo_s: float, vcpus: int) -> Preview:
        each = ", ".join(f"{guest.sessions} on {guest.name}{_on(guest.cpus)}" for guest in self.guests)
        return replace(
            preview, target=" and ".join(guest.name for guest in self.guests), amount=f"{each}: {preview.amount}"
        )

    def opened(self, target: Target, workload: Workload) -> None:
        wanted = {cpu for guest in self.guests for cpu in guest.cpus}
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
        household = self._at_home()
        household.works = [load(each.kind, made.workload.name).work(made.workload.size) for each in household.targets]
        parties = tuple(
            Party(guest.name, each.describe(), workload_info(each, work), guest.sessions, guest.cpus)
            for guest, each, work in zip(self.guests, household.targets, household.works, strict=True)
        )
        variants = (*(guest.name for guest in self.guests), TOGETHER)
        return replace(made, experiment="together", parties=parties, variants=variants)

    def rounds(
        self,
        setting: Setting,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        household = self._at_home()
        names = [guest.name for guest in self.guests]
        setting = replace(setting, gathered=self._hold)
        for spec in specs:
            begun(spec)
            household.tenant = names.index(spec.variant) if spec.variant in names else None
            yield run_round(setting, spec)

    def _hold(self, members: Sequence[Member]) -> None:
        """Each verified server process on the CPUs of its target; an unverified one is not touched."""
        for member in members:
            index = self._index(member.session.ordinal)
            if self.guests[index].cpus and member.server.verified and member.server.pid is not None:
                bind_until_exit(member.server.pid, frozenset(self.guests[index].cpus))

    def _index(self, ordinal: int) -> int:
        for index, guest in enumerate(self.guests):
            ordinal -= guest.sessions
            if ordinal < 0:
                return index
        return len(self.guests) - 1

    @property
    def _all(self) -> int:
        return sum(guest.sessions for guest in self.guests)

    def _at_home(self) -> Household:
        assert self._household is not None
        return self._household


def _on(cpus: tuple[int, ...]) -> str:
    return f" (CPUs {ranges(cpus)})" if cpus else ""

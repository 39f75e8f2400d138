"""Runs one round after another and yields the raw rounds.

It knows neither charts nor findings. The caller decides before each round what comes next, so that a
fixed plan and an adaptive one are run by the same code.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.errors import GateError, ServerError
from dbcpu.hosts.base import Host
from dbcpu.hosts.memory_use import server_use
from dbcpu.hosts.quiesce import Patience, Quiet
from dbcpu.hosts.topology import limits_of
from dbcpu.measure import host_counters
from dbcpu.measure.gate import Released, SessionGate
from dbcpu.measure.pace import Paced, PaceWitness
from dbcpu.measure.samplers.base import Sampled, Sampler, Seen, Watched
from dbcpu.measure.unseen_load import UnseenLoad
from dbcpu.measure.verification import AtGate
from dbcpu.record.header import Limits
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Clock, Execution, Gate, HostCounters, KitCost, Round, Server, ServerUse, Session
from dbcpu.targets.base import SessionOutcome, Target, Work

if TYPE_CHECKING:
    from dbcpu.measure.callers import Callers  # only a pool has any
    from dbcpu.measure.shared_jobs import JobQueue, Jobs

MIN_TIMEOUT_S = 60.0
TIMEOUT_TIMES = 20.0
"""A round may take this many times its expected time before its sessions are cancelled."""
_PROBE_S = 10.0
"""A statement of the doctor's session may take this long, where the database lets it be limited."""


class RoundConditions(Protocol):
    """Settings under which a round is measured; called in this order for each round."""

    def begin(self, spec: RoundSpec) -> None:
        """Before the sessions connect: change what is shared by all, such as the host. Raises HostError."""

    def target(self, spec: RoundSpec) -> Target | None:
        """Another database than the usual one, or None."""

    def usable_cpus(self, spec: RoundSpec) -> int | None:
        """How many CPUs the sessions have; None: all."""

    def max_active(self, spec: RoundSpec) -> int | None:
        """How many sessions may be at work at once; None: all."""

    def apply_to(self, spec: RoundSpec, servers: Sequence[Server]) -> None:
        """Before the release: change the server processes (one per session, in their order).

        Raises HostError, MeasureError.
        """

    def end(self, spec: RoundSpec) -> None:
        """After the sessions have disconnected. Raises HostError."""


class Unchanged:
    """No setting is changed."""

    def begin(self, spec: RoundSpec) -> None: ...

    def target(self, spec: RoundSpec) -> Target | None:
        return None

    def usable_cpus(self, spec: RoundSpec) -> int | None:
        return None

    def max_active(self, spec: RoundSpec) -> int | None:
        return None

    def apply_to(self, spec: RoundSpec, servers: Sequence[Server]) -> None: ...

    def end(self, spec: RoundSpec) -> None: ...


class RoundSetup(Struct, frozen=True):
    """Everything a round needs. ``host`` is where the server processes run, None if its /proc cannot be read.

    ``solo_s``: seconds per execution of a single session, from the calibration, or more where a round showed more;
    deadlines follow from it.
    ``not_sampled``: why the sampler in use sees nothing, or ''. ``jobs``: those that the sessions of a round
    share among them, each taking the next as soon as it is free, and the ``callers`` that call for them, if any.
    ``weighed``: look at the servers' memory.
    ``gathered`` is called with the verified sessions before they are released. ``witness``: of the CPUs' pace, if any.
    ``patience``: for a quiet host before each round. ``unseen``: where the host does not list all its processes.
    """

    target: Target
    host: Host | None
    sampler: Sampler
    work: Work
    executions: int | None
    for_s: float | None
    solo_s: float
    vcpus: int
    clock_ticks: int
    kit_pids: tuple[int, ...] = ()
    not_sampled: str = ""
    jobs: "Jobs | None" = None
    callers: "Callers | None" = None
    weighed: bool = False
    gathered: Callable[[Sequence[AtGate]], object] = lambda _: None
    conditions: RoundConditions = field(default_factory=Unchanged)
    witness: PaceWitness | None = None
    patience: Patience = field(default_factory=Patience)
    unseen: UnseenLoad | None = None


def measure(
    setup: RoundSetup,
    next_round: Callable[[Sequence[Round]], RoundSpec | None],
    begun: Callable[[RoundSpec], object] = lambda _: None,
) -> Iterator[Round]:
    """Yield each round as soon as it is finished, so that it can be stored at once.

    Args:
        next_round: the next round given those so far, or None for the end.
        begun: called with each round before its sessions connect.

    Raises:
        GateError, ConnectError, ServerError: the round could not be released.
    """
    done: list[Round] = []
    while (spec := next_round(done)) is not None:
        begun(spec)
        finished = run_round(setup, spec)
        done.append(finished)
        setup = replace(setup, solo_s=max(setup.solo_s, fair_execution_s(finished, setup.vcpus)))
        yield finished


def fair_execution_s(round_: Round, vcpus: int) -> float:
    """What an execution of the slowest session took, over what fair turns on the vCPUs make of it; 0 if none ended.

    On a host that became busy it is many times that of the calibration, and deadlines follow.
    """
    took_s = [sum(each.elapsed_s for each in one.executions) / len(one.executions)
              for one in round_.sessions if one.executions]  # fmt: skip
    return max(took_s, default=0.0) / max(1.0, round_.level / max(1, vcpus))


class Alone(Struct, frozen=True):
    """The single-session baseline, before the plan is made: seconds per execution, and the server process.

    ``limits``: of that process while it was there, None where it is not verified.
    """

    elapsed_s: float
    server: Server
    limits: Limits | None = None


def calibrate(target: Target, host: Host | None, clock_ticks: int, work: Work) -> Alone:
    """Run ``work`` twice in one session and take the faster: the first may have page faults.

    Raises:
        GateError, ServerError: the session could not be opened, or could not do the work.
    """
    with SessionGate(target, host, clock_ticks) as gate:
        gate.gather(1, work)
        gate.release(2, None, timeout_s=work.timeout_s)
        outcome, server = gate.outcomes()[0], gate.members[0].server
        limits = _limits_of(host, server)
    if outcome.error or not outcome.executions:
        raise ServerError(f"a single session could not do the work: {outcome.error or 'no answer was received'}")
    return Alone(min(execution.elapsed_s for execution in outcome.executions), server, limits)


def limits_of_a_session(target: Target, host: Host, clock_ticks: int, work: Work) -> Limits | None:
    """Limits of a server process, which may differ from those of whatever reads the host.

    None where no session could be opened, warmed up within ``_PROBE_S`` and verified: the target's findings say why.
    """
    with SessionGate(target, host, clock_ticks) as gate:
        try:
            gate.gather(1, replace(work, timeout_s=_PROBE_S))
        except (GateError, ServerError):
            return None
        return _limits_of(host, gate.members[0].server)


def _limits_of(host: Host | None, server: Server) -> Limits | None:
    """The process has to be there still: its control group is not known afterwards."""
    return limits_of(host, server.pid) if host and server.verified and server.pid else None


def run_round(setup: RoundSetup, spec: RoundSpec) -> Round:
    """Run one round. Raises as ``measure`` does."""
    conditions = setup.conditions
    conditions.begin(spec)
    setup = replace(setup, target=conditions.target(spec) or setup.target)
    usable_cpus, max_active = conditions.usable_cpus(spec), conditions.max_active(spec)
    limits = (setup.vcpus, usable_cpus, max_active)
    timeout_s = timeout_of(setup, spec.level, min((limit for limit in limits if limit), default=1))
    clock_before = setup.target.clock()
    with SessionGate(setup.target, setup.host, setup.clock_ticks) as gate:
        gate.gather(spec.level, replace(setup.work, timeout_s=timeout_s))
        conditions.apply_to(spec, [member.server for member in gate.members])
        if setup.callers:
            setup.callers.connect()
        setup.gathered(gate.members)
        quiet = settled(setup)
        counted_before = host_counters.reading(setup.target) if setup.not_sampled else None
        setup.sampler.start(watched_of(gate.members), setup.kit_pids)
        if setup.callers and setup.jobs:
            setup.callers.call(setup.jobs.pieces)
        queue = _first_jobs(setup, gate.members)
        again = queue.again if queue else None
        released = gate.release(setup.executions, setup.for_s, timeout_s, max_active, again, setup.callers)
        sampled = setup.sampler.stop()
        counted_after = host_counters.reading(setup.target) if counted_before else None
        paced = setup.witness.end() if setup.witness else None
        outcomes, members = gate.outcomes(), gate.members
        took_s = [sum(each.elapsed_s for each in outcome.executions) for outcome in outcomes if outcome.executions]
        if setup.witness and took_s:
            setup.witness.expect(min(took_s))
        use = server_use(setup.host, _pids(members)) if setup.weighed and setup.host else None
    conditions.end(spec)
    clocks = (clock_before,) if all(outcome.error for outcome in outcomes) else (clock_before, setup.target.clock())
    kit_cpu_s = released.driver_cpu_s if counted_before and setup.target.host() else 0.0
    counted = host_counters.between(counted_before, counted_after, kit_cpu_s)
    made = assemble(setup, spec, Observed(members, outcomes, released, sampled, quiet, clocks, use, paced, counted))
    if not (setup.callers and queue):
        return made
    return replace(made, calls=setup.callers.collect(queue.taken, made.sessions, released.monotonic_s))


def settled(setup: RoundSetup) -> Quiet:
    """Wait for a quiet host; the witness works from then on, and sees the CPUs without a session first."""
    if setup.witness is None:
        return setup.patience.settle(setup.host)
    setup.witness.begin()
    quiet = setup.patience.settle(setup.host)
    setup.witness.lead(setup.patience.each_s)
    return quiet


def watched_of(members: Sequence[AtGate]) -> list[Watched]:
    """The verified server processes among them."""
    return [
        Watched(member.session.ordinal, member.server.pid, member.server.tid)
        for member in members
        if member.server.verified and member.server.pid is not None
    ]


def _pids(members: Sequence[AtGate]) -> list[int]:
    return [process.pid for process in watched_of(members)]


def _first_jobs(setup: RoundSetup, members: Sequence[AtGate]) -> "JobQueue | None":
    """Give each session the first of the jobs that they share; what gives them the others."""
    if setup.jobs is None:
        return None
    callers = setup.callers
    queue = setup.jobs.queue(callers.answer, callers.come) if callers else setup.jobs.queue()
    queue.begin(member.session for member in members)
    return queue


def timeout_of(setup: RoundSetup, level: int, vcpus: int | None = None) -> float:
    """Twenty times the expected time of the round under fair sharing, and at least a minute."""
    share = max(1.0, level / max(1, vcpus or setup.vcpus))
    jobs = setup.jobs
    executions = math.ceil(jobs.pieces / level) if jobs else setup.executions or 1
    waits_s = jobs.blocking * jobs.block_s if jobs else 0.0
    expected_s = setup.for_s or setup.solo_s * executions * share + waits_s
    return max(MIN_TIMEOUT_S, TIMEOUT_TIMES * expected_s)


class Observed(Struct, frozen=True):
    """What was seen of a round. ``clocks``: before and, if it could be asked, after it.

    ``use``: of the servers' memory. ``paced``: by the witness. ``counted``: the host's counters, where server processes
    are not sampled.
    """

    members: Sequence[AtGate]
    outcomes: Sequence[SessionOutcome]
    released: Released
    sampled: Sampled
    quiet: Quiet
    clocks: tuple[Clock, ...]
    use: ServerUse | None = None
    paced: Paced | None = None
    counted: HostCounters | None = None


def assemble(setup: RoundSetup, spec: RoundSpec, observed: Observed) -> Round:
    """The round as the record keeps it."""
    members, released, sampled = observed.members, observed.released, observed.sampled
    seen = {one.ordinal: one for one in sampled.sessions}
    sessions = tuple(
        _session(member, outcome, seen.get(member.session.ordinal), released, observed.clocks[0])
        for member, outcome in zip(members, observed.outcomes, strict=True)
    )
    errors = [session.error for session in sessions]
    verified = sum(member.server.verified for member in members)
    not_sampled = setup.not_sampled or next((m.server.how for m in members if not m.server.verified), None)
    cost = KitCost(
        window_s=released.window_s,
        driver_cpu_s=released.driver_cpu_s,
        sampler_cpu_s=sampled.cpu_used_s,
        polls=sampled.polls,
        hz=sampled.hz or None,
        witness_cpu_s=observed.paced.cpu_used_s if observed.paced else None,
    )
    return Round(
        level=spec.level,
        repeat=spec.repeat,
        variant=spec.variant,
        order=spec.order,
        anchor=spec.anchor,
        released_at=released.at,
        released_monotonic_s=released.monotonic_s,
        gate=Gate(spec.level, len(members), verified, released.skew_s, released.realtime, observed.quiet.settled),
        sessions=sessions,
        clocks=(*observed.clocks, *sampled.clocks),
        timeline_s=tuple(moment - released.monotonic_s for moment in sampled.timeline_s),
        cpu_timeline=sampled.cpu_timeline,
        foreign=(*sampled.foreign, *(setup.unseen.foreign(sampled, cost) if setup.unseen else ())),
        cgroups=sampled.cgroups,
        cost=cost,
        not_sampled=not_sampled if verified < len(members) or setup.not_sampled else None,
        error=f"every session failed: {errors[0]}" if errors and all(errors) else None,
        server_use=observed.use,
        witness=observed.paced.from_release(released.monotonic_s) if observed.paced else None,
        host_counters=observed.counted,
        trace=sampled.trace,
        pressure=sampled.pressure,
    )


def _session(member: AtGate, outcome: SessionOutcome, seen: Seen | None, released: Released, clock: Clock) -> Session:
    session = Session(
        ordinal=member.session.ordinal,
        server=member.server,
        connect_s=member.connect_s,
        executions=tuple(_execution(one, released, clock) for one in outcome.executions),
        answer_ok=outcome.answer_ok,
        error=outcome.error,
        db=outcome.db,
        waits=outcome.waits,
        blocked=tuple(_execution(one, released, clock) for one in outcome.blocked),
    )
    if seen is None:
        return session
    return replace(
        session,
        allowed_cpus=seen.allowed_cpus,
        policy=seen.policy,
        nice=seen.nice,
        cgroup=seen.cgroup,
        memory_nodes=seen.memory_nodes,
        cpu_s=seen.cpu_s,
        cpu_source=seen.cpu_source,
        run_delay_s=seen.run_delay_s,
        voluntary_switches=seen.voluntary_switches,
        involuntary_switches=seen.involuntary_switches,
        migrations=seen.migrations,
        migrations_seen=seen.migrations_seen,
        residency=tuple(
            replace(one, from_s=one.from_s - released.monotonic_s, to_s=one.to_s - released.monotonic_s)
            for one in seen.residency
        ),
        ran_instead=seen.ran_instead,
        wake_ups=seen.wake_ups,
        memory_policy=seen.memory_policy,
        node_memory=seen.node_memory,
    )


def _execution(one: Execution, released: Released, clock: Clock) -> Execution:
    """Driver stamps become offsets from the release; server stamps too, over the clock's offset."""
    server_s = one.server_start_s
    return replace(
        one,
        start_s=one.start_s - released.monotonic_s,
        server_start_s=None if server_s is None else server_s - clock.offset_s - released.epoch_s,
    )


def own_pids(*others: int | None) -> tuple[int, ...]:
    """This process and dbcpu's helpers: they are never counted as foreign."""
    return (os.getpid(), *(pid for pid in others if pid is not None))

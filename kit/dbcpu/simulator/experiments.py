"""A soak, a pool and several databases at once on a simulated host, in the form of measured ones."""

import itertools
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from dbcpu.errors import UsageError
from dbcpu.formatting import plural
from dbcpu.record.header import BASELINE, POOL, SOAK, TOGETHER, Party, Plan
from dbcpu.record.plan import ANCHOR_EXECUTIONS, MAX_SESSIONS, RoundSpec, jobs_that_wait, rounds
from dbcpu.record.rounds import Call, Round, RunRecord
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.jobs import CallsInTurn
from dbcpu.simulator.rounds import EPOCH, MAX_ANSWER_S, SimulatedWork, as_round, simulate_round, traced
from dbcpu.simulator.runs import PAUSE_S, header_of, plan_of, simulated_database
from dbcpu.simulator.trace import ClockTrace, Floats

MAX_SEGMENT_S, MIN_SEGMENT_S, SEGMENTS = 60.0, 2.0, 10
MAX_SOAK_S = 4 * 3600.0
MAX_PIECES = 10_000


class RunOptions(Struct, frozen=True, kw_only=True):
    """What every simulated experiment has to know."""

    size: str = "medium"
    workload: str = ""
    repeats: int = 3
    seed: int = 0
    hz: float = 20.0
    label: str = ""
    run_id: str | None = None
    started_at: datetime = EPOCH


class _Clock:
    """Makes rounds one after the other, each with a random source of its own."""

    def __init__(self, host: SimulatedHost, given: RunOptions) -> None:
        self.host, self.given, self.now_s = host, given, PAUSE_S

    def rng(self, spec: RoundSpec) -> np.random.Generator:
        return np.random.default_rng([self.given.seed, spec.order, spec.level, *spec.variant.encode()])

    def round(self, spec: RoundSpec, work: SimulatedWork, held: tuple[tuple[int, ...], ...] = ()) -> Round:
        given, rng = self.given, self.rng(spec)
        if held:
            trace = traced(self.host, spec.level, work, rng, held)
            made = as_round(self.host, spec, trace, rng, given.hz, self.now_s, given.started_at, held)
        else:
            made = simulate_round(self.host, spec, work, rng, given.hz, self.now_s, given.started_at)
        self.now_s += (made.cost.window_s if made.cost else 0.0) + PAUSE_S
        return made


def simulate_soak(host: SimulatedHost, sessions: int, for_s: float, given: RunOptions) -> RunRecord:
    """``sessions`` in a loop for ``for_s``, in segments as ``dbcpu soak`` has them, between single sessions.

    Raises:
        UsageError: a number makes no sense.
    """
    _check_levels((sessions,))
    if not MIN_SEGMENT_S <= for_s <= MAX_SOAK_S:
        raise UsageError(f"a simulated soak of {for_s:g} s is not between 2 s and {MAX_SOAK_S / 3600:g} h")
    segment_s = max(MIN_SEGMENT_S, min(MAX_SEGMENT_S, for_s / SEGMENTS))
    plan = plan_of(host, given.size, tuple(sorted({1, sessions})), 1, given.seed, given.hz, given.workload)
    plan = replace(plan, experiment=SOAK, executions=None, for_s=for_s, segment_s=segment_s)
    clock, rows = _Clock(host, given), plan.workload.rows
    alone = SimulatedWork(rows, ANCHOR_EXECUTIONS)
    made = [clock.round(RoundSpec(1, 0, BASELINE, 0, anchor=True), alone)]
    spec = RoundSpec(sessions, 0, BASELINE, 1)
    rng = clock.rng(spec)
    whole = traced(host, sessions, SimulatedWork(rows, None, for_s), rng)
    edges_s = [*np.arange(0.0, for_s - 0.5 * segment_s, segment_s), float(whole.times_s[-1])]
    for at, (from_s, to_s) in enumerate(itertools.pairwise(edges_s)):
        part = segment(whole, float(from_s), float(to_s))
        spec = replace(spec, repeat=at, order=1 + at)
        made.append(as_round(host, spec, part, rng, given.hz, clock.now_s + float(from_s), given.started_at))
    clock.now_s += float(whole.times_s[-1]) + PAUSE_S
    made.append(clock.round(RoundSpec(1, 1, BASELINE, len(made), anchor=True), alone))
    return _record(host, plan, given, made)


def simulate_pool(
    host: SimulatedHost,
    pieces: int,
    active: tuple[int, ...],
    given: RunOptions,
    blocking: int = 0,
    block_s: float = 1.0,
    connections: int = 0,
    *,
    one_at_a_time: bool = False,
) -> RunRecord:
    """``pieces`` jobs through pools of ``active`` sessions; ``blocking`` of them only wait, ``block_s`` each.

    ``connections``: they come as calls over so many; 0: nobody calls. ``one_at_a_time``: as in ``record.Plan``.

    Raises:
        UsageError: a number makes no sense.
    """
    _check_levels(active)
    if not max(active) <= pieces <= MAX_PIECES:
        raise UsageError(f"{pieces} jobs are not between {max(active)}, the largest pool, and {MAX_PIECES}")
    if not 0 <= blocking < pieces:
        raise UsageError(f"--blocking {blocking} leaves none of the {pieces} jobs to compute; give fewer")
    if connections > pieces:
        raise UsageError(f"--connections {connections} is more than the {pieces} jobs; give fewer")
    if one_at_a_time and not connections:
        raise UsageError("--one-at-a-time needs --connections; give their number, such as 10")
    if one_at_a_time and max(active) > connections:
        raise UsageError(
            f"--sessions {max(active)} is more than the {plural(connections, 'connection')}: with one call at a time "
            f"on each some sessions would have none; give --connections {max(active)} or more, or fewer sessions"
        )
    plan = plan_of(host, given.size, active, given.repeats, given.seed, given.hz, given.workload)
    plan = replace(plan, experiment=POOL, pieces=pieces, connections=connections or None, one_at_a_time=one_at_a_time)
    if blocking:
        plan = replace(plan, blocking=blocking, block_s=block_s)
    rows = plan.workload.rows
    shared = SimulatedWork(rows, jobs=jobs_that_wait(pieces, blocking), block_s=block_s)
    alone = SimulatedWork(rows, min(ANCHOR_EXECUTIONS, pieces))
    pools = [each for each in rounds(active, given.repeats, given.seed, (BASELINE,)) if not each.anchor]
    singles = [RoundSpec(1, given.repeats + at, BASELINE, 0, anchor=True) for at in range(2)]
    clock, made = _Clock(host, given), []
    for order, each in enumerate([singles[0], *pools, singles[1]]):
        spec, work = replace(each, order=order), alone if each.anchor else shared
        if one_at_a_time and not spec.anchor:
            work = replace(work, calls=in_turn(spec, pieces, connections, given.seed))
        made.append(clock.round(spec, work))
    if connections:
        made = [
            each if each.anchor else called(each, connections, given.seed, one_at_a_time=one_at_a_time) for each in made
        ]
    return _record(host, plan, given, made)


def simulate_together(
    host: SimulatedHost, sessions: Sequence[int], cpus: Sequence[tuple[int, ...]], given: RunOptions
) -> RunRecord:
    """Several databases, ``sessions`` of each, alone and all at once, in turns; ``cpus``: of each, () for all.

    Raises:
        UsageError: a number makes no sense.
    """
    _check_levels((*sessions, sum(sessions)))
    online = tuple(host.online)
    sets = tuple(each or online for each in cpus or [()] * len(sessions))
    if len(sessions) < 2 or len(sets) != len(sessions):
        raise UsageError("give --together the sessions of two databases or more, such as 4:8, and --cpus once for each")
    if beyond := {cpu for each in sets for cpu in each} - set(online):
        raise UsageError(f"{host.name} has the CPUs {online[0]} to {online[-1]}, and no CPU {min(beyond)}")
    names = [f"database-{at}" for at in range(1, len(sessions) + 1)]
    plan = plan_of(
        host, given.size, tuple(sorted({*sessions, sum(sessions)})), given.repeats, given.seed, given.hz, given.workload
    )
    parties = tuple(
        Party(name, simulated_database(), plan.workload, many, own if cpus else ())
        for name, many, own in zip(names, sessions, sets, strict=True)
    )
    plan = replace(plan, experiment=TOGETHER, parties=parties, variants=(*names, TOGETHER))
    held = {name: (own,) * many for name, many, own in zip(names, sessions, sets, strict=True)}
    held[TOGETHER] = tuple(own for name in names for own in held[name])
    kinds = [*zip(names, sessions, strict=True), (TOGETHER, sum(sessions))]
    turns = [
        RoundSpec(many, at, name, 0)
        for at in range(given.repeats)
        for name, many in (kinds if at % 2 == 0 else kinds[::-1])
    ]
    alone = [RoundSpec(1, given.repeats + at, name, 0, anchor=True) for at in range(2) for name in names]
    ordered = [*alone[: len(names)], *turns, *alone[len(names) :]]
    clock, work = _Clock(host, given), SimulatedWork(plan.workload.rows)
    made = [
        clock.round(replace(each, order=order), work, held[each.variant][: each.level])
        for order, each in enumerate(ordered)
    ]
    return _record(host, plan, given, made)


def _check_levels(levels: Sequence[int]) -> None:
    if not levels or not 1 <= min(levels) <= max(levels) <= MAX_SESSIONS:
        raise UsageError(f"{', '.join(map(str, levels))} are not between 1 and {MAX_SESSIONS} sessions")


def _record(host: SimulatedHost, plan: Plan, given: RunOptions, made: Sequence[Round]) -> RunRecord:
    plan = replace(plan, rounds=len(made) if plan.experiment != SOAK else None)
    return RunRecord(header_of(host, plan, given.run_id, given.label, given.started_at), tuple(made))


CONNECT_S, SEND_S, RECEIVE_S = 60e-6, 50e-6, 80e-6
"""Medians of loopback TCP between two processes, measured on 2 vCPUs."""
SPREAD = 0.4
"""Standard deviation of the logarithm."""
APART_S = 5e-6
"""Between two calls of the same process."""


def in_turn(spec: RoundSpec, jobs: int, connections: int, seed: int) -> CallsInTurn:
    """When the calls of ``called`` come in such a round."""
    _, send_s, receive_s = _took_s(spec.order, jobs, connections, seed)
    turns_s = np.concatenate([np.zeros(connections), receive_s[: jobs - connections] + MAX_ANSWER_S]) + send_s
    return CallsInTurn(connections, tuple(turns_s.tolist()))


def called(made: Round, connections: int, seed: int, *, one_at_a_time: bool = False) -> Round:
    """``made`` with a call for each job, the jobs being taken in the order in which they began.

    ``one_at_a_time``: it was made of ``in_turn``.
    """
    every = [(each.ordinal, one) for each in made.sessions for one in (*each.executions, *each.blocked)]
    jobs = sorted(every, key=lambda job: (job[1].start_s, job[0]))
    connect_s, send_s, receive_s = _took_s(made.order, len(jobs), connections, seed)
    at_once = connections if one_at_a_time else len(jobs)
    # All that wait for no answer have arrived when the sessions begin.
    sent_s = APART_S * np.arange(len(jobs)) - APART_S * at_once - float(send_s.max())
    ends_s = np.array([job.start_s + job.elapsed_s for _, job in jobs])
    by_end = np.argsort(ends_s, kind="stable")
    answered_s = np.empty(len(jobs))
    answered_s[by_end] = ends_s[by_end] + receive_s
    connection = np.arange(len(jobs)) % connections
    for at in range(at_once, len(jobs)):
        last = by_end[at - at_once]
        sent_s[at], connection[at] = answered_s[last], connection[last]
    calls = [
        Call(
            connection=int(connection[at]),
            connect_s=float(connect_s[connection[at]]),
            sent_s=float(sent_s[at]),
            arrived_s=float(sent_s[at] + send_s[at]),
            session=ordinal,
            began_s=job.start_s,
            ended_s=float(ends_s[at]),
            answered_s=float(answered_s[at]),
        )
        for at, (ordinal, job) in enumerate(jobs)
    ]
    return replace(made, calls=tuple(calls))


def _took_s(order: int, jobs: int, connections: int, seed: int) -> NDArray[np.float64]:
    """Seconds to connect, to send, and to receive the answer; (3, jobs)."""
    rng = np.random.default_rng([seed, order, connections])
    return np.asarray(np.exp(SPREAD * rng.standard_normal((3, jobs))) * np.array([[CONNECT_S], [SEND_S], [RECEIVE_S]]))


def segment(trace: ClockTrace, from_s: float, to_s: float) -> ClockTrace:
    """What happened from one moment to another, by a clock that starts at ``from_s``.

    Executions are those that ended meanwhile; one that began before has a start below 0.
    """
    first = int(np.searchsorted(trace.times_s, from_s, side="right")) - 1
    last = int(np.searchsorted(trace.times_s, to_s, side="left"))
    inner = slice(first + 1, last)
    times_s = np.concatenate([[from_s], trace.times_s[inner], [to_s]]) - from_s
    share = (to_s - from_s) / float(trace.times_s[-1])

    def sums(total: Floats) -> Floats:
        at = [_at(trace.times_s, total, moment) for moment in (from_s, to_s)]
        return np.asarray(np.concatenate([at[0], total[inner], at[1]]) - at[0])

    named: tuple[str, ...] = (
        "run_s",
        "delay_s",
        "lost_s",
        "work_s",
        "busy_s",
        "steal_s",
        "irq_s",
        "foreign_s",
        "speed_s",
    )
    spans = slice(first, last)
    return replace(
        trace,
        times_s=times_s,
        cpu=trace.cpu[spans],
        runnable=trace.runnable[spans],
        piece=trace.piece[spans],
        executions=tuple(
            tuple((began - from_s, ended - from_s) for began, ended in each if from_s < ended <= to_s)
            for each in trace.executions
        ),
        moves=_moves(trace.cpu[spans]),
        sleeps=np.rint(trace.sleeps * share).astype(np.intp),
        periods=round(trace.periods * share),
        throttled_periods=round(trace.throttled_periods * share),
        throttled_s=trace.throttled_s * share,
        truth={},
        **{name: sums(getattr(trace, name)) for name in named},
    )


def _at(times_s: Floats, total: Floats, moment: float) -> Floats:
    """A row: the sums at this moment."""
    after = min(max(int(np.searchsorted(times_s, moment)), 1), len(times_s) - 1)
    before = after - 1
    lasted_s = times_s[after] - times_s[before]
    part = (moment - times_s[before]) / lasted_s if lasted_s > 0 else 1.0
    return np.asarray(total[before : before + 1] + part * (total[after : after + 1] - total[before : before + 1]))


def _moves(cpu: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.asarray((np.diff(cpu, axis=0) != 0).sum(axis=0), dtype=np.intp)

"""A simulated round in the form of a measured one: polled residency, exact counters, /proc/stat grains."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import (
    CgroupUse,
    Clock,
    CpuSeries,
    Execution,
    Foreign,
    Gate,
    KitCost,
    Residency,
    Round,
    Server,
    Session,
)
from dbcpu.simulator.engine import Clockwork
from dbcpu.simulator.host import GROUP, SimulatedHost
from dbcpu.simulator.jobs import CallsInTurn, SharedJobs
from dbcpu.simulator.trace import ClockTrace
from dbcpu.simulator.witness import simulate_witness

Floats = NDArray[np.float64]
SLICE_S = 0.003
"""A time slice: only for the order in which a queue begins and for counts of involuntary switches."""
SKEW_S = 0.0005
TIMELINE_S = 0.5
STAT_GRAIN_S = 0.01
SAMPLED_BEFORE_S = 0.03
"""The sampler watches from this long before the release to this long after the last answer."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
MIN_ANSWER_S, MAX_ANSWER_S = 0.00002, 0.0001
"""From the end of an execution to its answer."""
BOOTED_S = 1000.0
"""The monotonic clock when a run starts."""


class SimulatedWork(Struct, frozen=True):
    """What a session does: executions of ``rows`` rows; fixed work, or fixed time when ``for_s`` is given.

    ``jobs``: instead, what all sessions share: each is an execution, or waits ``block_s``; ``calls``: as these come.
    """

    rows: int
    executions: int | None = 1
    for_s: float | None = None
    jobs: tuple[bool, ...] | None = None
    block_s: float = 0.0
    calls: CallsInTurn | None = None


def simulate_round(
    host: SimulatedHost,
    spec: RoundSpec,
    work: SimulatedWork,
    rng: np.random.Generator,
    hz: float = 20.0,
    released_s: float = 0.0,
    started_at: datetime = EPOCH,
) -> Round:
    """One round: ``spec.level`` sessions, released ``released_s`` seconds after ``started_at``.

    The same ``rng`` state gives the same round.
    """
    return as_round(host, spec, traced(host, spec.level, work, rng), rng, hz, released_s, started_at)


def traced(
    host: SimulatedHost,
    sessions: int,
    work: SimulatedWork,
    rng: np.random.Generator,
    held: tuple[tuple[int, ...], ...] = (),
) -> ClockTrace:
    """All but the truth of a round of so many sessions; ``held``: the CPUs of each, where they differ."""
    solo_s = work.rows / host.mrows_per_s / 1e6
    jobs = None if work.jobs is None else SharedJobs(work.jobs, work.calls)
    clockwork = Clockwork(host, sessions, solo_s, rng, work.executions, work.for_s, jobs, work.block_s, held)
    return clockwork.run(with_truth=False)


def as_round(
    host: SimulatedHost,
    spec: RoundSpec,
    trace: ClockTrace,
    rng: np.random.Generator,
    hz: float = 20.0,
    released_s: float = 0.0,
    started_at: datetime = EPOCH,
    held: tuple[tuple[int, ...], ...] = (),
) -> Round:
    """``trace`` as dbcpu would have measured it; ``held``: the CPUs of each session, where they differ."""
    # The trace's clock starts when the last session has been sent its work.
    sent_s = np.sort(rng.uniform(0, SKEW_S, spec.level))
    begin_s = float(sent_s[-1]) + 0.00005
    end_s = begin_s + float(trace.times_s[-1])
    polls = _polls(end_s, hz, rng)
    seen = _Seen.of(trace, polls - begin_s)
    sessions = tuple(_session(host, spec, trace, i, float(sent_s[i]), begin_s, seen, rng) for i in range(spec.level))
    if held:
        sessions = tuple(replace(each, allowed_cpus=cpus) for each, cpus in zip(sessions, held, strict=True))
    quota = host.quota_cpus
    group = CgroupUse(GROUP, quota, trace.periods, trace.throttled_periods, trace.throttled_s, tuple(range(spec.level)))
    edges, series = _timeline(host, trace, begin_s, end_s)
    return Round(
        level=spec.level,
        repeat=spec.repeat,
        variant=spec.variant,
        order=spec.order,
        released_at=(started_at + timedelta(seconds=released_s)).isoformat(timespec="milliseconds"),
        released_monotonic_s=BOOTED_S + released_s,
        gate=Gate(spec.level, spec.level, spec.level, float(np.ptp(sent_s)), realtime=True),
        sessions=sessions,
        anchor=spec.anchor,
        clocks=(Clock("server", 0.0, 0.00002),),
        timeline_s=edges,
        cpu_timeline=series,
        foreign=(Foreign(4242, "neighbour", float(trace.foreign_s[-1]), (host.noisy_cpu,)),)
        if trace.foreign_s[-1] > 0
        else (),
        cgroups=(group,) if quota is not None else (),
        cost=KitCost(end_s, 0.0005 * spec.level, 0.00001 * spec.level * len(polls), len(polls), hz),
        witness=simulate_witness(host, trace, begin_s, rng),
    )


def _polls(end_s: float, hz: float, rng: np.random.Generator) -> Floats:
    """Times of the polls: at ``hz`` with a little lateness, the first before the release, the last after the end."""
    regular = np.arange(-SAMPLED_BEFORE_S, end_s + SAMPLED_BEFORE_S, 1 / hz)
    late = rng.exponential(0.0002, len(regular)).clip(max=0.2 / hz)
    return np.append(regular + late, max(end_s + SAMPLED_BEFORE_S, float(regular[-1] + late[-1]) + 0.001))


def _session(
    host: SimulatedHost,
    spec: RoundSpec,
    trace: ClockTrace,
    ordinal: int,
    sent_s: float,
    begin_s: float,
    polled: "_Seen",
    rng: np.random.Generator,
) -> Session:
    residency = _residency(trace, ordinal, polled, begin_s)
    delay_s = float(trace.delay_s[-1, ordinal])
    executions = trace.executions[ordinal]
    seen = [stretch.cpu for stretch in residency]
    pid = 20_000 + 64 * spec.order + ordinal
    return Session(
        ordinal=ordinal,
        server=Server(pid, start_ticks=100_000 + pid, verified=True, how="simulated"),
        connect_s=0.004 * (1 + 0.1 * (ordinal % 8)) * float(np.exp(0.2 * rng.standard_normal())),
        executions=_executions(trace, ordinal, sent_s, begin_s, rng),
        answer_ok=True if executions else None,
        allowed_cpus=host.allowed_cpus,
        policy="other",
        nice=0,
        cgroup=GROUP,
        memory_nodes=tuple(range(host.nodes)) if host.memory_node is None else (host.memory_node,),
        cpu_s=float(trace.run_s[-1, ordinal]),
        cpu_source="schedstat",
        run_delay_s=delay_s,
        voluntary_switches=1 + int(trace.sleeps[ordinal]),
        involuntary_switches=int(delay_s / SLICE_S) + int(rng.poisson(2)),
        migrations=int(trace.moves[ordinal]),
        migrations_seen=sum(before != after for before, after in pairwise(seen)),
        residency=residency,
        blocked=_blocked(trace, ordinal, begin_s),
    )


def _executions(
    trace: ClockTrace, ordinal: int, sent_s: float, begin_s: float, rng: np.random.Generator
) -> tuple[Execution, ...]:
    """Client stamps from the send, or the answer before, to the answer; server stamps from the statement."""
    *others, own = trace.cpu[0, : ordinal + 1].tolist()
    ahead = others.count(own)
    found: list[Execution] = []
    start_s, before_s = sent_s, 0.0
    waits = trace.blocked[ordinal] if trace.blocked else ()
    answers_s = rng.uniform(MIN_ANSWER_S, MAX_ANSWER_S, len(trace.executions[ordinal])).tolist()
    for index, (began_s, ended_s) in enumerate(trace.executions[ordinal]):
        waited_s = min(ahead * SLICE_S, (ended_s - began_s) / 2) if index == 0 and began_s == 0 else 0.0
        if began_s < 0 or waits:  # begun in the segment before, or after a job that only waited
            start_s = begin_s + began_s
        elif began_s > before_s:  # its call came later than the answer before
            start_s = max(start_s, begin_s + began_s)
        before_s = ended_s
        server_start_s, server_end_s = begin_s + began_s + waited_s, begin_s + ended_s
        answer_s = server_end_s + answers_s[index]
        found.append(Execution(start_s, answer_s - start_s, server_start_s, server_end_s - server_start_s))
        start_s = answer_s
    return tuple(found)


def _blocked(trace: ClockTrace, ordinal: int, begin_s: float) -> tuple[Execution, ...]:
    waits = trace.blocked[ordinal] if trace.blocked else ()
    return tuple(Execution(begin_s + at, to - at, begin_s + at, to - at) for at, to in waits)


class _Seen(Struct, frozen=True):
    """What each poll saw of each session, (polls, sessions); ``polls_s``: by the trace's clock.

    ``changed``: whether the next poll saw something else.
    """

    polls_s: Floats
    cpu: NDArray[np.intp]
    running: NDArray[np.bool_]
    changed: NDArray[np.bool_]

    @classmethod
    def of(cls, trace: ClockTrace, polls_s: Floats) -> "_Seen":
        during = np.searchsorted(trace.times_s, polls_s, side="right") - 1
        inside = np.clip(during, 0, len(trace.cpu) - 1)
        cpu = trace.cpu[inside]
        running = trace.runnable[inside] & ((during >= 0) & (during < len(trace.cpu)))[:, None]
        return cls(polls_s, cpu, running, (np.diff(cpu, axis=0) != 0) | (np.diff(running, axis=0) != 0))


def _residency(trace: ClockTrace, ordinal: int, seen: _Seen, begin_s: float) -> tuple[Residency, ...]:
    """Run-length stretches of what each poll saw; one ends halfway between two polls."""
    changes, last = np.flatnonzero(seen.changed[:, ordinal]).tolist(), len(seen.polls_s) - 1
    first = [0, *(at + 1 for at in changes)]
    # The polls on both sides of each edge; the outermost are edges themselves.
    beside_s = seen.polls_s[[[0, *changes, last], [*first, last]]]
    edges_s = [each + begin_s for each in _halfway(beside_s)]
    gained_s = [
        [after - before for before, after in pairwise(_halfway(np.interp(beside_s, trace.times_s, total_s)))]
        for total_s in (trace.run_s[:, ordinal], trace.delay_s[:, ordinal])
    ]
    states = ("R" if running else "S" for running in seen.running[first, ordinal].tolist())
    columns = (seen.cpu[first, ordinal].tolist(), states, edges_s[:-1], edges_s[1:], *gained_s)
    return tuple(map(Residency, *columns))


def _halfway(beside: Floats) -> list[float]:
    return [(before + after) / 2 for before, after in zip(*beside.tolist(), strict=True)]


def _timeline(
    host: SimulatedHost, trace: ClockTrace, begin_s: float, end_s: float
) -> tuple[tuple[float, ...], tuple[CpuSeries, ...]]:
    edges = np.append(np.arange(-SAMPLED_BEFORE_S, end_s, TIMELINE_S), end_s + SAMPLED_BEFORE_S)
    times = edges - begin_s

    def slices(total: Floats) -> list[list[float]]:
        """Gains per slice, counted in whole grains as the kernel shows them; shape (CPUs, slices)."""
        at = np.zeros((total.shape[1], len(times)))
        for cpu in total[-1].nonzero()[0].tolist():
            at[cpu] = np.interp(times, trace.times_s, total[:, cpu])
        grains = np.floor(at / STAT_GRAIN_S + 1e-9)
        return [row.tolist() for row in np.diff(grains, axis=1) * STAT_GRAIN_S]

    # As the sampler reads /proc/stat: time in interrupts is busy time.
    busy, steal, irq = slices(trace.busy_s + trace.irq_s), slices(trace.steal_s), slices(trace.irq_s)
    mhz: tuple[float, ...] = ()
    if host.hypervisor is None:  # a guest cannot measure its frequency
        gained = np.diff(np.interp(times, trace.times_s, trace.speed_s))
        lasted = np.diff(np.clip(times, 0, trace.times_s[-1]))
        mhz = tuple((host.first_mhz * np.where(lasted > 0, gained / lasted.clip(1e-9), 1.0)).tolist())
    return tuple(edges.tolist()), tuple(
        CpuSeries(
            cpu=cpu,
            busy_s=tuple(busy[cpu]),
            steal_s=tuple(steal[cpu]),
            irq_s=(0.0,) * (len(edges) - 1),
            softirq_s=tuple(irq[cpu]),
            mhz=mhz,
        )
        for cpu in host.online
    )

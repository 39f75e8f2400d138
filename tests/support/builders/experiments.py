"""Small builders of the records of soaks, pools and several targets: what a test says is what the record holds."""

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.record.header import Database, Party
from dbcpu.record.rounds import CpuSeries, Execution, Gate, KitCost, Round, RunRecord, Server, ServerUse, Session
from support.builders import record as build

SEGMENT_S = 60.0
ALONE_S = 2.0
Times = Callable[[int, int, np.random.Generator], float]
"""Segment, ordinal and chance: seconds of the next execution."""


def executions(times: Sequence[float], start_s: float = 0.0) -> tuple[Execution, ...]:
    """One after the other."""
    ends = np.cumsum([start_s, *times])
    return tuple(Execution(float(start), float(each)) for start, each in zip(ends, times, strict=False))


def session(ordinal: int, times: Sequence[float], start_s: float = 0.0, error: str | None = None) -> Session:
    """A session that was sampled and computed all the time."""
    return Session(
        ordinal=ordinal,
        server=Server(1000 + ordinal, start_ticks=5, verified=True, how="command, start time and work"),
        connect_s=0.01,
        executions=executions(times, start_s),
        answer_ok=True if times else None,
        error=error,
        cpu_s=float(sum(times)),
        cpu_source="schedstat",
        run_delay_s=0.0,
        voluntary_switches=10,
        involuntary_switches=90,
    )


def round_of(
    order: int, sessions: Sequence[Session], window_s: float, at_s: float = 0.0, variant: str = "baseline",
    anchor: bool = False, steal_s: float = 0.0, use: ServerUse | None = None, error: str | None = None,
) -> Round:  # fmt: skip
    """``at_s`` after the first; ``steal_s`` on each of two CPUs, which nothing but the sessions keeps busy."""
    busy_s = min(window_s, sum(each.cpu_s or 0.0 for each in sessions) / 2)
    return Round(
        level=len(sessions),
        repeat=order,
        variant=variant,
        order=order,
        released_at=f"2026-01-02T03:{order % 60:02}:00+00:00",
        released_monotonic_s=1000.0 + at_s,
        gate=Gate(len(sessions), len(sessions), len(sessions), 0.0, False),
        sessions=tuple(sessions),
        anchor=anchor,
        timeline_s=(0.0, window_s),
        cpu_timeline=tuple(CpuSeries(cpu, (busy_s,), (steal_s,), (0.0,), (0.0,)) for cpu in range(2)),
        cost=KitCost(window_s, 0.01),
        server_use=use,
        error=error,
    )


def soak(times: Times, segments: int = 12, sessions: int = 4, seed: int = 1, **plan: object) -> RunRecord:
    """Segments of a minute, back to back, between two rounds alone of 2 s an execution."""
    chance = np.random.default_rng(seed)

    def segment(at: int) -> Round:
        members = []
        for ordinal in range(sessions):
            taken: list[float] = []
            while sum(taken) < SEGMENT_S:
                taken.append(times(at, ordinal, chance))
            members.append(session(ordinal, taken))
        return round_of(at + 1, members, SEGMENT_S, at_s=at * SEGMENT_S)

    first = round_of(0, [session(0, [ALONE_S] * 3)], 6.0, at_s=-10.0, anchor=True)
    rounds = [first, *(segment(at) for at in range(segments))]
    return record(rounds, experiment="soak", segment_s=SEGMENT_S, executions=None, for_s=SEGMENT_S * segments, **plan)


def pool(
    totals: dict[int, float], pieces: int = 20, rounds: int = 3, noise: float = 0.0, blocked: int = 0
) -> RunRecord:
    """By K: the total in seconds. Every session does the same number of pieces; memory is 10 MB and 5 MB a session.

    ``noise``: the second round of a K takes so much more of its total, the third so much less. ``blocked``: so many of
    the pieces wait a second each, before all others of the first sessions.
    """
    made = [round_of(0, [session(0, [0.5] * 5)], 2.5, anchor=True)]
    for repeat in range(rounds):
        for active, total_s in totals.items():
            each = (pieces - blocked) // active
            took_s = total_s * (1 + noise * (0, 1, -1)[repeat % 3])
            waiting_of = [blocked // active + (ordinal < blocked % active) for ordinal in range(active)]
            members = [
                replace(session(ordinal, [took_s / each] * each, float(waiting)), blocked=executions([1.0] * waiting))
                for ordinal, waiting in enumerate(waiting_of)
            ]
            use = ServerUse(active + 5, active + 5, (10 + 5 * active) * 10**6, (10 + 2 * active) * 10**6, active + 1)
            made.append(replace(round_of(len(made), members, took_s, use=use), repeat=repeat))
    waits: dict[str, object] = {"blocking": blocked, "block_s": 1.0} if blocked else {}
    return record(made, experiment="pool", pieces=pieces, executions=1, **waits)


def together(alone_s: Sequence[float], beside_s: Sequence[float], rounds: int = 3, apart: bool = True) -> RunRecord:
    """Two sessions of each party; seconds per execution alone and beside, a percent more from round to round."""
    work = build.workload()
    parties = tuple(
        Party(name, Database("postgresql", "18.0"), work, 2, (at,) if apart else ())
        for at, (name, _) in enumerate(zip("abc", alone_s, strict=False))
    )
    made: list[Round] = []
    for repeat in range(rounds):
        drift = 1 + 0.01 * repeat
        every: list[Session] = []
        for at, party in enumerate(parties):
            members = [session(2 * at + own, [alone_s[at] * drift] * 4) for own in range(2)]
            every += [session(2 * at + own, [beside_s[at] * drift] * 4) for own in range(2)]
            made.append(round_of(len(made), members, 10.0, variant=party.target))
        made.append(round_of(len(made), every, 10.0, variant="together"))
    return record(
        made, experiment="together", parties=parties, variants=(*(party.target for party in parties), "together"),
        executions=4,
    )  # fmt: skip


def record(rounds: Sequence[Round], **plan: object) -> RunRecord:
    """A record of these rounds on a host of two cores."""
    given = build.record(rounds)
    levels = tuple(sorted({each.level for each in rounds}))
    return replace(given, header=replace(given.header, plan=replace(given.header.plan, levels=levels, **plan)))

"""Sampling held against the kernel: moves against its counter, residency against sched_switch tracing."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self

from bench.pairs import Bar, Result, Setup, Table, interleaved, shown
from bench.rounds import one_round, opened, sampling
from bench.tracing import Trace, Traced, Unavailable, tracefs
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched
from dbcpu.record import Round, Session

TITLE = "Sampling and the kernel's truth"
HOW = (
    "Rounds of about four seconds of cartesian short on the embedded PostgreSQL, polled at 20 Hz as in any run, "
    "while sched_switch and sched_migrate_task trace the same processes. For each session and CPU the share of the "
    "session's CPU time by polls is held against the traced one. Moves: those that the polls saw, and "
    "the kernel's own counter (nr_migrations of /proc/PID/sched); what was not seen is the difference. "
    "Tracing begins a moment before the counters are read."
)
LIMIT = 0.04
EXECUTIONS = {2: 24, 3: 18, 5: 12}


class TracedSampler:
    """A sampler with tracing around it, so that both see the same stretch of time."""

    def __init__(self, sampler: Sampler, trace: Trace | None) -> None:
        self._sampler, self._trace = sampler, trace
        self.pid = sampler.pid
        self.traced: Traced | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        if self._trace:
            self._trace.begin(one.pid for one in watched)
        self._sampler.start(watched, kit_pids)

    def stop(self) -> Sampled:
        sampled = self._sampler.stop()
        self.traced = self._trace.end() if self._trace else None
        return sampled


@dataclass(frozen=True, slots=True)
class Pair:
    """One round as sampled, and as traced where that was possible."""

    sampled: Round
    traced: Traced | None


def run(setup: Setup) -> Result:
    notes = []
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(EXECUTIONS)))
        try:
            trace: Trace | None = stack.enter_context(Trace(stack.enter_context(tracefs())))
        except Unavailable as why:
            trace = None
            notes.append(f"Residency was not held against tracing: {why}.")
        sampler = TracedSampler(stack.enter_context(sampling("procfs", target)), trace)

        def pair(level: int) -> Pair:
            sampled = one_round(target, sampler, setup.guard, level, EXECUTIONS[level])
            return Pair(sampled, sampler.traced)

        contestants = {str(level): partial(pair, level) for level in EXECUTIONS}
        found = interleaved(contestants, setup.rounds, lambda text: setup.say(f"sessions, {text}"))
    apart = {name: [gap for one in pairs for gap in _apart(one)] for name, pairs in found.items()}
    everything = [gap for gaps in apart.values() for gap in gaps]
    rows = tuple((name, *_row(pairs, apart[name])) for name, pairs in found.items())
    lost = sum(one.traced.lost for pairs in found.values() for one in pairs if one.traced)
    if lost:
        notes.append(f"{lost} trace events were lost; the largest difference is not to be trusted.")
    columns = ("N", "moves counted by the kernel", "seen by polls", "not seen", "traced moves",
               "share per CPU, largest difference per session", "sessions within 0.04")  # fmt: skip
    bars = (
        Bar("moves seen beyond the kernel's count", _beyond(found), 0, "moves"),
        Bar("share per CPU, median difference", statistics.median(everything) if everything else None, LIMIT, ""),
        Bar("share per CPU, largest difference", max(everything, default=None), LIMIT, ""),
    )
    return Result(
        bars, (Table(columns, rows),), {f"N={n} share_apart": gaps for n, gaps in apart.items()}, tuple(notes)
    )


def _row(pairs: Sequence[Pair], apart: Sequence[float]) -> tuple[str, ...]:
    sessions = [session for one in pairs for session in one.sampled.sessions]
    counted = sum(session.migrations or 0 for session in sessions)
    seen = sum(session.migrations_seen or 0 for session in sessions)
    traced = sum(sum(one.traced.migrations.values()) for one in pairs if one.traced)
    has_trace = any(one.traced for one in pairs)
    gap = shown(apart, digits=2) if apart else "not traced"
    within = f"{sum(one <= LIMIT for one in apart)} of {len(apart)}"
    return str(counted), str(seen), str(counted - seen), str(traced) if has_trace else "not traced", gap, within


def _beyond(found: dict[str, list[Pair]]) -> float:
    """Moves that polls saw and the kernel did not count: there can be none."""
    sessions = [session for pairs in found.values() for one in pairs for session in one.sampled.sessions]
    return sum(max(0, (session.migrations_seen or 0) - (session.migrations or 0)) for session in sessions)


def _apart(one: Pair) -> list[float]:
    """Per session the largest difference, over CPUs, of its share by polls and by trace (0 to 1)."""
    if one.traced is None:
        return []
    found = []
    for session in one.sampled.sessions:
        traced = _shares(one.traced.run_s.get(session.server.pid or 0, {}))
        polled = _shares(_polled(session))
        found.append(max(abs(traced.get(cpu, 0.0) - polled.get(cpu, 0.0)) for cpu in traced.keys() | polled.keys()))
    return found


def _polled(session: Session) -> dict[int, float]:
    by_cpu: dict[int, float] = defaultdict(float)
    for stretch in session.residency:
        by_cpu[stretch.cpu] += stretch.cpu_s or 0.0
    return by_cpu


def _shares(by_cpu: dict[int, float]) -> dict[int, float]:
    total = sum(by_cpu.values())
    return {cpu: spent / total for cpu, spent in by_cpu.items()} if total else {}

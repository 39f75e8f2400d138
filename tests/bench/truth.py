"""Sampling held against the kernel: moves against its counter, residency against sched_switch tracing."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from msgspec import Struct

from bench.pairs import Bar, Result, Setup, Table, interleaved, shown
from bench.rounds import HZ, one_round, opened
from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers._local import open_local
from dbcpu.measure.samplers._tracer import Tracer
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched
from dbcpu.measure.samplers.trace import TraceSampler
from dbcpu.record.rounds import Residency, Round

TITLE = "Sampling and the kernel's truth"
HOW = (
    "Rounds of about four seconds of cartesian short on the embedded PostgreSQL, polled at 20 Hz as in any run, "
    "while `--sampler trace` has every switch of the same processes. For each session and CPU the share of the "
    "session's CPU time by polls is held against the traced one. Moves: those that the polls saw, and "
    "the kernel's own counter (nr_migrations of /proc/PID/sched); what was not seen is the difference."
)
LIMIT = 0.04
EXECUTIONS = {2: 24, 3: 18, 5: 12}


class KeptPolls:
    """A sampler that keeps what its polls saw of the last round, beside what is made of them."""

    def __init__(self, polls: Sampler) -> None:
        self._polls = polls
        self.last: Sampled | None = None

    @property
    def pid(self) -> int | None:
        return self._polls.pid

    def __enter__(self) -> Self:
        self._polls.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._polls.__exit__(kind, error, at)

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        self._polls.start(watched, kit_pids)

    def stop(self) -> Sampled:
        self.last = self._polls.stop()
        return self.last


class Pair(Struct, frozen=True):
    """One round as polled, and as traced where that was possible and the trace is whole."""

    polled: Sampled
    traced: Round | None


def run(setup: Setup) -> Result:
    notes = []
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(EXECUTIONS)))
        polls = KeptPolls(open_local(target.host(), HZ))
        try:
            sampler: Sampler = stack.enter_context(TraceSampler(polls, Tracer(LocalHost())))
        except MeasureError as why:
            sampler = stack.enter_context(polls)
            notes.append(f"Residency was not held against tracing: {why}.")

        def pair(level: int) -> Pair:
            measured = one_round(target, sampler, setup.guard, level, EXECUTIONS[level])
            assert polls.last is not None
            return Pair(polls.last, measured if measured.trace and not measured.trace.why else None)

        contestants = {str(level): partial(pair, level) for level in EXECUTIONS}
        found = interleaved(contestants, setup.rounds, lambda text: setup.say(f"sessions, {text}"))
    apart = {name: [gap for one in pairs for gap in _apart(one)] for name, pairs in found.items()}
    everything = [gap for gaps in apart.values() for gap in gaps]
    rows = tuple((name, *_row(pairs, apart[name])) for name, pairs in found.items())
    broken = sum(one.traced is None for pairs in found.values() for one in pairs)
    if broken and not notes:
        notes.append(f"The trace of {broken} rounds was not whole; they are left out of the shares.")
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
    sessions = [session for one in pairs for session in one.polled.sessions]
    counted = sum(session.migrations or 0 for session in sessions)
    seen = sum(session.migrations_seen for session in sessions)
    traced = [session.migrations_seen or 0 for one in pairs if one.traced for session in one.traced.sessions]
    gap = shown(apart, digits=2) if apart else "not traced"
    within = f"{sum(one <= LIMIT for one in apart)} of {len(apart)}"
    return str(counted), str(seen), str(counted - seen), str(sum(traced)) if traced else "not traced", gap, within


def _beyond(found: dict[str, list[Pair]]) -> float:
    """Moves that polls saw and the kernel did not count: there can be none."""
    sessions = [session for pairs in found.values() for one in pairs for session in one.polled.sessions]
    return sum(max(0, session.migrations_seen - (session.migrations or 0)) for session in sessions)


def _apart(one: Pair) -> list[float]:
    """Per session the largest difference, over CPUs, of its share by polls and by trace (0 to 1)."""
    if one.traced is None:
        return []
    found = []
    for polled, traced in zip(one.polled.sessions, one.traced.sessions, strict=True):
        by_polls, by_trace = _shares(polled.residency), _shares(traced.residency)
        found.append(max(abs(by_trace.get(cpu, 0.0) - by_polls.get(cpu, 0.0)) for cpu in by_trace.keys() | by_polls))
    return found


def _shares(stretches: Sequence[Residency]) -> dict[int, float]:
    """Of each CPU, its share of the session's CPU time."""
    by_cpu: dict[int, float] = defaultdict(float)
    for stretch in stretches:
        by_cpu[stretch.cpu] += stretch.cpu_s or 0.0
    total = sum(by_cpu.values())
    return {cpu: spent / total for cpu, spent in by_cpu.items()} if total else {}

"""How often does a verdict come from chance alone, how often is a real loss missed, how good are the intervals?

All on simulated hosts with log-normal-like noise of known size (``SimulatedHost.noise``: relative standard deviation of
the work of one execution), drawn anew for each run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.measured_run import MeasuredSide
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.round_figures import work
from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.analysis.scaling.curve import scaling
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.rounds import RunRecord
from dbcpu.record.run_findings import RESULT
from dbcpu.simulator import SimulatedHost, simulate

MIN_CV, MAX_CV = 0.01, 0.08
SLOWDOWN = 1.2
REPEATS = 5
PAIR_REPEATS = 6
"""The fewest that a comparison decides on."""
NO_CLAIMS = {"inconclusive", "baseline-too-slow"}
ALARMS = {*RESULT.entries, "solo-drift"} - NO_CLAIMS
"""Findings that say that something was found: on a host on which nobody loses anything all of them are false."""
TRUE_OF_FREE_THREADS = {"smt-like-cores", "misplaced"}


class Alarms(Struct, frozen=True):
    """One run of a host on which nobody loses anything: what was claimed all the same.

    ``verdict``: its sentence or a finding is false; ``findings`` are those, 'verdict' for the sentence.
    """

    cv: float
    verdict: bool
    findings: tuple[str, ...]
    sessions: int
    named_slow: int


class Pair(Struct, frozen=True):
    """Two runs of one host. ``told_apart``: a comparison of them claims a difference."""

    kind: str
    runs: tuple[Alarms, Alarms]
    told_apart: bool


class Detection(Struct, frozen=True):
    """One run of a host on which somebody truly loses 1.2x: was the level found, and how many of the sessions?"""

    shape: str
    cv: float
    level: bool
    slow: int
    found: int


class Covered(Struct, frozen=True):
    """A figure with an interval: the truth, and what was told. ``speed`` of a session beside another on its core,
    the ``yield`` of a second thread, or what the curve alone tells: ``first_knee``, ``second_knee``, ``curve_yield``.
    """

    what: str
    cv: float
    truth: float
    told: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        return self.low <= self.truth <= self.high


WITHIN_CORES, FREE_THREADS = "up to one session per core", "threads as good as cores"
KINDS = (WITHIN_CORES, WITHIN_CORES, WITHIN_CORES, FREE_THREADS)
"""One pair in four is of a host whose threads share cores and lose nothing by it."""


def quiet_host(rng: np.random.Generator, kind: str) -> SimulatedHost:
    """Nobody loses anything here: up to one session per core, or, where threads are free, per thread."""
    free = kind == FREE_THREADS
    return SimulatedHost(
        name="quiet",
        cores=int(rng.integers(2, 9 if free else 17)),
        threads=2 if free else int(rng.integers(1, 3)),
        smt_yield=1.0 if free else 0.33,
        scheduler="smt_balancing",
        noise=float(rng.uniform(MIN_CV, MAX_CV)),
    )


def pairs(count: int, seed: int) -> Iterator[Pair]:
    """A/A pairs: two runs of one host, with levels that a sweep would take and at which nobody loses anything."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        kind = KINDS[number % len(KINDS)]
        host = quiet_host(rng, kind)
        most = host.cores * (2 if kind == FREE_THREADS else 1)
        levels = tuple(sorted({1, 2, max(2, most // 2), most - 1, most} - {0}))
        runs = [simulate(host, levels, PAIR_REPEATS, int(rng.integers(2**31))) for _ in range(2)]
        yield pair_of(kind, host, runs)


def pair_of(kind: str, host: SimulatedHost, runs: Sequence[RunRecord]) -> Pair:
    """Two runs of one variant: a side of their comparison has what explains the run by itself."""
    first, second = (side_of(run) for run in runs)
    alarms = _alarms(kind, host, first.first.analysis), _alarms(kind, host, second.first.analysis)
    return Pair(kind, alarms, told_apart(first, second))


def side_of(run: RunRecord) -> MeasuredSide:
    """Explained once, for all of its comparisons."""
    return measured_side(run.header.run_id, [Candidate(run.header.run_id, run)])


def told_apart(first: MeasuredSide, second: MeasuredSide) -> bool:
    """Whether a comparison claims a difference, by either of its two decisions."""
    return any(each.shown for each in compare_sides([first, second]).sides[1].decisions)


def _alarms(kind: str, host: SimulatedHost, analysis: Analysis) -> Alarms:
    claims = false_claims(analysis, kind)
    slow = sum(_is_slow(view) and not view.pace_only for view in analysis.sessions)
    return Alarms(host.noise, bool(claims), claims, len(analysis.sessions), slow)


def false_claims(analysis: Analysis, kind: str) -> tuple[str, ...]:
    """Of a run in which nobody lost anything: 'verdict' if its sentence is false, and the codes of false findings."""
    true = TRUE_OF_FREE_THREADS if kind == FREE_THREADS else frozenset[str]()
    lost = any(Answer.NO in (each.even, each.full_speed) for each in analysis.levels)
    sentence = ("verdict",) if lost else ()
    return (*sentence, *(each.code for each in analysis.findings if each.code in ALARMS and each.code not in true))


def _is_slow(view: SessionView) -> bool:
    return view.cause != "none"


KNEES = ("first_knee", "second_knee")
SHAPES = {
    # One core more than sessions, minus one: two share a core and lose 1.2x, the others nothing.
    "two of nine": (SimulatedHost(cores=8, scheduler="frozen", smt_yield=2 / SLOWDOWN - 1), 9),
    "two of five": (SimulatedHost(cores=4, scheduler="frozen", smt_yield=2 / SLOWDOWN - 1), 5),
    "all of eight": (SimulatedHost(cores=8, threads=1, all_slow=1 - 1 / SLOWDOWN), 8),
}


def detections(count: int, seed: int, cvs: tuple[float, ...]) -> Iterator[Detection]:
    """``count`` runs for each shape and noise."""
    for number in range(count):
        for cv in cvs:
            for shape, (host, level) in SHAPES.items():
                analysis = explain(simulate(replace(host, noise=cv), (1, 2, host.cores, level), REPEATS, seed + number))
                yield _detected(shape, cv, level, analysis)


def _detected(shape: str, cv: float, level: int, analysis: Analysis) -> Detection:
    view = next(each for each in analysis.levels if each.level == level)
    there = [each for each in analysis.sessions if each.level == level]
    slow = [each for each in there if shape.startswith("all") or (each.shared_s or 0.0) > 0.1 * (each.reference_s or 1)]
    sharing = analysis.shared_core
    told = bool(sharing and sharing.speeds and sharing.speeds[0].costs)
    return Detection(
        shape, cv, Answer.NO in (view.even, view.full_speed) or told, len(slow), sum(_is_slow(each) for each in slow)
    )


def curves(count: int, seed: int) -> Iterator[Covered]:
    """The intervals told of the curve alone: of hosts of which only the rates of sessions are known.

    Sessions do 2 to 12 short executions; of all runs as many have sessions that do one longer execution (``..._once``).
    """
    for number in range(2 * count):
        rng = np.random.default_rng([seed, number, 1])
        host = SimulatedHost(
            cores=int(rng.integers(3, 9)),
            scheduler=str(rng.choice(["sticky", "smt_balancing"])),
            smt_yield=float(rng.uniform(0.1, 0.6)),
            noise=float(rng.uniform(MIN_CV, MAX_CV)),
        )
        once = "_once" if number % 2 else ""
        size, executions = ("medium", 1) if once else ("short", int(rng.integers(2, 13)))
        c = host.cores
        levels = tuple(sorted({1, 2, c - 1, c, c + 1, c + c // 2, 2 * c - 1, 2 * c, 2 * c + 1, 5 * c // 2, 4 * c}))
        record = simulate(host, levels, REPEATS, int(rng.integers(2**31)), size=size, executions=executions, hz=5)
        sessions, rows = timed(record), record.header.plan.workload.rows
        told = scaling((), work(sessions, "baseline"), rows, reference(record, sessions), 2 * c, c)
        if len(told.knees) == len(told.knee_intervals) == 2:
            for what, truth, at, found in zip(KNEES, (c, 2 * c), told.knees, told.knee_intervals, strict=True):
                yield Covered(what + once, host.noise, float(truth), at, found.low, found.high)
        if told.smt_yield is not None and told.smt_yield_interval is not None:
            found = told.smt_yield_interval
            yield Covered("curve_yield" + once, host.noise, host.smt_yield, told.smt_yield, found.low, found.high)


def coverage(count: int, seed: int) -> Iterator[Covered]:
    """The intervals told of hosts with two threads per core."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        host = SimulatedHost(
            cores=int(rng.integers(3, 9)),
            scheduler="sticky",
            smt_yield=float(rng.uniform(0.0, 0.5)),
            noise=float(rng.uniform(MIN_CV, MAX_CV)),
        )
        c = host.cores
        levels = tuple(sorted({1, c // 2 + 1, c, c + 1, c + c // 2, 2 * c}))
        analysis = explain(simulate(host, levels, REPEATS, int(rng.integers(2**31))))
        sharing, curve = analysis.shared_core, analysis.scaling
        if sharing is not None and sharing.speeds:
            pair = sharing.speeds[0]
            yield Covered("speed", host.noise, float(host.thread_speed[2]), pair.speed, pair.low, pair.high)
        if curve.smt_yield is not None and curve.smt_yield_interval is not None:
            found = curve.smt_yield_interval
            yield Covered("yield", host.noise, host.smt_yield, curve.smt_yield, found.low, found.high)


def summed(pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row per kind of pair, of pairs as dictionaries."""
    rows = []
    for kind in dict.fromkeys(pair["kind"] for pair in pairs):
        own = [pair for pair in pairs if pair["kind"] == kind]
        runs = [run for pair in own for run in pair["runs"]]
        rows.append(
            {
                "kind": kind,
                "pairs": len(own),
                "false_pairs": sum(any(run["verdict"] for run in pair["runs"]) for pair in own),
                "findings": Counter(code for run in runs for code in run["findings"]),
                "told_apart": sum(pair["told_apart"] for pair in own),
                "sessions": sum(run["sessions"] for run in runs),
                "named_slow": sum(run["named_slow"] for run in runs),
            }
        )
    return rows

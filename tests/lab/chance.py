"""How often does a verdict come from chance alone, how often is a real loss missed, how good are the intervals?

All on simulated hosts with log-normal-like noise of known size (``SimulatedHost.noise``: relative standard deviation of
the work of one execution), drawn anew for each run.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dbcpu.analysis.base import Analysis, SessionView
from dbcpu.analysis.explain import explain
from dbcpu.simulator import SimulatedHost, simulate

LEAST_CV, MOST_CV = 0.01, 0.08
SLOWDOWN = 1.2
REPEATS = 5
ALARMS = ("uneven-sessions", "slow-together")
EVEN = "Every session gets the same CPU"


@dataclass(frozen=True, slots=True)
class Alarms:
    """One run of a host on which nobody loses anything: what was claimed all the same."""

    cv: float
    verdict: bool
    sessions: int
    named_slow: int


@dataclass(frozen=True, slots=True)
class Detection:
    """One run of a host on which somebody truly loses 1.2x: was the level found, and how many of the sessions?"""

    shape: str
    cv: float
    level: bool
    slow: int
    found: int


@dataclass(frozen=True, slots=True)
class Covered:
    """The speed of a session beside another on its core: the truth, and the interval that was told."""

    cv: float
    truth: float
    speed: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        return self.low <= self.truth <= self.high


def quiet_host(rng: np.random.Generator) -> SimulatedHost:
    """Up to one session per core nobody loses anything here."""
    return SimulatedHost(
        name="quiet",
        cores=int(rng.integers(2, 17)),
        threads=int(rng.integers(1, 3)),
        scheduler="smt_balancing",
        noise=float(rng.uniform(LEAST_CV, MOST_CV)),
    )


def pairs(count: int, seed: int) -> Iterator[tuple[Alarms, Alarms]]:
    """A/A pairs: two runs of one host, all levels up to one session per core that a sweep would take."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        host = quiet_host(rng)
        levels = tuple(sorted({1, 2, max(2, host.cores // 2), host.cores - 1, host.cores} - {0}))
        first, second = (_alarms(host, levels, int(rng.integers(2**31))) for _ in range(2))
        yield first, second


def _alarms(host: SimulatedHost, levels: tuple[int, ...], seed: int) -> Alarms:
    analysis = explain(simulate(host, levels, REPEATS, seed))
    false = not analysis.verdict.startswith(EVEN) or any(each.code in ALARMS for each in analysis.findings)
    return Alarms(host.noise, false, len(analysis.sessions), sum(_is_slow(view) for view in analysis.sessions))


def _is_slow(view: SessionView) -> bool:
    return view.cause != "none"


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
    told = bool(sharing and sharing.speeds and sharing.speeds[0].high < 1.0)
    return Detection(shape, cv, view.uneven or view.slowed or told, len(slow), sum(_is_slow(each) for each in slow))


def coverage(count: int, seed: int) -> Iterator[Covered]:
    """The interval of the speed on a shared core, on hosts with two threads per core."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        host = SimulatedHost(
            cores=int(rng.integers(3, 9)),
            scheduler="sticky",
            smt_yield=float(rng.uniform(0.0, 0.5)),
            noise=float(rng.uniform(LEAST_CV, MOST_CV)),
        )
        c = host.cores
        levels = tuple(sorted({1, c // 2 + 1, c, c + 1, c + c // 2, 2 * c}))
        sharing = explain(simulate(host, levels, REPEATS, int(rng.integers(2**31)))).shared_core
        if sharing is not None and sharing.speeds:
            pair = sharing.speeds[0]
            yield Covered(host.noise, float(host.thread_speed[2]), pair.speed, pair.low, pair.high)

"""Runs that differ from hour to hour: how often does a comparison claim a difference, and does its interval hold 1?

A host is simulated again and again, its times scaled by a factor per run (log-normal run effect); nothing else differs.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.decisions import decide_spread, decide_throughput
from dbcpu.analysis.comparison.measured_run import Measured, MeasuredSide
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.round_figures import RoundFigures, figures_by_round
from dbcpu.simulator import SimulatedHost
from lab.chance import PAIR_REPEATS
from support.builders.luck import lucky_runs, slower

SPREADS = (0.0, 0.02, 0.05)
RUNS_A_SIDE, HISTORY = 4, 10
CORES, LEVEL = 2, 2
TRUE_CHANGE = 1.25
SEVERAL, USUAL, SINGLE = "4 runs a side", "one run a side, history of 10 runs", "one run a side, no history"


class Compared(Struct, frozen=True):
    """One comparison of a host with itself. ``found``: is a host that is 1.25x as fast told from it?"""

    how: str
    spread: float
    told_apart: bool
    inside: bool
    found: bool


def draws(count: int, seed: int) -> Iterator[Compared]:
    """``count`` hosts, with a noise of 1 to 4 % between executions: each kind of comparison at each run effect."""
    for number in range(seed, seed + count):
        noise = float(np.random.default_rng([number, 2]).uniform(0.01, 0.04))
        host = SimulatedHost("box", cores=CORES, threads=1, scheduler="smt_balancing", noise=noise)
        alike = lucky_runs(host, (LEVEL,), number, 2 * RUNS_A_SIDE + HISTORY, 0.0, repeats=PAIR_REPEATS)
        analysis = explain(alike[0])  # a comparison asks it for the CPUs of the host alone
        luck = np.random.default_rng([number, 3]).normal(size=len(alike))
        for spread in SPREADS:
            records = [slower(each, float(np.exp(spread * own))) for each, own in zip(alike, luck, strict=True)]
            yield from _drawn(spread, [Measured("", each, analysis, figures_by_round(each)) for each in records])


def _drawn(spread: float, runs: Sequence[Measured]) -> Iterator[Compared]:
    base, other, earlier = runs[:RUNS_A_SIDE], runs[RUNS_A_SIDE : 2 * RUNS_A_SIDE], runs[2 * RUNS_A_SIDE :]
    history = tuple(each.rounds for each in earlier)
    yield _judged(SEVERAL, spread, MeasuredSide("a", tuple(base)), MeasuredSide("b", tuple(other)))
    one, two = MeasuredSide("a", (base[0],)), MeasuredSide("b", (other[0],))
    yield _judged(USUAL, spread, replace(one, history=history), replace(two, history=history))
    yield _judged(SINGLE, spread, one, two)


def _judged(how: str, spread: float, base: MeasuredSide, other: MeasuredSide) -> Compared:
    throughput, evenness = decide_throughput(base, other, LEVEL, None), decide_spread(base, other, None)
    faster = replace(other, runs=tuple(replace(each, rounds=_faster(each.rounds)) for each in other.runs))
    assert throughput.low is not None and throughput.high is not None
    return Compared(
        how,
        spread,
        told_apart=throughput.shown or evenness.shown,
        inside=throughput.low <= 1 <= throughput.high,
        found=decide_throughput(base, faster, LEVEL, None).shown,
    )


def _faster(rounds: Sequence[RoundFigures]) -> tuple[RoundFigures, ...]:
    return tuple(replace(each, throughput=each.throughput * TRUE_CHANGE) for each in rounds)


def summed(found: Sequence[Compared]) -> list[dict[str, object]]:
    """A row per kind of comparison and run effect."""
    kinds = sorted({(each.how, each.spread) for each in found})
    rows = []
    for how, spread in kinds:
        own = [each for each in found if (each.how, each.spread) == (how, spread)]
        rows.append(
            {
                "how": how,
                "spread": spread,
                "comparisons": len(own),
                "told_apart": sum(each.told_apart for each in own),
                "inside": sum(each.inside for each in own),
                "found": sum(each.found for each in own),
            }
        )
    return rows

"""Which differences can be detected on this host? Two interleaved halves (A/A) show how large noise is.

Per level and half the logarithms of each round's figure are taken: its rate sum for the level, its max/min for
the spread. The standard error of the difference of two halves is the larger of what the scatter of rounds
gives and of what the halves really differed by, since drift between them counts too. The least ratio that a two-sided
t-test at 5 % finds with a power of 80 % is

    exp((t(0.975, f) + t(0.80, f)) x standard error)    (``chance``)
"""

from collections.abc import Mapping, Sequence

import numpy as np

from dbcpu.analysis.levels.measured_rounds import usable
from dbcpu.analysis.levels.round_figures import work
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.throughput import while_all_ran
from dbcpu.analysis.results.run import NoiseFloor
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, times_of
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.record.header import AA

ERROR = 0.05

Figures = Mapping[int, Sequence[float]]
"""A figure of each usable round, by level."""


def noise_floor(context: RunContext) -> NoiseFloor | None:
    """The floor of an A/A run; None for any other, or with fewer than two rounds a half."""
    if tuple(context.record.header.plan.variants) != AA:
        return None
    speed = [while_all_ran(work(context.sessions, variant), context.rows) for variant in AA]
    uneven = [_spreads(context.sessions, variant) for variant in AA]
    level, spread = _floor(*speed), _floor(*uneven)
    if level is None:
        return None
    return NoiseFloor(
        levels=level[2],
        rounds=level[3],
        level_ratio=level[0],
        spread_ratio=spread[0] if spread else None,
        level_seen=level[1],
        spread_seen=spread[1] if spread else None,
    )


def _spreads(sessions: Sequence[Timed], variant: str) -> dict[int, list[float]]:
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in by_round(sessions):
        if each.variant == variant and each.level > 1:
            rounds.setdefault(each.level, []).append(members)
    found = {}
    for level, all_rounds in rounds.items():
        elapsed = list(map(times_of, usable(all_rounds)))
        found[level] = [max(each) / min(each) for each in elapsed if each]
    return found


def _floor(first: Figures, second: Figures) -> tuple[float, float, int, int] | None:
    """(smallest detectable ratio, largest seen, levels, fewest rounds of a half); None with too few rounds."""
    pairs = [
        (np.log(first[level]), np.log(second[level]))
        for level in sorted(set(first) & set(second))
        if len(first[level]) > 1 and len(second[level]) > 1
    ]
    if not pairs:
        return None
    halves = [half for pair in pairs for half in pair]
    scatter, fewest = pooled(halves), min(half.size for half in halves)
    differences = np.array([float(a.mean() - b.mean()) for a, b in pairs])
    error = max(scatter.spread * (2 / fewest) ** 0.5, float(np.sqrt(np.mean(differences**2))))
    needed = Chance(error, scatter.freedom).detectable(ERROR)
    return float(np.exp(needed)), float(np.exp(np.abs(differences).max())), len(pairs), fewest

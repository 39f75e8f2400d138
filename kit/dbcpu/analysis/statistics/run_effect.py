"""Do two groups of runs differ, by how much, when every run has a luck of its own? Pure; the run is the unit.

A run's figure is ``mean of its group + run effect + error of its rounds``, all of logarithms. Rounds of one run share
its effect, so more of them do not make the run effect smaller: only more runs do. The variance between runs is
estimated by moments from the scatter of the runs' figures about the mean of their group, less what their rounds
explain of it, and never below 0; Student's t has the degrees of freedom of that scatter.
Sources: Searle, Casella and McCulloch, "Variance Components", 1992, ch. 3 (one-way random model, ANOVA estimators);
Cochran, "Problems Arising in the Analysis of a Series of Similar Experiments", 1937 (runs of unequal precision).
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import MEDIAN, median

Runs = Sequence[Sequence[float]]
"""Logarithms of one figure: a sequence per run, with a value per round."""


class BetweenRuns(Struct, frozen=True):
    """Standard deviation of a figure from run to run, of logarithms; ``runs`` and ``freedom`` that it is known by."""

    spread: float
    runs: int
    freedom: int


class RunDifference(Struct, frozen=True):
    """``shift``: difference of two groups' means, of logarithms, with its standard error and degrees of freedom."""

    shift: float
    error: float
    freedom: float

    @property
    def p(self) -> float:
        """Two-sided, of Student's t."""
        from dbcpu.analysis.statistics.special_functions import stdtr  # loads slowly

        if self.error <= 0:
            return 1.0 if self.shift == 0 else 0.0
        return float(2 * stdtr(self.freedom, -abs(self.shift) / self.error))

    def ratio_interval(self, confidence: float) -> Interval:
        """Of the ratio ``exp(shift)``; the bounds are in order and hold the ratio."""
        width = Chance(self.error, self.freedom).passed_by((1 - confidence) / 2)
        return Interval(math.exp(self.shift - width), math.exp(self.shift + width))

    def detectable(self, error: float) -> float:
        """The relative difference that a test at ``error`` finds with a power of 80 %."""
        return math.expm1(Chance(self.error, self.freedom).detectable(error))


def centre(values: Sequence[float]) -> float:
    """The figure of a run: the logarithm of the median over its rounds."""
    return math.log(median(np.exp(values)))


def group_mean(runs: Runs) -> float:
    """The figure of a group: the mean of its runs', each as one value however many rounds it has."""
    return float(np.mean([centre(each) for each in runs]))


def between_runs(groups: Sequence[Runs]) -> BetweenRuns | None:
    """The run effect by the scatter within ``groups``; None where no group has two runs.

    Runs have a round or more each. Groups share one run effect: pooled, weighted by degrees of freedom.
    """
    several = [group for group in groups if len(group) > 1]
    if not several:
        return None
    seen = pooled([np.array([centre(each) for each in group]) for group in several])
    explained = sum((len(group) - 1) * np.mean(_squared_errors(group)) for group in several) / seen.freedom
    spread = math.sqrt(max(0.0, seen.spread**2 - explained))
    return BetweenRuns(spread, sum(map(len, several)), int(seen.freedom))


def difference(base: Runs, other: Runs, effects: tuple[BetweenRuns, BetweenRuns]) -> RunDifference:
    """``other`` less ``base``, with the run effect of either side; they are the same one where it was pooled."""
    square = sum(
        effect.spread**2 / len(group) + sum(_squared_errors(group)) / len(group) ** 2
        for group, effect in zip((base, other), effects, strict=True)
    )
    return RunDifference(group_mean(other) - group_mean(base), math.sqrt(square), min(each.freedom for each in effects))


def _squared_errors(group: Runs) -> list[float]:
    """Of each run's median, by the scatter of rounds pooled over the group; 0 where no run has two rounds."""
    scatter = pooled([np.asarray(each, dtype=np.float64) for each in group])
    if scatter.freedom == 0:
        return [0.0] * len(group)
    return [float((MEDIAN * scatter.spread) ** 2 / len(each)) for each in group]

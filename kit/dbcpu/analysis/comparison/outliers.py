"""Which of several components does not go the way of the others as CPUs are added? Of published figures. Pure.

For each metric and count the logarithms of the ratios of all components are compared with their median: beyond
``MIN_SCORE`` robust standard deviations (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993), and by a
factor of ``MIN_FACTOR``, one stands out. A component that takes a growing share of the time is a bottleneck to look at.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct

from dbcpu.analysis.comparison.published import Normalised, is_rate
from dbcpu.analysis.statistics.robust import log_deviation

MIN_COMPONENTS = 5
MIN_SCORE = 3.5
MIN_FACTOR = 1.5
MIN_PERCENT = 0.5
"""Of the time: a component with less in every column is left out, as in the article that such tables come from."""
_SHARE = "percent"


class Outlier(Struct, frozen=True):
    """A component whose ``ratio`` at ``count`` is not that of the others, which is ``usual`` (their median)."""

    label: str
    metric: str
    count: int
    ratio: float
    usual: float
    components: int

    @property
    def is_bottleneck(self) -> bool:
        """Whether it may limit how the whole scales: it takes more, or of a rate does less, than the others."""
        return (self.ratio < self.usual) if is_rate(self.metric) else (self.ratio > self.usual)


def small_components(rows: Sequence[Normalised]) -> tuple[str, ...]:
    """Labels whose share of the time (a metric that has ``percent`` in its name) is small at every count, sorted."""
    shares: dict[str, list[float]] = {}
    for each in rows:
        if _SHARE in each.measurement.metric:
            shares.setdefault(each.measurement.label, []).append(each.measurement.value)
    return tuple(sorted(label for label, values in shares.items() if max(values) < MIN_PERCENT))


def outliers(rows: Sequence[Normalised]) -> tuple[Outlier, ...]:
    """Bottlenecks first, then by how far they stand out; () where fewer than five components have a metric."""
    found = [each for group in _groups(rows) for each in _of_group(group)]
    return tuple(sorted(found, key=lambda each: (not each.is_bottleneck, -abs(math.log(each.ratio / each.usual)))))


def _groups(rows: Sequence[Normalised]) -> list[list[Normalised]]:
    """Rows of one metric and count, of different labels; not those of the baseline's own count, nor doubted ones."""
    grouped: dict[tuple[str, int], list[Normalised]] = {}
    for each in rows:
        one = each.measurement
        if one.count is not None and not each.doubt:
            grouped.setdefault((one.metric, one.count), []).append(each)
    return [group for group in grouped.values() if any(each.ratio != 1.0 for each in group)]


def _of_group(group: Sequence[Normalised]) -> Iterator[Outlier]:
    labels = {each.measurement.label for each in group}
    if not MIN_COMPONENTS <= len(labels) == len(group):
        return
    ratios = [each.ratio for each in group]
    usual, spread = median(ratios), log_deviation(ratios)
    for each in group:
        apart = abs(math.log(each.ratio / usual))
        if apart >= math.log(MIN_FACTOR) and apart > MIN_SCORE * spread > 0:
            one = each.measurement
            yield Outlier(one.label, one.metric, one.count or 0, each.ratio, usual, len(group))

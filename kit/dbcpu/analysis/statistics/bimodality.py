"""Do times have two preferred values, and which?

Two questions, both have to be answered yes. Is there more than one mode at all: Hartigan's dip, the distance of the
empirical distribution from the nearest unimodal one, against the uniform distribution, which of all unimodal ones
dips most. And are there two humps with a valley between them: of the smoothed density of the logarithms, two peaks at
least ``MIN_RATIO`` apart, the valley no higher than half of the lower, each with ``MIN_SHARE`` of the values. One broad
hump with edges has such peaks as well: nearly all values have to be near one of the two, and the middle one with it.
Source: Hartigan and Hartigan, "The Dip Test of Unimodality", Annals of Statistics 13, 1985.
"""

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.statistics.robust import distinct

Floats = npt.NDArray[np.float64]

GATE = 0.60
"""Of the square root of n times the dip: uniform samples of 40 to 5,000 pass it in about one of a thousand."""
MIN_VALUES = 40
MAX_VALUES = 3000
"""Of more values the dip is taken at evenly spaced ranks, which is accurate enough."""
MIN_RATIO = 1.10
MIN_SHARE = 0.05
VALLEY = 0.5
BELONG = 0.8
"""Of the values are within a third of the way from one hump to the other of either."""
HALF = 0.4
"""With at least so many at the smaller hump the middle value may be between the two."""
STEP = 0.005
WIDTHS = (0.015, 0.025, 0.04, 0.06, 0.09)
"""Smoothing in units of the logarithm, finest first: the first that leaves no more than two humps is taken."""


class Modes(Struct, frozen=True):
    """Values of the two humps, lower first, the valley between them, the share above it, and the test's statistic."""

    low: float
    high: float
    border: float
    share_above: float
    statistic: float


def two_modes(values: Floats) -> Modes | None:
    """The two preferred values, or None when one is enough to describe them. ``values`` are above 0."""
    if values.size < MIN_VALUES:
        return None
    ordered = np.sort(np.log(values))
    statistic = float(np.sqrt(ordered.size)) * dip(_thinned(ordered))
    if statistic < GATE:
        return None
    humps = _humps(ordered)
    if humps is None:
        return None
    low, high, border = humps
    above = float((ordered > border).mean())
    if not _belong(ordered, low, high, above):
        return None
    return Modes(float(np.exp(low)), float(np.exp(high)), float(np.exp(border)), above, statistic)


def _belong(ordered: Floats, low: float, high: float, above: float) -> bool:
    """Whether the two humps describe the values, and the larger one the middle value."""
    near = np.minimum(np.abs(ordered - low), np.abs(ordered - high)) <= (high - low) / 3
    apart = abs(float(np.median(ordered)) - (high if above > 0.5 else low))
    return bool(near.mean() >= BELONG) and (min(above, 1 - above) >= HALF or apart <= np.log(MIN_RATIO))


def dip(ordered: Floats) -> float:
    """Hartigan's dip of a sorted sample: the least distance of its distribution from any unimodal one.

    At least 1 / (2 n), at most 1/4; a unimodal distribution may jump at its mode. Each pass takes the greatest convex
    minorant and the least concave majorant of the distribution within the modal interval, and shrinks the interval to
    where they are furthest apart, until they differ by no more there than the distribution from them outside.
    """
    values, counts = np.unique(ordered, return_counts=True)
    right = np.cumsum(counts).astype(np.float64)
    left = right - counts
    low, high, distance = 0, values.size - 1, 1.0
    while True:
        minorant, majorant = _convex(values, left, low, high), _convex(values, -right, low, high)
        inside = np.arange(low, high + 1)
        below = np.interp(values[inside], values[minorant], left[minorant])
        above = np.interp(values[inside], values[majorant], right[majorant])
        # Only corners of either curve can have the widest gap.
        corners = distinct(np.concatenate([minorant, majorant])) - low
        widest = int(corners[np.argmax((above - below)[corners])])
        if above[widest] - below[widest] <= distance:
            return distance / (2 * ordered.size)
        new_low = int(minorant[minorant <= widest + low].max())
        new_high = int(majorant[majorant >= widest + low].min())
        # The new ends do not count: one of them may be the mode, where the unimodal distribution jumps as well.
        before = right[low:new_low] - below[: new_low - low]
        after = above[new_high + 1 - low :] - left[new_high + 1 : high + 1]
        distance = max(distance, float(before.max(initial=0.0)), float(after.max(initial=0.0)))
        if (new_low, new_high) == (low, high):
            return distance / (2 * ordered.size)
        low, high = new_low, new_high


def _convex(x: Floats, y: Floats, low: int, high: int) -> npt.NDArray[np.int64]:
    """Indexes of the corners of the greatest convex minorant of (x, y) from ``low`` to ``high``."""
    kept: list[int] = []
    for at in range(low, high + 1):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[at] - x[b]) < (y[at] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(at)
    return np.array(kept, dtype=np.int64)


def _thinned(ordered: Floats) -> Floats:
    if ordered.size <= MAX_VALUES:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, MAX_VALUES).round().astype(np.int64)]


def _humps(ordered: Floats) -> tuple[float, float, float] | None:
    """Places of two humps and of the valley between them, or None."""
    from scipy.ndimage import gaussian_filter1d  # large, and most runs are no soak

    edges = np.arange(ordered[0] - 0.3, ordered[-1] + 0.3 + STEP, STEP)
    counts = np.histogram(ordered, edges)[0].astype(np.float64)
    middles = (edges[:-1] + edges[1:]) / 2
    found: tuple[float, float, float] | None = None
    for width in WIDTHS:
        density = gaussian_filter1d(counts, width / STEP)
        peaks = _standing_out(density, counts)
        pairs = [
            (first, second)
            for first in peaks
            for second in peaks
            if middles[second] - middles[first] >= np.log(MIN_RATIO)
        ]
        if not pairs:
            break
        first, second = max(pairs, key=lambda pair: min(density[pair[0]], density[pair[1]]))
        valley = first + int(np.argmin(density[first : second + 1]))
        found = float(middles[first]), float(middles[second]), float(middles[valley])
        if len(peaks) == 2:
            break
    return found


def _standing_out(density: Floats, counts: Floats) -> list[int]:
    """Peaks that rise to twice the valleys beside them, with enough values between these valleys."""
    from scipy.signal import find_peaks

    peaks, about = find_peaks(density, prominence=0.0)
    total = counts.sum()
    return [
        int(peak)
        for peak, prominence, left, right in zip(
            peaks, about["prominences"], about["left_bases"], about["right_bases"], strict=True
        )
        if prominence >= VALLEY * density[peak] and counts[left : right + 1].sum() >= MIN_SHARE * total
    ]

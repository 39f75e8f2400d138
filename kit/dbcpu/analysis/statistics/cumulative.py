"""Piecewise linear cumulative curves over time, and how they are built from intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Curve:
    """A cumulative quantity over time; flat before the first and after the last point."""

    times: Floats
    values: Floats

    def between(self, from_s: Floats, to_s: Floats) -> Floats:
        """What was gained in each interval."""
        if not self.times.size:
            return np.zeros_like(from_s)
        return np.asarray(np.interp(to_s, self.times, self.values) - np.interp(from_s, self.times, self.values))

    def during(self, from_s: float, to_s: float) -> float:
        """The same of one interval."""
        return float(self.between(np.array([from_s]), np.array([to_s]))[0])


FLAT = Curve(np.zeros(0), np.zeros(0))


class Curves:
    """A cumulative curve for each of some keys (CPUs); nothing is gained where there is none."""

    def __init__(self, curves: Mapping[int, Curve]) -> None:
        kept = {key: curve for key, curve in sorted(curves.items()) if curve.times.size}
        self.keys = np.array(list(kept), dtype=np.int64)
        self._first = np.array([curve.times[0] for curve in kept.values()])
        self._last = np.array([curve.times[-1] for curve in kept.values()])
        # One after the other on one axis, so that one search finds the moments of all.
        length = self._last - self._first
        self._begin = np.cumsum(length + 1.0) - length
        shifts = self._begin - self._first
        lanes = [curve.times + shift for curve, shift in zip(kept.values(), shifts, strict=True)]
        self._times = np.concatenate([*lanes, np.zeros(0)])
        self._values = np.concatenate([*(curve.values for curve in kept.values()), np.zeros(0)])

    def between(self, keys: Keys, from_s: Floats, to_s: Floats) -> Floats:
        """What the curve of each key gained in its interval."""
        if not self.keys.size:
            return np.zeros_like(from_s)
        lane = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.asarray((self._at(lane, to_s) - self._at(lane, from_s)) * (self.keys[lane] == keys))

    def _at(self, lane: Keys, moments: Floats) -> Floats:
        within = np.clip(moments, self._first[lane], self._last[lane]) - self._first[lane]
        return np.asarray(np.interp(within + self._begin[lane], self._times, self._values))


def spread(from_s: Floats, to_s: Floats, amounts: Floats) -> Curve:
    """Cumulative amount when each is spread evenly over its own interval."""
    length = to_s - from_s
    rates = np.divide(amounts, length, out=np.zeros_like(amounts), where=length > 0)
    edges = np.concatenate([from_s, to_s])
    order = np.argsort(edges, kind="stable")
    times, rate = edges[order], np.cumsum(np.concatenate([rates, -rates])[order])
    return Curve(times, np.concatenate([[0.0], np.cumsum(np.diff(times) * rate[:-1])]))


def spread_by(keys: Keys, from_s: Floats, to_s: Floats, amounts: Floats) -> Curves:
    """The same for each key."""
    rows = {int(key): np.asarray(keys == key) for key in np.unique(keys)}
    return Curves({key: spread(from_s[here], to_s[here], amounts[here]) for key, here in rows.items()})


def slices(times: Sequence[float], amounts: Mapping[int, Sequence[float]]) -> Curves:
    """By key, cumulative amounts from one amount per slice between ``times``; none where the numbers do not fit."""
    ends = np.array(times, dtype=np.float64)
    fitting = {key: each for key, each in amounts.items() if len(each) + 1 == ends.size}
    totals = np.zeros((len(fitting), ends.size))
    if fitting:
        np.cumsum(list(fitting.values()), axis=1, out=totals[:, 1:])
    return Curves({key: Curve(ends, total) for key, total in zip(fitting, totals, strict=True)})

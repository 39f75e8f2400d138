"""Piecewise linear cumulative curves over time, and how they are built from intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.int64]
MANY = 1000
"""Keys from which on sorting them by 16 bits at a time is worth its steps."""
SHORTEST_S = 1e-9
"""An amount over less has no rate: the quotient can be beyond every number."""


class Curve(Struct, frozen=True):
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


class CumulativeCurves:
    """A cumulative curve for each of some keys (CPUs); nothing is gained where there is none.

    ``keys`` rise; ``starts``: where in ``times`` and ``values`` the points of each key begin.
    """

    def __init__(self, keys: Keys, starts: Keys, times: Floats, values: Floats) -> None:
        self.keys = keys
        ends = np.concatenate([starts[1:], [times.size]])[: starts.size]
        counts = ends - starts
        self._first, self._last = times[starts], times[ends - 1]
        # One after the other on one axis, so that one search finds the moments of all.
        length = self._last - self._first
        self._begin = (length + 1.0).cumsum() - length
        self._times = times + (self._begin - self._first).repeat(counts)
        self._values = values

    @classmethod
    def of(cls, curves: Mapping[int, Curve]) -> "CumulativeCurves":
        """Those of a mapping."""
        kept = {key: curve for key, curve in sorted(curves.items()) if curve.times.size}
        counts = np.array([curve.times.size for curve in kept.values()], dtype=np.int64)
        times = np.concatenate([*(curve.times for curve in kept.values()), np.zeros(0)])
        values = np.concatenate([*(curve.values for curve in kept.values()), np.zeros(0)])
        return cls(np.array(list(kept), dtype=np.int64), counts.cumsum() - counts, times, values)

    def between(self, keys: Keys, from_s: Floats, to_s: Floats) -> Floats:
        """What the curve of each key gained in its interval."""
        if not self.keys.size:
            return np.zeros_like(from_s)
        lane = np.minimum(self.keys.searchsorted(keys), self.keys.size - 1)
        first = self._first[lane]
        within = np.minimum(np.maximum((from_s, to_s), first), self._last[lane]) - first
        before, after = np.interp(within + self._begin[lane], self._times, self._values)
        return np.asarray((after - before) * (self.keys[lane] == keys))


NO_CURVES = CumulativeCurves.of({})


def or_zero(values: Floats) -> Floats:
    """The same with 0 for NaN."""
    return np.where(np.isnan(values), 0.0, values)


def order_by(keys: Keys, values: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The order by key and, for each, by value; equal ones stay as they are. Keys are 0 or more."""
    return np.lexsort((values, keys)) if keys.size < MANY else order_of(keys, values.argsort(kind="stable"))


def order_of(keys: Keys, order: npt.NDArray[np.intp] | None = None) -> npt.NDArray[np.intp]:
    """The order by key; equal ones stay in the ``order`` given. Keys are 0 or more."""
    if keys.size < MANY and order is None:
        return keys.argsort(kind="stable")
    order, left = np.arange(keys.size) if order is None else order, int(keys.max(initial=0))
    # NumPy sorts 16 bits without a comparison: so first by the lowest ones.
    for shift in range(0, max(1, left.bit_length()), 16):
        order = order[(keys >> shift).astype(np.uint16)[order].argsort(kind="stable")]
    return order


def spread_by(keys: Keys, from_s: Floats, to_s: Floats, amounts: Floats) -> CumulativeCurves:
    """For each key the cumulative amount when each is spread evenly over its own interval."""
    length = to_s - from_s
    rates = np.divide(amounts, length, out=np.zeros_like(amounts), where=length >= SHORTEST_S)
    edges, both = np.concatenate([from_s, to_s]), np.concatenate([keys, keys])
    order = order_by(both, edges)
    times, both = edges[order], both[order]
    rate = np.concatenate([rates, -rates])[order].cumsum()
    same = both[1:] == both[:-1]
    values = np.zeros(times.size)
    ((times[1:] - times[:-1]) * rate[:-1] * same).cumsum(out=values[1:])
    starts = np.concatenate([[True], ~same])[: times.size].nonzero()[0]
    return CumulativeCurves(both[starts], starts, times, values)


def slices(times: Sequence[float], amounts: Mapping[int, Sequence[float]]) -> CumulativeCurves:
    """By key, cumulative amounts from one amount per slice between ``times``; none where the numbers do not fit.

    Keys of which all amounts are 0 are left out, for nothing is gained there.
    """
    ends = np.array(times, dtype=np.float64)
    keys = sorted(key for key, each in amounts.items() if len(each) + 1 == ends.size)
    gained = np.array([amounts[key] for key in keys], dtype=np.float64)
    if not gained.any():
        return NO_CURVES
    some = gained.any(axis=1)
    many = int(some.sum())
    totals = np.zeros((many, ends.size))
    np.cumsum(gained[some], axis=1, out=totals[:, 1:])
    starts = np.arange(many) * ends.size
    return CumulativeCurves(np.array(keys, dtype=np.int64)[some], starts, np.tile(ends, many), totals.ravel())

"""Piecewise linear cumulative curves over time, and how they are built from intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


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


def spread(from_s: Floats, to_s: Floats, amounts: Floats) -> Curve:
    """Cumulative amount when each is spread evenly over its own interval."""
    length = to_s - from_s
    rates = np.divide(amounts, length, out=np.zeros_like(amounts), where=length > 0)
    edges = np.concatenate([from_s, to_s])
    order = np.argsort(edges, kind="stable")
    times, rate = edges[order], np.cumsum(np.concatenate([rates, -rates])[order])
    return Curve(times, np.concatenate([[0.0], np.cumsum(np.diff(times) * rate[:-1])]))


def slices(times: Sequence[float], amounts: Sequence[float]) -> Curve:
    """Cumulative amount from one amount per slice between ``times``; flat if the numbers do not fit."""
    if len(times) != len(amounts) + 1:
        return FLAT
    return Curve(np.array(times, dtype=np.float64), np.concatenate([[0.0], np.cumsum(amounts)]))

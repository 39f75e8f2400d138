"""How far hosts of one kind are apart: is an instance type a lottery?

The spread is the standard deviation of the logarithms of single-session rates, which for small ones is their CV. It has
what differs from host to host, from hour to hour, and the error of the runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.fleet.hosts import FleetHost, Kind, by_kind
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.statistics.interval import Interval

FEWEST = 3
LOTTERY = 0.05
"""Hosts of one kind whose CV is larger are no longer one kind to whoever pays for them."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class HostType:
    """Hosts of one kind: rates of a single session, their CV with its 95 % interval, and whether that is a lottery."""

    kind: Kind
    hosts: int
    slowest: float
    median: float
    fastest: float
    cv: float | None
    interval: Interval | None
    is_lottery: Answer


def host_types(hosts: Sequence[FleetHost]) -> tuple[HostType, ...]:
    """The kinds there are, that with most hosts first; below ``FEWEST`` hosts nothing is said of their spread."""
    return tuple(_host_type(kind, [each.solo_rate for each in group]) for kind, group in by_kind(hosts).items())


def _host_type(kind: Kind, rates: Sequence[float]) -> HostType:
    slowest, middle, fastest = min(rates), float(np.median(rates)), max(rates)
    if len(rates) < FEWEST:
        return HostType(kind, len(rates), slowest, middle, fastest, None, None, Answer.UNDECIDED)
    cv = float(np.std(np.log(rates), ddof=1))
    interval = _interval(cv, len(rates) - 1)
    answer = Answer.YES if interval.low > LOTTERY else Answer.NO if interval.high < LOTTERY else Answer.UNDECIDED
    return HostType(kind, len(rates), slowest, middle, fastest, cv, interval, answer)


def _interval(deviation: float, freedom: int) -> Interval:
    """Of a standard deviation, by the chi-square distribution."""
    from scipy.special import chdtri

    tail = (1 - CONFIDENCE) / 2
    low, high = (math.sqrt(freedom / float(chdtri(freedom, at))) for at in (tail, 1 - tail))
    return Interval(deviation * low, deviation * high)

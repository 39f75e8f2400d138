"""Which hosts are unlike their twins: hosts of the same hardware, hypervisor, database and work.

A host is compared with all others of its kind, in units of their spread, which has what differs from host to host and
from hour to hour; what its own rounds leave open takes its place where it is larger. Twice: with mean and standard
deviation, which few hosts need, and with median and median absolute deviation, which several odd ones do not hide. The
smaller p value counts, doubled (Bonferroni). So many hosts are looked at that some are far out by chance: the share of
false ones among those that are named is controlled.
Sources: Rousseeuw and Croux, JASA 88, 1993 (median absolute deviation); Benjamini and Hochberg, Journal of the Royal
Statistical Society B 57, 1995 (false discovery rate).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.fleet.hosts import FleetHost, by_kind
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.robust import deviation
from dbcpu.analysis.statistics.run_effect import Difference

FEWEST_TWINS = 4
"""Others of its kind, below which nothing is said of a host."""
FALSE_SHARE = 0.05
"""Of those that are named, so many may be false on average."""
WORTH_NAMING = 0.03
"""A smaller difference is not named, however sure it is."""
LEAST_SPREAD = 0.005
"""Hosts are not more alike than that; simulated ones may be."""
EFFICIENCY = 0.37
"""What a degree of freedom is worth to the median absolute deviation, against the standard deviation."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Unlike:
    """A host unlike its ``twins`` others: its rate over their median, with the 95 % interval, and the p value."""

    host: FleetHost
    twins: int
    rank: int
    ratio: float
    interval: Interval
    p: float


@dataclass(frozen=True, slots=True)
class Twins:
    """``unlike``: the slowest first. ``tested`` hosts had twins enough, ``alone`` had too few."""

    unlike: tuple[Unlike, ...]
    tested: int
    alone: int


def unlike_their_twins(hosts: Sequence[FleetHost]) -> Twins:
    """By the rate of a single session."""
    found: list[Unlike] = []
    alone = 0
    for group in by_kind(hosts).values():
        if len(group) <= FEWEST_TWINS:
            alone += len(group)
            continue
        found += [_against_others(group, at) for at in range(len(group))]
    named = _controlled(found)
    worth = [each for each in named if abs(each.ratio - 1) >= WORTH_NAMING]
    return Twins(tuple(sorted(worth, key=lambda each: each.ratio)), len(found), alone)


def _against_others(group: Sequence[FleetHost], at: int) -> Unlike:
    """``group`` is sorted, the fastest first."""
    host = group[at]
    others = np.log([each.solo_rate for index, each in enumerate(group) if index != at])
    own, least, many = math.log(host.solo_rate), max(LEAST_SPREAD, host.error), others.size
    # What others are compared by has an error of its own: that of a mean, or of a median.
    ways = (
        (own - float(np.mean(others)), float(np.std(others, ddof=1)), 1 / many, many - 1.0),
        (own - float(np.median(others)), deviation(others), math.pi / 2 / many, max(1.0, EFFICIENCY * (many - 1))),
    )
    tests = [Difference(shift, max(spread, least) * math.sqrt(1 + more), free) for shift, spread, more, free in ways]
    surest = min(tests, key=lambda each: each.p)
    return Unlike(
        host, many, at + 1, math.exp(surest.shift), surest.ratio_interval(CONFIDENCE), min(1.0, len(tests) * surest.p)
    )


def _controlled(found: Sequence[Unlike]) -> list[Unlike]:
    """Those that the step-up procedure of Benjamini and Hochberg names."""
    ordered = sorted(found, key=lambda each: each.p)
    last = 0
    for rank, each in enumerate(ordered, 1):
        if each.p <= FALSE_SHARE * rank / len(ordered):
            last = rank
    return ordered[:last]

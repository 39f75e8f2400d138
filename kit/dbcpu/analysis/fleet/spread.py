"""How far do hosts of a kind differ, beyond what their runs differ by chance? Pure; all of logarithms.

A host's figure is ``mean of its kind + host effect + run effect / sqrt(runs) + error of its rounds``. What one host's
runs differ by is known only where hosts were measured twice; until then an hour's luck and a host's nature are one.
Sources: Bonett, "Approximate confidence interval for standard deviation of nonnormal distributions", Computational
Statistics & Data Analysis 50, 2006; Searle, Casella and McCulloch, "Variance Components", 1992, ch. 3.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbcpu.analysis.fleet.hosts import FleetHost
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.robust import median
from dbcpu.analysis.statistics.run_effect import BetweenRuns, between_runs

DIFFERENT_CV = 0.05
"""Hosts of a type differ if they do so by more than this CV, by nature and not by chance."""
MIN_HOSTS = 5
"""Fewer say nothing of a spread: its interval is wider than a factor of six."""
MIN_FREEDOM = 3
"""A run effect by fewer degrees of freedom is not used."""


class Spread(Struct, frozen=True):
    """CV of hosts as measured, and without what their own runs differ by (``between``), with intervals (95 %).

    ``between`` None: no run effect is known, so that hosts and hours cannot be separated. ``answer``: do hosts of
    this kind differ? ``why``: what is lacking where that is undecided.
    """

    hosts: int
    median: float
    low: float
    high: float
    cv: float | None
    cv_interval: Interval | None
    between: float | None
    between_interval: Interval | None
    answer: Answer
    why: str = ""


def effect_of(hosts: Sequence[FleetHost], metric: str) -> BetweenRuns | None:
    """What runs of one host differ by, rounds' errors in it; None where too few hosts have several runs."""
    groups = [[[speed.log] for speed in each.speeds(metric)] for each in hosts]
    found = between_runs([each for each in groups if len(each) > 1])
    return found if found is not None and found.freedom >= MIN_FREEDOM else None


def own_error(host: FleetHost, metric: str, effect: BetweenRuns | None) -> float:
    """Standard error of a host's figure by its own rounds, and by the run effect where that is known."""
    runs = host.speeds(metric)
    rounds = [each.error**2 for each in runs if each.error is not None]
    square = float(np.mean(rounds)) if rounds else 0.0
    if effect is not None:
        square = max(square, effect.spread**2)
    return math.sqrt(square / max(1, len(runs)))


def spread(hosts: Sequence[FleetHost], metric: str, effect: BetweenRuns | None) -> Spread | None:
    """Of hosts that measured this metric; None where none did."""
    measured = [each for each in hosts if each.speeds(metric)]
    rates = [rate for each in measured if (rate := each.rate(metric)) is not None]
    if not rates:
        return None
    logs, middle = np.log(np.asarray(rates)), median(rates)
    seen = (len(rates), middle, min(rates), max(rates))
    if len(rates) < MIN_HOSTS:
        why = f"fewer than {MIN_HOSTS} hosts"
        return Spread(*seen, None, None, None, None, Answer.UNDECIDED, why)
    deviation, within = float(logs.std(ddof=1)), _bonett(logs)
    own = math.sqrt(float(np.mean([own_error(each, metric, effect) ** 2 for each in measured])))
    cv, interval = _cv(deviation), Interval(_cv(within.low), _cv(within.high))
    if effect is None:
        # Hosts cannot differ by more than hosts and hours together: a small spread answers even so.
        small = interval.high < DIFFERENT_CV
        why = "" if small else "too few hosts were measured twice to know how much of this is the hour"
        return Spread(*seen, cv, interval, None, None, Answer.NO if small else Answer.UNDECIDED, why)
    most = own * _upper(effect.freedom)
    between = Interval(_cv(_less(within.low, most)), _cv(_less(within.high, own / _upper(effect.freedom))))
    answer = (
        Answer.YES if between.low > DIFFERENT_CV else Answer.NO if between.high < DIFFERENT_CV else Answer.UNDECIDED
    )
    why = "more hosts decide" if answer is Answer.UNDECIDED else ""
    return Spread(*seen, cv, interval, _cv(_less(deviation, own)), between, answer, why)


def _bonett(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Interval:
    """95 % of a standard deviation, by the values' own kurtosis about a trimmed mean."""
    from dbcpu.analysis.statistics.special_functions import ndtri  # loads slowly

    count, z = values.size, float(ndtri(0.975))
    cut = int(count / (2 * math.sqrt(count - 4)))
    ordered = np.sort(values)
    trimmed = float(ordered[cut : count - cut].mean()) if count > 2 * cut else median(values)
    square = float(values.var(ddof=1))
    if square <= 0:
        return Interval(0.0, 0.0)
    kurtosis = count * float(((values - trimmed) ** 4).sum()) / ((count - 1) * square) ** 2
    small = count / (count - z)
    error = small * math.sqrt(max(0.0, (kurtosis - (count - 3) / count) / (count - 1)))
    middle = math.log(small * square)
    return Interval(math.exp((middle - z * error) / 2), math.exp((middle + z * error) / 2))


def _upper(freedom: int) -> float:
    """By how much a standard deviation with so many degrees of freedom may be too small (95 %)."""
    from dbcpu.analysis.statistics.special_functions import chdtri

    return math.sqrt(freedom / float(chdtri(freedom, 0.975)))


def _less(whole: float, part: float) -> float:
    return math.sqrt(max(0.0, whole**2 - part**2))


def _cv(deviation: float) -> float:
    """Of a log-normal quantity with this standard deviation of logarithms."""
    return math.sqrt(math.expm1(min(deviation, 5.0) ** 2))

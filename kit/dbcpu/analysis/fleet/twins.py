"""Which host is unlike its twins? Pure; all of logarithms of speeds.

Twins have the same CPU model, vCPUs, hypervisor, database kind and version, and did the same work. Every host is
compared with the others of its group, in two ways. With their median, in units of their scatter, to which distances
count up to ``BEND`` robust deviations: several odd hosts neither move the middle nor hide behind a scatter of their own
making; Student's t has ``FREEDOM`` of the twins' degrees of freedom, which holds its promise from ``MIN_TWINS`` on.
And with their mean and standard deviation, by which one odd host among few is found. The smaller p counts, weighted.
The scatter of twins has their runs' luck in it; a host that is known less well than they are is compared by its own
error. Of all hosts and speeds together the share of false discoveries is bounded. One that is far out by the scatter
of its twins, and not by its own error, is undecided: it is not said to be like them.
Sources: Benjamini and Hochberg, "Controlling the False Discovery Rate", Journal of the Royal Statistical Society B 57,
1995; Huber, "Robust Statistics", 1981, ch. 5 and 6 (bent distances); Holm, Scandinavian
Journal of Statistics 6, 1979 (weighted Bonferroni); Rousseeuw and Croux, JASA 88, 1993.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.fleet.hosts import ALONE, LOADED, FleetHost
from dbcpu.analysis.fleet.spread import effect_of, own_error
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.analysis.statistics.robust import NORMAL_CONSISTENT, median, median_factor
from dbcpu.analysis.statistics.run_effect import BetweenRuns

FALSE_DISCOVERIES = 0.05
"""Of the hosts that are named, on average at most this share is like its twins."""
MIN_TWINS = 5
"""Against fewer nothing is said: a host of six or fewer would have to be far out to be seen."""
MIN_DIFFERENCE = 0.02
"""A smaller one is not named, however sure it is."""
BEND, BENT = 2.5, 0.9776
"""Distances count up to so many robust deviations, and what their mean square then is for normal data."""
FREEDOM = 0.55
SHARE_OF_MEAN = 0.25
"""Of the chance of a false discovery that the comparison with the mean may use up: it is blind to several odd hosts."""
MIN_SPREAD = 1e-3
"""Twins that agree better than this do so by chance."""
MIN_LOSS = 0.01
"""A cause takes at least this share of time more than it takes from the twins."""


class TwinKind(Struct, frozen=True):
    """What twins have in common. ``level``: sessions of the speed that is compared. ``vcpus``: that the hosts show."""

    metric: str
    level: int
    cpu_model: str
    vcpus: int | None
    hypervisor: str
    database: str
    version: str
    work: tuple[str, ...]


class ComparedTwin(Struct, frozen=True):
    """A host against its twins: ``ratio`` of its speed to their median, with a 95 % interval; ``rank`` 1 is fastest.

    ``p`` is two-sided; ``unlike``: named, false discoveries controlled over all hosts. ``runs`` of this host.
    ``undecided``: further out than its twins differ, and its own rounds differ too much for it to be named.
    ``p_of_twins``: as ``p``, by the scatter of the twins alone.
    ``causes``: (name, its share of time, the twins' median share), the largest difference first. ``differs``: settings
    that most twins have otherwise, in words. ``run_cause``: what its run lost most to; '' where most twins lost most to
    the same.
    """

    host: str
    kind: TwinKind
    ratio: float
    interval: Interval
    rank: int
    twins: int
    p: float
    p_of_twins: float
    runs: int
    unlike: bool = False
    undecided: bool = False
    causes: tuple[tuple[str, float, float], ...] = ()
    differs: tuple[str, ...] = ()
    run_cause: Cause | Literal[""] = ""

    @property
    def metric(self) -> str:
        return self.kind.metric

    @property
    def slower(self) -> bool:
        """Whether the host is below the median of its twins."""
        return self.ratio < 1


class TooFew(Struct, frozen=True):
    """A group of which nothing can be said."""

    kind: TwinKind
    hosts: tuple[str, ...]


class Twins(Struct, frozen=True):
    """Every comparison, those of hosts that are unlike first, the slowest first; and groups that are too small.

    ``detectable``: by metric the relative difference that would typically have been seen, with a power of 80 %.
    """

    compared: tuple[ComparedTwin, ...]
    too_few: tuple[TooFew, ...]
    detectable: Mapping[str, float]

    @property
    def unlike(self) -> tuple[ComparedTwin, ...]:
        """The comparisons that show a host to be unlike its twins."""
        return tuple(each for each in self.compared if each.unlike)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Hosts that are named for no speed and undecided for one, the slowest first."""
        named = {each.host for each in self.unlike}
        return tuple(dict.fromkeys(each.host for each in self.compared if each.undecided and each.host not in named))


def twins(hosts: Sequence[FleetHost], share: float = FALSE_DISCOVERIES) -> Twins:
    """Compare every host with its twins; ``share`` of those named may be false on average."""
    found: list[ComparedTwin] = []
    too_few: list[TooFew] = []
    seen: dict[str, list[float]] = {}
    for metric in (ALONE, LOADED):
        effect = effect_of(hosts, metric)
        groups: dict[TwinKind, list[FleetHost]] = {}
        for each in hosts:
            if each.speeds(metric):
                groups.setdefault(_kind(each, metric), []).append(each)
        for kind, members in groups.items():
            if len(members) <= MIN_TWINS:
                too_few.append(TooFew(kind, tuple(host.name for host in members)))
                continue
            compared, detectable = _compared(kind, members, effect)
            found += compared
            seen.setdefault(metric, []).append(detectable)
    named = benjamini_hochberg([one.p for one in found], share)
    judged = [_judged(one, is_named, share / len(found)) for one, is_named in zip(found, named, strict=True)]
    judged.sort(key=lambda one: (not one.unlike, one.ratio, one.host))
    return Twins(tuple(judged), tuple(too_few), {metric: median(known) for metric, known in seen.items()})


def _judged(one: ComparedTwin, is_named: bool, max_p: float) -> ComparedTwin:
    """``max_p``: of a host that is far out by its twins' scatter alone, Bonferroni's over all comparisons."""
    if abs(math.log(one.ratio)) < math.log1p(MIN_DIFFERENCE):
        return one
    return replace(one, unlike=is_named, undecided=not is_named and one.p_of_twins <= max_p)


def benjamini_hochberg(p: Sequence[float], share: float) -> list[bool]:
    """Which of the tests are discoveries, of which on average at most ``share`` are false."""
    ordered = sorted(range(len(p)), key=lambda at: p[at])
    last = max((place for place, at in enumerate(ordered, 1) if p[at] <= share * place / len(p)), default=0)
    found = [False] * len(p)
    for at in ordered[:last]:
        found[at] = True
    return found


def _kind(host: FleetHost, metric: str) -> TwinKind:
    level = host.speeds(metric)[-1].level
    return TwinKind(
        metric, level, host.cpu_model, host.host_vcpus, host.hypervisor, host.database, host.version, host.work
    )


def _compared(
    kind: TwinKind, members: Sequence[FleetHost], effect: BetweenRuns | None
) -> tuple[list[ComparedTwin], float]:
    """All of a group, and the difference that would typically have been seen."""
    logs = np.log(np.asarray([each.rate(kind.metric) for each in members], dtype=np.float64))
    own = np.asarray([own_error(each, kind.metric, effect) for each in members])
    common = [_losses(each, kind.metric) for each in members]
    usual = {
        name: median([each.get(name, 0.0) for each in common]) for name in {key for each in common for key in each}
    }
    settings = _usual([each.settings for each in members])
    lost_to = _usual([{"to": each.runs[-1].cause} for each in members])
    ranks = np.argsort(np.argsort(-logs, kind="stable"), kind="stable") + 1
    found, detectable = [], []
    for at, host in enumerate(members):
        others, errors = np.delete(logs, at), np.delete(own, at)
        middle, scatter, freedom = _centre_and_scatter(others)
        of_median = scatter * median_factor(others.size) / math.sqrt(others.size)
        shift, usual_error = float(logs[at]) - middle, median(errors)
        expected = math.hypot(_of_one(scatter, own[at], usual_error), of_median)
        mean, deviation = float(others.mean()), max(MIN_SPREAD, float(others.std(ddof=1)))
        of_one = _of_one(deviation, own[at], usual_error)
        by_mean = (float(logs[at]) - mean) / math.hypot(of_one, deviation / math.sqrt(others.size))
        p = min(_p(shift / expected, freedom) / (1 - SHARE_OF_MEAN), _p(by_mean, others.size - 1) / SHARE_OF_MEAN, 1.0)
        # Without a known run effect an hour's luck may be all that twins differ by.
        its_own = max(float(own[at]), 0.0 if effect is not None else scatter)
        width = Chance(math.hypot(its_own, of_median), freedom).passed_by(0.025)
        detectable.append(math.expm1(Chance(expected, freedom).detectable(FALSE_DISCOVERIES)))
        found.append(
            ComparedTwin(
                host=host.name,
                kind=kind,
                ratio=math.exp(shift),
                interval=Interval(math.exp(shift - width), math.exp(shift + width)),
                rank=int(ranks[at]),
                twins=others.size,
                p=p,
                p_of_twins=_p(shift / math.hypot(scatter, of_median), freedom),
                runs=len(host.speeds(kind.metric)),
                causes=_causes(common[at], usual) if shift < 0 else (),
                differs=tuple(
                    f"{name} {value} (twins: {settings[name]})"
                    for name, value in sorted(host.settings.items())
                    if name in settings and value != settings[name]
                ),
                run_cause="" if host.runs[-1].cause == lost_to.get("to") else host.runs[-1].cause,
            )
        )
    return found, median(detectable)


def _centre_and_scatter(values: Floats) -> tuple[float, float, float]:
    """Median, standard deviation with distances bent, and its degrees of freedom."""
    middle = median(values)
    apart = np.abs(values - middle)
    rough = NORMAL_CONSISTENT * median(apart) * (1 + 0.9 / values.size)
    square = float((np.minimum(apart, BEND * rough) ** 2).sum()) / (values.size - 1) / BENT
    return middle, max(MIN_SPREAD, math.sqrt(square)), max(1.0, FREEDOM * (values.size - 1))


def _of_one(scatter: float, own: float, usual: float) -> float:
    """What a host may be off by: as its twins, or by what they differ by beyond their errors and its own error."""
    return math.sqrt(max(scatter**2, max(0.0, scatter**2 - usual**2) + own**2))


def _p(distance: float, freedom: float) -> float:
    from dbcpu.analysis.statistics.special_functions import stdtr  # loads slowly

    return float(2 * stdtr(freedom, -abs(distance)))


def _losses(host: FleetHost, metric: str) -> Mapping[str, float]:
    """Shares of time by name, the mean over its runs."""
    runs = host.speeds(metric)
    names = {name for each in runs for name in each.losses}
    return {name: sum(each.losses.get(name, 0.0) for each in runs) / len(runs) for name in names}


def _causes(own: Mapping[str, float], usual: Mapping[str, float]) -> tuple[tuple[str, float, float], ...]:
    more = [(name, share, usual[name]) for name, share in own.items() if share - usual[name] >= MIN_LOSS]
    return tuple(sorted(more, key=lambda each: each[2] - each[1]))


def _usual(members: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """By name the value that more than half of the twins have."""
    counts = Counter(chain.from_iterable(each.items() for each in members))
    return {name: value for (name, value), count in counts.items() if 2 * count > len(members)}

"""Between which measured levels may the host do more than at the best of them? Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbcpu.analysis.levels.lasting_throughput import lasting_by_level
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.scaling.falling_throughput import WORTH_SAYING

FULL = 0.97
"""Share of the CPUs (or the quota) that the best level does: no other does more."""
_Point = tuple[float, float]


class UnmeasuredPeak(Struct, frozen=True):
    """``between``: first and last level, none of them measured, at which more may be done.

    ``at_most``: at most so many times what the best level does; None where that is not known.
    """

    between: tuple[int, int]
    at_most: float | None = None


def unmeasured_peak(
    levels: Sequence[LevelView],
    curve: Scaling,
    vcpus: int | None,
    cores: int | None,
    room: float | None,
    cpus: int,
) -> UnmeasuredPeak | None:
    """None where nothing says so.

    Where throughput falls, by what the advice goes by (``Fall.between``). Below a quota (``_below_quota``). Without a
    fitted curve also where a parabola through three levels, up to the cores shown or with the best one, has its top
    there, above what the interval of the effective cores holds (5 % above all levels without one): what turbo makes of
    throughput, also of one that second threads then raise again. No sessions do nothing. Beyond ``room`` (the vCPUs, or
    the quota) levels do what ``room`` does; between the cores shown and the vCPUs the host is a straight line.

    ``cpus``: of the host, those that sessions may use; 0: unknown. Under a quota ``vcpus`` are that, rounded up.
    """
    if room is None or curve.effective_cores is None or curve.effective_cores >= FULL * room:
        return None
    fall = curve.fall
    if fall is not None and fall.between is not None and fall.best_level in (None, fall.from_level):
        return UnmeasuredPeak(fall.between)
    lasting = lasting_by_level(levels, vcpus)
    within = curve.effective_cores_interval
    beyond = within.high / curve.effective_cores if within else 1 + WORTH_SAYING
    below = _below_quota(lasting, cpus, room, beyond)
    return below if below or curve.fit_error is not None else _of_parabola(lasting, vcpus, cores, room, beyond)


def _below_quota(lasting: Mapping[int, float], cpus: int, room: float, beyond: float) -> UnmeasuredPeak | None:
    """Where sessions that the quota stops lose more than as many as it has room for would.

    Of 7 sessions under a quota of 6.2 CPUs each is stopped for 11 % of the time, and shares its core while it runs. 6
    are never stopped. They do at most what 7 do while they run, for who has fewer beside it is no slower.
    """
    below = max((level for level in lasting if level <= room), default=0)
    above = min((level for level in lasting if level > room), default=None)
    if above is None or room >= cpus or below + 1 > int(room):
        return None
    most = lasting[above] * min(above, cpus) / room / max(lasting.values())
    return UnmeasuredPeak((below + 1, int(room)), most) if most > beyond else None


def _of_parabola(
    lasting: Mapping[int, float], vcpus: int | None, cores: int | None, room: float, beyond: float
) -> UnmeasuredPeak | None:
    rates: dict[float, float] = {0.0: 0.0}
    for level, rate in lasting.items():
        at = min(float(level), room)
        if level == at or at not in lasting:  # sessions that take turns end one by one: their sum is no better known
            rates[at] = max(rate, rates.get(at, 0.0))
    points = sorted(rates.items())
    best = max(range(len(points)), key=lambda i: points[i][1])
    straight = cores if cores is not None and vcpus is not None and cores < vcpus else float("inf")
    for first in range(len(points) - 2):
        three = points[first : first + 3]
        top = _top(three) if first <= best <= first + 2 or three[-1][0] <= straight else None
        if top is None or top[1] <= beyond * points[best][1]:
            continue
        before, after = max(at for at, _ in three if at <= top[0]), min(at for at, _ in three if at > top[0])
        if before + 1 <= after - 1 and before < straight:
            return UnmeasuredPeak((int(before) + 1, int(after) - 1))
    return None


def _top(three: Sequence[_Point]) -> _Point | None:
    """The top of the parabola through them, where it lies between them."""
    (a, low), (b, middle), (c, high) = three
    rise, slope = (middle - low) / (b - a), (high - middle) / (c - b)
    bend = (slope - rise) / (c - a)
    if bend >= 0:
        return None
    at = (a + b) / 2 - rise / (2 * bend)
    return (at, low + (at - a) * (rise + bend * (at - b))) if a < at < c else None

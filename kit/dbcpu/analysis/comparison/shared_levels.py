"""Which levels of two sides belong together: the same N, or on hosts of different size the same load.

Load is sessions per core, or per vCPU. Two levels have the same load where it differs by at most ``SAME_LOAD`` and both
are below, at or above their number of cores (and vCPUs): there one session more is another situation.
"""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from dbcpu.analysis.comparison.measured_run import MeasuredSide, same_sitting, same_up_to
from dbcpu.analysis.results.comparison import PER_CORE, PER_SESSION, PER_VCPU
from dbcpu.errors import UsageError

SAME_LOAD = 0.10

Pairs = Sequence[tuple[int, int]]


class SpreadLevels(Struct, frozen=True):
    """Where max/min is compared: (N of one, N of the other), and the N of the other that are left out.

    Left out is where one side has more sessions than vCPUs and the other has not.
    """

    pairs: tuple[tuple[int, int], ...] = ()
    left_out: tuple[int, ...] = ()

    def of(self, at: int) -> list[int]:
        """The levels of the one (0) or the other (1)."""
        return [pair[at] for pair in self.pairs]


def load_unit(sides: Sequence[MeasuredSide], wanted: str | None = None) -> str:
    """By what levels are shared. Without ``wanted`` by N, unless a side shares no such level with the baseline.

    Raises:
        UsageError: the cores or vCPUs of a side, by which they are wanted, are not known.
    """
    if wanted is not None:
        unknown = next((each.name for each in sides if _units(each, wanted) is None), None)
        if unknown is not None:
            noun = "cores" if wanted == PER_CORE else "vCPUs"
            raise UsageError(
                f"the {noun} of {unknown} are not known, so its levels have no sessions per {wanted}; "
                f"give --{noun} {unknown}=N, or leave --levels-per out"
            )
        return wanted
    base, others = sides[0], sides[1:]
    if all(spread_levels(base, each).pairs for each in others):
        return PER_SESSION
    unit = unit_of_size(sides)
    return unit if unit and any(spread_levels(base, each, unit).pairs for each in others) else PER_SESSION


def unit_of_size(sides: Sequence[MeasuredSide]) -> str:
    """By what the hosts differ in size: PER_CORE, PER_VCPU where cores are not known, or ''."""
    for unit in (PER_CORE, PER_VCPU):
        counts = {_units(each, unit) for each in sides}
        if None not in counts:
            return unit if len(counts) > 1 else ""
    return ""


def spread_levels(one: MeasuredSide, other: MeasuredSide, unit: str = PER_SESSION) -> SpreadLevels:
    """The shared levels from where sessions begin to share cores until all vCPUs of a side are used.

    From the fewer cores, shown or not, to the fewer vCPUs, counted in ``unit``; without a topology every N beyond 1.
    Variants of one run keep what is left out of others: they change how the same sessions share the same host. Levels
    at which two of them are the same are none.
    """
    least = max(1, same_up_to(one, other))
    both = [(own, its) for own, its in shared_levels(one, other, unit) if own > least and its > least]
    cores = [load for each in (one, other) if (load := _load_of(each, unit, each.cores_shared_from))]
    vcpus = [load for each in (one, other) if (load := _load_of(each, unit, each.vcpus))]
    if not cores or not vcpus:
        return SpreadLevels(tuple(both))
    of_one, of_other = _loads(one, unit), _loads(other, unit)
    within = [
        (own, its)
        for own, its in both
        if min(cores) <= max(of_one(own), of_other(its)) and min(of_one(own), of_other(its)) <= max(vcpus)
    ]
    if same_sitting(one, other):
        return SpreadLevels(tuple(within))
    kept = tuple(pair for pair in within if min(of_one(pair[0]), of_other(pair[1])) <= min(vcpus))
    return SpreadLevels(kept, tuple(pair[1] for pair in within if pair not in kept))


def compared_levels(one: MeasuredSide, other: MeasuredSide, unit: str) -> SpreadLevels:
    """Those of ``spread_levels``; where there is none, the shared levels at which each session can have a core.

    Of two variants that are the same at all of these the smallest at which they are not.
    """
    found = spread_levels(one, other, unit)
    if found.pairs or found.left_out:
        return found
    if alike := same_up_to(one, other):
        apart = [pair for pair in shared_levels(one, other, unit) if min(pair) > alike]
        return SpreadLevels(tuple(apart[:1]))
    most = [each.cores or each.vcpus or 0 for each in (one, other)]
    both = shared_levels(one, other, unit)
    return SpreadLevels(tuple(pair for pair in both if 1 < pair[0] < most[0] and 1 < pair[1] < most[1]))


def shared_levels(one: MeasuredSide, other: MeasuredSide, unit: str) -> Pairs:
    """(N of one, N of the other) of the same load, in their order: by N those that both have."""
    if unit == PER_SESSION:
        return [(level, level) for level in sorted(one.levels & other.levels)]
    if _units(one, unit) is None or _units(other, unit) is None:
        return []
    of_one, of_other = _loads(one, unit), _loads(other, unit)
    alike = _threads(one) == _threads(other)

    def apart(own: int, its: int) -> float:
        if _situation(one, own, unit, alike) != _situation(other, its, unit, alike):
            return math.inf
        return abs(math.log(of_one(own) / of_other(its)))

    pairs = []
    for own in sorted(one.levels):
        nearest = min(other.levels, key=lambda its: apart(own, its))
        # Nearest to each other: so no level is in two pairs, and no pairs cross.
        mutual = min(one.levels, key=lambda level: apart(level, nearest)) == own
        if mutual and apart(own, nearest) <= math.log1p(SAME_LOAD):
            pairs.append((own, nearest))
    return pairs


def units_of(cores: int | None, vcpus: int | None, unit: str) -> int | None:
    """What the sessions of a host are divided by; None where it is not known."""
    return {PER_CORE: cores, PER_VCPU: vcpus}.get(unit, 1)


def _units(side: MeasuredSide, unit: str) -> int | None:
    return units_of(side.cores, side.vcpus, unit)


def _load_of(side: MeasuredSide, unit: str, level: int | None) -> float:
    return (level or 0) / (_units(side, unit) or 1)


def _loads(side: MeasuredSide, unit: str) -> Callable[[int], float]:
    return lambda level: _load_of(side, unit, level)


def _threads(side: MeasuredSide) -> float | None:
    return side.vcpus / side.cores if side.vcpus and side.cores else None


def _situation(side: MeasuredSide, level: int, unit: str, alike: bool) -> list[int]:
    """Below (-1), at (0) or above (1) the cores and the vCPUs; only what is the unit, where threads per core differ."""
    counts = [side.cores, side.vcpus] if alike else [_units(side, unit)]
    return [(level > count) - (level < count) for count in counts if count]

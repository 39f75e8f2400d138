"""What switching second threads off costs, where a run shows it, beside the article that found no cost.

Two sessions on one core that each take s times as long do 2 / s times as much as one alone. A full host without second
threads then has s / 2 of its throughput: both follow from one figure, the ratio that was measured.
"""

from collections.abc import Iterator, Sequence

from dbcpu.analysis.results.comparison import LESS, MORE, THROUGHPUT, Comparison, Decision, Side, Variants
from dbcpu.formatting import percent, ranges, times

ARTICLE = "AWS EC2 CPU (in)consistency, part 4, of January 2017"
GAIN = 1.05
"""At a level at which SMT off does so much more it is named."""


def of_variants(found: Variants) -> Iterator[str]:
    """A sentence for each variant that leaves every core one thread and loses throughput by it."""
    first = found.first
    for each in found.variants[1:]:
        if not _halved(first.cores, first.vcpus, each.cores, each.vcpus):
            continue
        for one in each.decisions:
            if one.summary == THROUGHPUT and one.outcome == LESS and one.ratio:
                gains = [(row.level, row.ratio or 0.0) for row in each.rows if (row.ratio or 0.0) >= GAIN]
                yield _sentence(each.name, first.name, one.ratio, one.levels, gains)


def of_sides(comparison: Comparison) -> Iterator[str]:
    """The same of runs of one kind of CPU, whichever of the two is the baseline."""
    base = comparison.baseline
    for side in comparison.sides[1:]:
        if side.other_work or any(each.fact == "CPU" for each in side.differs):
            continue
        for one in side.decisions:
            if one.summary != THROUGHPUT or not one.ratio:
                continue
            if one.outcome == LESS and _is_off(side, base):
                yield _sentence(side.name, base.name, one.ratio, _off_first(one, base_is_on=True), ())
            if one.outcome == MORE and _is_off(base, side):
                yield _sentence(base.name, side.name, 1 / one.ratio, _off_first(one, base_is_on=False), ())


def _is_off(off: Side, on: Side) -> bool:
    return _halved(on.cores, on.vcpus, off.cores, off.vcpus)


def _halved(cores: int | None, vcpus: int | None, left_cores: int | None, left_vcpus: int | None) -> bool:
    """Whether the same cores are left with one thread each."""
    return bool(cores and vcpus and cores < vcpus and left_cores == left_vcpus == cores)


def _off_first(one: Decision, *, base_is_on: bool) -> str:
    """The levels in the order of the sentence; those of the decision have the baseline first."""
    levels = one.levels.split(" and ")
    return " and ".join(reversed(levels) if base_is_on else levels)


def _sentence(off: str, on: str, ratio: float, where: str, gains: Sequence[tuple[int, float]]) -> str:
    said = (
        f"The article that switched second threads off ({ARTICLE}) found its throughput maintained; here {off} has "
        f"{percent(1 - ratio)} less than {on} at {where}, since second threads do {percent(1 / ratio - 1)} more on "
        f"full cores (two sessions on one core take {times(2 * ratio)} as long each)"
    )
    if not gains:
        return f"{said}."
    least, most = min(ratio for _, ratio in gains), max(ratio for _, ratio in gains)
    by = times(most) if len(gains) == 1 else f"{times(least)} to {times(most)}"
    levels = ranges(level for level, _ in gains)
    return f"{said}; at N={levels} {off} does more ({by} by makespan), since nobody waits for slow sessions at the end."

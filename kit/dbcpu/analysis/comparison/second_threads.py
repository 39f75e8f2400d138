"""What switching second threads off costs, where a run shows it, beside the article that found no cost.

Two sessions on one core that each take s times as long do 2 / s times as much as one alone. A full host without second
threads then has s / 2 of its throughput: both follow from one figure, the ratio that was measured. This holds where
nothing but SMT differs, each side has a session on every vCPU, and these were seen to share cores.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import (
    LESS,
    MORE,
    THROUGHPUT,
    Comparison,
    Side,
    VariantResult,
    VariantRow,
    Variants,
)
from dbcpu.formatting import listed, percent, ranges, times
from dbcpu.record.plan import SMT_OFF

ARTICLE = "AWS EC2 CPU (in)consistency, part 4, of January 2017"
GAIN = 1.05
"""At a level at which SMT off does so much more it is named."""
SAME_SPEED = 0.05
"""Single sessions of one host are as fast with SMT as without, when nobody uses the other threads."""
SMT_FACTS = frozenset(
    {"SMT", "SMT control", "vCPUs", "online CPUs", "allowed CPUs", "host: cpuset", "host: affinity"}
    | {"host: boot_options", "host: simulated", "parameter cpu_count"}
)
"""What differs on one host with SMT on and off. A simulated host is described in words, which name the setting."""
TAKEN = (Cause.STEAL, Cause.THROTTLED, Cause.COMPETITOR, Cause.IRQ)
"""What takes CPU time from sessions, from a whole core more than from one of its two threads."""
MEASURING_FACTS = frozenset({"amount", "sampler", "tool version", "driver", "driver on the host", "variant"})


def of_variants(found: Variants) -> Iterator[str]:
    """A sentence where SMT off loses throughput on a host that was full and shared its cores."""
    first = found.first
    full = first.row(first.vcpus)
    for each in found.variants[1:]:
        halved = _halved(first.cores, first.vcpus, each.cores, each.vcpus)
        # Other variants leave second threads to the rest of the host.
        if each.name != SMT_OFF or not halved or full is None or full.cause != Cause.SHARED_CORE:
            continue
        for one in each.decisions:
            at_full = one.levels == f"N={first.vcpus}"
            if one.summary == THROUGHPUT and one.outcome == LESS and one.ratio and at_full:
                gains = tuple(_gains(each, first))
                waited = all(_waits_for_slow_sessions(first.row(level)) for level, _ in gains)
                rows = [row for under in (first, each) for row in under.rows if row.level <= (first.vcpus or 0)]
                lost_to = {cause for row in rows for cause in _of_each_round(row.level, dict(row.causes))}
                said = _sentence(each.name, first.name, one.ratio, one.levels, lost_to)
                yield f"{said}{_gained(each.name, gains, waited=waited)}."


def _gains(off: VariantResult, on: VariantResult) -> Iterator[tuple[int, float]]:
    """Levels at which whole rounds are shorter without second threads, and how many times as much they do."""
    for row in off.rows:
        other = on.row(row.level)
        if other and other.makespan and row.makespan / other.makespan >= GAIN:
            yield row.level, row.makespan / other.makespan


def _waits_for_slow_sessions(row: VariantRow | None) -> bool:
    """Whether sessions on shared cores end its rounds; under a quota it may be that they use it up with less work."""
    return row is not None and row.cause == Cause.SHARED_CORE and exceeds(row.max_over_min or 1.0)


def of_sides(comparison: Comparison) -> Iterator[str]:
    """The same of runs of one host, whichever of the two is the baseline."""
    base = comparison.baseline
    for side in comparison.sides[1:]:
        for on, off, outcome in ((base, side, LESS), (side, base, MORE)):
            if not _is_off(off, on) or not _is_one_host(side) or not _shares_only_on(on, off):
                continue
            for one in side.decisions:
                at_full = one.levels == f"N={base.vcpus} and N={side.vcpus}"
                if one.summary == THROUGHPUT and one.outcome == outcome and one.ratio and at_full:
                    ratio = one.ratio if off is side else 1 / one.ratio
                    lost_to = {*_lost_to(on), *_lost_to(off)}
                    yield f"{_sentence(off.name, on.name, ratio, f'N={off.vcpus} and N={on.vcpus}', lost_to)}."


def _is_off(off: Side, on: Side) -> bool:
    return _halved(on.cores, on.vcpus, off.cores, off.vcpus)


def _halved(cores: int | None, vcpus: int | None, left_cores: int | None, left_vcpus: int | None) -> bool:
    """Whether the same cores are left with one thread each, of two."""
    return bool(cores and vcpus == 2 * cores and left_cores == left_vcpus == cores)


def _is_one_host(side: Side) -> bool:
    """Whether nothing but SMT differs from the baseline: neither a fact, nor the clock, nor what others took."""
    alone = side.figure("solo").ratio
    undisturbed = not any(each.host_state for each in side.decisions)
    alike = {each.fact for each in side.differs} <= SMT_FACTS | MEASURING_FACTS
    return alike and not side.other_work and undisturbed and alone is not None and abs(alone - 1) <= SAME_SPEED


def _shares_only_on(on: Side, off: Side) -> bool:
    """Whether most sessions of the full host shared a core, and without second threads most lost nothing."""
    return _main_cause(on) == Cause.SHARED_CORE and _main_cause(off) == Cause.NONE


def _main_cause(side: Side) -> Cause | None:
    """Of the sessions at N = vCPUs; None if there are none."""
    causes = Counter(each.cause for each in side.points if each.level == side.vcpus)
    return max(causes, key=lambda each: causes[each], default=None)


def _lost_to(side: Side) -> Iterator[Cause]:
    for level in {each.level for each in side.points if each.level <= (side.vcpus or 0)}:
        yield from _of_each_round(level, Counter(each.cause for each in side.points if each.level == level))


def _of_each_round(level: int, sessions: Mapping[Cause, int]) -> Iterator[Cause]:
    """The causes that as many sessions have as there are rounds, or more."""
    yield from (cause for cause, many in sessions.items() if many * level >= sum(sessions.values()))


def _sentence(off: str, on: str, ratio: float, where: str, lost_to: Set[Cause]) -> str:
    """Without its full stop."""
    said = (
        f"The article that switched second threads off ({ARTICLE}) found its throughput maintained; here {off} has "
        f"{percent(1 - ratio)} less than {on} at {where}, since second threads do {percent(1 / ratio - 1)} more on "
        f"full cores (two sessions on one core take {times(2 * ratio)} as long each)"
    )
    taken = [cause.words for cause in TAKEN if cause in lost_to]
    return f"{said}; these figures include the CPU time that {listed(taken)} took" if taken else said


def _gained(off: str, gains: Sequence[tuple[int, float]], *, waited: bool) -> str:
    if not gains:
        return ""
    why = ", because no other work waits for slow sessions at the end" if waited else ""
    least, most = min(ratio for _, ratio in gains), max(ratio for _, ratio in gains)
    by = times(most) if len(gains) == 1 else f"{times(least)} to {times(most)}"
    levels = ranges(level for level, _ in gains)
    return f"; at N={levels} {off} does more ({by} by makespan){why}"

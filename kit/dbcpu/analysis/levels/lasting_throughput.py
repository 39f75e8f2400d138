"""Which throughput lasts: what does a host do for as long as all of these sessions are at work? Mrows/s.

Above the vCPUs, or a quota, whoever ends early leaves CPU time to others: the sum of rates is then more than the host
does, of sessions that are just even as well. What early ends leave is taken out (``rate_without_early_ends``).
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from dbcpu.analysis.levels.round_figures import RoundFigures, rate_by_groups, rate_without_early_ends
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.placement.held_cpus import held_groups
from dbcpu.analysis.placement.usable_cpus import cpu_time_per_s
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.analysis.statistics.robust import median_of_known
from dbcpu.record.header import TOGETHER


def even_beside_waits(even: Answer, busy: float) -> bool:
    """Whether nobody's end leaves much to others: of work that waits most of the CPU time was not waited for."""
    return even is Answer.YES and busy < 1


def with_throughput_that_lasts(
    found: LevelView, rounds: Sequence[Sequence[Timed]], context: RunContext, even: Answer
) -> LevelView:
    """Of the usable ``rounds`` of a level; see ``lasting_throughput``: it counts the one level alone."""
    cpu_s, lasting = cpu_time_per_s(context.record), found.throughput
    cpu_s = cpu_s if cpu_s is None or found.held_on is None else min(cpu_s, float(found.held_on))
    busy = context.reference.busy if context.reference else 1.0
    if even_beside_waits(even, busy):
        return replace(found, lasting_throughput=lasting)
    groups = held_groups(context.record) if found.variant == TOGETHER else ()
    if len(groups) > 1 and (cpu_s is None or cpu_s >= sum(each.cpus for each in groups)):
        # Who ends early leaves CPU time to those on the same CPUs alone.
        lasting = median_of_known(rate_by_groups(members, context.rows, groups) for members in rounds)
    elif cpu_s is not None and found.level > cpu_s:
        lasting = median_of_known(
            rate_without_early_ends(members, context.rows, cpu_s, context.works) for members in rounds
        )
    return replace(found, lasting_throughput=lasting)


def rate_sum_lasts(level: LevelView, vcpus: int | None) -> bool:
    """Whether the sum of rates is what the host does for as long as all of these sessions are at work.

    A level without a whole round has no such sum.
    """
    if level.throughput is None:
        return False
    return level.even is Answer.YES or (vcpus is not None and level.level <= vcpus)


def lasting_throughput(rate_sum: float | None, otherwise: float | None = None) -> float:
    """The sum of rates, and at most ``otherwise`` where that is known; 0 for unknown."""
    return min((value for value in (rate_sum, otherwise) if value), default=0.0)


def lasting_by_level(
    levels: Sequence[LevelView], vcpus: int | None, wanted: float | None = None, cpus: int | None = None
) -> dict[int, float]:
    """Of the levels of one variant, by level.

    The makespan's throughput counts CPUs that stood idle in the end, and is less: it is taken only where a level lasts
    that has sessions enough (``wanted``); without ``wanted`` each level counts by itself. It is not taken up to the
    ``cpus`` that a quota, or the plan, leaves less of: whoever is on a slow one stays slow, and waits for no turn.
    """
    enough = wanted is not None and any(rate_sum_lasts(each, vcpus) and each.level >= wanted for each in levels)
    return {
        each.level: lasting_throughput(
            each.throughput,
            each.makespan_throughput
            if enough and each.level > (cpus or 0) and not rate_sum_lasts(each, vcpus)
            else each.lasting_throughput,
        )
        for each in levels
    }


def lasting_by_round(
    rounds: Sequence[RoundFigures], levels: Sequence[LevelView], busy: float, apart: Collection[int] = ()
) -> tuple[RoundFigures, ...]:
    """The rounds of one variant with the throughput that lasts at their level.

    ``busy``: see ``Reference``. ``apart``: levels whose sessions did not compute at once, which have the makespan's.
    """
    stands = {each.level for each in levels if even_beside_waits(each.even, busy)}
    return tuple(
        replace(
            each,
            throughput=each.makespan
            if each.level in apart
            else lasting_throughput(each.throughput, None if each.level in stands else each.without_early_ends),
        )
        for each in rounds
    )

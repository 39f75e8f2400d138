"""The figures of one round over its valid sessions: what levels are the medians of, and comparisons resample."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.measured_rounds import is_whole, usable
from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.levels.throughput import RoundWork, rate_sum, speed_in_turns
from dbcpu.analysis.levels.two_groups import noise_limit, widest_gap
from dbcpu.analysis.placement.held_cpus import SessionsOnCpus
from dbcpu.analysis.placement.usable_cpus import cpu_time_per_s
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, timed, times_of
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.robust import median_of_known, middle_of
from dbcpu.record.rounds import RunRecord

Works = dict[int, RoundWork]
"""By the order of the round."""


class RoundFigures(Struct, frozen=True):
    """One round. Rates in Mrows/s, times in seconds per execution.

    ``slowest_s``, ``fastest_s``, ``slow`` (sessions in a slow group) and ``gap_ratio``: None where only the total rate
    is known; ``max_over_min`` and ``cv`` also for a single session. ``throughput``: the sum of rates, ``makespan``: all
    work over the time until the last session ended. ``connect_s`` and ``without_early_ends`` (see
    ``rate_without_early_ends``; 0 for not known) are made by ``figures_of_rounds`` alone.
    """

    level: int
    repeat: int
    median_s: float
    slowest_s: float | None
    fastest_s: float | None
    max_over_min: float | None
    cv: float | None
    slow: float | None
    gap_ratio: float | None
    mrows_per_s: float
    throughput: float
    makespan: float
    connect_s: float | None = None
    without_early_ends: float = 0.0

    def with_times(self, factor: float) -> "RoundFigures":
        """As if every execution had taken ``factor`` times as long."""
        return replace(
            self,
            median_s=self.median_s * factor,
            slowest_s=self.slowest_s and self.slowest_s * factor,
            fastest_s=self.fastest_s and self.fastest_s * factor,
            mrows_per_s=self.mrows_per_s / factor,
            throughput=self.throughput / factor,
            makespan=self.makespan / factor,
            without_early_ends=self.without_early_ends / factor,
        )


def round_figures(members: Sequence[Timed], min_gap: float, rows: int, kept: Works | None = None) -> RoundFigures:
    """Of the valid sessions of a round; ``rows`` is the work in one execution. ``kept``: as for ``work``."""
    elapsed = times_of(members)
    ordered = sorted(elapsed)
    fastest_s, slowest_s, count = ordered[0], ordered[-1], len(ordered)
    ratio, slowest_of_fast = widest_gap(elapsed, min_gap)
    each = members[0].round
    shares = each.shares_known
    several, known = count > 1 and shares, shares or count == 1
    done = _work_of(members, {} if kept is None else kept)
    makespan_s = max(done.ends_s.tolist()) - min(done.starts_s.tolist())
    slow = 0.0 if slowest_of_fast is None else float(count - bisect_right(ordered, slowest_of_fast))
    return RoundFigures(
        level=each.level,
        repeat=each.repeat,
        median_s=middle_of(ordered),
        slowest_s=slowest_s if known else None,
        fastest_s=fastest_s if known else None,
        max_over_min=slowest_s / fastest_s if several else None,
        cv=few_values.deviation(elapsed) / few_values.mean(elapsed) if several else None,
        slow=slow if shares else None,
        gap_ratio=ratio if shares else None,
        mrows_per_s=middle_of([rows / one_s for one_s in ordered[(count - 1) // 2 : count // 2 + 1]]) / 1e6,
        throughput=rate_sum(done, rows),
        makespan=rows * done.from_s.size / makespan_s / 1e6,
    )


def rate_without_early_ends(members: Sequence[Timed], rows: int, room: float, kept: Works) -> float:
    """The sum of rates of a round where run queues even out, so that whoever ends leaves its turns to all; Mrows/s.

    ``room``: so many sessions use all CPU time that there is: the vCPUs, or the quota if less.
    """
    return rate_sum(_work_of(members, kept), rows, partial(speed_in_turns, room))


def rate_by_groups(members: Sequence[Timed], rows: int, groups: Sequence[SessionsOnCpus]) -> float:
    """The same of sessions in groups that share no CPU; a group without a session here adds nothing."""
    own = [([each for each in members if each.session.ordinal in group.ordinals], group.cpus) for group in groups]
    return sum(rate_without_early_ends(some, rows, float(cpus), {}) for some, cpus in own if some)


def figures_by_round(record: RunRecord) -> tuple[RoundFigures, ...]:
    """The usable whole rounds of a run of one variant, by level and then in the order they ran."""
    sessions = timed(record)
    rows, cpu_s = record.header.plan.workload.rows, cpu_time_per_s(record)
    return figures_of_rounds(sessions, reference(record, sessions), rows, cpu_s)


def figures_of_rounds(
    sessions: Sequence[Timed], known: Reference | None, rows: int, cpu_s: float | None
) -> tuple[RoundFigures, ...]:
    """The same of sessions, against a reference; ``rows``: the work of one execution, ``cpu_s``: CPU time a second."""
    min_gap = noise_limit(known)
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in by_round(sessions):
        rounds.setdefault(each.level, []).append(members)
    found = []
    for members in (members for level in sorted(rounds) for members in filter(is_whole, usable(rounds[level]))):
        works: Works = {}
        figures = round_figures(members, min_gap, rows, works)
        less = rate_without_early_ends(members, rows, cpu_s, works) if cpu_s else 0.0
        connect_s = median_of_known(member.session.connect_s for member in members)
        found.append(replace(figures, connect_s=connect_s, without_early_ends=less))
    return tuple(found)


def at_level(figures: Sequence[RoundFigures], level: int | None) -> tuple[RoundFigures, ...]:
    """Those of one level."""
    return tuple(each for each in figures if each.level == level)


def work(sessions: Sequence[Timed], variant: str, kept: Works | None = None) -> dict[int, list[RoundWork]]:
    """What the sessions of each usable whole round of a variant did, by level; ``kept``: what is known of some."""
    kept = {} if kept is None else kept
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in by_round(sessions):
        if each.variant == variant:
            rounds.setdefault(each.level, []).append(members)
    whole = {level: [*filter(is_whole, usable(rounds[level]))] for level in sorted(rounds)}
    return {level: [_work_of(members, kept) for members in some] for level, some in whole.items() if some}


def _work_of(members: Sequence[Timed], kept: Works) -> RoundWork:
    """Of the valid sessions of a round."""
    order = members[0].round.order
    if order not in kept:
        kept[order] = RoundWork.of([each.span for each in members if each.span])
    return kept[order]


def middle_counts(counts: Iterable[float | None]) -> tuple[int, int] | None:
    """The two middle ones of a count of sessions, one per round, of which the median is the mean; None of none.

    Of rounds with two and with four slow sessions the median, three, was seen in none.
    """
    known = sorted(int(each) for each in counts if each is not None)
    return (known[(len(known) - 1) // 2], known[len(known) // 2]) if known else None

"""The figures of one round over its valid sessions, and the work that they did."""

from bisect import bisect_right
from collections.abc import Sequence

from dbcpu.analysis.levels.measured_rounds import spans_of, usable
from dbcpu.analysis.levels.throughput import RoundWork, rate_sum, speed_in_turns
from dbcpu.analysis.levels.two_groups import split
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round, times_of
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.robust import middle_of

Works = dict[int, RoundWork]
"""By the order of the round."""


def work(sessions: Sequence[Timed], variant: str, kept: Works | None = None) -> dict[int, list[RoundWork]]:
    """What the sessions of each usable round of a variant did, by level; ``kept``: what is known of some already."""
    kept = {} if kept is None else kept
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in by_round(sessions):
        if each.variant == variant:
            rounds.setdefault(each.level, []).append(members)
    return {level: [_work_of(members, kept) for members in usable(rounds[level])] for level in sorted(rounds)}


def _work_of(members: Sequence[Timed], kept: Works) -> RoundWork:
    """Of the valid sessions of a round."""
    order = members[0].round.order
    if order not in kept:
        kept[order] = RoundWork.of(spans_of(members))
    return kept[order]


def round_figures(
    members: Sequence[Timed], min_gap: float, rows: int, kept: Works | None = None
) -> dict[str, float | None]:
    """The figures of one round over its valid sessions; ``rows`` is the work in one execution. Rates in Mrows/s.

    ``kept``: as for ``work``.
    """
    elapsed = times_of(members)
    ordered = sorted(elapsed)
    fastest_s, slowest_s, count = ordered[0], ordered[-1], len(ordered)
    ratio, slowest_of_fast = split(elapsed, min_gap)
    shares = members[0].round.shares_known
    several = count > 1 and shares
    done = _work_of(members, {} if kept is None else kept)
    makespan_s = float(done.ends_s.max() - done.starts_s.min())
    return {
        "median_s": middle_of(ordered),
        "slowest_s": slowest_s if shares or count == 1 else None,
        "fastest_s": fastest_s if shares or count == 1 else None,
        "max_over_min": slowest_s / fastest_s if several else None,
        "cv": few_values.deviation(elapsed) / few_values.mean(elapsed) if several else None,
        "slow": None
        if not shares
        else float(count - bisect_right(ordered, slowest_of_fast))
        if slowest_of_fast is not None
        else 0.0,
        "gap_ratio": ratio if shares else None,
        "rate_sum": rate_sum(done, rows),
        "makespan": rows * done.from_s.size / makespan_s / 1e6,
        "per_session": middle_of([rows / each for each in ordered[(count - 1) // 2 : count // 2 + 1]]) / 1e6,
    }


def lasting_rate(members: Sequence[Timed], rows: int, vcpus: int, kept: Works) -> float:
    """The sum of rates of a round where run queues even out, so that whoever ends leaves its turns to all; Mrows/s."""
    return rate_sum(_work_of(members, kept), rows, speed_in_turns(vcpus))

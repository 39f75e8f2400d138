"""What do N sessions get done together, where some end before the others? Pure; rates in Mrows/s.

The last execution of a session goes on beside fewer others than it began with. Whether it goes faster then is the
scheduler's affair, and with few executions each it matters: so throughput is told for schedulers of two kinds, and
the straighter curve tells which was at work (``scaling``).
"""

from collections.abc import Callable, Mapping, Sequence

from dbcpu.analysis.spans import Span

Work = Mapping[int, Sequence[Sequence[Span]]]
"""The spans of all sessions of each usable round, by level. ``rows`` below is the work in one execution."""
Rates = Mapping[int, Sequence[float]]
"""Mrows/s of each round, by level."""


def while_all_ran(work: Work, rows: int) -> Rates:
    """Rate sums as they are, the basis of all others."""
    return {level: [rate_sum(spans, rows) for spans in rounds] for level, rounds in work.items()}


def where_sharing_stays(work: Work, rows: int, vcpus: int | None) -> Rates:
    """Run queues even out and cores do not: up to ``vcpus`` a session gains nothing by the end of others."""

    def pace(sessions: int) -> float:
        return min(1.0, vcpus / sessions) if vcpus else 1.0

    return {level: [rate_sum(spans, rows, pace) for spans in rounds] for level, rounds in work.items()}


def where_sessions_move(work: Work, rows: int, together: Sequence[float]) -> Rates:
    """Whoever is left moves apart: n sessions always get done what n get, ``together[n]`` in any unit."""
    return {level: [_conserved(spans, rows, together) for spans in rounds] for level, rounds in work.items()}


def rate_sum(spans: Sequence[Span], rows: int, pace: Callable[[int], float] | None = None) -> float:
    """Sum of the sessions' rates while all of them ran.

    An execution counts by the part of it that lies in that window, for early finishers leave their CPU to the slow.
    ``pace`` is the speed of one of n sessions: what is done beside fewer then counts by it, else by time alone.
    Sessions that never ran all together are counted over their own spans.
    """
    start_s, end_s = max(span.start_s for span in spans), min(span.end_s for span in spans)
    if end_s <= start_s:
        return sum(rows / span.per_execution_s for span in spans) / 1e6
    ends = sorted(span.end_s for span in spans)
    done = 0.0
    for span in spans:
        for start, end in span.executions:
            inside_s = max(0.0, min(end, end_s) - max(start, start_s))
            if inside_s > 0:
                before_s = max(0.0, start_s - start)
                done += inside_s / (before_s + inside_s + _after(ends, end, pace))
    return rows * done / (end_s - start_s) / 1e6


def _after(ends: Sequence[float], until_s: float, pace: Callable[[int], float] | None) -> float:
    """Time from the first of ``ends`` to ``until_s``, each part of it as long as its work would take among all."""
    told, from_s = 0.0, ends[0]
    for gone, end in enumerate(ends):
        to_s = min(end, until_s)
        if to_s > from_s:
            told += (to_s - from_s) * (pace(len(ends) - gone) / pace(len(ends)) if pace else 1.0)
            from_s = to_s
    return told


def _conserved(spans: Sequence[Span], rows: int, together: Sequence[float]) -> float:
    """All that was done, over the time that it would have taken had nobody ended early."""
    moments = sorted([(span.start_s, 1) for span in spans] + [(span.end_s, -1) for span in spans])
    running, took_s, last_s = 0, 0.0, moments[0][0]
    for at_s, change in moments:
        took_s += (at_s - last_s) * together[running] if running else 0.0
        running, last_s = running + change, at_s
    return rows * sum(len(span.executions) for span in spans) * together[len(spans)] / took_s / 1e6

"""The figures of a history in words, in the unit of their work; and what these words mean."""

from collections.abc import Sequence

from dbcpu.analysis.history.trend import SOLO, SPREAD, TOGETHER, Series, Trend
from dbcpu.formatting import UNKNOWN, listed, number, short_ranges
from dbcpu.record.header import ROWS_UNIT


def figure_words(series: Series) -> str:
    """``Mrows/s of one session``, ``executions/min at N=2``, ``max/min, highest of N=2-4``."""
    levels = short_ranges(series.levels)
    return {
        SOLO: f"{series.unit} of one session",
        TOGETHER: f"{series.unit} at N={levels}",
        SPREAD: f"max/min, highest of N={levels}" if len(series.levels) > 1 else f"max/min at N={levels}",
    }[series.metric]


def short_words(series: Series) -> str:
    """As the heading of a column."""
    return {SOLO: "single session", TOGETHER: f"N={short_ranges(series.levels)}", SPREAD: "max/min"}[series.metric]


def written(series: Series, value: float | None) -> str:
    """One value of it."""
    return number(value, 2 if series.metric == SPREAD else 1)


def usual_words(series: Series) -> str:
    """``1.02 to 1.13``."""
    if series.usual is None:
        return UNKNOWN
    return f"{written(series, series.usual.low)} to {written(series, series.usual.high)}"


def terms(trends: Sequence[Trend]) -> tuple[tuple[str, str], ...]:
    """What the words of these histories mean."""
    units = list(dict.fromkeys(series.unit for each in trends for series in each.series if series.unit)) or [ROWS_UNIT]
    # What another unit is only its source can say.
    what = "million rows per second" if units == [ROWS_UNIT] else "work per time"
    return (
        (
            f"{listed(units, 'or')} of one session",
            f"{what} of one session alone, by its usual time and, where a witness ran, at one pace: the "
            "baseline of a run, and not what the row N=1 of its table has as throughput",
        ),
        (f"{listed(units, 'or')} at N", "the throughput of N concurrent sessions, as the table of the run has it"),
        ("max/min", "slowest / fastest session of a round: 1.00 is the same CPU for all sessions"),
        ("usual", "the band in which the runs since the last lasting change lie"),
        ("-", "not measured by these runs, or as a usual range by too few of them; never zero"),
    )

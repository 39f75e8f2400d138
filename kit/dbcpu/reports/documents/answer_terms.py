"""The line below the table of levels that says what its words and figures rest on."""

from collections.abc import Sequence

from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import short_ranges, times

LASTS = 1.01
"""A level whose rates are so many times the peak throughput does more than lasts."""


def answer_terms(analysis: Analysis) -> str:
    """What the words equal and full speed rest on."""
    if analysis.reference is None or not any(each.level > 1 for each in analysis.levels):
        return ""
    terms = (
        "equal: max/min, full: slowdown of the median session; yes: of the usual round below "
        f"{times(EQUAL)} with 95 % confidence, ?: inconclusive; makespan: throughput until the last session has ended; "
        "main cause (2 of 9): sessions of all rounds; see `docs/methods.md`"
    )
    most = analysis.capacity.peak_throughput if analysis.capacity else None
    first = analysis.levels[0].variant
    more = [
        each for each in analysis.levels if most and each.variant == first and (each.throughput or 0) > LASTS * most
    ]
    if more:
        # Sessions that end together leave no CPU to others: then the reason is another, such as a quota's burst.
        uneven = any(each.even is not Answer.YES for each in more)
        why = ": some sessions end before others" if uneven else ""
        terms += f". {analysis.unit} at {_where(more)} is more than the host can sustain{why}"
    above = [each for each in analysis.levels if each.even is Answer.YES and exceeds(each.max_over_min or 1.0)]
    if above:
        terms += f". Max/min includes chance: it is above {times(EQUAL)} at {_where(above)}, although shares are equal"
    return terms


def _where(levels: Sequence[LevelView]) -> str:
    return f"N={short_ranges(sorted({each.level for each in levels}))}"

"""The line below the table of levels that says what its words and figures rest on."""

from collections.abc import Mapping, Sequence

from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import listed, short_ranges, times
from dbcpu.record.header import TOGETHER

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
    more = _more_than_lasts(analysis)
    if more:
        several = len({each.variant for each in analysis.levels}) > 1
        # Sessions that were held share their own CPUs, whatever the host has.
        held = {each.name for each in analysis.together.parties if each.cpus} if analysis.together else set()
        what = (
            "the CPUs that sessions were held on" if held & more.keys() or (held and TOGETHER in more) else "the host"
        )
        where = [_where(some) + (f" of {name}" if several else "") for name, some in more.items()]
        # Sessions that end together leave no CPU to others: then the reason is another, such as a quota's burst.
        uneven = any(each.even is not Answer.YES for some in more.values() for each in some)
        why = f"{' there' if several else ''}{': some sessions end before others' if uneven else ''}"
        terms += f". {analysis.unit} at {listed(where)} is more than {what} can sustain{why}"
    above = [each for each in analysis.levels if each.even is Answer.YES and exceeds(each.max_over_min or 1.0)]
    if above:
        terms += f". Max/min includes chance: it is above {times(EQUAL)} at {_where(above)}, although shares are equal"
    return terms


def _more_than_lasts(analysis: Analysis) -> Mapping[str, Sequence[LevelView]]:
    """By variant: levels that did more than what lasts of any; the peak throughput is of the first variant alone.

    Of a soak nothing: its rates last, and how fast its last executions end is no measure of what does.
    """
    if analysis.soak is not None:
        return {}
    found: dict[str, list[LevelView]] = {}
    for each in analysis.levels:
        found.setdefault(each.variant, []).append(each)
    peaks = {name: max(each.lasting_throughput or 0.0 for each in some) for name, some in found.items()}
    if analysis.capacity and analysis.capacity.peak_throughput:
        peaks[analysis.levels[0].variant] = analysis.capacity.peak_throughput
    more = {
        name: [each for each in some if peaks[name] and (each.throughput or 0.0) > LASTS * peaks[name]]
        for name, some in found.items()
    }
    return {name: some for name, some in more.items() if some}


def _where(levels: Sequence[LevelView]) -> str:
    return f"N={short_ranges(sorted({each.level for each in levels}))}"

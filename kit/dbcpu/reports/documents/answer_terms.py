"""The line below the table of levels that says what its words and figures rest on."""

from collections.abc import Mapping, Sequence

from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.levels.calm_rounds import MIN_CALM_ROUNDS, are_enough
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
    terms += _against_the_table(analysis)
    more = _more_than_lasts(analysis)
    if more:
        several = len({each.variant for each in analysis.levels}) > 1
        # Sessions that were held share their own CPUs, whatever the host has.
        held = {each.variant for each in analysis.levels if each.held_on is not None}
        if held >= {each.variant for each in analysis.levels} - {TOGETHER}:
            held.add(TOGETHER)
        what = "the CPUs that sessions were held on" if held & more.keys() else "the host"
        where = [each for some in more.values() for each in some]
        # Sessions that end together leave no CPU to others: then the reason is another, such as a quota's burst.
        uneven = any(each.even is not Answer.YES for some in more.values() for each in some)
        why = f"{' there' if several else ''}{': some sessions end before others' if uneven else ''}"
        terms += f". {analysis.unit} at {_where_of_each(analysis, where)} is more than {what} can sustain{why}"
    above = [each for each in analysis.levels if each.even is Answer.YES and exceeds(each.max_over_min or 1.0)]
    if above:
        terms += f". Max/min includes chance: it is above {times(EQUAL)} at {_where(above)}, although shares are equal"
    return terms


def _against_the_table(analysis: Analysis) -> str:
    """Why a level of this table has another answer than its figures seem to give."""
    few = _with_too_few_rounds(analysis)
    said = ""
    if few:
        where = _where_of_each(analysis, [each for some in few.values() for each in some])
        told = listed([f"{rounds} at {_where_of_each(analysis, some)}" for rounds, some in few.items()])
        there = f" of a level and larger ones, there are {told}"
        if len(few) == 1:
            there = ", there is 1" if 1 in few else f", there are {next(iter(few))}"
        said += f". Equal is ? at {where} though max/min is small: yes needs {MIN_CALM_ROUNDS} rounds{there}"
    counted = [
        each
        for each in analysis.levels
        if each.full_speed is Answer.NO
        and not exceeds(each.slowdown_median or 1.0)
        and exceeds(each.counted_slowdown or 1.0)
    ]
    if counted:
        where = _where_of_each(analysis, counted)
        said += f". Full is no at {where} though the slowdown is small: the kernel counted lost time"
    return said


def _with_too_few_rounds(analysis: Analysis) -> Mapping[int, Sequence[LevelView]]:
    """Levels up to the vCPUs that are as equal as a yes needs, by the rounds that count for them, the most first."""
    few: dict[int, list[LevelView]] = {}
    for each in analysis.levels:
        small = each.even is Answer.UNDECIDED and each.even_bound is not None and each.even_bound < EQUAL
        if each.level == 1 or each.level > (analysis.vcpus or each.level) or not small:
            continue
        larger = (
            other.rounds
            for other in analysis.levels
            if other.variant == each.variant and each.level <= other.level <= (analysis.vcpus or other.level)
        )
        rounds = each.calm_rounds or sum(larger)
        if not are_enough(rounds):
            few.setdefault(rounds, []).append(each)
    return dict(sorted(few.items(), reverse=True))


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


def _where_of_each(analysis: Analysis, levels: Sequence[LevelView]) -> str:
    """With the variants, or targets, where there are several."""
    if len({each.variant for each in analysis.levels}) < 2:
        return _where(levels)
    names = dict.fromkeys(each.variant for each in levels)
    return listed([f"{_where([each for each in levels if each.variant == name])} of {name}" for name in names])


def _where(levels: Sequence[LevelView]) -> str:
    return f"N={short_ranges(sorted({each.level for each in levels}))}"

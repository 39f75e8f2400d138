"""What a result says of levels of which no round is whole: which they are, and what to do."""

from collections.abc import Collection, Sequence

from dbcpu.analysis.conclusions.advice import Advice, is_said
from dbcpu.analysis.conclusions.remedy_commands import adding_rounds
from dbcpu.analysis.levels.lost_levels import FAILED_ROUND, FAILED_SESSION, IN_EACH, WRONG_ANSWER
from dbcpu.analysis.levels.rounds_needed import why_no_more
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.failures import LostLevel
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural, sentences, short_ranges
from dbcpu.record.run_findings import RUN_ENTRIES

OF_FAILURES = {FAILED_SESSION: "failed sessions", FAILED_ROUND: "failed rounds", WRONG_ANSWER: "wrong answers"}
"""Findings that say why no round of a level is whole, each with what it is of."""


def lost_level_words(levels: Collection[int], context: RunContext) -> str:
    """A sentence of a verdict; '' without such levels."""
    if not levels:
        return ""
    one, where, header = len(levels) == 1, short_ranges(levels), context.record.header
    again = f"measure {'it' if one else 'them'} again"
    if not (context.in_turns or why_no_more(header)):
        wanted = ",".join(map(str, levels))
        again += f" ({adding_rounds(header, f'--sessions {wanted} --rounds {header.plan.repeats}')})"
    return sentences(
        f"N={where} {'has' if one else 'have'} no whole round: {IN_EACH}",
        f"when that no longer happens, {again}",
    )


def lost_under_words(variant: str, levels: Collection[int]) -> str:
    """The same of a further variant; '' without such levels."""
    has = "has" if len(levels) == 1 else "have"
    return f"Under {variant} N={short_ranges(levels)} {has} no whole round: {IN_EACH}." if levels else ""


def failure_words(analysis: Analysis) -> str:
    """The same in a headline; of an experiment that names no level so, what failed, and which answers are wrong."""
    said = [f"no whole round at N={short_ranges(analysis.levels_lost)}"] if analysis.levels_lost else []
    failed = analysis.failures
    if failed is None:
        return "; ".join(said)
    if analysis.experiment is None:
        others = [each for each in failed.lost if each.variant != _first_variant(analysis)]
        for name in dict.fromkeys(each.variant for each in others):
            levels = [each.level for each in others if each.variant == name]
            said.append(f"no whole round at N={short_ranges(levels)} under {name}")
    elif not said:
        codes = {code for each in failed.lost for code in each.by}
        said += [f"{plural(failed.sessions, 'session')} failed"] if FAILED_SESSION in codes else []
        said += [f"{plural(failed.rounds, 'round')} failed"] if FAILED_ROUND in codes else []
        said += [f"{plural(failed.wrong, 'session')} gave a wrong answer"] if failed.wrong else []
    return "; ".join(said)


def failure_advice(analysis: Analysis) -> tuple[Advice, ...]:
    """Against what lost levels of the first variant, or failed of an experiment."""
    own = None if analysis.experiment is not None else _first_variant(analysis)
    return _against((), analysis, [each for each in _lost(analysis) if own in (None, each.variant)])


def with_failure_advice(helps: tuple[Advice, ...], analysis: Analysis) -> tuple[Advice, ...]:
    """What helps, then what helps against what lost levels: those of the first variant before those of others."""
    return _against(helps, analysis, _lost(analysis))


def _lost(analysis: Analysis) -> list[LostLevel]:
    lost = analysis.failures.lost if analysis.failures else ()
    return sorted(lost, key=lambda each: each.variant != _first_variant(analysis))


def _against(helps: tuple[Advice, ...], analysis: Analysis, lost: Sequence[LostLevel]) -> tuple[Advice, ...]:
    remedies = {each.code: each.remedy for each in analysis.findings}
    codes = dict.fromkeys(code for each in lost for code in sorted(each.by, key=[*OF_FAILURES].index))
    if analysis.experiment is not None and analysis.failures and analysis.failures.wrong:
        codes[WRONG_ANSWER] = None
    for code in codes:
        remedy = remedies.get(code) or RUN_ENTRIES[code].remedy
        if not is_said(remedy, helps):
            helps = (*helps, Advice(remedy, OF_FAILURES[code] if helps else ""))
    return helps


def _first_variant(analysis: Analysis) -> str:
    return analysis.levels[0].variant if analysis.levels else ""

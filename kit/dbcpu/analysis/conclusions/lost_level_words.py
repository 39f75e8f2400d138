"""What a result says of levels of which no round is whole: which they are, and what to do."""

from collections.abc import Collection

from dbcpu.analysis.conclusions.advice import Advice, is_said
from dbcpu.analysis.conclusions.remedy_commands import adding_rounds
from dbcpu.analysis.levels.lost_levels import IN_EACH
from dbcpu.analysis.levels.rounds_needed import why_no_more
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import plural, sentences, short_ranges
from dbcpu.record.finding_entry import Level

OF_FAILURES = {"failed-session": "failed sessions", "failed-round": "failed rounds", "wrong-answer": "wrong answers"}
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


def failure_words(analysis: Analysis) -> str:
    """The same in a headline; where no level is named so, how many sessions failed, if that is a problem."""
    if analysis.levels_lost:
        return f"no whole round at N={short_ranges(analysis.levels_lost)}"
    failed, problems = analysis.failures, _problems(analysis)
    said = []
    if failed is not None and failed.sessions and "failed-session" in problems:
        said += [f"{plural(failed.sessions, 'session')} failed"]
    if failed is not None and failed.wrong and analysis.experiment is not None:
        said += [f"{plural(failed.wrong, 'session')} gave a wrong answer"]
    return "; ".join(said)


def with_failure_advice(helps: tuple[Advice, ...], analysis: Analysis) -> tuple[Advice, ...]:
    """What helps, then what helps against what failed: where levels are lost, only against that which lost them."""
    problems, lost, failed = _problems(analysis), set(analysis.levels_lost), analysis.failures
    codes = [code for code in OF_FAILURES if code in problems]
    if lost and failed is not None:
        levels = (failed.levels, failed.levels_of_rounds, failed.levels_of_wrong)
        codes = [code for code, where in zip(OF_FAILURES, levels, strict=True) if code in problems and lost & {*where}]
    for code in codes:
        if not is_said(problems[code], helps):
            helps = (*helps, Advice(problems[code], OF_FAILURES[code] if helps else ""))
    return helps


def _problems(analysis: Analysis) -> dict[str, str]:
    """Remedies by finding."""
    return {each.code: each.remedy for each in analysis.findings if each.level == Level.PROBLEM}

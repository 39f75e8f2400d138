"""What a result says of levels of which no round is whole: which they are, and what to do."""

from collections.abc import Collection

from msgspec.structs import replace

from dbcpu.analysis.conclusions.remedy_commands import adding_rounds
from dbcpu.analysis.levels.level_losses import LevelLosses
from dbcpu.analysis.levels.rounds_needed import why_no_more
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import sentences, short_ranges

OF_FAILURES = ("failed-session", "failed-round", "wrong-answer")
"""Findings that say why no round of a level is whole, as they are looked for."""


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
        f"N={where} {'has' if one else 'have'} no whole round, because each failed, or a session of it",
        f"when that no longer happens, {again}",
    )


def no_whole_round(levels: Collection[int]) -> str:
    """The same in a headline."""
    return f"no whole round at N={short_ranges(levels)}" if levels else ""


def failure_remedy(analysis: Analysis) -> str:
    """What helps against what failed; '' where nothing did."""
    found = {each.code: each.remedy for each in analysis.findings}
    return next((found[code] for code in OF_FAILURES if code in found), "")


def without_levels(found: LevelLosses, lost: Collection[int]) -> LevelLosses:
    """The same without open questions of the levels ``lost``."""
    if not lost:
        return found
    return replace(
        found,
        levels=tuple(each for each in found.levels if each.level not in lost),
        undecided=tuple(each for each in found.undecided if each.level not in lost),
    )

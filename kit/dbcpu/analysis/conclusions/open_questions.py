"""What a result leaves undecided beside its undecided levels, and what would decide it, in words."""

from collections.abc import Sequence

from dbcpu.analysis.conclusions.remedy_commands import adding_rounds
from dbcpu.analysis.levels.calm_rounds import MIN_CALM_ROUNDS, are_enough
from dbcpu.analysis.levels.level_losses import LevelLosses, lost_to
from dbcpu.analysis.levels.rounds_apart import is_explained
from dbcpu.analysis.levels.rounds_needed import half_open, hidden_cores_possible, open_levels, why_no_more
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import TopologyCheck
from dbcpu.analysis.results.run import LevelView, MoreRounds
from dbcpu.formatting import duration, listed, percent, plural, short_ranges, times

STEADY = 0.02
"""Noise of single sessions below which a quieter host shows no more."""


def what_would_decide(
    context: RunContext, more: MoreRounds | None, topology: TopologyCheck | None, levels: Sequence[LevelView]
) -> str:
    """What would decide the undecided ``levels``; ``more``: the rounds that probably would."""
    if context.reference is None or context.reference.noise_range is None:
        return "more rounds of one session would decide"
    if more is not None and context.in_turns:
        return f"all variants measured again with `--repeats {more.rounds}` would probably decide"
    if more is not None:
        lasts = f"about {duration(more.about_s)}; " if more.about_s else ""
        return f"{plural(more.more, 'more round')} ({lasts}{more.rounds} of each level in all) would probably decide"
    measured = [each.level for each in context.record.rounds]
    if hidden_cores_possible(measured, context.vcpus, context.cores) and not is_explained(levels):
        return f"all levels (`--sessions auto`) show whether CPUs share cores; else {_longer(levels)} may decide"
    if topology is not None and topology.verdict == "fewer_cores":
        return f"{_longer(levels)}, or a run on whole cores (`ThreadsPerCore=1`), may decide"
    return f"{_steadier(context, levels)} may decide"


def _steadier(context: RunContext, levels: Sequence[LevelView]) -> str:
    """A quieter host helps where this one was not quiet."""
    noisy = context.reference is None or context.reference.spread > STEADY
    return f"a quieter host or {_longer(levels)}" if noisy else _longer(levels)


def _longer(levels: Sequence[LevelView]) -> str:
    """Longer executions do not help where it is rounds that differ, or sessions of one round."""
    differ = any(
        each.rounds_apart is not None or each.even is Answer.NO or each.calm_rounds is not None for each in levels
    )
    return "more rounds" if differ else "longer executions"


def too_few_words(few: Sequence[LevelView], among: Sequence[LevelView], more: MoreRounds | None) -> str:
    """Why levels of which no round has a slow session are undecided nevertheless; ``among``: all that are.

    So many as are needed at least are not named beside the larger number that would decide all levels (``more``).
    """
    rounds = min(each.calm_rounds or 0 for each in few)
    where = f"at N={short_ranges(each.level for each in few)} " if len(few) < len(among) else ""
    too_few = f"{plural(rounds, 'round')} {'is' if rounds == 1 else 'are'} too few to be sure"
    if are_enough(rounds):
        return f"{where}no session was slow, but {too_few} beside the slow ones with fewer sessions"
    needed = f" ({MIN_CALM_ROUNDS} are needed)" if more is None or more.rounds == MIN_CALM_ROUNDS else ""
    return f"{where}no session was slow, but {too_few}{needed}"


def one_round_words(undecided: Sequence[LevelView]) -> str:
    """Which of the undecided levels have a single whole round, beside others with more; '' without such."""
    one = [each.level for each in undecided if each.rounds < 2]
    return f"at N={short_ranges(one)} one round proves no equality" if 0 < len(one) < len(undecided) else ""


def half_undecided(
    found: LevelLosses, context: RunContext, alone: LevelView | None, more: MoreRounds | None
) -> tuple[str, ...]:
    """Open questions of levels with a loss, of shares above the vCPUs, and of one session, ``alone``, if it has one.

    ``more``: what ``dbcpu more`` adds to the run.
    """
    shares, speed = half_open(found, context.lost)
    parts = [f"whether shares are equal at N={short_ranges(e.level for e in shares)}"] if shares else []
    where = f"N={short_ranges(each.level for each in speed)}"
    parts += [f"whether the median session is at full speed at {where}"] if speed else []
    parts += [f"whether a single session gets a whole CPU{_why_alone(alone)}"] if alone else []
    if not parts:
        return ()
    undecided = f"it is inconclusive {listed(parts)}"
    if found.undecided:  # a sentence before this one says what would decide
        return (undecided,)
    return undecided, _may_decide(open_levels(found, context.lost), context, more, single=alone is not None)


def _why_alone(level: LevelView) -> str:
    """In how many rounds a single session lost time, and to what."""
    cause, apart = lost_to(level), level.rounds_apart
    if apart is not None:
        why = f": {apart.cause.words}" if apart.cause.is_known else ""
        slow = f"a slowdown of {times(apart.slowdown)}"
        if apart.counted:
            slow = f"it loses {percent(1 - 1 / apart.slowdown)} of the time by the kernel's count"
        return f" (in {apart.rounds} of {level.rounds} rounds {slow}{why})"
    return f" (some rounds lost time: {cause.words})" if cause.is_known else ""


def _may_decide(levels: Sequence[LevelView], context: RunContext, more: MoreRounds | None, *, single: bool) -> str:
    """``levels`` have an open question; with ``single`` a session alone has one, too. The command says what is in
    ``more``: without options it adds the same."""
    if more is None:
        return f"{_steadier(context, levels)} may decide"
    few = bool(levels) and all(each.calm_rounds is not None for each in levels)  # which no quiet makes more
    quieter = "" if few else " or a quieter host"
    if context.in_turns:
        return f"more rounds (all variants measured again, with more `--repeats`){quieter} may decide"
    if why_no_more(context.record.header):
        return f"more rounds{quieter} may decide"
    wanted = ",".join(str(level) for level, _ in more.added if level > 1 or single)
    command = adding_rounds(context.record.header, f"--sessions {wanted} --rounds {more.added[0][1]}")
    return f"more rounds ({command}){quieter} may decide"

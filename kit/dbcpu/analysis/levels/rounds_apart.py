"""Rounds of one level that come in two kinds: in some of them sessions are slow, in the others none is.

Two sessions on a host of which the CPUs share cores unseen are both slow or both fast, by where the kernel puts them.
The median over rounds may then be a slowdown that no session had, and noise of single sessions does not explain it.
"""

from collections.abc import Sequence
from operator import itemgetter

from dbcpu.analysis.levels.answers import EVEN_LIMIT, CountedSlowdown, calm_of_two_kinds, exceeds
from dbcpu.analysis.levels.level_losses import cause_by_count
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView, RoundsApart, SessionView
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import percent, times

CALM_SHARE = 0.25
"""From this share of rounds without a slow session on the median over rounds is said to be of two kinds of rounds."""
HIDDEN_CORES_POSSIBLE = (Cause.NONE, Cause.UNEXPLAINED, Cause.SLOWER_CPU)
"""Cores that the host does not show may be behind these."""


def rounds_apart(slower: Sequence[Sequence[float]], slowest: Sequence[float]) -> RoundsApart | None:
    """``slower``: slowdowns of the sessions of each round that lost something; ``slowest``: the largest of each round.

    None where rounds are of one kind, or the kinds are less than a ratio of 1.15 apart.
    """
    slow = [each for each in slower if each]
    calm = [most for each, most in zip(slower, slowest, strict=True) if not each]
    if not slow or not calm or min(map(median, slow)) < EVEN_LIMIT * max(calm):
        return None
    sizes = list(map(len, slow))
    return RoundsApart(len(slow), min(sizes), median([one for each in slow for one in each]), max(sizes))


def apart_as_counted(level: LevelView, counted: CountedSlowdown | None, cause: Cause) -> RoundsApart | None:
    """By what the kernel counted in each round of a median session; ``cause``: what most of it was lost to.

    Where a single session loses time in many rounds its reference lies between their kinds, or above both. So it is of
    more sessions, where nothing else shows the kinds and what was counted leaves it open whether they are slow.
    """
    if counted is None or (level.rounds_apart is not None and not exceeds(counted.slowdown)):
        return level.rounds_apart
    if level.level > 1 and (level.rounds_apart is not None or not _is_open(level)):
        return level.rounds_apart
    if not calm_of_two_kinds(counted.rounds):
        return None
    slow = [each for each in counted.rounds if exceeds(each)]
    return RoundsApart(len(slow), level.level, median(slow), level.level, cause, counted=True)


def _is_open(level: LevelView) -> bool:
    """Whether nothing else is said of its speed, or of its shares."""
    return level.full_speed is Answer.UNDECIDED and level.even is not Answer.NO


def rounds_differ(level: LevelView) -> bool:
    """Whether so many rounds have no slow session, beside others with, that a median is of both kinds."""
    return level.rounds_apart is not None and level.rounds_apart.rounds <= (1 - CALM_SHARE) * level.rounds


def cause_in_row(view: SessionView, level: LevelView) -> Cause:
    """With which a session is counted in the row of its level; of a single one in slow rounds by the kernel's count."""
    apart, counted = level.rounds_apart, cause_by_count(level)
    by_rounds = level.level == 1 and apart is not None and apart.counted and rounds_differ(level)
    if not by_rounds or counted is Cause.NONE or not view.elapsed_s or view.counted_s is None:
        return view.cause
    if view.counted_s >= view.elapsed_s or exceeds(view.elapsed_s / (view.elapsed_s - view.counted_s)):
        return counted
    return Cause.NONE if view.cause is counted else view.cause


def level_with_most_slow_rounds(levels: Sequence[LevelView]) -> LevelView | None:
    """The level of which most rounds have slow sessions; None where rounds of none are apart."""
    apart = [(each.rounds_apart.rounds, each) for each in levels if each.rounds_apart is not None]
    return max(apart, key=itemgetter(0))[1] if apart else None


def is_explained(levels: Sequence[LevelView]) -> bool:
    """Whether rounds differ by what was seen: then cores that the host does not show are not why."""
    apart = [each.rounds_apart for each in levels if each.rounds_apart is not None]
    return bool(apart) and all(each.cause not in HIDDEN_CORES_POSSIBLE for each in apart)


def apart_words(level: LevelView, *, with_cause: bool = False, why: str = "") -> str:
    """The two kinds, as a part of a sentence; '' where rounds are alike. ``why``: said of those with a slowdown."""
    found = level.rounds_apart
    if found is None:
        return ""
    fewest, most = found.sessions, found.max_sessions
    every = "all" if level.level > 1 else "it"
    who = every if fewest == level.level else f"{fewest} of {level.level}"
    if fewest < most:
        who = "one or both" if level.level == most == 2 else f"{fewest} to {most} of {level.level}"
    slow = f"in {found.rounds} of {level.rounds} rounds {who} {_how_slow(found)}"
    if found.counted and level.level > 1:  # of a median session, and nobody knows how many have lost as much
        slow = f"in {found.rounds} of {level.rounds} rounds the kernel counted a loss of {_lost(found)}"
    through = f" through {found.cause.words}" if with_cause and found.cause not in HIDDEN_CORES_POSSIBLE else ""
    others = "other" if level.rounds - found.rounds == 1 else "others"
    if _is_usual(found):
        return f"{slow} as in the {others}{through}{why}"
    return f"{slow}{through}{why}, in the {others} none"


def _is_usual(found: RoundsApart) -> bool:
    """Whether the slow rounds are those of the single-session time: then the others are faster than that."""
    return not found.counted and not exceeds(found.slowdown)


def _lost(found: RoundsApart) -> str:
    """The share of the time."""
    return percent(1 - 1 / found.slowdown)


def _how_slow(found: RoundsApart) -> str:
    one = found.max_sessions == 1
    if found.counted:
        return f"{'loses' if one else 'lose'} {_lost(found)} of the time by the kernel's count"
    if _is_usual(found):
        return f"{'takes' if one else 'take'} at least {times(EVEN_LIMIT)} as long"
    return f"{'has' if one else 'have'} a slowdown of {times(found.slowdown)}"

"""What a level lost most to: the causes of its sessions, and the one that cost them most time in most rounds."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.levels.level_losses import all_lose_more
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import SessionView


def causes_shown(views: Sequence[SessionView], same: bool) -> list[Cause]:
    """``same``: at a level at one pace what the pace of its CPUs explains is no cause."""
    if not same:
        return [*map(attrgetter("cause"), views)]
    return [Cause.NONE if view.pace_only else view.cause for view in views]


def lost_by_session(views: Sequence[SessionView], causes: Sequence[Cause], even: Answer) -> dict[Cause, float]:
    """What the sessions of a round lost to each of their causes, part by part.

    Where shares are unequal, over the fastest of them: what all lose alike makes none slower than another. Of those
    that are slower than that one: small differences of many by noise are no reason, whatever they add up to.
    """
    if even is not Answer.NO:
        return _lost_by_part(views, causes)
    fastest = min(views, key=lambda view: view.slowdown or 1.0)
    fastest_slowdown, alone_s = fastest.slowdown or 1.0, fastest.reference_s or 1.0
    lost, shown = dict[Cause, float](), _named(views, causes)
    common = {name: lost_s / alone_s for name, lost_s in fastest.parts}
    slowest = max(view.slowdown or 1.0 for view in views)
    least = min((EQUAL - 1) * fastest_slowdown, (slowest - fastest_slowdown) / 2)
    for cause, view in zip(causes, views, strict=True):
        over = (view.slowdown or 1.0) - fastest_slowdown
        if over > 0 and over >= least and cause != Cause.NONE:
            for name, part in _over(common, view, cause, over, shown):
                lost[name] = lost.get(name, 0.0) + part
    return lost


class LevelCauses(NamedTuple):
    """The main cause of a level, and where what all lose and what makes them differ are two: which is the latter."""

    main: Cause
    second: Cause = Cause.NONE
    unequal_by: Cause = Cause.NONE


def causes_of_level(
    views: Sequence[Sequence[SessionView]],
    causes: Sequence[Sequence[Cause]],
    even: Answer,
    is_lost: bool,
    least: float | None,
    ratio: float | None,
    same: bool = False,
) -> LevelCauses:
    """By round the views and causes of its sessions; ``least``: slowdown of the fastest.

    ``ratio``: max/min, None where it counts less than what all lose. ``same``: at a level at one pace only what is
    some session's cause counts, for the pace explains more.
    """
    rounds = list(zip(views, causes, strict=True))
    differ = main_cause([lost_by_session(*each, even) for each in rounds], is_lost)
    if even is not Answer.NO or not exceeds(least or 1.0):
        return LevelCauses(differ)
    common = main_cause([_lost_by_part(*each, every=not same) for each in rounds], is_lost)
    return causes_of_both(common, differ, least, ratio)


def causes_of_both(common: Cause, differ: Cause, least: float | None, ratio: float | None) -> LevelCauses:
    """Of a level whose sessions all lose to ``common``, and some over the others to ``differ``."""
    if common in (differ, Cause.NONE, Cause.UNEXPLAINED):
        return LevelCauses(differ)
    # What nothing explains does not come before what is known.
    if all_lose_more(least, ratio) and common != Cause.SLOWER_CPU:
        return LevelCauses(common, differ, differ)
    return LevelCauses(common) if differ == Cause.NONE else LevelCauses(differ, common, differ)


def cause_of_slow_rounds(views: Sequence[Sequence[SessionView]], causes: Sequence[Sequence[Cause]]) -> Cause:
    """What cost most in those rounds of a level in which something was lost."""
    return main_cause([_lost_by_part(*each) for each in zip(views, causes, strict=True)])


def _lost_by_part(views: Sequence[SessionView], causes: Sequence[Cause], *, every: bool = False) -> dict[Cause, float]:
    """What the sessions of a round lost to each of their causes, part by part; ``every``: also to what is no cause.

    By its main cause alone a session that waited in turn would have lost nothing to the core that all share.
    """
    lost, shown, none = dict[Cause, float](), _named(views, causes), Cause.NONE
    for cause, view in zip(causes, views, strict=True):
        if cause == none:
            continue
        alone_s, whole = view.reference_s or 1.0, True
        for name, lost_s in view.parts:
            if lost_s > 0 and (every or name in shown):
                lost[name] = lost.get(name, 0.0) + lost_s / alone_s
                whole = False
        if whole:
            lost[cause] = lost.get(cause, 0.0) + ((view.slowdown or 1.0) - 1.0)
    return lost


def _named(views: Sequence[SessionView], causes: Sequence[Cause]) -> frozenset[Cause]:
    """The causes of a round's sessions, first and second; of one whose loss is no cause here there is no second."""
    both = zip(views, causes, strict=True)
    return frozenset(causes) | {view.second_cause for view, cause in both if cause != Cause.NONE}


def counted_by_cause(views: Sequence[SessionView], *, over_fastest: bool = False) -> dict[Cause, float]:
    """Seconds that the kernel counted as lost in a round, by what most of each session's was lost to.

    ``over_fastest``: beyond what it counted of the fastest session, which makes nobody slower than that one.
    """
    lost, none, common_s = dict[Cause, float](), Cause.NONE, 0.0
    if over_fastest:
        common_s = min(views, key=lambda view: view.slowdown or 1.0).counted_s or 0.0
    for view in views:
        more_s = (view.counted_s or 0.0) - common_s
        if view.counted_cause != none and more_s > 0:
            lost[view.counted_cause] = lost.get(view.counted_cause, 0.0) + more_s
    return lost


def main_cause(rounds: Sequence[Mapping[Cause, float]], is_lost: bool = True) -> Cause:
    """What costs most time in most rounds: one bad round with all its sessions shall not speak for the others.

    ``rounds``: what was lost in each, by cause. Not ``is_lost``: the level has no loss that is shown, and few rounds
    make none of it.
    """
    votes = Counter(max(lost, key=lambda name: lost[name]) for lost in rounds if lost)
    return votes.most_common(1)[0][0] if votes and (is_lost or 2 * votes.total() > len(rounds)) else Cause.NONE


def by_sessions(causes: Sequence[Sequence[Cause]]) -> tuple[tuple[Cause, int], ...]:
    """How many sessions have which cause, the commonest first."""
    return tuple(Counter(chain.from_iterable(causes)).most_common())


def also_by_sessions(
    views: Sequence[Sequence[SessionView]], causes: Sequence[Sequence[Cause]], named: Set[Cause]
) -> tuple[tuple[Cause, int], ...]:
    """The same with those that lost to it as their second cause, which is more than a third of the first.

    Not to one that is nobody's first cause nor ``named`` for the level: that may be what the first was counted too low.
    None where no causes are shown.
    """
    if not causes:
        return ()
    known = {*named, *chain.from_iterable(causes)} - {Cause.NONE}
    both = zip(chain.from_iterable(views), chain.from_iterable(causes), strict=True)
    also = [view.second_cause for view, cause in both if cause is not Cause.NONE and view.second_cause in known]
    return by_sessions([*causes, also])


def _over(
    common: Mapping[Cause, float], view: SessionView, cause: Cause, over: float, shown: frozenset[Cause]
) -> list[tuple[Cause, float]]:
    """That by which a session is slower than the fastest, by its parts; all by its cause where they are not known.

    ``common``: the parts of the fastest. ``shown``: the causes of the round's sessions; no other is that of a level.
    """
    alone_s, more, whole = view.reference_s or 1.0, [], 0.0
    for name, lost_s in view.parts:
        part = lost_s / alone_s - common.get(name, 0.0)
        if part > 0 and name in shown:
            more.append((name, part))
            whole += part
    if cause == Cause.UNEXPLAINED or not more:
        return [(cause, over)]
    return [(name, over * part / whole) for name, part in more]

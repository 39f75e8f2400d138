"""What all levels of a variant say together: up to where it is fine, where something is lost, what is undecided."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView, SessionView

WORTH_COUNTING = 0.05
"""Of its elapsed time: of a session that lost less, as the kernel counted, that is no loss with a cause."""


def is_fine(level: LevelView) -> bool:
    """Equal shares, and as fast as alone."""
    return level.even is Answer.YES and level.full_speed is Answer.YES


def is_loss(level: LevelView) -> bool:
    """Unequal shares, or slower than alone: shown or counted."""
    return Answer.NO in (level.even, level.full_speed)


def lost_nothing(level: LevelView) -> bool:
    """Shown to be as fast as alone, in equal shares; one session alone has nobody to share with."""
    return level.full_speed is Answer.YES and (level.level == 1 or level.even is Answer.YES)


class LevelLosses(Struct, frozen=True):
    """The measured levels of one variant, in order; one session alone is among them only where it lost something.

    ``fine``: from the smallest one on without a gap. ``losses`` and ``undecided`` are up to the vCPUs, ``beyond`` are
    the levels above them, but for those without a whole round of which no loss is proven. ``alone_undecided``: what was
    counted leaves it open whether a single session gets a whole CPU. ``lost``: those up to the vCPUs of which no round
    is whole. They are not in ``undecided``, for more rounds that fail decide nothing.
    """

    levels: tuple[LevelView, ...]
    fine: tuple[LevelView, ...]
    losses: tuple[LevelView, ...]
    undecided: tuple[LevelView, ...]
    beyond: tuple[LevelView, ...]
    alone_undecided: bool = False
    lost: tuple[int, ...] = ()

    @property
    def kind(self) -> Outcome:
        if self.losses:
            return Outcome.BAD
        if self.undecided or self.lost or self.alone_undecided or not self.levels:
            return Outcome.UNKNOWN
        if not self.fine:  # only levels above the vCPUs were measured
            return Outcome.PARTLY if all(map(is_loss, self.beyond)) else Outcome.UNKNOWN
        return Outcome.PARTLY if any(map(is_loss, self.beyond)) else Outcome.GOOD

    @property
    def first(self) -> LevelView | None:
        """The smallest level with a loss."""
        return next((each for each in (*self.losses, *self.beyond) if is_loss(each)), None)

    @property
    def largest_fine(self) -> int:
        """The largest level in equal shares at full speed below the first with a loss; 0 without one.

        Levels between may be inconclusive, or have no whole round: a larger one at full speed is shown anyway.
        """
        end = self.first.level if self.first else float("inf")
        return max((each.level for each in self.levels if each.level < end and is_fine(each)), default=0)

    @property
    def worst(self) -> LevelView | None:
        """The level with the largest loss up to the vCPUs; above them only if there is no other."""
        found = self.losses or tuple(each for each in self.beyond if is_loss(each))
        return max(found, key=loss_ratio, default=None)

    def lasts(self, first: LevelView) -> bool:
        """Whether every level from ``first`` on has a loss."""
        shown = {each.level for each in self.levels if is_loss(each)}
        measured = {each.level for each in self.levels} | {*self.lost}
        return all(each in shown for each in measured if each >= first.level)


def loss_ratio(level: LevelView) -> float:
    """How much is lost at a level: the larger of its slowdown, its max/min, and the slowdown that was counted."""
    return max(level.slowdown_median or 1.0, level.max_over_min or 1.0, level.counted_slowdown or 1.0)


def efficiency(throughput: float | None, ended: float | None, ideal: float | None) -> float | None:
    """At most 1; None where more was done than is possible: the baseline must be wrong (finding baseline-too-slow).

    ``ended``: the throughput by which that is known, as in ``over_ideal``.
    """
    if not throughput or not ideal or (ended is not None and ended > EQUAL * ideal):
        return None
    return min(1.0, throughput / ideal)


def over_ideal(level: LevelView, vcpus: int | None) -> float:
    """Throughput over what so many single sessions would reach; above 1 it is impossible, but for noise.

    Above the vCPUs by the makespan: those who end while others still wait their turn make the sum of rates too high.
    """
    most = vcpus if level.held_on is None else level.held_on
    beyond = most is not None and level.level > most
    found = level.makespan_throughput if beyond else level.throughput
    return found / level.ideal_throughput if found and level.ideal_throughput else 1.0


def is_counted_only(level: LevelView) -> bool:
    """Whether a loss was counted that slowdown and max/min do not show: one session alone loses as much.

    Not of unequal shares with another cause: what a session alone loses makes none of them slower than another.
    """
    if level.even is Answer.NO and level.main_cause.is_known and level.main_cause is not level.counted_cause:
        return False
    counted = level.counted_slowdown or 1.0
    alike = is_lost_alone_too(level) and (level.max_over_min or 1.0) < counted
    return counted > EQUAL and (level.level == 1 or alike)


def is_lost_alone_too(level: LevelView) -> bool:
    """Whether the slowdown of the median session does not show what was counted: one session alone loses as much."""
    return (level.slowdown_median or 1.0) < 1.0 + ((level.counted_slowdown or 1.0) - 1.0) / 2


def counted_alone(levels: Iterable[LevelView]) -> float:
    """How many times as long a single session took by what the kernel counted; 1.0 where that is not worth counting."""
    return worth_counting(next((each.counted_slowdown for each in levels if each.level == 1), None) or 1.0)


def worth_counting(slowdown: float) -> float:
    """The same of a slowdown that was counted, as that of a reference."""
    return slowdown if slowdown >= 1.0 / (1.0 - WORTH_COUNTING) else 1.0


def is_known_by_count(level: LevelView) -> bool:
    """Whether what a level lost to is known by the kernel's counters alone: see above, or no session has a cause.

    Of unequal shares fewer than half of the sessions may be slowed: then the median session has lost nothing.
    """
    counted = (level.counted_slowdown or 1.0) > EQUAL or level.even is Answer.NO
    return is_counted_only(level) or (counted and level.main_cause == Cause.NONE)


def cause_by_count(level: LevelView) -> Cause:
    """What its row names by the kernel's counters, beside what its sessions have as causes; none where these say it."""
    few = 2 * dict(level.causes).get(level.counted_cause, level.sessions) < level.sessions
    other = any(cause not in (Cause.NONE, level.counted_cause) for cause, _ in level.causes)
    taken = few and not other and level.counted_cause in (Cause.STEAL, Cause.IRQ)
    return level.counted_cause if taken or is_known_by_count(level) else Cause.NONE


def lost_to(level: LevelView) -> Cause:
    """What a level lost most to: of its slowdown, or of what was only counted."""
    return level.counted_cause if is_known_by_count(level) else level.main_cause


def in_order(causes: Sequence[tuple[Cause, int]], level: LevelView) -> tuple[tuple[Cause, int], ...]:
    """The causes of the sessions of ``level``, with how many have each, as they are listed everywhere.

    The main one, that which is named beside it, and then the commonest.
    """
    first = (lost_to(level), level.second_cause)
    return tuple(sorted(causes, key=lambda each: (each[0] != first[0], each[0] != first[1], -each[1])))


def all_lose_more(slowdown_min: float | None, max_over_min: float | None) -> bool:
    """Whether what all sessions of a level lose is more than what they differ by."""
    return (slowdown_min or 1.0) >= (max_over_min or 1.0)


def second_cause(views: Iterable[SessionView], main: Cause, causes: Sequence[tuple[Cause, int]]) -> Cause:
    """What most of the sessions that lost most to the main cause lost to as well, else what more sessions lost most to.

    ``causes``: how many sessions have which; NONE without such a cause.
    """
    second = Counter(each.second_cause for each in views if each.cause == main)
    name, many = second.most_common(1)[0] if second else (Cause.NONE, 0)
    if name != Cause.NONE and 2 * many > second.total():
        return name
    counts = dict(causes)
    more = [each for each in counts if each.is_known and counts[each] > counts.get(main, 0)]
    return max(more, key=lambda each: counts[each], default=Cause.NONE) if counts.get(main) else Cause.NONE


def level_losses(levels: Sequence[LevelView], vcpus: int | None, lost: Collection[int] = ()) -> LevelLosses:
    """Of the levels of one variant; ``lost``: those without a whole round, also where some sessions are left."""
    measured = sorted((each for each in levels if each.sessions), key=lambda each: each.level)
    counted = tuple(each for each in measured if each.level > 1 or is_loss(each))
    within = tuple(each for each in counted if vcpus is None or each.level <= vcpus)
    open_ = min((each for each in lost if each > 1), default=float("inf"))
    end = next((at for at, each in enumerate(counted) if not is_fine(each) or each.level >= open_), len(counted))
    return LevelLosses(
        levels=counted,
        fine=counted[:end],
        losses=tuple(each for each in within if is_loss(each)),
        undecided=tuple(each for each in within if each.level not in lost and not is_fine(each) and not is_loss(each)),
        beyond=tuple(
            each
            for each in counted
            if vcpus is not None and each.level > vcpus and (each.level not in lost or is_loss(each))
        ),
        alone_undecided=any(each.level == 1 and each.full_speed is Answer.UNDECIDED for each in measured),
        lost=tuple(sorted(each for each in lost if vcpus is None or each <= vcpus)),
    )

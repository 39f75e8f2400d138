"""Which levels a verdict names, and what it names of each: who loses, and to what."""

from collections.abc import Collection

from msgspec import Struct

from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.levels.level_losses import LevelLosses, is_counted_only, is_loss, loss_ratio, lost_to
from dbcpu.analysis.levels.rounds_apart import rounds_differ
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import listed, plural, short_ranges

MUCH_WORSE = 1.1
"""A later level is named beside the first one where it loses this many times as much."""
ALIKE = (Cause.SHARED_CORE, Cause.FREQUENCY)
"""Above the vCPUs all sessions lose to them alike."""
ALL_UNEQUALLY = "all are slower, some more than others"
MAX_CAUSES = 3
OF_SOME_CPUS = (Cause.IRQ, Cause.COMPETITOR)
"""They take time of the CPUs that they are on, as the kernel counts it by CPU."""


class Limit(Struct, frozen=True):
    """Where sessions begin to lose by being too many: ``above {words}``, in a headline ``above {short}``.

    ``sessions``: it is a number of sessions, that of the largest level at full speed, and not what the CPUs are.
    """

    words: str
    short: str
    sessions: int | None = None


def limit_of(found: LevelLosses, vcpus: int | None, quota: float | None) -> Limit:
    """The vCPUs, or the limiting CPU quota; more where more sessions than these were at full speed.

    So are those of work that waits, and 4 with a quota of 3.9.
    """
    most = found.largest_fine
    if most > (quota or vcpus or 0):
        return Limit(str(most), str(most), most)
    if quota is not None:
        return Limit(f"the CPU quota of {quota:g}", f"the CPU quota of {quota:g}")
    return Limit(f"the {plural(vcpus or 0, 'vCPU')}", str(vcpus or 0))


def lost_words(level: LevelView, sessions: str = "sessions") -> str:
    """Who loses at a level: some, all, or, where that is undecided, ``sessions``."""
    if level.even is not Answer.NO and is_counted_only(level):
        return f"{sessions} lose time"
    if rounds_differ(level):
        return f"{sessions} are slower"
    if all_lose_unequally(level):
        return ALL_UNEQUALLY
    return {Answer.NO: "some are slower", Answer.YES: "all are slower"}.get(level.even, f"{sessions} are slower")


def all_lose_unequally(level: LevelView) -> bool:
    """Whether shares are unequal, and even the fastest session is slower than one alone."""
    return level.even is Answer.NO and exceeds(level.slowdown_min or 1.0)


def worst_words(worst: int, named: Collection[int], more: str = "") -> str:
    """`` (N=8: more)``, the level that a figure is of; without it where it alone was ``named`` before."""
    inside = ": ".join(filter(None, (f"N={worst}" if set(named) != {worst} else "", more)))
    return f" ({inside})" if inside else ""


def largest_loss(level: LevelView) -> float:
    """What sessions lose beside each other: the larger of slowdown and max/min."""
    return max(level.slowdown_median or 1.0, level.max_over_min or 1.0)


def named_losses(found: LevelLosses) -> tuple[LevelView, ...]:
    """The levels up to the vCPUs that a verdict names: the first with a loss, one that is much worse, one unequal."""
    if not found.losses:
        return ()
    first, worst = found.losses[0], found.worst
    if first.level == 1:
        # All lose that much: what sessions lose beside each other comes on top.
        worst = max(found.losses[1:], key=largest_loss, default=None)
        worse = worst is not None and (largest_loss(worst) > MUCH_WORSE or worst.even is Answer.NO)
        return (first, worst) if worst is not None and worse else (first,)
    if worst is None or loss_ratio(worst) <= MUCH_WORSE * loss_ratio(first):
        return (first,)
    uneven = [each for each in found.losses if each.even is Answer.NO]
    if not uneven or Answer.NO in (first.even, worst.even):
        return (first, worst)
    return (first, max(uneven, key=lambda each: each.max_over_min or 1.0), worst)


def named_beyond(found: LevelLosses, vcpus: int | None) -> tuple[LevelView, ...]:
    """The same of those above the vCPUs: the first unequal one, or where these lose much more the last.

    The last one stands beside the first unequal one where it is much worse by another cause.
    """
    lost = [each for each in found.beyond if is_loss(each)]
    if not lost or vcpus is None:
        return ()
    last = lost[-1]
    uneven = next((each for each in lost if each.even is Answer.NO), None)
    if uneven is None:
        much = not found.losses or largest_loss(last) > MUCH_WORSE * max(map(largest_loss, found.losses))
        return (last,) if much else ()
    other = not set(named_causes(last, vcpus)) <= set(named_causes(uneven, vcpus))
    return (uneven, last) if other and largest_loss(last) > MUCH_WORSE * largest_loss(uneven) else (uneven,)


def named_causes(level: LevelView, vcpus: int | None) -> tuple[Cause, ...]:
    """What a verdict names of a level, the main cause first, and others beside it; () where none is known."""
    cause = lost_to(level)
    if not cause.is_known:
        return ()
    if is_counted_only(level):
        return (cause,)
    second = Cause.RUN_QUEUE if cause in ALIKE and by_turns(level, vcpus) else level.second_cause
    named = (cause, second) if second.is_known else (cause,)
    return tuple(dict.fromkeys((*named, *_of_some_cpus(level))))[:MAX_CAUSES]


def _of_some_cpus(level: LevelView) -> tuple[Cause, ...]:
    """What took CPU time of few sessions, but in most rounds: it makes shares unequal beside what all lose to."""
    if level.even is not Answer.NO:
        return ()
    few = [cause for cause, many in level.causes if level.rounds < 2 * many <= level.rounds * level.level]
    return tuple(cause for cause in OF_SOME_CPUS if cause in few)


def as_well_words(second: Cause, others: Collection[Cause]) -> str:
    """What sessions lose beside what makes them unequal: ``second`` all of them, but what is on some CPUs only some."""
    known = [each.words for each in (second, *others) if each.is_known]
    if not second.is_known or second in OF_SOME_CPUS:
        return f"{' and '.join(known)} as well"
    some = " and ".join(known[1:])
    return f"all lose to {second.words} as well{f', some to {some}' if some else ''}"


def named_by_turns_alone(level: LevelView) -> bool:
    """Whether all that is said of a level above the vCPUs is that its sessions take turns: they wait for a CPU."""
    cause, second = lost_to(level), level.second_cause
    waits = cause is Cause.RUN_QUEUE or (cause is Cause.SHARED_CORE and second is Cause.RUN_QUEUE)
    return level.even is not Answer.NO and (waits or not cause.is_known)


def beside_turns(level: LevelView, vcpus: int | None) -> str:
    """What sessions that take turns lose to as well, as `` (run-queue wait, and CPU quota as well)``; '' for nothing.

    Other processes are named as those that had the CPUs.
    """
    said = (Cause.RUN_QUEUE, Cause.COMPETITOR, *ALIKE)
    also = [each.words for each in named_causes(level, vcpus) if each not in said]
    return f" ({Cause.RUN_QUEUE.words}, and {listed(also)} as well)" if also else ""


def take_turns(level: LevelView, busy: float) -> bool:
    """Whether there are too few CPUs for the sessions of a level above the vCPUs.

    Work that waits (``busy`` below 1) leaves some free: there a session waits for one at times.
    """
    return busy == 1.0 or exceeds(level.ideal_slowdown or 1.0)


def beyond_words(found: LevelLosses, vcpus: int | None, busy: float) -> str:
    """What happens above the limit, in a headline: of the last level whose shares are not unequal, and which ones are.

    The cause is named where it is another than the limit.
    """
    where = where_unequal(found)
    level = next((each for each in reversed(found.beyond) if is_loss(each) and each.even is not Answer.NO), None)
    if level is None:
        return f"shares are unequal{where}"
    if named_by_turns_alone(level):
        words = "they take turns" if take_turns(level, busy) else "they wait at times"
    elif lost_to(level) is Cause.THROTTLED:
        words = "they are throttled"
    else:
        words = f"they are slower ({listed([each.words for each in named_causes(level, vcpus)])})"
    return f"{words}, in unequal shares{where}" if where else words


def where_unequal(found: LevelLosses) -> str:
    """`` at N=9-10``: the levels above the vCPUs with unequal shares; '' where all that lose something have these."""
    uneven = [each.level for each in found.beyond if each.even is Answer.NO]
    others = any(each not in found.fine and each.even is not Answer.NO for each in found.beyond)
    return f" at N={short_ranges(uneven)}" if uneven and others else ""


def by_turns(level: LevelView, vcpus: int | None) -> bool:
    """Whether its sessions are unequal by how long they waited for their turn."""
    known = level.unequal_by in (Cause.NONE, Cause.RUN_QUEUE, *ALIKE)
    waited = level.even is Answer.NO and level.counted_cause == Cause.RUN_QUEUE
    return vcpus is not None and level.level > vcpus and waited and known

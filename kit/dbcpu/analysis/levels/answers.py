"""Do the sessions of a level get equal shares, and does a session run as fast as alone? Yes, no or undecided.

The one definition that the verdict, headline, capacity, findings, colours, checks and exit codes read.

``even`` is about shares: ``no`` when the slowest over the fastest is beyond chance and tolerance, or when what the
kernel counted (run-queue wait, throttling, steal, sleep) differs between the sessions by more than 10 %; ``yes`` when
the true ratio is below 1.10 with 95 % confidence (``apart_bound``, ``gradual_bound``), and rounds are alike.
``full_speed`` is about the median session against one alone: ``no`` when it is slower beyond chance, or took
1.10 times as long by what was counted; ``yes`` when its slowdown is below 1.10 with 95 % confidence. Above the
vCPUs only work that waits runs at full speed. All else is ``undecided``: not having found a difference is no answer.
"""

from collections.abc import Sequence
from functools import partial
from math import comb
from statistics import median_low

import numpy as np
from msgspec import Struct

from dbcpu.analysis.levels.noise import slowdown_error, uneven_limit
from dbcpu.analysis.pace.by_level import PaceRatio
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.statistics import apart_bound
from dbcpu.analysis.statistics.chance import POWER, Chance
from dbcpu.analysis.statistics.gradual_bound import lasting_bound, scatter_bound
from dbcpu.analysis.statistics.interval import CONFIDENCE
from dbcpu.analysis.statistics.outlying_range import outlying
from dbcpu.analysis.statistics.range_bound import bound_from_range
from dbcpu.analysis.statistics.robust import median

EQUAL = 1.10
"""Sessions are equal, and as fast as alone, where the true ratio is below this."""
EVEN_LIMIT = 1.15
"""Where max/min is seen above this, sessions are not called even, whatever part of it is chance."""
UNEQUAL_TURNS = 1.25
"""Above the vCPUs all wait in turn, and by chance some longer: counted waits differ where they do by more than this."""
SLOWED_ALARM = 0.001
"""Chance that one level without any loss counts as slowed."""
MIN_ROUNDS_TO_ANSWER = 2
"""One round of one pair proves no equality."""


class CountedSlowdown(Struct, frozen=True):
    """What the kernel counted at a level; medians over rounds.

    ``slowdown``: elapsed over the time that was not lost to it, of the round's median session. ``ratio``: the largest
    of these over the least of a round, beyond what unequal work makes of fair turns. ``high``: the true median of
    rounds is below it with 95 % confidence; None with a single round. ``rounds``: the slowdown of each round.
    """

    slowdown: float
    ratio: float
    high: float | None = None
    rounds: tuple[float, ...] = ()

    @property
    def is_loss(self) -> bool:
        """Whether most rounds lost more than equal: a median between rounds with a loss and without is of neither."""
        return exceeds(self.slowdown) and (not self.rounds or exceeds(median_low(self.rounds)))


class LevelSeen(Struct, frozen=True):
    """What was measured at a level. ``ratios``: slowest over fastest of each round; () for one session.

    ``medians``: of each round, over the single-session time. ``split``: in most rounds some sessions have a cause of a
    slowdown, or form a slow group, and others do not. ``slow``: in most rounds half of the sessions or more have a
    cause. ``vcpus``: that the sessions may use, None where not known. ``scatter``: of the medians of rounds of one
    level, over all levels that share no cores; None where none of them has two. ``logs``: logarithms of the times of
    the sessions, by round; () where they are not known one by one. ``cpus``: where each of them mostly ran; () of
    rounds in which two shared one. ``alone``: scatter of the logarithms of the times of single sessions.
    ``sorted``: sessions may have been put in an order of their times, as in a file of somebody else. ``waits``: of work
    that waits by itself, by chance some longer. ``noise``: by which its median is
    slower than one session alone by chance; None for that of the reference.
    """

    sessions: int
    ratios: tuple[float, ...]
    medians: tuple[float, ...]
    counted: CountedSlowdown | None
    split: bool
    slow: bool
    vcpus: int | None
    scatter: Chance | None = None
    logs: tuple[tuple[float, ...], ...] = ()
    cpus: tuple[tuple[int, ...], ...] = ()
    alone: Chance | None = None
    sorted: bool = False
    waits: bool = False
    noise: Chance | None = None

    @property
    def beyond(self) -> bool:
        """More sessions than vCPUs."""
        return self.vcpus is not None and self.sessions > self.vcpus

    @property
    def ratio(self) -> float:
        """Max/min, the median over rounds; 1 of a single session."""
        return median(self.ratios) if self.ratios else 1.0

    @property
    def slowdown(self) -> float:
        """Of the median session, the median over rounds."""
        return median(self.medians)


class PaceSeen(Struct, frozen=True):
    """The pace of the CPUs at a level against that with at most one session, by the witness.

    ``limit``: of this level and all larger ones, where its times are at one pace; None where they are as delivered.
    ``own``: of this level alone. ``rest_slowdown`` and ``rest_ratio``: median slowdown and max/min at one pace, where
    all sessions have a pace. ``alike``: the CPUs are equally fast at their best.
    """

    limit: PaceRatio | None
    own: PaceRatio | None
    rest_slowdown: float | None = None
    rest_ratio: float | None = None
    alike: bool = True

    @property
    def falls(self) -> bool:
        """Whether the CPUs are shown to be slower with the sessions: these share what the host does not show."""
        own = self.own
        return own is not None and own.log - own.chance.passed_by(SLOWED_ALARM) > np.log(EQUAL)

    def explains(self, rest: float | None) -> bool:
        """Whether a difference of delivered times may be a stranger's alone: it is not there at one pace."""
        return self.limit is None and self.alike and not self.falls and rest is not None and rest <= EQUAL


class Answers(Struct, frozen=True):
    """Both answers of a level.

    ``even_bound``: the true slowest over fastest is below it with 95 % confidence. ``slowdown_low`` and ``_high``: 95 %
    interval of the median slowdown. ``detectable``: the smallest slowdown that this level could have shown, as a
    factor (80 % power). None where nothing is known of the noise.
    """

    even: Answer = Answer.UNDECIDED
    full_speed: Answer = Answer.UNDECIDED
    even_bound: float | None = None
    slowdown_low: float | None = None
    slowdown_high: float | None = None
    detectable: float | None = None


def answers(seen: LevelSeen, reference: Reference | None, pace: PaceSeen | None = None) -> Answers:
    """Of a level with at least one usable round. ``reference`` None: only what was counted answers."""
    if reference is None:
        return Answers(_even(seen, None, None), _full_speed(seen, None, None))
    if seen.sessions == 1:
        return Answers(Answer.YES, _alone(seen, reference))
    error = partial(slowdown_error, sessions=seen.sessions, rounds=len(seen.medians), scatter=seen.scatter)
    shift = error(reference.noise, alone=reference.sessions)
    half = shift.passed_by((1 - CONFIDENCE) / 2)
    below, above = half, half
    gate = uneven_limit(reference.noise, seen.sessions, len(seen.ratios), 1.0 + reference.tolerance)
    # Of shares that are shown to be unequal nobody asks how unequal they may be, unless a stranger's may be the cause.
    delivered = pace is not None and pace.limit is None
    bound = _even_bound(seen, reference) if delivered or _even(seen, None, gate) is not Answer.NO else None
    if pace is not None and pace.limit is not None:
        # Times at one pace say nothing of how the pace changed: its own limits are added.
        paced = pace.limit.chance.passed_by((1 - CONFIDENCE) / 2)
        below, above = (float(np.hypot(half, paced)) + max(0.0, side * pace.limit.log) for side in (-1, 1))
        if bound is not None:
            bound = float(np.exp(np.log(bound) + max(0.0, np.log(pace.limit.high)) * max(1.0, seen.sessions / 2)))
    low, high = (float(np.exp(np.log(seen.slowdown) + side)) for side in (-below, above))
    # That all are slow needs less than that none is: one session alone may usually lose what it did in some rounds.
    known = error(seen.noise or reference.noise, alone=reference.sessions)
    slowed = max(EQUAL, float(np.exp(known.passed_by(SLOWED_ALARM))))
    even = _even(seen, bound, gate)
    full_speed = _full_speed(seen, None if reference.noise_range is None else high, slowed)
    if pace is not None and pace.limit is None:
        even, full_speed = _as_delivered(seen, even, full_speed, pace)
    detectable = min(_detectable(seen, reference, gate, shift, even, full_speed), _left(even, full_speed, bound, high))
    return Answers(
        even=even,
        full_speed=full_speed,
        even_bound=None if even is Answer.NO else _known(bound),
        slowdown_low=_known(low),
        slowdown_high=_known(high),
        detectable=None if reference.noise_range is None else _known(detectable),
    )


def _left(even: Answer, full_speed: Answer, bound: float | None, high: float) -> float:
    """What the bounds of the open questions leave possible: a larger slowdown would have shown."""
    open_ = [
        limit if limit is not None else float("inf")
        for answer, limit in ((even, bound), (full_speed, high))
        if answer is Answer.UNDECIDED
    ]
    return max([EQUAL, *open_]) if open_ else float("inf")


def _alone(seen: LevelSeen, reference: Reference) -> Answer:
    """Of a single session: by what was counted. Where nothing is, it is as fast as alone by definition.

    Unless the reference is of other rounds: those of this level may have had their memory on another node.
    """
    if seen.slowdown >= EQUAL:
        return Answer.NO if seen.slow and exceeds(seen.slowdown) else Answer.UNDECIDED
    if seen.counted is None:
        return Answer.YES
    if seen.counted.is_loss:
        return Answer.NO
    return Answer.UNDECIDED if _may_wait(seen) or reference.noise_range is None else Answer.YES


def _may_wait(seen: LevelSeen) -> bool:
    """Whether what was counted in some rounds leaves it open that sessions usually lose more than 10 % to it."""
    return seen.counted is not None and (seen.counted.high is None or exceeds(seen.counted.high))


def _as_delivered(seen: LevelSeen, even: Answer, full_speed: Answer, pace: PaceSeen) -> tuple[Answer, Answer]:
    """The answers of a level whose times are as delivered: what a stranger may have done to it is undecided."""
    counted = seen.counted or CountedSlowdown(1.0, 1.0)
    if even is Answer.NO and pace.explains(pace.rest_ratio) and not exceeds(counted.ratio):
        even = Answer.UNDECIDED
    kept_waiting = seen.beyond or exceeds(counted.slowdown)
    if full_speed is Answer.NO and pace.explains(pace.rest_slowdown) and not kept_waiting:
        full_speed = Answer.UNDECIDED
    if full_speed is Answer.UNDECIDED and pace.falls and exceeds(seen.slowdown):
        full_speed = Answer.NO
    return even, full_speed


def _known(ratio: float | None) -> float | None:
    """None where so little is known that the limit is beyond every ratio."""
    return ratio if ratio is not None and np.isfinite(ratio) else None


def _even(seen: LevelSeen, bound: float | None, gate: float | None) -> Answer:
    least = UNEQUAL_TURNS if seen.beyond else EQUAL
    counted = seen.counted is not None and not seen.waits and round(min(seen.counted.ratio, seen.ratio), 2) > least
    noticed = gate is not None and seen.ratio > gate and exceeds(seen.ratio)
    if (counted or noticed) and (seen.beyond or is_usual(seen.ratios)):
        return Answer.NO
    enough = (
        len(seen.ratios) >= MIN_ROUNDS_TO_ANSWER and seen.ratio <= EVEN_LIMIT and not seen.split and not _differ(seen)
    )
    return Answer.YES if enough and bound is not None and bound < EQUAL else Answer.UNDECIDED


def _differ(seen: LevelSeen) -> bool:
    """Whether rounds are so unlike that noise does not explain it: then the usual one does not speak for all."""
    high, allowed = sum(ratio > EQUAL for ratio in seen.ratios), may_stand_apart(len(seen.ratios))
    return high > allowed and _apart(seen) > allowed


def _apart(seen: LevelSeen) -> int:
    """How many rounds are so unlike the others that noise does not explain it."""
    return outlying([float(np.log(ratio)) for ratio in seen.ratios], seen.sessions)


def is_usual(losses: Sequence[float]) -> bool:
    """Whether what is lost in some rounds, as a factor, is lost in the usual round, too, with 95 % confidence.

    Rounds of one kind speak for each other. Where in some nothing is lost and in others much, few rounds show either
    kind as the larger one by chance: beside a CPU that interrupts keep busy half of all pairs of rounds are such.
    """
    return calm_of_two_kinds(losses) <= may_stand_apart(len(losses))


def calm_of_two_kinds(losses: Sequence[float]) -> int:
    """How many rounds lose nothing where others lose much, by at least 1.15 times; 0 where rounds are of one kind."""
    calm, lost = ([each for each in losses if exceeds(each) is is_lost] for is_lost in (False, True))
    return len(calm) if calm and lost and median(lost) >= EVEN_LIMIT * max(calm) else 0


def will_agree(few: int, of_rounds: int, rounds: int) -> bool:
    """Whether of so many ``rounds`` those of the rarer kind, now ``few`` of some, are probably few enough (80 %)."""
    share, allowed = few / of_rounds, may_stand_apart(rounds)
    return sum(comb(rounds, k) * share**k * (1 - share) ** (rounds - k) for k in range(allowed + 1)) >= POWER


def may_stand_apart(rounds: int) -> int:
    """So few of them leave it at 95 % confidence that the usual round is not like these; 0 of fewer than eight.

    By the sign test: Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.4.
    """
    few, chance = -1, 0.0
    while (chance := chance + comb(rounds, few + 1) * 0.5**rounds) <= 1 - CONFIDENCE:
        few += 1
    return max(0, few)


def _full_speed(seen: LevelSeen, high: float | None, slowed: float | None) -> Answer:
    # What was counted needs no baseline: its rounds are of one kind or of two whatever a single session lost.
    counted = seen.counted is not None and seen.counted.is_loss and is_usual(seen.counted.rounds)
    noticed = slowed is not None and seen.slowdown > slowed and exceeds(seen.slowdown) and is_usual(seen.medians)
    if counted or noticed:
        return Answer.NO
    if seen.beyond and exceeds(seen.slowdown):
        return Answer.NO
    if (seen.beyond and not seen.waits) or seen.slow or _may_wait(seen) or len(seen.medians) < MIN_ROUNDS_TO_ANSWER:
        return Answer.UNDECIDED
    return Answer.YES if high is not None and high < EQUAL else Answer.UNDECIDED


def exceeds(ratio: float) -> bool:
    """Whether it is more than equal, as it is printed: 1.10x is not."""
    return round(ratio, 2) > EQUAL


def _even_bound(seen: LevelSeen, reference: Reference) -> float | None:
    if reference.noise_range is None or not seen.ratios:
        return None
    usual = _usual_rounds(seen)
    if seen.logs and apart_bound.distinguish(len(seen.logs), seen.sessions):
        few = apart_bound.upper_bound(tuple(seen.logs[at] for at in usual))
    else:
        mean = float(np.mean(np.log(seen.ratios)))
        few = bound_from_range(mean, seen.sessions, len(seen.ratios), reference.noise_range)
    return float(np.exp(_by_degrees(seen, usual, few)))


def _by_degrees(seen: LevelSeen, usual: Sequence[int], least: float) -> float:
    """The largest difference of logarithms that is possible of sessions that differ by degrees: lasting, or in turns.

    ``least``: at least this is possible.
    """
    if len(usual) < MIN_ROUNDS_TO_ANSWER:
        return least
    times, cpus = np.array([seen.logs[at] for at in usual]), [seen.cpus[at] if seen.cpus else () for at in usual]
    if not seen.sorted:
        least = max(least, lasting_bound(times))
    if all(cpus) and len({frozenset(each) for each in cpus}) == 1:
        least = max(least, lasting_bound(np.take_along_axis(times, np.argsort(cpus, axis=1), axis=1)))
    # Above the vCPUs sessions differ by whose turn it was, of which one alone shows nothing.
    if seen.alone is not None and seen.alone.freedom > 0 and seen.sessions > 2 and not seen.beyond:
        least = max(least, scatter_bound(times, seen.alone, least))
    return least


def _usual_rounds(seen: LevelSeen) -> tuple[int, ...]:
    """All but those that stand apart, where these are so few that the usual round is not like them."""
    every, allowed = range(len(seen.logs)), may_stand_apart(len(seen.logs))
    few = _apart(seen) if allowed else 0
    if not 0 < few <= allowed:
        return tuple(every)
    widest = sorted(every, key=lambda at: max(seen.logs[at]) - min(seen.logs[at]))
    return tuple(widest[:-few])


def _detectable(
    seen: LevelSeen, reference: Reference, gate: float, shift: Chance, even: Answer, full_speed: Answer
) -> float:
    """Of the questions that are undecided; of both where neither or both are."""
    of_median = max(np.log(EQUAL), shift.passed_by(SLOWED_ALARM)) + shift.passed_by(1 - POWER)
    if not seen.ratios or (even is not Answer.UNDECIDED and full_speed is Answer.UNDECIDED):
        return float(np.exp(of_median))
    of_range = np.log(gate) + reference.noise.times((2.0 / len(seen.ratios)) ** 0.5).passed_by(1 - POWER)
    if full_speed is not Answer.UNDECIDED and even is Answer.UNDECIDED:
        return float(np.exp(of_range))
    return float(np.exp(max(of_range, of_median)))

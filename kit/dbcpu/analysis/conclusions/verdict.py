"""What is known, what is undecided, and what would decide it: does every session get the same CPU?"""

from collections.abc import Sequence

from dbcpu.analysis.causes.attribution import not_sampled
from dbcpu.analysis.conclusions.fine_levels import fast_levels, fine_words
from dbcpu.analysis.conclusions.lost_level_words import lost_level_words
from dbcpu.analysis.conclusions.named_levels import (
    ALIKE,
    as_well_words,
    beside_turns,
    by_turns,
    limit_of,
    lost_words,
    named_beyond,
    named_by_turns_alone,
    named_causes,
    named_losses,
    take_turns,
    where_unequal,
)
from dbcpu.analysis.conclusions.open_questions import half_undecided, one_round_words, too_few_words, what_would_decide
from dbcpu.analysis.conclusions.others_beside import others_words
from dbcpu.analysis.conclusions.throughput_words import falls_words
from dbcpu.analysis.conclusions.unequal_words import unequal_words
from dbcpu.analysis.conclusions.unnamed_levels import unnamed_words
from dbcpu.analysis.host_usage.host_time import typical_share
from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.levels.level_losses import (
    LevelLosses,
    is_counted_only,
    is_loss,
    is_lost_alone_too,
    level_losses,
    lost_to,
    over_ideal,
)
from dbcpu.analysis.levels.rounds_apart import apart_words, level_with_most_slow_rounds, rounds_differ
from dbcpu.analysis.levels.rounds_needed import ROUNDS
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.two_groups import SIBLING_SLOWDOWN
from dbcpu.analysis.placement.usable_cpus import bounding_quota, core_by_cpu, limiting_quota, vcpu_words
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling, TopologyCheck
from dbcpu.analysis.results.run import LevelView, MoreRounds
from dbcpu.analysis.scaling.topology_check import has_two_kinds
from dbcpu.analysis.scaling.turbo import is_turbo, is_turbo_beside
from dbcpu.formatting import COLON, is_short, number, percent, plain, plural, seconds, sentences, short_ranges, times
from dbcpu.record.reported_steal import steal_unseen
from dbcpu.record.rounds import RunRecord

ONLY_TOTALS = "only total rates are known, nothing of single sessions"
STOLEN = 0.05
"""Steal that may explain the noise of single-session times."""
UNRELIABLE = 1.5
"""More throughput than that, over what is possible, and nothing is said that rests on the baseline."""
HIDDEN = 4.0
"""A larger limit is not written out."""
FASTEST_IS_SLOW = "even the fastest session is slow: the turbo frequency falls, or each was on slow CPUs for a time"
INFERRED = (Cause.SHARED_CORE, Cause.SLOWER_CPU, Cause.REMOTE_MEMORY)
"""Causes that rest on CPU time, in which steal is where it is not reported."""


def verdict(
    context: RunContext,
    levels: Sequence[LevelView],
    topology: TopologyCheck | None = None,
    scaling: Scaling | None = None,
    more: MoreRounds | None = None,
) -> str:
    """The sentences for the levels of one variant, smallest level first; ``more``: rounds that may decide."""
    measured = [each for each in levels if each.sessions]
    if not measured:
        return _nothing(context.record)
    said = _Words(context, topology, scaling, more).body(measured)
    return " ".join(filter(None, (said, lost_level_words(context.lost, context))))


def _nothing(record: RunRecord) -> str:
    reason = next((plain(each.error) for each in record.rounds if each.error), "")
    reason = reason or next((plain(s.error) for each in record.rounds for s in each.sessions if s.error), "")
    return f"Nothing was measured: {reason or 'no round was finished'}."


class _Words:
    """The parts of the verdict; what they all need is kept here."""

    def __init__(
        self,
        context: RunContext,
        topology: TopologyCheck | None,
        scaling: Scaling | None,
        more: MoreRounds | None,
    ) -> None:
        self.context, self.record = context, context.record
        self.reference, self.vcpus = context.reference, context.vcpus
        self.cores, self.topology, self.scaling = context.cores, topology, scaling
        self.speeds = context.split.two_speeds if context.split else None
        self.more, self.threads = more, max(context.threads, default=1)

    def body(self, levels: Sequence[LevelView]) -> str:
        together = [each for each in levels if each.level > 1]
        if self.reference is None:
            worst = max(together or levels, key=lambda each: each.max_over_min or 1.0)
            if worst.max_over_min is None:
                return "Nothing is known: no valid single session, and no round with two valid sessions."
            return (
                f"Without a valid single-session baseline only the spread is known: the largest median max/min is "
                f"{number(worst.max_over_min)}, at {plural(worst.level, 'session')}."
            )
        found = level_losses(levels, self.vcpus, self.context.lost)
        if not together:
            unit = self.record.header.plan.workload.unit
            alone = f"A single session reaches {number(self.reference.mrows_per_s)} {unit}"
            lost = f"{self._alone(levels[0])}; " if is_loss(levels[0]) else ""
            lost = "it is inconclusive whether that is all of a CPU; " if found.alone_undecided else lost
            further = "" if self.context.lost else "measure more sessions to see whether each gets the same CPU"
            return f"{f'{alone} ({seconds(self.reference.elapsed_s)}); {lost}{further}'.removesuffix('; ')}."
        if not all(each.shares_known for each in together):
            return self._of_totals(found)
        if (fast := unreliable(together, self.vcpus)) > UNRELIABLE:
            quieter = "Measure again on a quieter host, with longer executions (`--size long`)."
            helps = self._fewer_counted() or quieter
            return (
                f"The baseline is not reliable: the throughput is up to {times(fast)} of what single sessions would "
                f"reach. {helps}"
            )
        single = found.alone_undecided and self.reference.noise_range is not None
        one = levels[0] if single and levels[0].level == 1 else None
        said = (
            (fine_words(found), *self._losses(found), *self._others(found), *self._beyond(found), *self._doubts(found)),
            falls_words(self.scaling),
            self._undecided(found),
            half_undecided(found, self.context, one, self.more),
            self._pace(found),
        )
        return " ".join(filter(None, (sentences(*clauses) for clauses in said)))

    def _fewer_counted(self) -> str:
        """Where ``--vcpus`` said fewer vCPUs than the sessions may use, and what helps then; '' otherwise."""
        plan, usable = self.record.header.plan, len(core_by_cpu(self.record))
        counted = plan.vcpus if plan.vcpus_source == "--vcpus" else None
        if not counted or counted >= usable or bounding_quota(self.record) is not None:
            return ""
        count_on = f"This run counts on {plural(counted, 'vCPU')}, and its sessions may use {plural(usable, 'CPU')}"
        return f"{count_on}: measure again without `--vcpus`, or keep them on as many by `--cpus`."

    def _of_totals(self, found: LevelLosses) -> str:
        fast, first = fast_levels(found), found.first
        parts = [f"no slowdown up to {plural(fast[-1].level, 'session')}"] if fast else []
        parts += [self._at(first)] if first is not None else []
        return sentences(*parts, *falls_words(self.scaling), ONLY_TOTALS)

    def _losses(self, found: LevelLosses) -> tuple[str, ...]:
        named = named_losses(found)
        if not named:
            return ()
        first = named[0]
        at_each = tuple(map(self._at, named))
        if first.level > 1 and found.lasts(first) and first is not found.levels[-1]:
            return (f"from {first.level} sessions on, {lost_words(first)}", f"{COLON}{at_each[0]}", *at_each[1:])
        return at_each

    def _beyond(self, found: LevelLosses) -> tuple[str, ...]:
        named = named_beyond(found, self.vcpus)
        if not named:
            return ()
        first, limit = named[0], limit_of(found, self.vcpus, limiting_quota(self.record))
        above = f"above {limit.words}"
        if first.even is Answer.NO:
            where = where_unequal(found)
            return (f"{above} shares are unequal{where}", f"{COLON}{self._at(first)}", *map(self._at, named[1:]))
        if not named_by_turns_alone(first):
            return (f"{above}: {self._at(first)}",)
        assert self.reference is not None
        what = "take turns" if take_turns(first, self.reference.busy) else "wait for a CPU at times"
        slower = f"the median slowdown is {times(first.slowdown_median)}"
        if is_lost_alone_too(first):
            lost = percent(1 - 1 / (first.counted_slowdown or 1.0))
            slower = f"the median session lost {lost} of its time, as the kernel counted"
        return (
            f"{above} {'they' if limit.sessions else 'sessions'} {what}: at {first.level} sessions {slower}"
            f"{beside_turns(first, self.vcpus)}{self._beside_others(first)}",
        )

    def _why_blind(self, level: LevelView) -> str:
        """Why the rounds of a level were not sampled; '' where they were."""
        blind = next((r for r in self.record.rounds if r.level == level.level and not_sampled(r)), None)
        return plain(blind.not_sampled or "no reason recorded") if blind else ""

    def _others(self, found: LevelLosses) -> tuple[str, ...]:
        """What may slow all of uneven levels, and levels that have no clause of their own."""
        turbo = [e for e in found.losses if is_turbo_beside(e, self.scaling, self.speeds, self.vcpus)]
        turbo = turbo if any(each in named_losses(found) for each in turbo) else []
        fastest = f"at N={short_ranges(each.level for each in turbo)} {FASTEST_IS_SLOW}" if turbo else ""
        return fastest, unnamed_words(found, self.vcpus)

    def _doubts(self, found: LevelLosses) -> tuple[str, ...]:
        """Why causes of the levels that are named are not known, or are of lower confidence; once for all."""
        named = [each for each in (*named_losses(found), *named_beyond(found, self.vcpus)) if each.level > 1]
        blind = [why for each in named if (why := self._why_blind(each))]
        unseen = any(lost_to(each) in INFERRED for each in named) and not blind
        reasons = (*(f"the host was not sampled: {why}" for why in blind), steal_unseen(self.record) if unseen else "")
        return tuple(dict.fromkeys(filter(None, reasons)))

    def _undecided(self, found: LevelLosses) -> tuple[str, ...]:
        assert self.reference is not None
        if not found.undecided:
            return ()
        where = f"N={short_ranges(each.level for each in found.undecided)}"
        apart = level_with_most_slow_rounds(found.undecided)
        few = [each for each in found.undecided if each.calm_rounds is not None]
        one_round = one_round_words(found.undecided)
        noisy = [e for e in found.undecided if e.rounds_apart is None and e.calm_rounds is None and e.rounds > 1]
        limits = [each.detectable for each in noisy if each.detectable is not None]
        noise = f"slowdowns below {times(max(limits))} are within noise" if limits else ""
        if limits and max(limits) > HIDDEN:
            noise = f"even a slowdown of {times(HIDDEN)} is within noise"
        elif limits and not exceeds(max(limits)):
            noise = "" if apart else f"too near {times(EQUAL)}, or rounds differ from each other"
        differ = f"rounds differ (at {apart.level} sessions, {apart_words(apart, with_cause=True)})" if apart else ""
        too_few = too_few_words(few, found.undecided, self.more) if few else ""
        why = [each for each in (differ, too_few, one_round, noise) if each]
        if self.reference.noise_range is None:
            why = ["a single session was measured only once, so the noise is not known"]
        elif all(each.rounds < 2 for each in found.undecided):
            why = ["one round of a level proves no equality"]
            why += [] if self.more else [f"with this noise not even {ROUNDS[-1]} rounds would probably decide"]
        helps = what_would_decide(self.context, self.more, self.topology, found.undecided)
        first, *others = why or ["no round is whole"]
        return (f"inconclusive at {where}", f"{COLON}{first}{_meanwhile(self.record)}", *others, helps)

    def _pace(self, found: LevelLosses) -> tuple[str, ...]:
        """What the witness saw of the CPUs themselves; () where their speed did not change by turns."""
        speeds = self.speeds
        if speeds is None:
            return ()
        within = [each for each in found.levels if each.level > 1 and each not in found.beyond]
        same = [each for each in found.levels if each.level > 1 and each.at_one_pace]
        share = percent(speeds.slow_share)
        how = f"by the witness a CPU is slow for {share} of the time: its work takes {times(speeds.factor)} as long"
        if within and all(each.at_one_pace for each in within):
            where = f"N={short_ranges(each.level for each in same)}"
            return (
                f"the speed of the CPUs themselves changes, even with one session or none ({how})",
                f"the sessions of this run did not cause this, and the figures of {where} exclude it",
            )
        return (f"the speed of the CPUs themselves changes even with a single session ({how})",)

    def _at(self, level: LevelView) -> str:
        if level.level == 1:
            return self._alone(level)
        whole = self._at_level(level, self._why(level))
        return whole if is_short(whole) else self._at_level(level, self._why(level, brief=True))

    def _at_level(self, level: LevelView, why: str) -> str:
        why = f" ({why})" if why else ""
        here = f"at {level.level} sessions"
        if rounds_differ(level) and not is_counted_only(level):
            return f"{here}, {apart_words(level, why=why)}"
        if level.even is Answer.NO:
            return f"{here} {unequal_words(level)}{why}"
        counted = level.counted_slowdown or 1.0
        if is_counted_only(level) or (counted > EQUAL and level.even is not Answer.YES and is_lost_alone_too(level)):
            lost = 1.0 - 1.0 / counted
            return f"{here} the median session lost {percent(lost)} of its time, as the kernel counted{why}"
        if level.even is Answer.YES:
            return f"{here} all are equally slow, with a slowdown of {times(level.slowdown_median)}{why}"
        if not (level.slowdown_median or 1.0) > EQUAL:
            why = ""  # the usual session lost nothing
        middle = "median" if level.shares_known else "mean"
        return f"{here} the {middle} slowdown is {times(level.slowdown_median)}{why}"

    def _alone(self, level: LevelView) -> str:
        if rounds_differ(level):
            return f"even a single session is not always fast: {apart_words(level, why=f' ({lost_to(level).words})')}"
        if not is_counted_only(level):
            slow = times(level.slowdown_median)
            return f"even a single session has a median slowdown of {slow} ({lost_to(level).words})"
        lost = 1.0 - 1.0 / (level.counted_slowdown or 1.0)
        return f"even a single session loses {percent(lost)} of its time ({lost_to(level).words})"

    def _why(self, level: LevelView, *, brief: bool = False) -> str:
        """``brief``: without what the main cause is."""
        if self._why_blind(level):
            if level.likely_cause is None:
                return "cause unknown"
            how = "" if level.likely_by else ", with lower confidence"
            return f"probably {level.likely_cause.words}{how}: {level.likely_why}"
        cause = lost_to(level)
        by_turbo = cause in (Cause.SLOWER_CPU, Cause.UNEXPLAINED) and is_turbo(level, self.scaling, self.speeds)
        falling = f"the more sessions, the slower each, as with {self._falling_speed()}"
        if by_turbo and level.second_cause is not Cause.SHARED_CORE:
            return f"{cause.words}: {falling}"
        if not cause.is_known:
            return "cause unknown" if level.even is not Answer.YES or cause is Cause.UNEXPLAINED else ""
        # What all of them lose alike makes none of them slower than another.
        sentence = falling if by_turbo else self._sentence(cause, level)
        second, *others = (*named_causes(level, self.vcpus), Cause.NONE)[1:]
        if cause is Cause.RUN_QUEUE and second is Cause.COMPETITOR and self._beside_others(level):
            second = Cause.NONE  # said already
        beyond = self.vcpus is not None and level.level > self.vcpus
        turns = cause in ALIKE and by_turns(level, self.vcpus)
        also = " and ".join(each.words for each in (second, *others) if each.is_known)
        more = f"{also} as well"
        if turns or (level.unequal_by == second and not (beyond and cause is Cause.RUN_QUEUE and second in ALIKE)):
            more = f"unequal through {also}"
        elif level.unequal_by == cause:
            more = as_well_words(second, others)
        also = f", and {more}" if also else ""
        how = f"{also}, with lower confidence" if cause in INFERRED and steal_unseen(self.record) else also
        whole = f"{cause.words}: {sentence}{how}" if sentence and not brief else f"{cause.words}{how}"
        named = level.others_share is None or Cause.COMPETITOR.words in whole
        return whole if named or (beside := self._beside_others(level)) in whole else f"{whole}{beside}"

    def _sentence(self, cause: Cause, level: LevelView) -> str:
        """What the cause is here; the closest of what is known."""
        if cause is Cause.SLOWER_CPU:
            return self._slower_cpu(level) or cause.sentence
        if cause is Cause.SHARED_CORE and self.vcpus is not None and self.threads > 1 and level.level >= self.vcpus:
            every = "both" if self.threads == 2 else f"all {self.threads}"
            return f"sessions ran on {every} hardware threads of each core"
        if cause is Cause.SHARED_CORE and (self.threads > 2 or self._fill_several_cores(level)):
            threads = "both" if self.threads <= 2 else f"several of the {self.threads}"
            whose = "some cores" if self._fill_several_cores(level) else "one core"
            return f"sessions ran on {threads} hardware threads of {whose}"
        if cause is not Cause.RUN_QUEUE:
            return cause.sentence
        if self.vcpus is None:
            return ""
        others = self._beside_others(level)
        if level.level > self.vcpus:
            return f"more sessions than the {vcpu_words(self.record)}{others}"
        return f"sessions waited for a CPU{others}" if others else cause.sentence

    def _fill_several_cores(self, level: LevelView) -> bool:
        """Whether more sessions were slow than one core has threads."""
        return (level.slow or level.slower or 0) > max(2, self.threads)

    def _beside_others(self, level: LevelView) -> str:
        return others_words(level, self.record, self.vcpus)

    def _falling_speed(self) -> str:
        """What may slow all alike, the more of them run; bare metal hides no SMT."""
        hidden = not self.record.header.is_bare_metal and self.cores in (None, self.vcpus)
        return f"a turbo frequency that falls{' or cores shared unseen' if hidden else ''}"

    def _slower_cpu(self, level: LevelView) -> str:
        check = self.topology
        if like_one_core(level, self.vcpus, self.cores):
            return "as on two hardware threads of one core, though the host reports 2 cores, or at a lower frequency"
        if check is not None and check.like_cores:
            return f"the host reports {check.cores} cores and scales like {check.like_cores}"
        if check is not None and check.grouped:
            return "as on two hardware threads of one core, which the host does not show"
        if (level.pace_low or 0.0) > 1.0 and not level.at_one_pace:
            slower = times(level.pace_ratio)
            return f"by the witness {slower} slower than with one session, as on shared cores that are not shown"
        if has_two_kinds(self.record):
            return "the host has cores of two kinds"
        if level.left_node:
            return "sessions ran off the NUMA node where they began"
        return ""


def like_one_core(level: LevelView, vcpus: int | None, cores: int | None) -> bool:
    """Of two vCPUs there is no curve: only that both together are as slow as siblings are."""
    low, high = SIBLING_SLOWDOWN
    both = level.level == vcpus == cores == 2 and level.even is not Answer.NO
    return both and low <= (level.slowdown_median or 1.0) <= high


def unreliable(levels: Sequence[LevelView], vcpus: int | None) -> float:
    """Throughput over what so many single sessions would reach, the largest of all levels; above 1 it is impossible."""
    return max((over_ideal(each, vcpus) for each in levels), default=1.0)


def steal_may_be_why(share: float | None) -> bool:
    """Whether so much steal, of the vCPUs' time, may explain what is inconclusive."""
    return share is not None and share > STOLEN


def _meanwhile(record: RunRecord) -> str:
    share = typical_share(record.rounds)
    return f", with {percent(share)} CPU steal" if steal_may_be_why(share) else ""

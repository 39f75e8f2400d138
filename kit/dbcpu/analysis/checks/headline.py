"""The short answer: a headline, a few figures, and what would help; chosen from the analysis.

The question is: does every session get the same CPU, and if not, how large is the slowdown, what is its cause, and
what would fix it?
"""

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.checks.outcome import AS_MANY_CPUS, FULL_SPEED_CORES, sessions_that_fit
from dbcpu.analysis.checks.refusal import refusal, refusal_words
from dbcpu.analysis.checks.verdict import UNRELIABLE, fast_levels, like_one_core, unreliable
from dbcpu.analysis.experiments.together import TOGETHER
from dbcpu.analysis.levels.outcome import (
    BAD,
    GOOD,
    PARTLY,
    UNKNOWN,
    Outcome,
    all_lose_more,
    is_counted_only,
    is_loss,
    loss,
    lost_to,
    lost_words,
    outcome,
)  # fmt: skip
from dbcpu.analysis.levels.rounds_needed import hidden_cores_possible
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.causes import PLAN_WITH_TURBO, Cause
from dbcpu.analysis.results.fact import MAIN_CAUSE, Fact
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.scaling.turbo import is_turbo
from dbcpu.findings import Finding, noted
from dbcpu.formatting import number, percent, plural, rate, seconds, short_ranges, times

MORE_SESSIONS = "measure several sessions beside each other: `dbcpu run --sessions auto`"


class Headline(Struct, frozen=True):
    """``kind`` is good, partly (short only beyond the vCPUs), bad or unknown. ``remedy`` is '' if there is none."""

    kind: str
    headline: str
    facts: tuple[Fact, ...]
    remedy: str


def headline(analysis: Analysis) -> Headline:
    """For the first variant, by the answers of its levels."""
    variant = analysis.levels[0].variant if analysis.levels else ""
    levels = [each for each in analysis.levels if each.variant == variant and each.sessions]
    if (why := refusal(analysis)) is not None:
        return Headline(UNKNOWN, refusal_words(why), (), why.remedy)
    if analysis.experiment is not None:
        remedy = _remedy_of_experiment(analysis, levels)
        return Headline(analysis.experiment.tone, analysis.experiment.headline, _alone(analysis), remedy)
    found = outcome(levels, analysis.vcpus)
    together = any(each.level > 1 for each in levels)
    if analysis.reference is None or not (together or found.losses):
        words = "Nothing was measured" if not levels else "Too few measurements for an answer"
        remedy = _noise_remedy(analysis) or ("" if together else MORE_SESSIONS)
        return Headline(UNKNOWN, words, _alone(analysis), remedy if levels else "")
    if unreliable([each for each in levels if each.level > 1], analysis.vcpus) > UNRELIABLE:
        remedy = "measure again on a quieter host, with longer executions: `--size long`"
        return Headline(UNKNOWN, "Inconclusive: the baseline is not reliable", _alone(analysis), remedy)
    if not all(each.shares_known for each in levels):
        return Headline(UNKNOWN, _of_totals(found), _facts(analysis, levels, found), "")
    remedy = (_noise_remedy(analysis) if found.kind == UNKNOWN else "") or _remedy(analysis, found)
    return Headline(found.kind, _words(found, analysis.vcpus), _facts(analysis, levels, found), remedy)


def one_word(analysis: Analysis) -> str:
    """``equal``, ``partly`` (equal up to the vCPUs), ``unequal``, ``slower`` (not at full speed, unequal not shown), or
    ``inconclusive``; '' for an experiment, whose answer is another.
    """
    if analysis.experiment is not None:
        return ""
    kind = headline(analysis).kind
    if kind == BAD:
        within = [each for each in analysis.levels if analysis.vcpus is None or each.level <= analysis.vcpus]
        return "unequal" if any(each.even is Answer.NO for each in within) else "slower"
    return {GOOD: "equal", PARTLY: "partly"}.get(kind, "inconclusive")


def _words(found: Outcome, vcpus: int | None) -> str:
    up_to = f"up to {plural(found.fine[-1].level, 'session')}" if found.fine else ""
    if found.kind == GOOD:
        return f"Yes: equal CPU at full speed {up_to}"
    if found.kind == PARTLY:
        lost = {lost_to(each) for each in found.beyond if is_loss(each)}
        turns = "they are throttled" if lost == {Cause.THROTTLED} else "they take turns"
        uneven = any(each.even is Answer.NO for each in found.beyond)
        above = f"above {vcpus} {'shares are unequal' if uneven else turns}"
        return f"Yes {up_to}; {above}" if up_to else f"No: {above}"
    if found.kind == BAD:
        return _loss_words(found, up_to)
    open_ = [*([1] if found.alone_undecided else []), *(each.level for each in found.undecided)]
    where = f"N={short_ranges(open_)}" if open_ else "all levels"
    return f"Equal CPU {up_to}; inconclusive at {where}" if up_to else f"Inconclusive at {where}"


def _of_totals(found: Outcome) -> str:
    """Where only total rates are known there is no answer about shares."""
    fast, first = fast_levels(found), found.first
    parts = [f"No slowdown up to {plural(fast[-1].level, 'session')}"] if fast else []
    parts += [f"slower from {first.level} on"] if first is not None else []
    text = ", ".join(parts) or "Inconclusive"
    return f"{text[0].upper()}{text[1:]}; shares not known"


def _loss_words(found: Outcome, up_to: str) -> str:
    first = found.losses[0]
    if first.level == 1:
        if not is_counted_only(first):
            return "No: even a single session is not always at full speed"
        return "No: even a single session does not get a whole CPU"
    lose = lost_words(first)
    where = f"from {first.level} on" if found.lasts(first) and first is not found.levels[-1] else f"at N={first.level}"
    open_ = [each.level for each in found.undecided]
    fine = f"Equal CPU {up_to}" if found.alone_undecided else f"Yes {up_to}"
    words = f"{fine}, {where} {lose}" if up_to else f"No: {where} {lose}"
    return f"{words}; inconclusive at N={short_ranges(open_)}" if open_ else words


def _told(found: Outcome) -> LevelView | None:
    """The level that the headline is of: one session alone where that loses, for what it loses all lose; or the worst.

    Of sessions beside each other nothing is known for certain before one alone gets a whole CPU.
    """
    alone = found.losses[0] if found.losses and found.losses[0].level == 1 else None
    return found.worst if alone is None else alone


def _facts(analysis: Analysis, levels: list[LevelView], found: Outcome) -> tuple[Fact, ...]:
    facts, worst = [], _told(found)
    spread = [each for each in levels if each.max_over_min is not None]
    if spread:
        widest = max(spread, key=lambda each: each.max_over_min or 1.0)
        facts.append(
            Fact(
                "slowest over fastest",
                times(widest.max_over_min),
                f"median of rounds, at {plural(widest.level, 'session')}",
            )
        )
    cause = Cause.NONE if worst is None else lost_to(worst)
    if worst is not None and cause is not Cause.NONE:
        lost = 1.0 - 1.0 / (worst.counted_slowdown or 1.0)
        share = f"{whose(worst, cause)} at N = {worst.level}"
        if is_counted_only(worst):
            share = f"{percent(lost)} of the time at N = {worst.level}"
        elif not dict(worst.causes).get(cause):  # what it makes of each session is within noise
            share = f"as the kernel counted, at N = {worst.level}"
        facts.append(Fact(MAIN_CAUSE, cause.words, share, cause.value))
    elif worst is not None and worst.likely_cause:
        facts.append(Fact("probable cause", Cause(worst.likely_cause).words, f"at N = {worst.level}"))
    elif worst is not None and (worst.counted_slowdown or 1.0) > 1.0:
        lost = 1.0 - 1.0 / (worst.counted_slowdown or 1.0)
        facts.append(Fact("time lost", percent(lost), f"as the kernel counted, at N = {worst.level}"))
    if found.undecided and not found.losses:
        limits = [each.detectable for each in found.undecided if each.detectable is not None]
        if limits:
            facts.append(Fact("smallest visible slowdown", times(max(limits)), "smaller ones are within noise"))
    room = analysis.capacity
    if room is not None and room.most_throughput:
        cores = analysis.scaling.effective_cores
        worth = f"{analysis.unit}, {number(cores, 1)} effective cores" if cores else analysis.unit
        facts.append(Fact("peak throughput", rate(room.most_throughput), worth))
    return (*facts, *_alone(analysis))


def whose(level: LevelView, main: Cause) -> str:
    """How many sessions have the main cause; with the commonest one where that is another, which cost less time."""
    counts = dict(level.causes)
    most = max((each for each in counts if Cause(each).is_known), key=lambda each: counts[each], default=main)
    share = f"{counts.get(main, 0)} of {plural(level.sessions, 'session')}"
    if counts.get(most, 0) <= counts.get(main, 0):
        return share
    return f"{share}, the most time lost ({Cause(most).words}: {counts[most]})"


def _alone(analysis: Analysis) -> tuple[Fact, ...]:
    ref = analysis.reference
    return (Fact("single session", rate(ref.mrows_per_s), f"{analysis.unit}, {seconds(ref.elapsed_s)}"),) if ref else ()


def _remedy(analysis: Analysis, found: Outcome) -> str:
    """What helps against the main cause; also against what fewer sessions lose to another one, and against what
    sessions lose beside each other where that is more than one alone loses."""
    told, worst = _told(found), found.worst
    if told is None or worst is None:
        return ""
    if not found.losses and found.fine and _main(worst, analysis.findings) is Cause.SHARED_CORE:
        # Only beyond the vCPUs: work that waits shares cores before that, and none was slow.
        return f"run no more than {plural(found.fine[-1].level, 'such session')}, or add cores"
    first = _with_the_common_cause(analysis, told)
    earliest = found.losses[0] if found.losses else told
    cause = _main(earliest, analysis.findings)
    # A turbo frequency that falls with the number of busy cores is as it should be.
    if told is worst and cause not in (Cause.FREQUENCY, _main(worst, analysis.findings)):
        fewer = _remedy_of(analysis, earliest)
        return first if fewer in first else f"{first}; against what {plural(earliest.level, 'session')} lose: {fewer}"
    if max(worst.slowdown_median or 1.0, worst.max_over_min or 1.0) <= loss(told):
        return first
    second = _remedy_of(analysis, worst)
    return first if second in first else f"{first}; against what sessions lose beside each other: {second}"


def _remedy_of_experiment(analysis: Analysis, levels: list[LevelView]) -> str:
    """Against what the sessions of a soak lose, or targets beside each other; '' of a pool, whose answer is a size."""
    if analysis.pool is not None:
        return ""
    if analysis.together is not None:
        if not any(each.told for each in analysis.together.parties):
            return ""
        if any(each.remedy == AS_MANY_CPUS for each in analysis.findings):
            return AS_MANY_CPUS
        levels = [each for each in analysis.levels if each.variant == TOGETHER and each.sessions]
    return _remedy(analysis, outcome(levels, analysis.vcpus))


def _with_the_common_cause(analysis: Analysis, told: LevelView) -> str:
    """What helps against the main cause of a level, and against what more sessions have, or makes them unequal."""
    first, counts, second = _remedy_of(analysis, told), dict(told.causes), Cause(told.second_cause)
    commoner = counts.get(second, 0) > counts.get(lost_to(told), 0)
    beyond = analysis.vcpus is not None and told.level > analysis.vcpus
    differ = told.even is Answer.NO and all_lose_more(told.slowdown_min, told.max_over_min) and not beyond
    if not second.is_known or is_counted_only(told) or not (commoner or differ):
        return first
    more = _remedy_of(analysis, replace(told, main_cause=second, counted_cause=second))
    what = f"{second.words}, which more sessions have" if commoner else f"unequal shares through {second.words}"
    return first if more in first else f"{first}; against {what}: {more}"


def _remedy_of(analysis: Analysis, worst: LevelView) -> str:
    """Of the finding that fits the main cause of a level, else what helps against this cause in general."""
    by_code = {each.code: each.remedy for each in analysis.findings}
    cause = _main(worst, analysis.findings)
    if cause is Cause.SLOWER_CPU and is_turbo(worst, analysis.scaling, analysis.two_speeds):
        return PLAN_WITH_TURBO  # inferred from times, as in a guest, which cannot set a frequency
    wanted = cause.helped_by
    if (worst.misplaced_s or 0.0) <= max(worst.sharing_s or 0.0, worst.oversubscribed_s or 0.0):
        wanted = (*(code for code in wanted if code != "misplaced"), *(code for code in wanted if code == "misplaced"))
    beyond = analysis.vcpus is not None and worst.level > analysis.vcpus
    if cause is Cause.SLOWER_CPU and analysis.two_kinds:
        return FULL_SPEED_CORES
    grouped = analysis.topology is not None and analysis.topology.grouped
    if cause is Cause.SLOWER_CPU and (grouped or like_one_core(worst, analysis.vcpus, analysis.cores)):
        return noted("cores-fewer-than-shown", "", scaled=1, shown=2).remedy
    if cause is Cause.RUN_QUEUE and not beyond:
        # There is a CPU for each: others had it, or sessions were put on one.
        others = ("foreign-load",) if analysis.disturbance == "foreign-load" else ()
        wanted = (*others, *(code for code in wanted if code != "oversubscribed"))
    if cause is Cause.SHARED_CORE and worst.level <= (analysis.cores or 0) and analysis.disturbance == "foreign-load":
        wanted = ("foreign-load", *wanted)  # there is a core for each: others had it
    if beyond and cause in (Cause.RUN_QUEUE, Cause.NONE, Cause.UNEXPLAINED):
        fit = sessions_that_fit(analysis.vcpus or 0, analysis.busy)
        return by_code.get("oversubscribed") or f"run no more than {fit}"
    return next((by_code[code] for code in wanted if by_code.get(code)), "") or cause.remedy or Cause.UNEXPLAINED.remedy


def _main(worst: LevelView, findings: tuple[Finding, ...]) -> Cause:
    """What the worst level lost most to: as attributed, as likely, or as a finding about the whole run says."""
    cause = lost_to(worst)
    if cause.is_known:
        return cause
    if worst.likely_cause:
        return Cause(worst.likely_cause)
    codes = {each.code for each in findings}
    return next((c for c in (Cause.THROTTLED, Cause.STEAL, Cause.COMPETITOR) if codes & set(c.helped_by)), cause)


def _noise_remedy(analysis: Analysis) -> str:
    """More rounds or levels where they would decide; else of the finding that explains the noise, or of the noise."""
    by_code = {each.code: each.remedy for each in analysis.findings}
    alone = [lost_to(each) for each in analysis.levels if each.level == 1 and each.full_speed is Answer.UNDECIDED]
    codes = [code for cause in alone for code in cause.helped_by]
    codes += [analysis.disturbance, "unsteady-cpu", "noisy-reference", "solo-drift", "inconclusive"]
    measured = [each.level for each in analysis.levels]
    if analysis.more_rounds is not None or hidden_cores_possible(measured, analysis.vcpus, analysis.cores):
        codes.insert(0, "inconclusive")
    return next((by_code[code] for code in codes if by_code.get(code)), "")

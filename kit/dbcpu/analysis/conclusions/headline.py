"""The short answer: a headline, a few figures, and what would help; chosen from the analysis.

The question is: does every session get the same CPU, and if not, how large is the slowdown, what is its cause, and
what would fix it?
"""

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.conclusions.advice import Advice, advice_words, one_dedicated_host
from dbcpu.analysis.conclusions.fine_levels import fast_levels
from dbcpu.analysis.conclusions.lost_level_words import failure_advice, failure_words, with_failure_advice
from dbcpu.analysis.conclusions.named_levels import beyond_words, limit_of, lost_words
from dbcpu.analysis.conclusions.refusal import refusal, refusal_words
from dbcpu.analysis.conclusions.verdict import UNRELIABLE, unreliable
from dbcpu.analysis.conclusions.what_helps import headline_level, to_decide, what_helps, what_helps_experiment
from dbcpu.analysis.levels.level_losses import (
    LevelLosses,
    counted_alone,
    is_counted_only,
    level_losses,
    lost_to,
)
from dbcpu.analysis.levels.rounds_apart import rounds_differ
from dbcpu.analysis.results.answer import Answer, Fact, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.failures import Failures
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import percent, plural, rate, seconds, short_ranges, times

MORE_SESSIONS = Advice("measure several sessions beside each other: `dbcpu run --sessions auto`")
QUIETER_HOST = Advice("measure again on a quieter host, with longer executions: `--size long`")


class Headline(Struct, frozen=True):
    """``advice``: what helps, the most important first."""

    kind: Outcome
    headline: str
    facts: tuple[Fact, ...]
    advice: tuple[Advice, ...] = ()

    @property
    def remedy(self) -> str:
        """All of it in words; '' if nothing helps, or nothing has to."""
        return advice_words(self.advice)


def headline(analysis: Analysis) -> Headline:
    """For the first variant, by the answers of its levels; with what failed, if no answer is refused."""
    found = _answer(analysis)
    found = replace(found, advice=one_dedicated_host(found.advice))
    if refusal(analysis) is not None:
        return found
    said, facts = failure_words(analysis), (*found.facts, *_failed(analysis.failures))
    helps = with_failure_advice(found.advice, analysis) if said else found.advice
    return replace(found, headline="; ".join(filter(None, (found.headline, said))), facts=facts, advice=helps)


def _failed(failures: Failures | None) -> tuple[Fact, ...]:
    """A card for each kind of what failed."""
    if failures is None:
        return ()
    kinds = (
        ("failed sessions", failures.sessions, failures.of_sessions, failures.levels),
        ("failed rounds", failures.rounds, failures.of_rounds, failures.levels_of_rounds),
        ("wrong answers", failures.wrong, failures.of_sessions, failures.levels_of_wrong),
    )
    return tuple(
        Fact(name, str(many), f"of {of_all}, at N={short_ranges(levels)}")
        for name, many, of_all, levels in kinds
        if many
    )


def _answer(analysis: Analysis) -> Headline:
    variant = analysis.levels[0].variant if analysis.levels else ""
    levels = [each for each in analysis.levels if each.variant == variant and each.sessions]
    if (why := refusal(analysis)) is not None:
        return Headline(Outcome.UNKNOWN, refusal_words(why), (), (Advice(why.remedy),))
    if analysis.experiment is not None:
        helps = what_helps_experiment(analysis, levels)
        return Headline(analysis.experiment.tone, analysis.experiment.headline, _alone(analysis), helps)
    found = level_losses(levels, analysis.vcpus, analysis.levels_lost)
    together = any(each.level > 1 for each in levels)
    if analysis.reference is None or not (together or found.losses):
        words = "Nothing was measured" if not levels else "Too few measurements for an answer"
        mends = failure_advice(analysis) if analysis.levels_lost else ()
        helps = mends or to_decide(analysis) or (() if together else (MORE_SESSIONS,))
        return Headline(Outcome.UNKNOWN, words, _alone(analysis), helps if levels else ())
    if unreliable([each for each in levels if each.level > 1], analysis.vcpus) > UNRELIABLE:
        words = "Inconclusive: the baseline is not reliable"
        return Headline(Outcome.UNKNOWN, words, _alone(analysis), (QUIETER_HOST,))
    if not all(each.shares_known for each in levels):
        return Headline(Outcome.UNKNOWN, _of_totals(found), _facts(analysis, levels, found))
    facts = _facts(analysis, levels, found)
    return Headline(found.kind, _words(found, analysis), facts, what_helps(analysis, found))


def one_word(analysis: Analysis) -> str:
    """``equal``, ``partly`` (equal up to the vCPUs), ``unequal``, ``slower`` (not at full speed, unequal not shown), or
    ``inconclusive``, for the first variant; '' for an experiment, whose answer is another.
    """
    if analysis.experiment is not None:
        return ""
    kind = headline(analysis).kind
    if kind == Outcome.BAD:
        first = analysis.first_levels
        within = [each for each in first if analysis.vcpus is None or each.level <= analysis.vcpus]
        return "unequal" if any(each.even is Answer.NO for each in within) else "slower"
    return {Outcome.GOOD: "equal", Outcome.PARTLY: "partly"}.get(kind, "inconclusive")


def _words(found: LevelLosses, analysis: Analysis) -> str:
    up_to = f"up to {plural(found.fine[-1].level, 'session')}" if found.fine else ""
    kind = found.kind
    if kind == Outcome.GOOD:
        return f"Yes: equal CPU at full speed {up_to}"
    if kind == Outcome.PARTLY:
        limit = limit_of(found, analysis.vcpus, analysis.limiting_quota)
        above = f"above {limit.short} {beyond_words(found, analysis.vcpus, analysis.busy)}"
        return f"Yes {up_to}; {above}" if up_to else f"No: {above}"
    if kind == Outcome.BAD:
        return _loss_words(found, up_to)
    # Of one single session nothing is counted that leaves it open: the verdict names only the others.
    measured_twice = analysis.reference is not None and analysis.reference.noise_range is not None
    alone = found.alone_undecided and (measured_twice or not found.undecided)
    open_ = [*([1] if alone else []), *(each.level for each in found.undecided)]
    if found.lost and not open_:
        return f"Equal CPU {up_to}" if up_to else "Inconclusive"
    where = f"N={short_ranges(open_)}" if open_ else "all levels"
    return f"Equal CPU {up_to}; inconclusive at {where}" if up_to else f"Inconclusive at {where}"


def _of_totals(found: LevelLosses) -> str:
    """Where only total rates are known there is no answer about shares."""
    fast, first = fast_levels(found), found.first
    parts = [f"No slowdown up to {plural(fast[-1].level, 'session')}"] if fast else []
    parts += [f"slower from {first.level}{'' if fast else ' sessions'} on"] if first is not None else []
    text = ", ".join(parts) or "Inconclusive"
    return f"{text[0].upper()}{text[1:]}; shares not known"


def _loss_words(found: LevelLosses, up_to: str) -> str:
    first = found.losses[0]
    if first.level == 1:
        if rounds_differ(first) or not is_counted_only(first):
            return "No: even a single session is not always at full speed"
        return "No: even a single session does not get a whole CPU"
    lasts = found.lasts(first) and first is not found.levels[-1]
    noun = "" if up_to else " sessions"
    lose = lost_words(first, "they" if noun and lasts else "sessions")
    where = f"from {first.level}{noun} on" if lasts else f"at N={first.level}"
    open_ = [each.level for each in found.undecided]
    fine = f"Equal CPU {up_to}" if found.alone_undecided else f"Yes {up_to}"
    words = f"{fine}, {where} {lose}" if up_to else f"No: {where} {lose}"
    return f"{words}; inconclusive at N={short_ranges(open_)}" if open_ else words


def _facts(analysis: Analysis, levels: list[LevelView], found: LevelLosses) -> tuple[Fact, ...]:
    facts, worst = [], headline_level(found)
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
        share = f"{who_has_cause(worst, cause)} at N = {worst.level}"
        if worst.level == 1 and worst.rounds_apart is not None and rounds_differ(worst):
            share = f"in {worst.rounds_apart.rounds} of {worst.rounds} rounds, as the kernel counted, at N = 1"
        elif is_counted_only(worst):
            share = f"{percent(lost)} of the time at N = {worst.level}"
        elif not dict(worst.causes).get(cause):  # what it makes of each session is within noise
            share = f"as the kernel counted, at N = {worst.level}"
        facts.append(Fact("main cause", cause.words, share, cause))
    elif worst is not None and worst.likely_cause:
        facts.append(Fact("probable cause", worst.likely_cause.words, f"at N = {worst.level}"))
    elif worst is not None and (worst.counted_slowdown or 1.0) > 1.0:
        lost = 1.0 - 1.0 / (worst.counted_slowdown or 1.0)
        facts.append(Fact("time lost", percent(lost), f"as the kernel counted, at N = {worst.level}"))
    if found.undecided and not found.losses:
        alike = [each for each in found.undecided if each.rounds_apart is None]  # rounds that differ are no noise
        limits = [each.detectable for each in alike if each.detectable is not None]
        if limits:
            facts.append(Fact("smallest visible slowdown", times(max(limits)), "smaller ones are within noise"))
    room = analysis.capacity
    if room is not None and room.peak_throughput:
        facts.append(Fact("peak throughput", rate(room.peak_throughput), analysis.unit))
    return (*facts, *_alone(analysis, counted_alone(levels)))


def who_has_cause(level: LevelView, main: Cause) -> str:
    """How many sessions have the main cause; with the commonest one where that is another, which cost less time."""
    counts = dict(level.causes)
    most = max((each for each in counts if each.is_known), key=lambda each: counts[each], default=main)
    share = f"{counts.get(main, 0)} of {plural(level.sessions, 'session')}"
    if counts.get(most, 0) <= counts.get(main, 0):
        return share
    return f"{share}, the most time lost ({most.words}: {counts[most]})"


def _alone(analysis: Analysis, slowed: float = 1.0) -> tuple[Fact, ...]:
    """``slowed``: what the kernel counted of it; its rate is then no whole core's."""
    ref = analysis.reference
    if ref is None:
        return ()
    lost = f", lost {percent(1 - 1 / slowed)} of its time (median of rounds)" if slowed > 1 else ""
    return (Fact("single session", rate(ref.mrows_per_s), f"{analysis.unit}, {seconds(ref.elapsed_s)}{lost}"),)

"""What an experiment adds to the explanation of a run, and its verdict in a sentence."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from dbcpu.analysis.experiments.pool import by_whole_rounds, pool
from dbcpu.analysis.experiments.soak import Course
from dbcpu.analysis.experiments.together import together
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.outcome import BAD, PARTLY, UNKNOWN, lost_nothing
from dbcpu.analysis.placement.regimes import bounding_quota, vcpu_words
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.experiments import (
    DISTURBANCES,
    Conclusion,
    PartyView,
    Pool,
    PoolSize,
    SecondValue,
    Soak,
    Together,
)
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.formatting import duration, listed, percent, plain, plural, ranges, seconds, times
from dbcpu.record import Header, Round, RunRecord

MAX_KEPT = 60
"""Rounds of a soak that are explained one by one: of more, evenly spaced ones."""


def thinned(header: Header, rounds: Iterable[Round]) -> tuple[RunRecord, Soak]:
    """Rounds of a soak, read once: those to be explained one by one (of the first size), and the whole course."""
    course, kept, step = Course(header), [], 1
    variant = header.plan.variants[0] if header.plan.sizes else None
    for at, each in enumerate(rounds):
        course.add(each)
        if variant not in (None, each.variant):
            continue
        if each.anchor or at % step == 0:
            kept.append(each)
        if len(kept) > MAX_KEPT:
            step *= 2
            kept = [one for place, one in enumerate(kept) if one.anchor or place % 2 == 0]
    return RunRecord(header, tuple(kept)), course.result()


def with_soak(analysis: Analysis, soak: Soak) -> Analysis:
    """The soak's course, and its verdict."""
    analysis = replace(analysis, soak=soak)
    verdict = f"{_soaked(soak, analysis)} {meanwhile(analysis)}".rstrip()
    return replace(analysis, verdict=verdict, experiment=_soak_conclusion(soak, analysis), capacity=None)


def with_experiment(analysis: Analysis, record: RunRecord) -> Analysis:
    """The same for a pool and for several targets; other runs are as they were."""
    kind = record.header.plan.experiment
    if kind == "pool":
        sessions = timed(record)
        found = pool(record, sessions, analysis.vcpus, analysis.busy)
        analysis = by_whole_rounds(analysis, record, sessions)
        said = _pooled(found, record, analysis) + _in_turn(found) if found else "No pool finished all of its jobs."
        verdict, conclusion = f"{said} {meanwhile(analysis)}".rstrip(), _pool_conclusion(found)
        return replace(analysis, pool=found, verdict=verdict, experiment=conclusion, capacity=None)
    if kind == "together":
        both = together(record, timed(record))
        said, conclusion = _beside(both, analysis), _together_conclusion(both)
        verdict = f"{said} {meanwhile(analysis)}".rstrip()
        return replace(analysis, together=both, verdict=verdict, experiment=conclusion, capacity=None)
    return analysis


def _soak_conclusion(soak: Soak, analysis: Analysis) -> Conclusion:
    if soak.median_s is None:
        return Conclusion("Nothing was measured", UNKNOWN)
    if soak.second is not None:
        slow = soak.second.share if soak.second.ratio > 1 else 1 - soak.second.share
        return Conclusion(f"Two speeds: {percent(slow)} of the executions are slow", BAD)
    if soak.trend is not None:
        word = "slower" if soak.trend.change > 0 else "faster"
        return Conclusion(f"{percent(abs(soak.trend.change))} {word} by the end", BAD if word == "slower" else PARTLY)
    if any(each.even is Answer.NO for each in analysis.levels):
        return Conclusion("Shares are unequal: some sessions are slower all along", BAD)
    return Conclusion("Neither drift nor a second speed is shown", "")


def _pool_conclusion(found: Pool | None) -> Conclusion:
    if found is None:
        return Conclusion("No pool finished all of its jobs", UNKNOWN)
    if found.larger:
        return Conclusion(f"Inconclusive: no pool of more than {found.sizes[-1].active} was measured", UNKNOWN)
    if found.enough is None:
        return Conclusion("Inconclusive: no pool size is shown to be enough", UNKNOWN)
    return Conclusion(f"Enough: {plural(found.enough, 'active session')}", "")


def _together_conclusion(both: Together) -> Conclusion:
    slowed = [plain(each.name) for each in both.parties if each.told]
    if slowed:
        return Conclusion(f"Slower beside the others: {listed(slowed)}", BAD)
    return Conclusion("No target is shown to be slower beside the others", UNKNOWN)


def _soaked(soak: Soak, analysis: Analysis) -> str:
    if soak.median_s is None:
        return "No execution ended."
    many = plural(soak.sessions, "session")
    if soak.sizes:
        return _sized(soak, disturbed_by(analysis))
    parts = [
        f"{many} in a loop for {duration(soak.lasted_s)}: {_level(soak, analysis)}, " + _two(soak.second, analysis)
    ]
    if soak.trend is None:
        parts.append("drift is not shown")
    else:
        parts.append(f"{percent(abs(soak.trend.change))} {'slower' if soak.trend.change > 0 else 'faster'} by the end")
    if soak.second is None and (
        ratios := [each.max_over_min or 1.0 for each in analysis.levels if each.even is Answer.NO]
    ):
        parts.append(f"shares are unequal: the slowest session took {times(max(ratios))} as long as the fastest")
    if soak.gaps:
        lost = sum(gap.to_s - gap.from_s for gap in soak.gaps)
        parts.append(f"{plural(len(soak.gaps), 'gap')} of {duration(lost)} in all ({plain(soak.gaps[0].why)})")
    return "; ".join(parts) + "."


def meanwhile(analysis: Analysis) -> str:
    """A caveat where others took CPU, else '': then times differ for reasons that are not the sessions'."""
    named = disturbed_by(analysis)
    return f"Meanwhile the host lost CPU to {listed(named)}: figures differ from a quiet host's." if named else ""


def disturbed_by(analysis: Analysis) -> list[str]:
    """What else took CPU, in words; other processes only where sessions may have lost something to them."""
    codes = {each.code for each in analysis.findings}
    soak = analysis.soak
    steady = soak is None or (soak.trend is None and soak.second is None and not soak.sizes)
    if steady and analysis.levels and all(map(lost_nothing, analysis.levels)):
        codes -= {"foreign-load"}
    return [words for code, words in DISTURBANCES.items() if code in codes]


def _level(soak: Soak, analysis: Analysis) -> str:
    took = f"the median execution takes {seconds(soak.median_s)}"
    # As in the table of levels: the median of the sessions' means, which are no medians where times are bimodal.
    slowdown = next((each.slowdown_median for each in analysis.levels if each.level == soak.sessions > 1), None)
    if slowdown is None:
        return took
    ref = analysis.reference
    if ref is not None and slowdown < ref.limit:
        return f"{took} (slowdown of the median session {times(slowdown)}; below {times(ref.limit)} is noise)"
    return f"{took} (slowdown of the median session {times(slowdown)})"


def _two(second: SecondValue | None, analysis: Analysis) -> str:
    if second is None:
        return "a second speed is not shown"
    who = "all sessions alternate between both"
    if second.sessions:
        who = f"session{'s' if len(second.sessions) > 1 else ''} {ranges(second.sessions)} stayed in it"
    elif second.segments:
        who = f"all together, in {plural(len(second.segments), 'segment')}"
    causes = [each.main_cause for each in analysis.levels if each.level > 1 and each.main_cause != Cause.NONE]
    why = f", slow executions mostly by {Cause(causes[0]).words}" if causes else ""
    return (
        f"bimodal: {percent(second.share)} of the executions take {seconds(second.second_s)}, "
        f"{times(second.ratio)} of the first mode ({seconds(second.first_s)}); {who}{why}"
    )


def _sized(soak: Soak, disturbed: Sequence[str]) -> str:
    ordered = sorted(soak.sizes, key=lambda each: each.rows)
    ratios = [f"{times(each.slow_over_fast)} for {each.size} SQL ({seconds(each.median_s)})" for each in ordered]
    short, long = ordered[0], ordered[-1]
    says, why = "similar for all sizes", ""
    if short.slow_over_fast - 1 > 1.5 * (long.slow_over_fast - 1):
        says = "shorter SQL is more uneven"
        why = "it ends before the scheduler has balanced the load"
    elif long.slow_over_fast - 1 > 1.5 * (short.slow_over_fast - 1):
        says = "longer SQL is more uneven"
        why = "the scheduler does not balance the load meanwhile"
    if why:
        says += f"; {listed(disturbed)} may be why" if disturbed else f", because {why}"
    return f"Slow executions (95th percentile) over fast ones (5th): {listed(ratios)}; {says}."


def _pooled(found: Pool, record: RunRecord, analysis: Analysis) -> str:
    if len(found.sizes) == 1:
        only = found.sizes[0]
        many = plural(only.active, "active session")
        return f"{plural(found.pieces, 'job')} take {seconds(only.total_s)} with {many}; no other size was measured."
    limit, most = _limit(found), found.sizes[-1]
    cpus = f" on {'a ' if bounding_quota(record) is not None else ''}{vcpu_words(record)}" if analysis.vcpus else ""
    if found.larger:
        fast = "takes the shortest time" if found.best == most.active else "is as fast as any"
        return (
            f"Inconclusive how many active sessions are enough{cpus}: of the pools measured the largest, with "
            f"{most.active}, {fast} ({seconds(most.total_s)} for {plural(found.pieces, 'job')}); "
            f"measure larger ones.{_waiting(found)}"
        )
    if found.enough is None:
        parts = [f"inconclusive how many active sessions are enough: {limit}"]
        small = [each.active for each in found.sizes if each.enough is Answer.NO]
        if small:
            parts.insert(0, f"too few are N={ranges(small)}")
        text = "; ".join(parts)
        return (
            f"{text[0].upper()}{text[1:]}; more rounds (`--repeats`) or a quieter host would decide.{_waiting(found)}"
        )
    enough = found.size(found.enough)
    maybe = [each.active for each in found.sizes if each.active < enough.active and each.enough is Answer.UNDECIDED]
    if maybe and most.active == enough.active:
        return (
            f"Inconclusive how few active sessions are enough{cpus}: the most measured, {enough.active}, are "
            f"({plural(found.pieces, 'job')} take {seconds(enough.total_s)}), and whether "
            f"{listed([str(each) for each in maybe])} would be is undecided: {limit}"
            f"{_impossible(found, analysis)}.{_waiting(found)}"
        )
    first = (
        f"{plural(enough.active, 'active session')} {'is' if enough.active == 1 else 'are'} enough{cpus}: "
        f"{plural(found.pieces, 'job')} take {seconds(enough.total_s)}"
    )
    if most.active == enough.active:
        said = f"{first}, the shortest time measured; larger pools were not measured"
    else:
        said = f"{first}; with {most.active} they take {_beyond(enough, most)}"
    less = max((each.active for each in found.sizes if each.active < enough.active), default=enough.active)
    if enough.active - less > 1:
        said += f"; sizes between {less} and {enough.active} were not measured"
    if maybe:
        said += f"; inconclusive whether {listed([str(each) for each in maybe])} would be enough: {limit}"
    return f"{said}{_impossible(found, analysis)}.{_waiting(found)}"


def _waiting(found: Pool) -> str:
    """What jobs that only wait cost the others, where the sizes show it: they hold sessions that those need."""
    known = [each for each in found.sizes if each.done_s is not None]
    if not found.blocking or len(known) < 2:
        return ""
    few, many = known[0], min(known, key=lambda each: each.done_s or 0.0)
    waits = f"{plural(found.blocking, 'job')} only {'waits' if found.blocking == 1 else 'wait'}"
    first = (
        f" {waits} ({seconds(found.block_s)} each) and {'holds' if found.blocking == 1 else 'hold'} a session meanwhile"
    )
    if few is many:
        return f"{first}: the others are done earliest with {plural(few.active, 'session')}."
    return (
        f"{first}: half of the others are done after {seconds(few.done_s)} with {plural(few.active, 'session')}, "
        f"after {seconds(many.done_s)} with {many.active}."
    )


def _in_turn(found: Pool) -> str:
    """For whom this holds, where callers waited for each answer: no more jobs than callers are under way."""
    if not found.one_at_a_time or not found.connections:
        return ""
    waits = "waits" if found.connections == 1 else "wait"
    who = f"{plural(found.connections, 'caller')} that {waits} for each answer"
    return f" Measured with {who}; more callers may need more sessions."


def _limit(found: Pool) -> str:
    if found.detectable is None:
        return "each size was measured only once, so the noise is not known"
    return f"differences below {times(found.detectable)} are within noise"


def _impossible(found: Pool, analysis: Analysis) -> str:
    """A caveat where only more sessions than vCPUs are enough: CPU-only work has no gain from them."""
    vcpus = analysis.vcpus
    waits = found.blocking or analysis.busy < 1.0
    if vcpus is None or found.enough is None or found.enough <= vcpus or waits:
        return ""
    if not any(each.active >= vcpus and each.enough is Answer.NO for each in found.sizes):
        return ""
    return "; more sessions than vCPUs are faster only where other processes or steal leave them a larger share"


def _beyond(less: PoolSize, more: PoolSize) -> str:
    cost = [f"each job takes {_times(more.piece_s / less.piece_s)} as long"]
    memory = [(each.pss_bytes, each.rss_bytes) for each in (less, more)]
    for one, two in zip(*memory, strict=True):
        if one and two:
            cost.append(f"memory is {_times(two / one)}")
            break
    if less.switches and more.switches:
        cost.append(f"context switches are {_times(more.switches / less.switches)} as many")
    return f"{times(more.total_s / less.total_s)} of that time, and {listed(cost)}"


def _times(ratio: float) -> str:
    """A cost, without digits that nobody needs."""
    return times(ratio) if ratio < 10 else f"{ratio:.0f}x"


def _beside(both: Together, analysis: Analysis) -> str:
    known = [each for each in both.parties if each.loss is not None]
    if not known:
        return "No round of all targets together was finished."
    place = "each on CPUs of its own" if both.apart else "free to share CPUs"
    slowdowns = [f"{plain(each.name)} has a slowdown of {times(each.loss)}" for each in known]
    slowed = [each for each in known if each.told]
    highest = max((each.high or float("inf") for each in known), default=float("inf"))
    if not slowed and highest <= EQUAL:
        return (
            f"Together, {place}, {listed(slowdowns)}: in no round was any of them slower by more than "
            f"{percent(max(0.0, highest - 1))}."
        )
    if not slowed:
        seen = listed([f"{plain(each.name)} {times(each.loss)}" for each in known])
        return f"Together, {place}, no target has a significant slowdown (seen: {seen}); more rounds may decide."
    return f"Together, {place}, {listed(slowdowns)}: {_significance(slowed, known)}{_main(analysis)}."


def _significance(slowed: Sequence[PartyView], known: Sequence[PartyView]) -> str:
    if len(slowed) == len(known):
        return "significant for all"
    return f"significant for {listed([plain(each.name) for each in slowed])}, not for the rest"


def _main(analysis: Analysis) -> str:
    causes = [
        each.main_cause for each in analysis.levels if each.variant == "together" and each.main_cause != Cause.NONE
    ]
    return f" ({Cause(causes[0]).words})" if causes else ""

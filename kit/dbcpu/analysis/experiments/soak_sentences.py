"""What a soak found, in sentences."""

from collections.abc import Sequence

from dbcpu.analysis.experiments.disturbance_caveat import disturbance_words, disturbances
from dbcpu.analysis.levels.level_losses import is_counted_only, is_loss, lost_to
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import Conclusion, SecondValue, Soak
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.statistics.bimodality import HALF
from dbcpu.formatting import duration, listed, percent, plain, plural, ranges, seconds, times


def soak_conclusion(soak: Soak, analysis: Analysis) -> Conclusion:
    """The headline of a soak, and its tone."""
    if soak.median_s is None:
        return Conclusion("Nothing was measured", Outcome.UNKNOWN)
    if soak.second is not None:
        share, _ = soak.second.slow
        return Conclusion(f"Two speeds: {percent(share)} of the executions are slow", Outcome.BAD)
    if soak.trend is not None:
        word, tone = ("slower", Outcome.BAD) if soak.trend.change > 0 else ("faster", Outcome.PARTLY)
        return Conclusion(f"{percent(abs(soak.trend.change))} {word} by the end", tone)
    if any(each.even is Answer.NO for each in analysis.levels):
        return Conclusion("Shares are unequal: some sessions are slower all along", Outcome.BAD)
    if not soak.has_course:
        return Conclusion("Inconclusive: whether it drifts is not known", Outcome.UNKNOWN)
    level = _level_of(soak, analysis)
    cause = lost_to(level) if level is not None and is_loss(level) else Cause.NONE
    slower = f"; slower by {cause.words}" if cause.is_known else ""
    return Conclusion(f"Neither drift nor two speeds were found{slower}", Outcome.NEITHER)


def soak_sentence(soak: Soak, analysis: Analysis) -> str:
    """What a soak found: how long an execution took, drift, two speeds, unequal shares, gaps."""
    if soak.median_s is None:
        return "No execution ended."
    many = plural(soak.sessions, "session")
    if soak.sizes:
        return _sized(soak, disturbance_words(disturbances(analysis))) + _of_parts(soak)
    parts = [
        f"{many} in a loop for {duration(soak.lasted_s)}: {_level(soak, analysis)}, " + _two(soak.second, analysis)
    ]
    if not soak.has_course:
        parts.append("whether it drifts is not known, for every segment was cut short")
    elif soak.trend is None:
        parts.append("no drift was found")
    else:
        parts.append(f"{percent(abs(soak.trend.change))} {'slower' if soak.trend.change > 0 else 'faster'} by the end")
    if soak.second is None and (
        ratios := [each.max_over_min or 1.0 for each in analysis.levels if each.even is Answer.NO]
    ):
        parts.append(f"shares are unequal: the slowest session took {times(max(ratios))} as long as the fastest")
    if soak.gaps:
        lost = sum(gap.to_s - gap.from_s for gap in soak.gaps)
        parts.append(f"{plural(len(soak.gaps), 'gap')} of {duration(lost)} in all ({plain(soak.gaps[0].why)})")
    return "; ".join(parts) + "." + _of_parts(soak)


def _of_parts(soak: Soak) -> str:
    """That the sessions had more CPU in every segment than beside all of them."""
    if soak.whole:
        return ""
    every = " Every segment failed, or a session of it failed or gave a wrong answer"
    return f"{every}: the others had more CPU than beside all."


def _level(soak: Soak, analysis: Analysis) -> str:
    took = f"the median execution takes {seconds(soak.median_s)}"
    level = _level_of(soak, analysis)
    if level is None:
        return took
    cause = lost_to(level) if is_loss(level) and soak.second is None else Cause.NONE
    why = f", {cause.words}" if cause.is_known else ""
    if is_counted_only(level):
        lost = percent(1.0 - 1.0 / (level.counted_slowdown or 1.0))
        return f"{took} ({lost} of it is lost to {lost_to(level).words}{_alone_as_well(level, analysis)})"
    # As in the table of levels: of the sessions' means, which are no medians where times are bimodal.
    slowdown = level.slowdown_median
    if slowdown is None or level.level == 1:
        return took
    two_kinds = level.even is Answer.NO or (soak.second is not None and soak.second.sessions)
    if two_kinds and level.slowdown_min and level.slowdown_max:
        return f"{took} (slowdown of the sessions {times(level.slowdown_min)} to {times(level.slowdown_max)}{why})"
    ref = analysis.reference
    if ref is not None and slowdown < ref.limit:
        return f"{took} (slowdown of the median session {times(slowdown)}; below {times(ref.limit)} is noise)"
    return f"{took} (slowdown of the median session {times(slowdown)}{why}{_alone_as_well(level, analysis)})"


def _alone_as_well(level: LevelView, analysis: Analysis) -> str:
    """What a single session lost, where that was counted, too."""
    alone = next((each for each in analysis.levels if each.level == 1 < level.level and is_counted_only(each)), None)
    if alone is None:
        return ""
    lost = percent(1.0 - 1.0 / (alone.counted_slowdown or 1.0))
    why = "" if lost_to(alone) is lost_to(level) else f" to {lost_to(alone).words}"
    return f"; a single session loses {lost}{why}"


def _level_of(soak: Soak, analysis: Analysis) -> LevelView | None:
    return next((each for each in analysis.levels if each.level == soak.sessions and each.sessions), None)


def _two(second: SecondValue | None, analysis: Analysis) -> str:
    if second is None:
        return "no two speeds were found"
    there = seconds(second.second_s)
    who = "all sessions alternate between both"
    if second.sessions:
        named = f"session{'s' if len(second.sessions) > 1 else ''} {ranges(second.sessions)}"
        who = f"{named} took {there} nearly all the time"
    elif second.segments:
        who = f"all sessions took {there} together, in {plural(len(second.segments), 'segment')}"
    causes = [each.main_cause for each in analysis.levels if each.level > 1 and each.main_cause != Cause.NONE]
    why = f", slow executions mostly by {causes[0].words}" if causes else ""
    most = "most" if second.share < HALF else f"{percent(1 - second.share)} of the"
    return (
        f"bimodal: {most} executions take {seconds(second.first_s)}, and {percent(second.share)} take {there} "
        f"({times(second.ratio)} as long); {who}{why}"
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

"""One sentence: does every session get the same CPU, and if not, from which level on, how much slower, and why?"""

from collections.abc import Sequence

from dbcpu.analysis.causes.attribution import not_sampled
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.placement.host_time import typical_share
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.run import LevelView, Reference, TopologyCheck
from dbcpu.formatting import count, number, percent, plain, plural, seconds, times
from dbcpu.record import RunRecord

BLIND = 0.5
"""With a larger tolerance the slowdown of a shared core (1.3x to 2.0x) is within noise."""
STOLEN = 0.05
"""Steal that may explain the noise of single-session times."""


def verdict(context: RunContext, levels: Sequence[LevelView], topology: TopologyCheck | None = None) -> str:
    """The sentence for the levels of one variant, smallest level first."""
    measured = [each for each in levels if each.sessions]
    body = _body(context.record, measured, context.reference, context.vcpus, topology)
    return (_restriction(context.record) if measured else "") + body


def even_and_short(together: Sequence[LevelView]) -> tuple[Sequence[LevelView], Sequence[LevelView]]:
    """The levels below the first that is slowed or uneven, and the rest."""
    first = next((i for i, each in enumerate(together) if each.uneven or each.slowed), len(together))
    return together[:first], together[first:]


def is_blind(reference: Reference) -> bool:
    """Whether the noise hides even the slowdown of a shared core."""
    return reference.tolerance > BLIND


def _restriction(record: RunRecord) -> str:
    status, planned = record.header.status, record.header.plan.rounds
    whole = f" of {planned}" if planned is not None else ""
    if status == "interrupted":
        return f"Interrupted after {len(record.rounds)}{whole} rounds: "
    if status == "failed":
        return f"Failed after {len(record.rounds)}{whole} rounds: "
    return ""


def _body(
    record: RunRecord,
    levels: Sequence[LevelView],
    reference: Reference | None,
    vcpus: int | None,
    topology: TopologyCheck | None,
) -> str:
    together = [each for each in levels if each.level > 1]
    if not levels:
        return _nothing(record)
    if reference is None:
        worst = max(together or levels, key=lambda each: each.max_over_min or 1.0)
        return (
            f"Without a valid single-session baseline only the spread is known: max/min is at most "
            f"{number(worst.max_over_min)}, at {plural(worst.level, 'session')}."
        )
    if not together:
        return (
            f"A single session reaches {number(reference.mrows_per_s)} Mrows/s ({seconds(reference.elapsed_s)}); "
            "measure more sessions to see whether each gets the same CPU."
        )
    even, short = even_and_short(together)
    if not short and is_blind(reference):
        return (
            f"Inconclusive: no difference shown up to {_sessions(even)}, but slowdowns below "
            f"{times(1 + reference.tolerance)} are not distinguishable from the noise of single-session times"
            f"{_meanwhile(record)} ({_ratio(even)})."
        )
    if not short:
        return f"Every session gets the same CPU at all levels up to {_sessions(even)} ({_ratio(even)})."
    from_here = _at(record, short[0], vcpus, topology)
    slows = short[0].slower or not short[0].uneven
    if not even:
        return f"{'Slowdown' if slows else 'Imbalance'} from the first level: {from_here}."
    return (
        f"Up to {_sessions(even)} every session gets the same CPU ({_ratio(even)}); "
        f"from {short[0].level} on {'sessions slow down' if slows else 'their times differ'}: {from_here}."
    )


def _meanwhile(record: RunRecord) -> str:
    share = typical_share(record.rounds)
    taken = share is not None and share > STOLEN
    return f", with {percent(share)} CPU steal" if taken else ""


def _sessions(even: Sequence[LevelView]) -> str:
    return plural(even[-1].level, "session")


def _ratio(even: Sequence[LevelView]) -> str:
    return f"max/min at most {number(max(each.max_over_min or 1.0 for each in even))}"


def _at(record: RunRecord, level: LevelView, vcpus: int | None, topology: TopologyCheck | None) -> str:
    if not level.slower:
        ratio = f"the slowest took {times(level.max_over_min)} as long as the fastest"
        if not level.uneven:
            ratio = f"the median slowdown is {times(level.slowdown_median)}"
        why = f" ({_why(record, level, vcpus, topology)})" if level.main_cause != "none" else ""
        return f"at {level.level} sessions {ratio}{why}"
    who = f"all {level.level}" if level.slower >= level.level else f"{count(level.slower)} of {level.level}"
    loss = f"have a slowdown of {times(level.slower_factor)}"
    return f"at {level.level} sessions {who} {loss} ({_why(record, level, vcpus, topology)})"


def _why(record: RunRecord, level: LevelView, vcpus: int | None, topology: TopologyCheck | None) -> str:
    blind = next((r for r in record.rounds if r.level == level.level and not_sampled(r)), None)
    if blind is not None:
        reason = plain(blind.not_sampled or "no reason recorded")
        if level.likely_cause is None:
            return f"cause unknown, not sampled: {reason}"
        return (
            f"probably {Cause(level.likely_cause).words}, with lower confidence: {level.likely_why}, "
            f"and the host was not sampled: {reason}"
        )
    cause = Cause(level.main_cause)
    if not cause.is_known:
        return cause.sentence
    sentence = cause.sentence
    if cause is Cause.RUN_QUEUE and (vcpus is None or level.level > vcpus):
        sentence = "" if vcpus is None else f"more sessions than the {plural(vcpus, 'vCPU')}"
    if cause is Cause.SLOWER_CPU and topology and topology.verdict == "fewer_cores" and topology.cores_told:
        sentence = f"the host reports {topology.cores} cores and scales like {number(topology.cores_told, 0)}"
    return f"{cause.words}: {sentence}" if sentence else cause.words


def _nothing(record: RunRecord) -> str:
    reason = next((plain(each.error) for each in record.rounds if each.error), "")
    reason = reason or next((plain(s.error) for each in record.rounds for s in each.sessions if s.error), "")
    return f"Nothing was measured: {reason or 'no round was finished'}."

"""What a pool found, in sentences."""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.experiments.pool import sessions_of_use
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.level_losses import is_loss, lost_to
from dbcpu.analysis.levels.lost_levels import IN_EACH
from dbcpu.analysis.placement.usable_cpus import bounding_quota, vcpu_words
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.experiments import Conclusion, Pool, PoolSize
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, plural, ranges, seconds, times
from dbcpu.record.findings import Finding
from dbcpu.record.rounds import RunRecord


def pool_conclusion(found: Pool | None, fewer: int | None) -> Conclusion:
    """``fewer``: see ``fewer_may_do``."""
    if found is None:
        return Conclusion("No pool finished all of its jobs", Outcome.UNKNOWN)
    if found.larger:
        most = found.sizes[-1].active
        if not found.has_lost_beyond(most):
            return Conclusion(f"Inconclusive: no pool of more than {most} was measured", Outcome.UNKNOWN)
    if found.enough is None:
        return Conclusion("Inconclusive: no pool size is shown to be enough", Outcome.UNKNOWN)
    if fewer is not None or any(each.enough is Answer.UNDECIDED for each in found.sizes if each.active < found.enough):
        return Conclusion(f"Enough: at most {plural(found.enough, 'active session')}", Outcome.NEITHER)
    return Conclusion(f"Enough: {plural(found.enough, 'active session')}", Outcome.NEITHER)


def fewer_may_do(found: Pool | None, record: RunRecord, analysis: Analysis) -> int | None:
    """A size that was not measured, below the answer, beyond which more sessions have nothing to do; None without one.

    Of CPU-only work that are the vCPUs: where 10 are too few and 100 are enough, nobody needs 100.
    """
    if found is None or found.enough is None:
        return None
    less = [each for each in found.sizes if each.active < found.enough]
    fit = math.ceil(sessions_of_use(record.header.plan, analysis.vcpus, analysis.busy))
    is_open = bool(less) and less[-1].enough is Answer.NO and less[-1].active < fit < found.enough
    return fit if is_open else None


def pool_sentence(found: Pool, record: RunRecord, analysis: Analysis) -> str:
    """How many active sessions are enough, or why that is inconclusive, with how long the jobs took."""
    if len(found.sizes) == 1:
        only = found.sizes[0]
        many = plural(only.active, "active session")
        other = "" if found.lost else "; no other size was measured"
        return f"{plural(found.pieces, 'job')} take {seconds(only.total_s)} with {many}{other}.{lost_words(found.lost)}"
    limit, most, fewer = _limit(found), found.sizes[-1], fewer_may_do(found, record, analysis)
    notes = f"{lost_words(found.lost)}{_waiting(found)}{_throttled(found, analysis)}"
    cpus = f" on {'a ' if bounding_quota(record) is not None else ''}{vcpu_words(record)}" if analysis.vcpus else ""
    if found.larger:
        fast = "takes the shortest time" if found.best == most.active else "is as fast as any"
        larger = "" if found.has_lost_beyond(most.active) else "; measure larger ones"
        return (
            f"Inconclusive how many active sessions are enough{cpus}: {_largest(found)}, with {most.active}, {fast} "
            f"({seconds(most.total_s)} for {plural(found.pieces, 'job')}){larger}.{notes}"
        )
    if found.enough is None:
        parts = [f"inconclusive how many active sessions are enough: {limit}"]
        for words, few in (("too many", False), ("too few", True)):
            slow = [each.active for each in found.sizes if each.enough is Answer.NO]
            if of_kind := [each for each in slow if (each < found.best) is few]:
                parts.insert(0, f"{words} are N={ranges(of_kind)}")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}; more rounds (`--repeats`) or a quieter host would decide.{notes}"
    enough = found.size(found.enough)
    maybe = [each.active for each in found.sizes if each.active < enough.active and each.enough is Answer.UNDECIDED]
    if maybe and most.active == enough.active:
        return (
            f"Inconclusive how few active sessions are enough{cpus}: {_largest(found)}, with {enough.active}, "
            f"is enough ({plural(found.pieces, 'job')} take {seconds(enough.total_s)}), and whether "
            f"{listed([str(each) for each in maybe])} would be enough is inconclusive: {limit}"
            f"{_impossible(found, analysis)}.{notes}"
        )
    answer = _are_enough(enough.active) if fewer is None else f"at most {enough.active} active sessions are needed"
    first = f"{answer}{cpus}: {plural(found.pieces, 'job')} take {seconds(enough.total_s)}"
    first = f"{first[0].upper()}{first[1:]}"
    if most.active == enough.active:
        larger = "" if found.has_lost_beyond(most.active) else "; larger pools were not measured"
        said = f"{first}, the shortest time measured{larger}"
    else:
        said = f"{first}; with {most.active} they take {_beyond(enough, most)}"
    less = max((each.active for each in found.sizes if each.active < enough.active), default=enough.active)
    between = [str(each) for each in found.lost if less < each < enough.active]
    if between and fewer in (None, *found.lost):
        begin = f"{less} are too few, and " if fewer is not None else ""
        said += f"; {begin}whether {listed(between)} would be enough is not known"
    elif fewer is not None:
        said += f"; {less} are too few, and whether {fewer} are enough was not measured (`--active {less},{fewer}`)"
    elif enough.active - less > 1:
        said += f"; sizes between {less} and {enough.active} were not measured"
    if maybe:
        said += f"; inconclusive whether {listed([str(each) for each in maybe])} would be enough: {limit}"
    return f"{said}{_impossible(found, analysis)}.{notes}"


def lost_words(sizes: Sequence[int]) -> str:
    """Sizes of which nothing is known, though they were measured, in a sentence; '' without such."""
    if not sizes:
        return ""
    pools, it = ("The pool", "it") if len(sizes) == 1 else ("The pools", "them")
    return (
        f" {pools} of {listed([str(each) for each in sizes])} {'has' if it == 'it' else 'have'} no whole round: "
        f"{IN_EACH}; when that no longer happens, measure {it} again."
    )


def _largest(found: Pool) -> str:
    """What the largest pool is of which anything is known."""
    whole = found.has_lost_beyond(found.sizes[-1].active)
    return f"the largest {'pool with a whole round' if whole else 'measured pool'}"


def _are_enough(active: int) -> str:
    return f"{plural(active, 'active session')} {'is' if active == 1 else 'are'} enough"


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


def in_turn_words(found: Pool) -> str:
    """For whom this holds, where callers waited for each answer: no more jobs than callers are under way."""
    if not found.one_at_a_time or not found.connections:
        return ""
    waits = "waits" if found.connections == 1 else "wait"
    who = f"{plural(found.connections, 'caller')} that {waits} for each answer"
    return f" Measured with {who}; more callers may need more sessions."


def _throttled(found: Pool, analysis: Analysis) -> str:
    """What a CPU quota has to do with it, and what helps, where it holds back the answer or more sessions than that."""
    held = [
        each.level
        for each in analysis.levels
        if each.level >= (found.enough or 1) and is_loss(each) and lost_to(each) is Cause.THROTTLED
    ]
    if not held:
        return ""
    quota = Cause.THROTTLED
    return f" The {quota.words} limits pools of N={ranges(held)}; for a shorter total {quota.remedy}."


def _limit(found: Pool) -> str:
    """Why a size is undecided: the noise, or a time that is near the limit itself."""
    if found.detectable is None:
        return "each size was measured only once, so the noise is not known"
    best = found.size(found.best).total_s
    near = {
        str(each.active): f"{times(each.total_s / best)} (95 % CI {times(beside.low)} to {times(beside.high)})"
        for each in found.sizes
        if (beside := each.over_best) and each.enough is Answer.UNDECIDED and 1.0 <= beside.low <= EQUAL <= beside.high
    }
    if near:
        total = "the total is" if len(near) == 1 else "the totals are"
        return (
            f"with {listed([*near])} {total} {listed([*near.values()])} of the shortest one, "
            f"which leaves open whether more than {times(EQUAL)}"
        )
    return f"differences below {times(found.detectable)} are within noise"


def _impossible(found: Pool, analysis: Analysis) -> str:
    """A caveat where only more sessions than vCPUs are enough: CPU-only work has no gain from them."""
    vcpus = analysis.vcpus
    waits = found.blocking or analysis.busy < 1.0
    if vcpus is None or found.enough is None or found.enough <= vcpus or waits:
        return ""
    if not any(found.enough > each.active >= vcpus and each.enough is Answer.NO for each in found.sizes):
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
    took = times(more.total_s / less.total_s)
    return f"{'as long' if took == times(1.0) else f'{took} of that time'}, and {listed(cost)}"


def _times(ratio: float) -> str:
    """A cost, without digits that nobody needs."""
    return times(ratio) if ratio < 10 else f"{ratio:.0f}x"


def without_smaller_pool(findings: Sequence[Finding], found: Pool | None) -> tuple[Finding, ...]:
    """The findings, with a remedy for shared cores that is no smaller pool than the answer: its jobs would wait."""
    enough = found.enough if found else None
    return tuple(_with_pool(each, enough) if each.code == "shared-cores" else each for each in findings)


def _with_pool(finding: Finding, enough: int | None) -> Finding:
    if enough is None:
        return finding
    return replace(finding, remedy=f"{finding.remedy}; {_are_enough(enough)}")

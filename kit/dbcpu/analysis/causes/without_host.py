"""What took the time where nothing can be seen of the host: a managed database, or one on another machine.

Groups of elapsed times, the throughput curve and the database's own counters point to a cause. None of it shows
where a session ran, so this is a likelihood, said as such in the verdict, and never becomes a session's cause.

    DB time = DB CPU + non-idle waits + the rest

The rest is time that the process was neither on a CPU nor in a wait that the database counts: on a run queue,
steal or throttled by a quota. The database cannot distinguish these, so no cause is claimed for it.
DB CPU beyond that of a session alone is a slower CPU. Two different diagnoses.
Where the database counts what its host's CPUs do, these counters say whether the CPUs were busy, and by whom: a cause
that they agree with is no longer said to be of lower confidence. CPU time is no such cause where the hypervisor may not
report steal: what it took then counts as busy, and as CPU time.
Source: Oracle Database Reference, V$SESS_TIME_MODEL, V$SESSION_EVENT, V$OSSTAT.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.causes.database_waits import beyond_alone, wait_cause, wait_words, waits_alone
from dbcpu.analysis.causes.evidence_rules import ACCOUNTS
from dbcpu.analysis.causes.parts_by_cause import RowPart
from dbcpu.analysis.host_usage.host_counters import HostUse, host_use
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.two_groups import noise_limit
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import LevelView, Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, database_cpu_s
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import count, number, percent, plain, plural, seconds, times
from dbcpu.record.reported_steal import may_hide_steal
from dbcpu.record.rounds import Session
from dbcpu.record.run_findings import FOREIGN_SHARE

PAIRED = (1.15, 2.2)
"""As ``two_groups.SIBLING_SLOWDOWN``, from a yield of 0.74 to worse than none: how many are slow has to fit, too."""
BUSY = 0.85
"""Of the host's CPU time: busy all the time but for the release and for sessions that end before the last."""
_BY_CPU_TIME = (Cause.SHARED_CORE, Cause.SLOWER_CPU)


class _Counted(Struct, frozen=True):
    """Medians over the sessions of a level that lost more than the tolerance, as shares of their loss.

    ``off_s``: seconds of all of them in a round that were neither CPU time nor a wait; None where not known.
    """

    cpu: float | None
    waits: float
    event: str
    off_s: float | None = None

    @property
    def off(self) -> float:
        """Share of the time that was neither CPU time nor a wait; 0 where that is not known."""
        return 0.0 if self.cpu is None else 1 - self.cpu - self.waits


def with_likely_causes(context: RunContext, levels: Sequence[LevelView], scaling: Scaling) -> tuple[LevelView, ...]:
    """The levels of one variant; those of which nothing was seen with their likely cause, if anything points to one."""
    reference = context.reference
    if reference is None:
        return tuple(levels)
    rounds: dict[tuple[int, str], list[list[Timed]]] = {}
    for each, of_round in context.rounds:
        rounds.setdefault((each.level, each.variant), []).append(of_round)
    limit, solo_cpu, solo_waits = noise_limit(reference), _cpu_alone(context.single), waits_alone(context.single)
    explained = []
    for level in levels:
        slowed = level.level > 1 and (level.slowdown_max or 1.0) > limit
        members = _unseen(rounds.get((level.level, level.variant), [])) if slowed else []
        counted = _counted(members, reference, solo_cpu, solo_waits)
        use = host_use(list({each.round.order: each.round for each in members}.values()))
        found = _cause(level, counted, scaling, context, use) if members else None
        if found is not None:
            cause, why = found
            hidden = may_hide_steal(context.record.header) if cause in _BY_CPU_TIME else ""
            agrees = use is not None and not hidden and _agrees(cause, use, counted)
            why = why if use is None else f"{why}; {use.words} by {use.source}{f', and {hidden}' if hidden else ''}"
            by = use.source if use is not None and agrees else None
            level = replace(level, likely_cause=cause, likely_why=why, likely_by=by)
        explained.append(level)
    return tuple(explained)


def _unseen(rounds: Sequence[Sequence[Timed]]) -> list[Timed]:
    """The sessions of a level that ran, where the host counted the CPU time of none of them; else none."""
    if any(each.span and each.session.cpu_s is not None for members in rounds for each in members):
        return []
    return [each for members in rounds for each in members if each.span]


def _agrees(cause: Cause, use: HostUse, counted: _Counted | None) -> bool:
    """Whether what the host's CPUs did is what this cause makes them do, and others are not a cause as well."""
    alone = use.others is not None and use.others <= FOREIGN_SHARE
    if cause == Cause.RUN_QUEUE:
        off_s = counted.off_s if counted is not None else None
        queued = use.queue_s is not None and off_s is not None and use.queue_s >= ACCOUNTS * off_s
        return alone and (use.busy >= BUSY or queued)
    if cause == Cause.COMPETITOR:
        return use.busy >= BUSY
    return alone and cause in _BY_CPU_TIME


def _cause(
    level: LevelView, counted: _Counted | None, scaling: Scaling, context: RunContext, use: HostUse | None
) -> tuple[Cause, str] | None:
    vcpus, cores = context.vcpus, context.cores
    if counted is not None and counted.waits >= ACCOUNTS:
        part = percent(counted.waits)
        return wait_cause(counted.event), f"the database counts waits for {plain(counted.event)}, {part} of the loss"
    if vcpus is not None and level.level > vcpus:
        return Cause.RUN_QUEUE, f"there are more sessions than the {plural(vcpus, 'vCPU')}"
    if counted is not None and counted.off >= ACCOUNTS:
        others = use is not None and use.others is not None and use.others > FOREIGN_SHARE and use.busy >= BUSY
        why = f"by the database's counters {percent(counted.off)} of the loss was neither CPU time nor a wait"
        return Cause.COMPETITOR if others else Cause.RUN_QUEUE, why
    sharing = _shared(level, scaling, vcpus, cores)
    if sharing is not None:
        return Cause.SHARED_CORE, sharing
    if counted is not None and counted.cpu is not None and counted.cpu >= ACCOUNTS:
        return Cause.SLOWER_CPU, f"by the database's counters {percent(min(1.0, counted.cpu))} of the loss was CPU time"
    return None


def _shared(level: LevelView, scaling: Scaling, vcpus: int | None, cores: int | None) -> str | None:
    """Two groups of the size and distance that pairs on cores have, more sessions than cores, or a curve that has bent.

    More sessions than the cores shown share cores whatever the curve says; a bend before the cores is no sharing.
    """
    knee = scaling.knees[0] if scaling.knees else None
    for amount in (cores, knee, vcpus / 2 if vcpus else None):
        if amount is None or (vcpus and amount > 0.9 * vcpus) or not amount < level.level <= 2 * amount:
            continue
        pairs = 2 * (level.level - round(amount))
        factor = level.slower_factor or 1.0
        if level.slow and abs(level.slow - pairs) <= 1 and PAIRED[0] <= factor <= PAIRED[1]:
            return (
                f"{count(level.slow)} of {level.level} have a slowdown of {times(factor)}; sharing "
                f"{number(amount, 0)} cores would slow {pairs}"
            )
    if cores is not None and vcpus is not None and cores < vcpus:
        if level.level <= cores:
            return None
        if PAIRED[0] <= (level.slowdown_median or 1.0) and (level.slowdown_max or 1.0) <= PAIRED[1]:
            many = f"{plural(level.level, 'session')} share {plural(cores, 'core')}"
            return f"{many}, and none has a slowdown above {times(PAIRED[1])}"
    bent = bool(scaling.curve) and not scaling.steep
    if bent and knee is not None and vcpus is not None and knee < 0.9 * vcpus and level.level >= knee:
        return f"the throughput has its knee at {number(knee, 1)} sessions"
    return None


def _counted(
    members: Sequence[Timed], reference: Reference, solo_cpu: float | None, solo_waits: Mapping[str, float]
) -> _Counted | None:
    """The database's counters of the sessions that lost; None where it counts nothing.

    Waits are those beyond ``solo_waits``, of a single session by event.
    """
    cpu: list[float] = []
    waits: list[float] = []
    off_s: dict[int, float] = {}
    events: dict[str, float] = {}
    for each in members:
        assert each.span is not None
        executions = len(each.span.executions)
        loss_s = each.span.elapsed_s - reference.elapsed_s * executions
        if each.why or loss_s <= reference.tolerance * reference.elapsed_s * executions:
            continue
        used, beyond = database_cpu_s(each.session), beyond_alone(each.session.waits, solo_waits, executions)
        if used is not None and solo_cpu is not None:
            cpu.append((used - solo_cpu * executions) / loss_s)
            left_s = (1 - cpu[-1]) * loss_s - sum(wait.waited_s for wait in beyond)
            off_s[each.round.order] = off_s.get(each.round.order, 0.0) + max(0.0, left_s)
        waits.append(sum(wait.waited_s for wait in beyond) / loss_s)
        for wait in beyond:
            events[wait.event] = events.get(wait.event, 0.0) + wait.waited_s
    if not waits or not (cpu or events):
        return None
    longest = max(events, key=lambda event: events[event], default="")
    lost_s = median(list(off_s.values())) if off_s else None
    return _Counted(median(cpu) if cpu else None, median(waits), longest, lost_s)


def _cpu_alone(single: Iterable[Timed]) -> float | None:
    """CPU seconds of one execution alone, by the database's counter."""
    used = [
        spent / len(each.span.executions)
        for each in single
        if each.span and (spent := database_cpu_s(each.session)) is not None
    ]
    return median(used) if used else None


def shares_by_database(
    session: Session, executions: int, loss_s: float, reference: Reference, waits: Mapping[str, float], why_not: str
) -> list[RowPart] | None:
    """The loss divided by the database's counters, or None where it has none.

    Args:
        loss_s: what the session took beyond the reference.
        waits: of a single session, by event, in seconds per execution.
        why_not: why there is no evidence from the host.
    """
    cpu_s = database_cpu_s(session)
    if cpu_s is None or reference.db_cpu_s is None:
        return None
    found: list[RowPart] = []
    more_s = min(cpu_s - reference.db_cpu_s * executions, loss_s)
    if more_s > 0:
        words = f"the database counted {seconds(cpu_s)} of CPU, {seconds(more_s)} more than for a single session"
        found.append(RowPart(Cause.SLOWER_CPU, more_s, partial(str, words)))
    left_s = loss_s - max(0.0, more_s)
    for wait in sorted(beyond_alone(session.waits, waits, executions), key=lambda each: -each.waited_s):
        part_s = min(wait.waited_s, left_s)
        if part_s <= 0:
            break
        found.append(RowPart(wait_cause(wait.event), part_s, partial(wait_words, wait, waits)))
        left_s -= part_s
    if left_s > 0:
        words = (
            f"{seconds(left_s)} neither on a CPU nor in a wait that the database counts: run queue, steal or a quota "
            f"(only the host can show which: {why_not})"
        )
        found.append(RowPart(Cause.UNEXPLAINED, left_s, partial(str, words)))
    return found

"""Why did this session take longer than one alone, or than the fastest beside it?

The loss over the reference splits exactly: CPU inflation, queueing, throttling, and the gap that is left. What the pace
of its CPUs explains of the inflation is taken out first and named by itself; the rules are for the rest.
Each part is compared with the evidence (``causes``). A cause is named only when what the evidence covers is
at least 60 % of the loss and leaves no more unexplained than the tolerance allows of the elapsed time, and that
cause is the largest of it with at least 40 %; the sentence lists every part of 15 % or more. A loss below the
tolerance has the cause ``none``, unless what the host counts apart from CPU time (queues, throttling, the gap) is
beyond its own: noise of CPU times does not affect these. Then only this part is explained.
Where sessions of a round are unequal, the parts are weighed over those of the fastest (``over_fastest``): what all of
them lose alike makes none of them slower than another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter

import numpy as np

from dbcpu.analysis.causes import evidence_rules, ran_instead, without_host
from dbcpu.analysis.causes.evidence_rules import Counted, Share, Words, clocks, nobody
from dbcpu.analysis.causes.loss import Loss, at_one_pace, at_usual_steal, counted_only, loss
from dbcpu.analysis.causes.over_fastest import Lost, over_fastest
from dbcpu.analysis.levels.consistency import by_round
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE, solo
from dbcpu.analysis.pace.split import SessionPace
from dbcpu.analysis.placement.evidence import Cores, Evidence, Placement
from dbcpu.analysis.placement.host_time import throttled_shares
from dbcpu.analysis.placement.neighbours import Neighbours
from dbcpu.analysis.placement.valid_sessions import Key, Timed
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.run import SPREADS, Reference, SessionView
from dbcpu.analysis.statistics.robust import median
from dbcpu.formatting import percent, plain, seconds, times
from dbcpu.record import Round, RunRecord
from dbcpu.steal import steal_unseen

WORTH_WORDS = 0.15
MIN_LOSS = 0.03
"""Of its time alone, beside what its CPUs' pace explains: with less a session lost nothing that can be known."""
WORTH_COUNTING = 0.05
"""Of its elapsed time: a session that lost less, as the kernel counted, has no cause for that."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What was seen of one session, and who was near it in its round."""

    evidence: Evidence | None
    neighbours: Neighbours


def watch(context: RunContext) -> dict[Key, Watch]:
    """What every session of the run met on its CPUs, by its key (round order, ordinal)."""
    cores = cores_of(context.record)
    seen: dict[Key, Watch] = {}
    for each, members in by_round(context.delivered):
        spans = [(member.span.start_s, member.span.end_s) if member.span else None for member in members]
        placement = Placement(each, cores, spans)
        neighbours = Neighbours(each, placement.all, cores.siblings)
        for member, evidence in zip(members, placement.evidence(), strict=True):
            seen[member.key] = Watch(evidence, neighbours)
    return seen


def cores_of(record: RunRecord) -> Cores:
    """The online CPUs of the record's host."""
    host = record.header.host
    cpus = [each for each in host.topology.cpus if each.online] if host else []
    return Cores(
        {each.cpu: each.siblings for each in cpus},
        {each.cpu: each.core for each in cpus},
        {each.cpu: each.node for each in cpus if each.node >= 0},
    )


def attribute(
    context: RunContext,
    groups: Mapping[Key, str],
    seen: Mapping[Key, Watch],
) -> dict[Key, SessionView]:
    """A view of every session of the run by its key (round order, ordinal); ``seen`` is from ``watch``."""
    core_of = cores_of(context.record).core
    alone = _Alone.of(solo(context.record, context.delivered), seen, steal_unseen(context.record))
    throttled = {each.order: throttled_shares(each) for each in context.record.rounds}
    views: dict[Key, SessionView] = {}
    paces = context.split.sessions if context.split else {}
    delivered = context.as_delivered()
    together = zip(context.delivered, context.sessions, strict=True)
    for _, members in groupby(together, key=lambda each: each[0].round.order):
        cases = []
        for member, shown in members:
            own_s = throttled[member.round.order].get(member.session.ordinal)
            watched, pace = seen[member.key], paces.get(member.key)
            reference = context.reference if pace else delivered
            cases.append(
                _Case(member, shown, reference, own_s, watched.evidence, watched.neighbours, core_of, alone, pace)
            )
        lost = over_fastest([_lost(case) for case in cases])
        for case, found in zip(cases, lost, strict=True):
            key = case.timed.key
            views[key] = _view(case, found, context.rows, groups.get(key, ""))
    return views


@dataclass(frozen=True, slots=True)
class _Alone:
    """Time that a single session loses per execution, its CPU frequency; why a steal of 0 says nothing, or ''."""

    steal_s: float = 0.0
    irq_s: float = 0.0
    mhz: float | None = None
    unseen: str = ""

    @classmethod
    def of(cls, alone: Sequence[Timed], seen: Mapping[Key, Watch], unseen: str) -> "_Alone":
        known = [
            (evidence, len(each.span.executions))
            for each in alone
            if each.span and (evidence := seen[each.key].evidence) is not None
        ]
        if not known:
            return cls(unseen=unseen)
        found = [evidence.mhz for evidence, _ in known if evidence.mhz is not None]
        return cls(
            median([(evidence.steal_s or 0.0) / executions for evidence, executions in known]),
            median([evidence.irq_s / executions for evidence, executions in known]),
            median(found) if found else None, unseen,
        )  # fmt: skip


@dataclass(slots=True)
class _Case:
    """All that is known of one session; ``shown`` is it at one pace, where its level is."""

    timed: Timed
    shown: Timed
    reference: Reference | None
    throttled_s: float | None
    evidence: Evidence | None
    neighbours: Neighbours
    core_of: Mapping[int, int]
    alone: _Alone
    pace: SessionPace | None = None

    @property
    def pace_s(self) -> float:
        """Of its CPU time: what its CPUs' pace explains, below 0 where they were faster than for single sessions."""
        return (self.timed.session.cpu_s or 0.0) * (1 - 1 / self.pace.slower) if self.pace else 0.0

    def usual(self, per_execution_s: float | None) -> float:
        """What a single session loses to something, over as many executions."""
        return (per_execution_s or 0.0) * (len(self.timed.span.executions) if self.timed.span else 0)

    @property
    def tolerance(self) -> float:
        """That of its reference, and what the exponent leaves open of its pace part: independent errors."""
        own = self.reference.tolerance if self.reference else 0.0
        return float(np.hypot(own, SPREADS * self.pace.error)) if self.pace else own

    @property
    def less_stolen_s(self) -> float:
        """Steal that it was spared of what a single session usually meets; where its pace is known."""
        if self.pace is None or self.evidence is None or self.evidence.steal_s is None:
            return 0.0
        return max(0.0, self.usual(self.alone.steal_s) - self.evidence.steal_s)

    @property
    def counted(self) -> Counted:
        evidence, span = self.evidence, self.timed.span
        if evidence is None or span is None or not (evidence.steal_s or evidence.irq_s or evidence.mhz):
            return _nothing_counted(self.alone.unseen)
        executions, cpu_s = len(span.executions), self.timed.session.cpu_s or 0.0
        slow_s = 0.0
        if evidence.mhz is not None and self.alone.mhz:
            slow_s = max(0.0, cpu_s * (1 - evidence.mhz / self.alone.mhz))
        return Counted(
            max(0.0, (evidence.steal_s or 0.0) - self.alone.steal_s * executions),
            max(0.0, evidence.irq_s - self.alone.irq_s * executions),
            slow_s, evidence.mhz, self.alone.mhz, self.alone.unseen,
        )  # fmt: skip


@lru_cache(maxsize=8)
def _nothing_counted(unseen: str) -> Counted:
    return Counted(unseen=unseen)


def _lost(case: _Case) -> Lost:
    """The loss of a session against one alone, in parts."""
    span = case.timed.span
    if span is None or case.reference is None or not case.timed.round.shares_known:
        return _weighed(case, None, None)
    reference_s = case.reference.elapsed_s * len(span.executions)
    return _weighed(case, loss(case.timed, case.reference, case.throttled_s), reference_s)


def _view(case: _Case, lost: Lost, rows: int, group: str) -> SessionView:
    session, span, each, paced = case.timed.session, case.timed.span, case.timed.round, case.shown.span
    split, reference_s = lost.split, lost.reference_s
    cause, second = lost.named()
    evidence = lost.words or partial(_words, case, cause, lost)
    counted_s, counted_cause = _counted(case, split)
    seen, elapsed_s = case.evidence, span.elapsed_s if span else None
    return SessionView(
        level=each.level,
        repeat=each.repeat,
        variant=each.variant,
        order=each.order,
        ordinal=session.ordinal,
        elapsed_s=elapsed_s,
        connect_s=session.connect_s,
        executions=len(session.executions),
        mrows_per_s=rows / span.per_execution_s / 1e6 if span else None,
        slowdown=elapsed_s / reference_s if elapsed_s is not None and reference_s else None,
        inflation_s=split.inflation_s if split else None,
        queue_s=split.queue_s if split else None,
        throttled_s=split.throttled_s if split else None,
        gap_s=split.gap_s if split else None,
        reference_s=reference_s,
        cause=cause,
        second_cause=second,
        parts=tuple(lost.by_cause().items()),
        evidence=evidence,
        group=group,
        valid=not case.timed.why,
        why=plain(case.timed.why) if case.timed.why else "",
        unsplit_s=split.unsplit_s if split else None,
        shared_s=seen.sibling_s if seen else None,
        avoidable_s=_avoidable_s(cause, seen) if seen else None,
        counted_s=counted_s,
        counted_cause=counted_cause,
        pace_s=case.pace_s if case.pace else None,
        pace=case.pace.speed if case.pace else None,
        pieces=case.pace.pieces if case.pace else None,
        pace_only=lost.pace_only,
        paced_slowdown=paced.elapsed_s / reference_s if paced is not span and paced and reference_s else None,
    )


def _counted(case: _Case, split: Loss | None) -> tuple[float | None, str]:
    """What the kernel counted as lost, and to what most of it: 'none' where it is not worth words.

    With steal and interrupts that are in the CPU time; of a gap what one session alone does not have.
    """
    session, span, evidence = case.timed.session, case.timed.span, case.evidence
    if span is None or session.run_delay_s is None or session.cpu_s is None:
        return None, Cause.NONE
    asleep_s = (split.gap_s or 0.0) if split else 0.0
    stolen_s, irq_s = ((evidence.steal_s or 0.0), evidence.irq_s) if evidence else (0.0, 0.0)
    off_s = max(0.0, asleep_s, stolen_s + irq_s)
    elapsed_s = span.elapsed_s
    lost_s = min(session.run_delay_s + off_s, elapsed_s)
    if lost_s < WORTH_COUNTING * elapsed_s:
        return lost_s, Cause.NONE
    throttled_s = min(case.throttled_s or 0.0, session.run_delay_s)
    queued_s = session.run_delay_s - throttled_s
    # That it waited for a CPU is counted, also where who was there is not known.
    others_s = ran_instead.behind_others_s(queued_s, elapsed_s, session, evidence)
    parts = [(throttled_s, Cause.THROTTLED), (queued_s - others_s, Cause.RUN_QUEUE), (others_s, Cause.COMPETITOR)]
    if stolen_s + irq_s >= asleep_s:
        parts += [(stolen_s, Cause.STEAL), (irq_s, Cause.IRQ)]
    else:
        still = evidence is not None and evidence.stopped_s >= off_s / 2
        parts.append((off_s, Cause.STOPPED if still else Cause.WAIT))
    return lost_s, max(parts, key=itemgetter(0))[1]


def _avoidable_s(cause: str, evidence: Evidence) -> float | None:
    """For how long it lost to ``cause`` while another core or CPU that it may use was idle."""
    if evidence.polls < evidence_rules.MIN_POLLS:
        return None
    if cause == Cause.SHARED_CORE:
        return evidence.shared_idle_s
    return evidence.queue_idle_s if cause in (Cause.RUN_QUEUE, Cause.COMPETITOR) else None


def _weighed(case: _Case, split: Loss | None, reference_s: float | None) -> Lost:
    """The parts of a loss that is more than noise; else why there is none, in words."""
    if case.timed.why:
        return Lost(split, reference_s, Cause.UNEXPLAINED, f"excluded: {plain(case.timed.why)}", valid=False)
    if not case.timed.round.shares_known:
        return Lost(None, None, Cause.NONE, "only the rate of the whole round is known")
    if split is None or reference_s is None or case.reference is None or case.timed.span is None:
        return Lost(split, reference_s, Cause.UNEXPLAINED, "no valid single-session baseline")
    elapsed_s, tolerance = case.timed.span.elapsed_s, case.tolerance
    slowdown, within_s, beside = elapsed_s / reference_s, tolerance * reference_s, split
    if case.pace is not None:
        beside = at_usual_steal(at_one_pace(split, case.pace_s), case.less_stolen_s)
    if beside.total_s <= within_s:
        counted = counted_only(beside, case.reference, reference_s, MIN_LOSS if case.pace else MIN_TOLERANCE)
        if counted is None and split.total_s > within_s:
            cause, words = _by_pace(case, slowdown)
            return Lost(split, reference_s, cause, words, pace_only=True, slowdown=slowdown)
        if counted is None:
            words = partial(_noise_words, slowdown, tolerance)
            return Lost(split, reference_s, Cause.NONE, words, slowdown=slowdown)
        beside = counted
    shares = tuple(_shares(case, beside))
    return Lost(
        split, reference_s, slowdown=slowdown, shares=shares, beside_s=beside.total_s, tolerated_s=tolerance * elapsed_s
    )


def _noise_words(slowdown: float, tolerance: float) -> str:
    return f"{times(slowdown)}: within noise (tolerance {percent(tolerance)})"


def _words(case: _Case, cause: str, lost: Lost) -> str:
    """The evidence: what is worth words of the loss beside the pace, and the pace, of the whole."""
    ordered = sorted(lost.shares, key=lambda share: (share.cause != cause, -share.seconds))
    parts = [share.words() for share in ordered if share.seconds >= WORTH_WORDS * lost.beside_s]
    if lost.split is not None and case.pace_s >= WORTH_WORDS * lost.split.total_s:
        parts.append(_pace_words(case))
    return f"{times(lost.slowdown)}: {'; '.join(parts) or 'many small parts'}"


def _by_pace(case: _Case, slowdown: float) -> tuple[Cause, Words]:
    counted = case.counted
    if counted.slow_clock_s >= evidence_rules.ACCOUNTS * case.pace_s:
        return Cause.FREQUENCY, lambda: f"{times(slowdown)}: {clocks(counted)}"
    return Cause.SLOWER_CPU, lambda: f"{times(slowdown)}: {_pace_words(case)}"


def _pace_words(case: _Case) -> str:
    assert case.pace is not None
    usual = case.pace.speed * case.pace.slower
    where = "its CPU" if case.evidence and len(case.evidence.cpus) == 1 else "its CPUs"
    return f"{where} ran at {case.pace.speed:.2f} of full speed by the witness (beside single sessions {usual:.2f})"


def _shares(case: _Case, split: Loss) -> list[Share]:
    session, span, evidence = case.timed.session, case.timed.span, case.evidence
    assert span is not None
    if split.inflation_s is None:
        return _without_host(case, split)
    counted = case.counted
    shares = []
    if split.inflation_s > 0:
        shared = evidence is not None and evidence.sibling_s > 0
        met = partial(_partners, case, on_siblings=True) if shared else nobody
        left = counted.beyond(split.gap_s or 0.0)
        shares += evidence_rules.inflation(split.inflation_s, session.cpu_s or 0.0, left, evidence, met, case.core_of)
    if split.queue_s is None or split.throttled_s is None or split.gap_s is None:
        unsplit_s = split.unsplit_s
        text = "without schedstat run-queue wait and steal are not distinguishable"
        return [*shares, Share(Cause.UNEXPLAINED, unsplit_s, lambda: f"off-CPU {seconds(unsplit_s)}: {text}")]
    if split.queue_s > 0:
        met, each = partial(_partners, case, on_siblings=False), case.timed.round
        lone = len(each.sessions) == 1
        usual_s = case.usual(case.reference.queue_s if case.reference else None)
        if session.ran_instead:
            shares += ran_instead.queueing(split.queue_s, span.elapsed_s, session, evidence, usual_s)
        else:
            shares += evidence_rules.queueing(split.queue_s, span.elapsed_s, evidence, met, each.foreign, lone, usual_s)
    if split.throttled_s > 0:
        usual_s = case.usual(case.reference.throttled_s if case.reference else None)
        shares.append(evidence_rules.throttling(split.throttled_s, span.elapsed_s, _quota(case.timed), usual_s))
    if split.gap_s > 0:
        shares += evidence_rules.gap(split.gap_s, span.elapsed_s, counted, evidence, session)
    return shares


def _without_host(case: _Case, split: Loss) -> list[Share]:
    """By the database's own counters, where it has some; they show a slower CPU and waits, and no more."""
    why_not, span = _why_not(case.timed), case.timed.span
    if span is not None and case.reference is not None:
        executions = len(span.executions)
        found = without_host.shares(case.timed.session, executions, split.total_s, case.reference, why_not)
        if found is not None:
            return found
    return [Share(Cause.UNEXPLAINED, split.total_s, lambda: f"no evidence from the host: {why_not}")]


def _partners(case: _Case, on_siblings: bool) -> list[tuple[int, int, float]]:
    span = case.timed.span
    assert span is not None
    return case.neighbours.partners(case.timed.session.ordinal, (span.start_s, span.end_s), on_siblings)


def _quota(member: Timed) -> float | None:
    quotas = [
        group.quota_cpus
        for group in member.round.cgroups
        if member.session.ordinal in group.sessions and group.quota_cpus is not None
    ]
    return min(quotas, default=None)


def _why_not(member: Timed) -> str:
    return plain(member.round.not_sampled or member.session.server.how or "its server process was not sampled")


def not_sampled(round_: Round) -> bool:
    """No session of this round has a CPU time from the host."""
    return bool(round_.sessions) and all(session.cpu_s is None for session in round_.sessions)

"""Why did this session take longer than one alone, or than the fastest beside it?

The loss over the reference splits exactly: CPU inflation, queueing, throttling, and the gap that is left. What the pace
of its CPUs explains of the inflation is taken out first and named by itself; the rules are for the rest.
Each part is compared with the evidence (``evidence_rules``). A cause is named only when what the evidence covers is
at least 60 % of the loss and leaves no more unexplained than the tolerance allows of the elapsed time, and that
cause is the largest of it (``cause_choice.LARGEST``); the sentence lists every part of 15 % or more. A loss below the
tolerance has the cause ``none``, unless what the host counts apart from CPU time (queues, throttling, the gap) is
beyond its own: noise of CPU times does not affect these. Then only this part is explained.
Where sessions of a round are unequal, the parts are weighed over those of the fastest (``cause_choice``): what all of
them lose alike makes none of them slower than another.

All sessions of a run are gone through at once, as columns (``Sessions``); words are made of those that are shown.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, pairwise, repeat
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.causes import evidence_rules, ran_instead, without_host
from dbcpu.analysis.causes.cause_choice import At, Lost, NamedCauses
from dbcpu.analysis.causes.loss import Loss, at_usual_steal, counted_only, loss, loss_at_one_pace
from dbcpu.analysis.causes.parts_by_cause import AT, LossPart, LossParts, RowPart, cpu_time_said_once
from dbcpu.analysis.causes.session_columns import Sessions, SingleLosses, WatchedRun
from dbcpu.analysis.levels.level_losses import WORTH_COUNTING
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.results.run import SessionView, Words
from dbcpu.analysis.sessions.valid_sessions import Key, Timed
from dbcpu.analysis.statistics.cumulative import Floats, Mask, or_zero, order_by
from dbcpu.formatting import percent, plain, seconds, times
from dbcpu.record.rounds import Round

WORTH_WORDS = 0.15
MIN_LOSS = 0.03
"""Of its time alone, beside what its CPUs' pace explains: with less a session lost nothing that can be known."""


def attribute(
    context: RunContext, groups: Mapping[Key, str], seen: WatchedRun | None, lost_alone: SingleLosses
) -> dict[Key, SessionView]:
    """A view of every session of the run by its key (round order, ordinal); ``seen`` is from ``watched_run``.

    ``lost_alone``: by the single sessions that are the reference, which may be those of another variant.
    """
    if seen is None:
        return {}
    # A rule reckons with all rows, and what comes out of those that it is not for is not used.
    with np.errstate(divide="ignore", invalid="ignore"):
        of = Sessions(context, seen, lost_alone)
        columns = _divided(of).columns()
        columns["mrows_per_s"] = _or_none(context.rows / (of.elapsed_s / of.executions) / 1e6)
    columns["paced_slowdown"] = _paced_slowdowns(context, columns["reference_s"])
    keys = [*map(attrgetter("key"), of.timed)]
    columns["group"] = [groups.get(key, "") for key in keys] if groups else [""] * len(keys)
    return dict(zip(keys, map(SessionView, *(columns[name] for name in SessionView.__struct_fields__)), strict=True))


def _paced_slowdowns(context: RunContext, alone_s: Sequence[float | None]) -> list[float | None]:
    """Of sessions at levels whose figures are at one pace."""
    if context.sessions is context.delivered:
        return [None] * len(alone_s)
    together = zip(context.delivered, context.sessions, alone_s, strict=True)
    return [
        shown.span.elapsed_s / own_s if shown.span and shown.span is not each.span and own_s else None
        for each, shown, own_s in together
    ]


class _Explained(Struct, frozen=True):
    """The losses of all sessions, and their causes.

    ``split``: against one alone; ``known``: where there is one to compare with. ``quiet`` are those within noise, and
    ``pace_only`` those that lost nothing beyond it but by the pace of their CPUs.
    """

    of: Sessions
    split: Loss
    known: Mask
    quiet: Mask
    pace_only: Mask
    lost: Lost
    causes: NamedCauses

    def columns(self) -> dict[str, list[Any]]:
        """Fields of ``SessionView``."""
        of, split, first, met = self.of, self.split, self.causes.first, self.of.evidence
        alone_s = np.where(self.known, of.alone.elapsed_s, np.nan)
        counted_s, counted_causes = self._counted()
        by_others = (counted_causes == AT[Cause.COMPETITOR]).tolist()
        paced, sessions, counts = of.pace.known, of.sessions, [len(each.sessions) for each in of.seen.rounds]

        def of_round(name: str) -> list[Any]:
            """For each of its sessions."""
            return [*chain.from_iterable(map(repeat, map(attrgetter(name), of.seen.rounds), counts))]

        return {
            **{name: of_round(name) for name in ("level", "repeat", "variant", "order")},
            "ordinal": [*map(attrgetter("ordinal"), sessions)],
            "elapsed_s": _or_none(of.elapsed_s),
            "connect_s": [*map(attrgetter("connect_s"), sessions)],
            "executions": [*map(len, map(attrgetter("executions"), sessions))],
            "slowdown": _or_none(of.elapsed_s / np.where(alone_s != 0, alone_s, np.nan)),
            "inflation_s": _or_none(split.inflation_s),
            "queue_s": _or_none(split.queue_s),
            "throttled_s": _or_none(split.throttled_s),
            "gap_s": _or_none(split.gap_s),
            "reference_s": _or_none(alone_s),
            "cause": _causes(first),
            "words": list(map(Words, map(partial, repeat(self.words), range(len(of)), by_others))),
            "second_cause": _causes(self.causes.second),
            "parts": self._parts(),
            "valid": of.valid.tolist(),
            "why": [plain(each.why) if each.why else "" for each in of.timed],
            "unsplit_s": _or_none(split.unsplit_s),
            "shared_s": _or_none(np.where(met.known, met.sibling_s, np.nan)),
            "avoidable_s": _or_none(_avoidable_s(of, first)),
            "counted_s": _or_none(counted_s),
            "counted_cause": _causes(counted_causes),
            "pace_s": _or_none(np.where(paced, of.pace_s, np.nan)),
            "pace": _or_none(np.where(paced, of.pace.speed, np.nan)),
            "pieces": of.pace.pieces,
            "pace_only": self.pace_only.tolist(),
        }

    def _counted(self) -> tuple[Floats, At]:
        """What the kernel counted as lost, and to what most of it: 'none' where it is not worth words.

        With steal and interrupts that are in the CPU time; of a gap what one session alone does not have.
        """
        of, met = self.of, self.of.evidence
        asleep_s, stolen_s = or_zero(self.split.gap_s), or_zero(met.steal_s)
        off_s = np.maximum(0.0, np.maximum(asleep_s, stolen_s + met.irq_s))
        lost_s = np.minimum(of.delay_s + off_s, of.elapsed_s)
        lost_s = np.where(np.isnan(of.cpu_s), np.nan, lost_s)
        throttled_s = np.minimum(of.throttled_s, of.delay_s)
        queued_s = of.delay_s - throttled_s
        # That it waited for a CPU is counted, also where who was there is not known.
        others_s = evidence_rules.behind_others_s(queued_s, of)
        for row in np.flatnonzero(of.traced).tolist():
            others_s[row] = ran_instead.traced_behind_others_s(queued_s[row], of.timed[row].session)
        stolen, still = stolen_s + met.irq_s >= asleep_s, met.stopped_s >= off_s / 2
        # A gap has in it what was taken from its CPUs beyond what a single session loses so: that is no wait.
        waited_s = off_s - of.counted.steal_s - of.counted.irq_s
        parts = {
            Cause.THROTTLED: throttled_s,
            Cause.RUN_QUEUE: np.where(of.lone, 0.0, queued_s - others_s),
            Cause.UNEXPLAINED: np.where(of.lone, queued_s - others_s, 0.0),
            Cause.COMPETITOR: others_s,
            Cause.STEAL: np.where(stolen, stolen_s, of.counted.steal_s),
            Cause.IRQ: np.where(stolen, met.irq_s, of.counted.irq_s),
            Cause.STOPPED: np.where(~stolen & met.known & still, waited_s, -np.inf),
            Cause.WAIT: np.where(~stolen & ~(met.known & still), waited_s, -np.inf),
        }
        largest = np.array([AT[cause] for cause in parts])[np.argmax(list(parts.values()), axis=0)]
        return lost_s, np.where(lost_s >= WORTH_COUNTING * of.elapsed_s, largest, AT[Cause.NONE])

    def _parts(self) -> list[tuple[tuple[Cause, float], ...]]:
        """By row, the largest first."""
        parts_s, there = self.lost.shares.by_cause()
        cause, row = np.nonzero(there & self.lost.weighed)
        lost_s = parts_s[cause, row]
        order = order_by(row, -lost_s)
        pairs = list(zip(_causes(cause[order]), lost_s[order].tolist(), strict=True))
        ends = np.searchsorted(row[order], np.arange(len(self.of) + 1)).tolist()
        return [tuple(pairs[first:last]) for first, last in pairwise(ends)]

    def words(self, row: int, others: bool = False) -> str:
        """Why it was put down to that cause; ``others``: what the kernel counted is due to other processes."""
        of, each = self.of, self.of.timed[row]
        if each.why:
            return f"excluded: {plain(each.why)}"
        if not each.round.shares_known:
            return "only the rate of the whole round is known"
        if not self.known[row]:
            return "no valid single-session baseline"
        slowdown = times(float(of.elapsed_s[row] / of.alone.elapsed_s[row]))
        if self.pace_only[row]:
            by_clock = self.causes.first[row] == AT[Cause.FREQUENCY]
            return f"{slowdown}: {evidence_rules.clock_words(of.counted, row) if by_clock else self._pace_words(row)}"
        if self.quiet[row]:
            quiet = f"{slowdown}: within noise (tolerance {percent(float(of.alone.tolerance[row]))})"
            who = ran_instead.processes_in_its_place(each.session) if others else ""
            return f"{quiet}; {who}" if who else quiet
        return f"{slowdown}: {'; '.join(self._worth_words(row)) or 'many small parts'}"

    def _worth_words(self, row: int) -> list[str]:
        """What is worth words of the loss beside the pace, and the pace, of the whole."""
        cause, beside_s = CAUSES[self.causes.first[row]], self.lost.beside_s[row]
        ordered = sorted(self.lost.shares.of(row), key=lambda share: (share.cause != cause, -share.seconds))
        worth = [share for share in ordered if share.seconds >= WORTH_WORDS * beside_s]
        parts = cpu_time_said_once([(share.words(), share.seconds) for share in worth])
        if self.of.pace.known[row] and self.of.pace_s[row] >= WORTH_WORDS * self.split.total_s[row]:
            parts.append(self._pace_words(row))
        return parts

    def _pace_words(self, row: int) -> str:
        pace, met = self.of.pace, self.of.evidence
        usual = pace.speed[row] * pace.slower[row]
        where = "its CPU" if met.known[row] and len(met.cpus[row]) == 1 else "its CPUs"
        return f"{where} ran at {pace.speed[row]:.2f} of full speed by the witness (beside single sessions {usual:.2f})"


def _divided(of: Sessions) -> _Explained:
    """Divide every loss that is more than noise."""
    known = of.shares_known & ~np.isnan(of.elapsed_s - of.alone.elapsed_s)
    whole = loss(of.elapsed_s, of.cpu_s, of.delay_s, of.throttled_s, of.alone)
    split = Loss(*(np.where(known, each, np.nan) for each in whole))
    beside = at_usual_steal(loss_at_one_pace(split, of.pace_s), of.less_stolen_s)
    within_s, counts = of.alone.tolerance * of.alone.elapsed_s, known & of.valid
    hidden = counts & (beside.total_s <= within_s)
    only_counted, counted = counted_only(beside, of.alone, np.where(of.pace.known, MIN_LOSS, MIN_TOLERANCE))
    quiet = hidden & ~only_counted
    beside = Loss(*(np.where(hidden, one, other) for one, other in zip(counted, beside, strict=True)))
    weighed = counts & ~quiet
    lost = Lost(
        of.seen.round_at, counts, weighed, of.alone.elapsed_s, np.where(weighed, beside.total_s, 0.0),
        of.alone.tolerance * of.elapsed_s, of.alone.spread, _shares(of, weighed, beside),
    )  # fmt: skip
    pace_only = quiet & (split.total_s > within_s)
    named, shares = lost.named()
    by_clock = of.counted.slow_clock_s >= evidence_rules.ACCOUNTS * of.pace_s
    by_pace = np.where(by_clock, AT[Cause.FREQUENCY], AT[Cause.SLOWER_CPU])
    nothing = quiet | (of.valid & ~of.shares_known)
    other = np.where(pace_only, by_pace, np.where(nothing, AT[Cause.NONE], AT[Cause.UNEXPLAINED]))
    causes = NamedCauses(np.where(weighed, named.first, other), np.where(weighed, named.second, AT[Cause.NONE]))
    return _Explained(of, split, known, quiet, pace_only, replace(lost, shares=shares), causes)


def _or_none(values: Floats) -> list[float | None]:
    """Python's numbers, None for NaN."""
    unknown = np.isnan(values)
    if not np.count_nonzero(unknown):
        return list(values.tolist())
    found = values.astype(object)
    found[unknown] = None
    return list(found.tolist())


def _causes(at: At) -> list[Cause]:
    return [*map(CAUSES.__getitem__, at.tolist())]


def _avoidable_s(of: Sessions, causes: At) -> Floats:
    """For how long it lost to its cause while another core or CPU that it may use was idle."""
    met = of.evidence
    queued = (causes == AT[Cause.RUN_QUEUE]) | (causes == AT[Cause.COMPETITOR])
    found_s = np.where(queued, met.queue_idle_s, np.nan)
    found_s = np.where(causes == AT[Cause.SHARED_CORE], met.shared_idle_s, found_s)
    return np.where(met.known & (met.polls >= evidence_rules.MIN_POLLS), found_s, np.nan)


def _shares(of: Sessions, on: Mask, split: Loss) -> LossParts:
    """The parts of the losses in the rows that ``on`` marks."""
    shares, counted = LossParts(len(of)), ~np.isnan(split.inflation_s)
    whole = on & split.is_split
    for row in np.flatnonzero(on & ~counted).tolist():
        shares.of_row[row] = _without_host(of, row, float(split.total_s[row]))
    inflated, queued = on & (split.inflation_s > 0), whole & (split.queue_s > 0)
    throttled, off = whole & (split.throttled_s > 0), whole & (split.gap_s > 0)
    # Of rows that there are none of, a rule has nothing to divide.
    if inflated.any():
        left = of.counted.beyond(or_zero(split.gap_s))
        shares.add(evidence_rules.inflation(inflated, split.inflation_s, left, of))
    shares.add([_unsplit(on & counted & ~whole, split.unsplit_s)])
    if queued.any():
        shares.add(evidence_rules.queueing(queued & ~of.traced, split.queue_s, of))
    for row in np.flatnonzero(queued & of.traced).tolist():
        shares.of_row[row] = ran_instead.traced_queueing(row, float(split.queue_s[row]), of)
    if throttled.any():
        shares.add(evidence_rules.throttling(throttled, split.throttled_s, of))
    if off.any():
        shares.add(evidence_rules.off_cpu(off, split.gap_s, of))
    return shares


def _unsplit(on: Mask, unsplit_s: Floats) -> LossPart:
    text = "without schedstat run-queue wait and steal are not distinguishable"
    return LossPart.where(on, Cause.UNEXPLAINED, unsplit_s, lambda row: f"off-CPU {seconds(unsplit_s[row])}: {text}")


def _without_host(of: Sessions, row: int, total_s: float) -> list[RowPart]:
    """By the database's own counters, where it has some; they show a slower CPU and waits, and no more."""
    each, reference = of.timed[row], of.reference_of(row)
    why_not = _why_not(each)
    if reference is not None:
        many, alone = int(of.executions[row]), of.waits_alone
        found = without_host.shares_by_database(each.session, many, total_s, reference, alone, why_not)
        if found is not None:
            return found
    return [RowPart(Cause.UNEXPLAINED, total_s, partial(str, f"no evidence from the host: {why_not}"))]


def _why_not(member: Timed) -> str:
    return plain(member.round.not_sampled or member.session.server.how or "its server process was not sampled")


def not_sampled(round_: Round) -> bool:
    """No session of this round has a CPU time from the host."""
    return bool(round_.sessions) and all(session.cpu_s is None for session in round_.sessions)

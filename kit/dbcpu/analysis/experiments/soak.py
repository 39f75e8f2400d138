"""The course of a soak: its segments, gaps, a second preferred value, drift, steal, the worst segment.

Rounds are looked at one at a time, and of each only the times of its executions are kept (12 bytes each), so that a
day of them needs little memory. An execution counts by the server's own stamps where there are any: a driver
that is late takes in several answers at one moment.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from dbcpu.analysis.host_usage.host_time import stolen_share, throttled_shares
from dbcpu.analysis.host_usage.host_time import window_s as shared_s
from dbcpu.analysis.results.experiments import Gap, Heat, Histogram, SecondValue, Segment, SizeView, Soak, SoakTrend
from dbcpu.analysis.sessions.plausible_work import undone_in_round
from dbcpu.analysis.sessions.valid_sessions import STILL_RAN, InSoak, has_failed, that_ended
from dbcpu.analysis.statistics.bimodality import two_modes
from dbcpu.analysis.statistics.robust import distinct, median
from dbcpu.record.header import Header, WorkloadInfo
from dbcpu.record.reported_steal import why_unseen
from dbcpu.record.rounds import Execution, Round

Floats = npt.NDArray[np.floating]

BINS = 240
NEARLY_ALL = 0.9
"""Share from which a session, or a segment, is said to be at one of the two values."""
MIN_FOR_TREND = 8
MIN_CHANGE = 0.05
MIN_P = 0.01
EDGE = 0.02
"""Of the histogram, in units of the logarithm."""


class Course:
    """Takes in the rounds of a soak in their order, and computes the course from them."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._first_s: float | None = None
        self._segments: list[Segment] = []
        self._variants: list[str] = []
        self._ends: list[float] = []
        self._times: list[tuple[Floats, Floats, Floats]] = []
        self._alone: dict[str, list[float]] = {}
        self._whole: list[bool] = []
        self._ran_on: list[set[InSoak]] = []
        self._ended = set[InSoak]()
        self._level = 0

    def add(self, done: Round, left_out: Sequence[str]) -> None:
        """One more round; ``left_out``: why each of its sessions is (``whys_by_itself``), '' if it counts."""
        not_done = undone_in_round(self._header, done)
        executions = [
            (session.ordinal, *taken)
            for session in done.sessions
            if session.answer_ok is not False and session.ordinal not in not_done
            for each in session.executions
            if (taken := _stamps(each))[1] > 0
        ]
        if done.anchor:
            # As in the baseline of every run: the mean execution of each single session.
            if executions:
                self._alone.setdefault(done.variant, []).append(float(np.mean([each[2] for each in executions])))
            return
        if self._first_s is None:
            self._first_s = done.released_monotonic_s
        at_s = done.released_monotonic_s - self._first_s
        ordinals, starts, elapsed = (np.array(column, np.float64) for column in zip(*executions, strict=True)) if (
            executions
        ) else (np.zeros(0), np.zeros(0), np.zeros(0))  # fmt: skip
        self._level = max(self._level, done.level)
        self._times.append(
            (ordinals.astype(np.float32), (at_s + starts).astype(np.float32), elapsed.astype(np.float32))
        )
        self._variants.append(done.variant)
        whys = [*zip(left_out, done.sessions, strict=True)]
        self._whole.append(not any(has_failed(why, each) or each.answer_ok is False for why, each in whys))
        self._ran_on.append({(done.variant, each.ordinal) for why, each in whys if why == STILL_RAN})
        self._ended |= that_ended(done)
        window_s = done.cost.window_s if done.cost else float((starts + elapsed).max(initial=0.0))
        self._ends.append(at_s + window_s)
        fast, middle, slow = np.quantile(elapsed, (0.05, 0.5, 0.95)) if elapsed.size else (None, None, None)
        queued, throttled = _waited(done, shared_s(done) if done.cost else window_s)
        self._segments.append(
            Segment(
                at_s, window_s, int(elapsed.size), _number(middle), _number(fast), _number(slow),
                steal=stolen_share(done), queue=queued, cut=done.error or "", throttled=throttled,
            )
        )  # fmt: skip

    def result(self) -> Soak:
        """The course of the rounds so far."""
        plan = self._header.plan
        first = plan.workload.size if plan.sizes else None
        mine = [at for at, variant in enumerate(self._variants) if first in (None, variant)]
        times = [self._times[at] for at in mine]
        ordinals, starts, elapsed = (np.concatenate([each[k] for each in times] or [np.zeros(0)]) for k in range(3))
        second = None if plan.sizes else self._second(ordinals, elapsed, [each[2] for each in times])
        segments = [self._segments[at] for at in mine]
        if second:
            segments = [
                replace(each, second=float((rows[2] > second.border_s).mean()) if rows[2].size else None)
                for each, rows in zip(segments, times, strict=True)
            ]
        if why_unseen(self._header.host, counted=any(each.steal for each in self._segments)):
            segments = [replace(each, steal=None) for each in segments]
        medians = [(at, each.median_s) for at, each in enumerate(segments) if each.median_s is not None]
        alone = self._alone.get(self._header.plan.variants[0], [])
        return Soak(
            sessions=self._level,
            lasted_s=max(self._ends, default=0.0),
            executions=int(elapsed.size),
            alone_s=median(alone) if alone else None,
            median_s=median(elapsed) if elapsed.size else None,
            segments=tuple(segments),
            gaps=self._gaps(),
            second=second,
            trend=_trend(segments),
            worst=max(medians, key=lambda each: each[1] or 0.0)[0] if len(medians) > 1 else None,
            sizes=tuple(self._sizes()) if plan.sizes else (),
            heat=_heat(ordinals, starts, elapsed) if elapsed.size and not plan.sizes else None,
            histogram=_histogram(elapsed) if elapsed.size else None,
            whole=not mine or any(self._whole[at] and self._ran_on[at] <= self._ended for at in mine),
        )

    def _second(self, ordinals: Floats, elapsed: Floats, by_segment: Sequence[Floats]) -> SecondValue | None:
        found = two_modes(elapsed.astype(np.float64))
        if found is None:
            return None
        above = elapsed > found.border
        # The first value is the one that most executions have.
        upper = found.share_above <= 0.5
        at_second = above if upper else ~above
        places = (found.low, found.high) if upper else (found.high, found.low)
        sessions = [int(each) for each in distinct(ordinals) if at_second[ordinals == each].mean() >= NEARLY_ALL]
        shares = [float((rows > found.border).mean() if upper else (rows <= found.border).mean()) for rows in by_segment
                  if rows.size]  # fmt: skip
        return SecondValue(
            *places, found.border, float(at_second.mean()), found.statistic, tuple(sessions),
            tuple(at for at, share in enumerate(shares) if share >= NEARLY_ALL),
        )  # fmt: skip

    def _gaps(self) -> tuple[Gap, ...]:
        """From the last execution that ended before a failure to the next release, or to nothing when none came."""
        found = []
        for at, each in enumerate(self._segments):
            if not each.cut:
                continue
            _, starts, elapsed = self._times[at]
            from_s = float((starts + elapsed).max()) if elapsed.size else each.at_s
            later = self._segments[at + 1].at_s if at + 1 < len(self._segments) else self._ends[at]
            found.append(Gap(from_s, max(from_s, later), each.cut))
        return tuple(found)

    def _sizes(self) -> Iterable[SizeView]:
        plan = self._header.plan
        works: tuple[WorkloadInfo, ...] = (plan.workload, *plan.sizes)
        for work in works:
            rows = [self._times[at][2] for at, variant in enumerate(self._variants) if variant == work.size]
            elapsed = np.concatenate(rows or [np.zeros(0)]).astype(np.float64)
            if not elapsed.size:
                continue
            alone = self._alone.get(work.size, [])
            alone_s = median(alone) if alone else None
            fast, middle, slow = (float(each) for each in np.quantile(elapsed, (0.05, 0.5, 0.95)))
            mean, found = float(elapsed.mean()), two_modes(elapsed)
            yield SizeView(
                work.size, work.rows, int(elapsed.size), alone_s, middle,
                mean / alone_s if alone_s else None, slow / fast, float(elapsed.std() / mean),
                SecondValue(found.low, found.high, found.border, found.share_above, found.statistic) if found else None,
            )  # fmt: skip


def _stamps(each: Execution) -> tuple[float, float]:
    """Start and elapsed seconds."""
    if each.server_start_s is None or each.server_elapsed_s is None:
        return each.start_s, each.elapsed_s
    return each.server_start_s, each.server_elapsed_s


def _number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]


def _waited(done: Round, window_s: float) -> tuple[float | None, float | None]:
    """Shares of the sessions' time: in run queues, and throttled by a quota, which the kernel counts as run delay.

    At most 1: counters are read a moment after the time. None where the segment is too short for a share.
    """
    known = [delay for session in done.sessions if (delay := session.run_delay_s) is not None]
    if not known or window_s <= 0:
        return None, None
    throttled_s = sum(throttled_shares(done).values())
    whole_s = len(known) * window_s
    return min(1.0, (sum(known) - throttled_s) / whole_s), min(1.0, throttled_s / whole_s)


def _trend(segments: Sequence[Segment]) -> SoakTrend | None:
    """A steady change beyond noise and large enough to report: Theil and Sen's slope with Kendall's tau."""
    known = [(each.at_s, each.median_s) for each in segments if each.median_s is not None and not each.cut]
    if len(known) < MIN_FOR_TREND:
        return None
    at, medians = (np.array(column) for column in zip(*known, strict=True))
    if np.ptp(medians) == 0:
        return None
    from scipy.stats import kendalltau, theilslopes  # large, and most runs are no soak

    slope, intercept, *_ = theilslopes(medians, at)
    p = float(kendalltau(at, medians).pvalue)
    start, end = (float(intercept + slope * moment) for moment in (at[0], at[-1]))
    change = end / start - 1 if start > 0 else 0.0
    return SoakTrend(change, p) if p < MIN_P and abs(change) >= MIN_CHANGE else None


def _heat(ordinals: Floats, starts: Floats, elapsed: Floats) -> Heat:
    """Each execution counts in the bins that it lies in, by the time that it spends there."""
    known = distinct(ordinals)
    edges = np.linspace(0.0, float((starts + elapsed).max()), BINS + 1)
    width = edges[1]
    weight, spent = np.zeros((known.size, BINS)), np.zeros((known.size, BINS))
    row = np.searchsorted(known, ordinals)
    # No division: by a width of almost nothing it overflows.
    first, last = (np.searchsorted(edges[1:-1], at, side="right") for at in (starts, starts + elapsed))
    for step in range(int((last - first).max()) + 1):
        at = first + step
        here = at <= last
        share = np.minimum(starts + elapsed, (at + 1) * width) - np.maximum(starts, at * width)
        share = np.maximum(share, 0.0)
        np.add.at(spent, (row[here], at[here]), (share * elapsed)[here])
        np.add.at(weight, (row[here], at[here]), share[here])
    values = np.divide(spent, weight, out=np.full_like(spent, np.nan), where=weight > 0)
    return Heat(
        tuple(int(each) for each in known),
        tuple(float(each) for each in edges),
        tuple(tuple(None if np.isnan(each) else float(each) for each in line) for line in values),
    )


def _histogram(elapsed: Floats) -> Histogram:
    logs = np.log(elapsed.astype(np.float64))
    edges = np.arange(logs.min() - EDGE / 2, logs.max() + EDGE * 1.5, EDGE)
    counts = np.histogram(logs, edges)[0]
    return Histogram(tuple(float(each) for each in np.exp(edges)), tuple(int(each) for each in counts))

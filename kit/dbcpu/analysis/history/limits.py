"""One run against fixed limits, and against the history of its own target. Pure.

The history is the last K complete runs of the same work on the same host with the same levels. Runs inside a
maintenance window of the database are kept apart: they are compared with such runs only. The band of a metric is
median +- widths x 1.4826 x median absolute deviation, and at least 5 % (for the spread of a quiet month is no
limit). A change point is the split of a series that leaves the least scatter about the medians of its two parts, with
at least 4 runs each; it has to pass Mann-Whitney's test at 5 % over the number of splits, and is named by the date of
the first run after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.comparison.comparability import other_work
from dbcpu.analysis.levels.outcome import is_loss
from dbcpu.analysis.placement.host_time import typical_share
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.analysis.statistics.inference import mann_whitney_p
from dbcpu.analysis.statistics.robust import deviation
from dbcpu.config.rules import CheckLimits
from dbcpu.findings import UNANSWERED
from dbcpu.formatting import number, percent, plural, seconds, times
from dbcpu.record import Header, RunRecord

MIN_RUNS = 5
"""Earlier runs that a band needs."""
MIN_BAND = 0.05
EITHER_SIDE = 4
CHANGE_P = 0.05
MAINTENANCE = "maintenance-window"
"""Code of the finding that a run's notes begin with, name of the database's parameter, and a word of the label."""

METRICS = {
    "solo": ("single-session throughput", "Mrows/s", False),
    "throughput": ("throughput", "Mrows/s", False),
    "slowdown": ("slowdown", "x", True),
    "max_over_min": ("max/min", "x", True),
    "connect_s": ("time to connect", "s", True),
    "steal": ("steal", "%", True),
}
"""Metric -> (words, unit, more is worse)."""


@dataclass(frozen=True, slots=True)
class Value:
    """One metric of one run at one level (0: of the run). ``shown`` False: it may be noise of this run."""

    metric: str
    level: int
    value: float
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """What a run contributes to the history of its target."""

    run_id: str
    started_at: str
    maintenance: bool
    values: tuple[Value, ...]

    def value(self, metric: str, level: int) -> float | None:
        return next((each.value for each in self.values if (each.metric, each.level) == (metric, level)), None)


@dataclass(frozen=True, slots=True)
class Band:
    """What is usual: from ``runs`` earlier runs."""

    median: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class LastingChange:
    """A sustained change: ``since`` and ``at`` are date and index of the first run after it.

    ``ratio`` is after over before.
    """

    since: str
    before: float
    after: float
    at: int

    @property
    def ratio(self) -> float:
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class Violation:
    """One limit that was exceeded, as one line. ``inconclusive``: the figure is, but within the noise of the run.

    ``lasting``: it is beyond what is usual since several runs.
    """

    metric: str
    level: int
    seen: float
    limit: float
    text: str
    inconclusive: bool = False
    lasting: bool = False


def point(record: RunRecord, analysis: Analysis) -> Point:
    """The figures of a run. Slowdown and max/min only where every session has a core of its own; of one alone what it
    lost as the kernel counted.
    """
    values: list[Value] = []
    if analysis.reference is not None:
        values.append(Value("solo", 0, analysis.reference.mrows_per_s))
    first = [each for each in analysis.levels if each.variant == analysis.levels[0].variant]
    for each in first:
        found = {"connect_s": each.connect_median_s}
        if each.level > 1:
            found["throughput"] = each.throughput
        sizes = analysis.pool.sizes if analysis.pool else ()
        job = next((size for size in sizes if size.active == each.level), None)
        if job is not None:
            # Of a pool the time of a job counts, as it is shown: its sessions share the jobs unequally by design.
            found["slowdown"] = job.x_alone if _has_a_core_each(each, analysis) else None
        elif each.level == 1 and is_loss(each):
            found["slowdown"] = each.counted_slowdown
        elif _has_a_core_each(each, analysis):
            found |= {"slowdown": each.slowdown_max, "max_over_min": each.max_over_min}
        shown = {"slowdown": is_loss(each), "max_over_min": each.even is Answer.NO}
        values += [
            Value(metric, each.level, value, shown.get(metric, True))
            for metric, value in found.items()
            if value is not None
        ]
    stolen = typical_share(record.rounds)
    if stolen is not None:
        values.append(Value("steal", 0, stolen))
    header = record.header
    return Point(header.run_id, header.started_at, in_maintenance(header), tuple(values))


def in_maintenance(header: Header) -> bool:
    """Whether a maintenance window of the database was open: by a note, a database parameter, or the label."""
    return (
        any(note.startswith(MAINTENANCE) for note in header.notes)
        or bool(header.database.parameters.get(MAINTENANCE.replace("-", "_")))
        or MAINTENANCE.replace("-", " ") in header.label.lower().replace("-", " ")
    )


def comparable(header: Header, other: Header) -> bool:
    """Whether ``other`` belongs to the history of ``header``."""
    same = (
        header.plan.target == other.plan.target
        and header.plan.vcpus == other.plan.vcpus
        and (header.host.hostname if header.host else None) == (other.host.hostname if other.host else None)
        and in_maintenance(header) == in_maintenance(other)
    )
    return same and other.status == "complete" and not other_work(header, other)


def check(
    record: RunRecord, analysis: Analysis, earlier: Sequence[Point], limits: CheckLimits
) -> tuple[Violation, ...]:
    """The limits that a run exceeds, and where that is inconclusive; ``earlier`` is ordered from the oldest.

    The answers of the levels decide what is shown (see ``answers``); the limits how much of it matters.
    """
    now = point(record, analysis)
    found = [*_status(record), *_fixed(now, limits)]
    usual = [each for each in earlier if each.maintenance == now.maintenance and each.run_id != now.run_id]
    usual = sorted(usual, key=lambda each: each.started_at)[-limits.runs :]
    already = {(each.metric, each.level) for each in found}
    for value in now.values:
        if value.shown and (value.metric, value.level) not in already:
            found += _unusual(value, now, usual, limits)
    return tuple(found)


def undecided(analysis: Analysis) -> tuple[Violation, ...]:
    """The finding inconclusive of a run, as a line; () where every level up to the vCPUs has an answer."""
    return tuple(
        Violation("inconclusive", 0, 0.0, 0.0, f"{each.code}: {each.seen}", inconclusive=True)
        for each in analysis.findings
        if each.code in UNANSWERED
    )


def band(values: Sequence[float], widths: float) -> Band | None:
    """The usual range of ``values``; None for fewer than five."""
    if len(values) < MIN_RUNS:
        return None
    median = float(np.median(values))
    width = max(widths * deviation(values), MIN_BAND * abs(median))
    return Band(median, median - width, median + width, len(values))


def change_point(series: Sequence[tuple[str, float]]) -> LastingChange | None:
    """The clearest sustained change of (started_at, value), oldest first; None when there is none."""
    values = [value for _, value in series]
    splits = range(EITHER_SIDE, len(values) - EITHER_SIDE + 1)
    if not splits:
        return None
    best = min(splits, key=lambda at: _scatter(values[:at]) + _scatter(values[at:]))
    before, after = float(np.median(values[:best])), float(np.median(values[best:]))
    # The best of many splits was taken: it has to pass at 5 % divided by their number.
    if before <= 0 or mann_whitney_p(values[:best], values[best:]) > CHANGE_P / len(splits):
        return None
    return LastingChange(series[best][0][:10], before, after, best)


def _scatter(values: Sequence[float]) -> float:
    return float(np.abs(np.asarray(values) - np.median(values)).sum())


def _has_a_core_each(level: LevelView, analysis: Analysis) -> bool:
    most = analysis.cores or analysis.vcpus
    return 1 < level.level <= most if most else False


# --- violations ---------------------------------------------------------------------------------


def _status(record: RunRecord) -> list[Violation]:
    status = record.header.status
    if status == "complete":
        return []
    there = plural(len(record.rounds), "round")
    return [Violation("status", 0, 0.0, 0.0, f"the run is {status} with {there}")]


def _fixed(now: Point, limits: CheckLimits) -> list[Violation]:
    fixed = {
        "slowdown": limits.slowdown,
        "max_over_min": limits.max_over_min,
        "connect_s": limits.connect_s,
        "steal": limits.steal,
    }
    found = []
    for metric, limit in fixed.items():
        over = [each for each in now.values if each.metric == metric and limit is not None and each.value > limit]
        if over and limit is not None:
            worst = max(over, key=lambda each: (each.shown, each.value))
            text = f"{_what(worst)} is {_amount(metric, worst.value)}, above the limit of {_amount(metric, limit)}"
            if not worst.shown:
                text += ", but inconclusive: within the noise of this run"
            found.append(Violation(metric, worst.level, worst.value, limit, text, not worst.shown))
    return found


def _unusual(value: Value, now: Point, earlier: Sequence[Point], limits: CheckLimits) -> list[Violation]:
    found = [(each.started_at, each.value(value.metric, value.level)) for each in earlier]
    series = [(started_at, seen) for started_at, seen in found if seen is not None]
    usual = band([seen for _, seen in series], limits.widths)
    if usual is None:
        return []
    worse = METRICS[value.metric][2]
    limit = usual.high if worse else usual.low
    if not worse:
        if limits.throughput_drop is None:
            return []
        limit = min(limit, usual.median * (1 - limits.throughput_drop))
    if (value.value <= limit) if worse else (value.value >= limit):
        return []
    if value.metric in ("connect_s", "steal") and value.value < _NEGLIGIBLE[value.metric]:
        return []
    change = change_point([*series, (now.started_at, value.value)])
    since = f", sustained change since {change.since}" if change else ""
    ratio = f"{value.value / usual.median:.2f}x" if usual.median > 0 else "more than"
    text = (
        f"{_what(value)} is {_amount(value.metric, value.value)}, {ratio} the usual "
        f"{_amount(value.metric, usual.median)} of {plural(usual.runs, 'run')} "
        f"(limit {_amount(value.metric, limit)}){since}"
    )
    return [Violation(value.metric, value.level, value.value, limit, text, lasting=change is not None)]


_NEGLIGIBLE = {"connect_s": 0.1, "steal": 0.01}
"""Smaller values are no violation: 4 ms to connect instead of 2 has no effect."""


def _what(value: Value) -> str:
    words = METRICS[value.metric][0]
    return f"{words} at N={value.level}" if value.level else words


def _amount(metric: str, value: float) -> str:
    unit = METRICS[metric][1]
    if unit == "s":
        return seconds(value)
    if unit == "%":
        return percent(value)
    return times(value) if unit == "x" else f"{number(value, 1)} {unit}"

"""One run against fixed limits, and against the history of its own target. Pure.

The history is the last K complete runs of the same work on the same host with the same levels. Runs inside a
maintenance window of the database are kept apart: they are compared with such runs only. The band of a metric is
median +- widths x 1.4826 x median absolute deviation, and at least 5 % (for the spread of a quiet month is no
limit). A lasting change has at least 4 runs on either side (``change_points``), and is named by the date of the first
run after it.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct

from dbcpu.analysis.comparison.comparability import MUST_AGREE
from dbcpu.config.check_limits import CheckLimits
from dbcpu.formatting import number, percent, plural, seconds, times
from dbcpu.record.figures import RunFigures
from dbcpu.record.findings import UNANSWERED
from dbcpu.record.header import POOL, ROWS_UNIT, SOAK, Header, Plan

MIN_RUNS = 5
"""Earlier runs that a band needs."""
MIN_BAND = 0.05
NORMAL_CONSISTENT = 1.4826
"""As in ``statistics.robust``, which needs NumPy: a check of a few figures starts faster without."""
MAINTENANCE = "maintenance-window"
"""In the key of a history: a maintenance window of the database was open."""

CHECKED_METRICS = {
    "solo": ("single-session throughput", "rate", False),
    "throughput": ("throughput", "rate", False),
    "slowdown": ("slowdown", "x", True),
    "max_over_min": ("max/min", "x", True),
    "connect_s": ("time to connect", "s", True),
    "steal": ("steal", "%", True),
}
"""Metric -> (words, unit, more is worse). A rate has the unit of the work."""
RATES = tuple(metric for metric, (_, _, worse) in CHECKED_METRICS.items() if not worse)


class Value(Struct, frozen=True):
    """One metric of one run at one level (0: of the run). ``shown`` False: it may be noise of this run.

    ``unit``: of the rates of this work.
    """

    metric: str
    level: int
    value: float
    shown: bool = True
    unit: str = ROWS_UNIT


class HistoryPoint(Struct, frozen=True):
    """What a run contributes to the history of its target."""

    run_id: str
    started_at: str
    maintenance: bool
    values: tuple[Value, ...]

    def value(self, metric: str, level: int) -> float | None:
        return next((each.value for each in self.values if (each.metric, each.level) == (metric, level)), None)


class Band(Struct, frozen=True):
    """What is usual: from ``runs`` earlier runs."""

    median: float
    low: float
    high: float
    runs: int


class LastingChange(Struct, frozen=True):
    """A lasting change: ``since`` and ``at`` are date and index of the first run after it.

    ``before`` and ``after`` are medians since the change before it and until the next one; ``ratio`` is after over
    before. ``places`` and ``dates`` are indexes and dates of the earliest and the latest run that may be the first
    after it (95 %).
    """

    since: str
    before: float
    after: float
    at: int
    places: tuple[int, int]
    dates: tuple[str, str]

    @property
    def when(self) -> str:
        """``2026-11-10``, with its interval where that has other dates."""
        earliest, latest = self.dates
        return self.since if earliest == latest else f"{self.since} (95 % CI {earliest} to {latest})"

    @property
    def ratio(self) -> float:
        return self.after / self.before


class Violation(Struct, frozen=True):
    """One limit that was exceeded, as one line. ``inconclusive``: the figure is, but within the noise of the run.

    ``lasting``: it is beyond what is usual since several runs, the first of which is of the date ``since``.
    """

    metric: str
    level: int
    seen: float
    limit: float
    text: str
    inconclusive: bool = False
    lasting: bool = False
    since: str = ""


def point(run_id: str, started_at: str, figures: RunFigures, maintenance: bool = False) -> HistoryPoint:
    """The figures of a run. Slowdown and max/min only where every session has a core of its own; of one alone what it
    lost as the kernel counted.
    """
    values: list[Value] = []
    unit = figures.text("unit") or ROWS_UNIT
    if (solo := figures.value("solo_mrows_per_s")) is not None:
        values.append(Value("solo", 0, solo, unit=unit))
    variant = figures.text("variant")
    for level in figures.levels(variant):

        def of(metric: str, at: tuple[int, str] = (level, variant)) -> float | None:
            return figures.value(metric, *at)

        found = {"connect_s": of("connect_s")}
        if level > 1:
            found["throughput"] = of("throughput_mrows_per_s")
        # Of a pool the time of a job counts, as it is shown: its sessions share the jobs unequally by design.
        job, own_core, lost = of("job_x"), _has_a_core_each(level, figures), 0.0 in (of("even"), of("full_speed"))
        if job is not None:
            found["slowdown"] = job if own_core else None
        elif level == 1 and lost:
            found["slowdown"] = of("counted_slowdown_x")
        elif own_core:
            found |= {"slowdown": of("slowdown_max_x"), "max_over_min": of("max_over_min_x")}
        shown = {"slowdown": lost, "max_over_min": of("even") == 0.0}
        values += [
            Value(metric, level, value, shown.get(metric, True), unit)
            for metric, value in found.items()
            if value is not None
        ]
    if (stolen := figures.value("steal_share")) is not None:
        values.append(Value("steal", 0, stolen))
    return HistoryPoint(run_id, started_at, maintenance, tuple(values))


def in_maintenance(header: Header) -> bool:
    """Whether a maintenance window of the database was open: by a database parameter, or the label."""
    labelled = "maintenance window" in header.label.lower().replace("-", " ")
    return labelled or bool(header.database.parameters.get("maintenance_window"))


HistoryKey = Sequence[str | None]


def history_key(header: Header) -> HistoryKey:
    """What runs of one history have in common; None where it is not known.

    Target, vCPUs, host, maintenance and experiment first, which must agree; then what the work is, of which an unknown
    fact is ignored.
    """
    plan = header.plan
    own = (
        plan.target,
        None if plan.vcpus is None else str(plan.vcpus),
        header.host.hostname if header.host else None,
        MAINTENANCE if in_maintenance(header) else None,
        _experiment(plan),
    )
    return (*own, *(value_of(header) for value_of in MUST_AGREE.values()))


def _experiment(plan: Plan) -> str:
    """A pool of other jobs, or whose calls come in another way, is another pool, and a soak of other sessions one, too.

    Of such soaks nothing could be compared but the single sessions.
    """
    if plan.experiment == SOAK:
        return f"soak {max(plan.levels, default=0)}"
    if plan.experiment != POOL:
        return plan.experiment
    return f"pool {plan.pieces} {plan.blocking} {plan.block_s} {plan.connections} {plan.one_at_a_time}"


def same_history(one: HistoryKey, other: HistoryKey) -> bool:
    """Whether runs with these keys belong to one history."""
    work = zip(one[_OWN:], other[_OWN:], strict=True)
    return tuple(one[:_OWN]) == tuple(other[:_OWN]) and all(
        left is None or right is None or left == right for left, right in work
    )


def fewer_vcpus(own: HistoryKey, before: HistoryKey, run_id: str) -> Violation | None:
    """That sessions may use fewer vCPUs than at the run before, with which this one cannot be compared for that alone.

    It is said once: from the next run on there is one that can be compared.
    """
    now, then = own[_VCPUS], before[_VCPUS]
    alike = (*own[:_VCPUS], then, *own[_VCPUS + 1 :])
    if now is None or then is None or int(now) >= int(then) or not same_history(alike, before):
        return None
    text = f"sessions may use {plural(int(now), 'vCPU')}, and {then} at {run_id}, so that these runs are not compared"
    return Violation("vcpus", 0, float(now), float(then), text)


_OWN = 5
_VCPUS = 1
"""Its place in a key."""
KEY_FACTS = _OWN + len(MUST_AGREE)


def comparable(header: Header, other: Header) -> bool:
    """Whether ``other`` belongs to the history of ``header``."""
    return other.status == "complete" and same_history(history_key(header), history_key(other))


def check(
    header: Header, figures: RunFigures, earlier: Sequence[HistoryPoint], limits: CheckLimits
) -> tuple[Violation, ...]:
    """The limits that a run exceeds, and where that is inconclusive; ``earlier`` is ordered from the oldest.

    The answers of the levels decide what is shown (see ``answers``); the limits how much of it matters.
    """
    now = point(header.run_id, header.started_at, figures, in_maintenance(header))
    found = [*_status(header, figures), *_fixed(now, limits)]
    before = compared_runs(now, earlier, limits)
    already = {(each.metric, each.level) for each in found}
    for value in now.values:
        if value.shown and (value.metric, value.level) not in already:
            found += unusual(value, now, before, limits)
    return tuple(found)


def compared_runs(now: HistoryPoint, earlier: Sequence[HistoryPoint], limits: CheckLimits) -> Sequence[HistoryPoint]:
    """The runs that ``now`` is compared with, the oldest first."""
    usual = [each for each in earlier if each.maintenance == now.maintenance and each.run_id != now.run_id]
    return sorted(usual, key=lambda each: each.started_at)[-limits.runs :]


def undecided(figures: RunFigures) -> tuple[Violation, ...]:
    """The finding inconclusive of a run, as a line; () where every level up to the vCPUs has an answer."""
    return tuple(
        Violation("inconclusive", 0, 0.0, 0.0, f"{code}: {seen}", inconclusive=True)
        for code, seen in figures.findings().items()
        if code in UNANSWERED
    )


def band(values: Sequence[float], widths: float) -> Band | None:
    """The usual range of ``values``; None for fewer than five."""
    if len(values) < MIN_RUNS:
        return None
    middle = median(values)
    deviation = NORMAL_CONSISTENT * median(abs(value - middle) for value in values)
    width = max(widths * deviation, MIN_BAND * abs(middle))
    return Band(middle, middle - width, middle + width, len(values))


def lasting_changes(series: Sequence[tuple[str, float]]) -> tuple[LastingChange, ...]:
    """Those of (started_at, value), the oldest first. One that would be written as 1.00x is none."""
    from dbcpu.analysis.statistics.change_points import change_points, change_ranges  # few checks come so far

    days, values = [started_at[:10] for started_at, _ in series], [value for _, value in series]
    if not (changes := change_points(values)):
        return ()
    medians = [median(values[first:last]) for first, last in pairwise((0, *changes, len(values)))]
    found = [
        LastingChange(days[at], before, after, at, places, (days[places[0]], days[places[1]]))
        for at, places, (before, after) in zip(changes, change_ranges(values, changes), pairwise(medians), strict=True)
        if before > 0
    ]
    return tuple(each for each in found if round(each.ratio, 2) != 1.0)


def _has_a_core_each(level: int, figures: RunFigures) -> bool:
    most = figures.value("cores") or figures.value("vcpus")
    return 1 < level <= most if most else False


# --- violations ---------------------------------------------------------------------------------


def _status(header: Header, figures: RunFigures) -> list[Violation]:
    rounds = figures.value("rounds") or 0
    if header.status == "complete" and rounds:
        return []
    there = plural(rounds, "round")
    return [Violation("status", 0, 0.0, 0.0, f"the run is {header.status} with {there}")]


def _fixed(now: HistoryPoint, limits: CheckLimits) -> list[Violation]:
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
            seen = with_unit(worst, worst.value)
            text = f"{figure_words(worst)} is {seen}, above the limit of {with_unit(worst, limit)}"
            if not worst.shown:
                text += ", but inconclusive: noise, or rounds that differ, may be why"
            found.append(Violation(metric, worst.level, worst.value, limit, text, not worst.shown))
    return found


class ComparedFigure(Struct, frozen=True):
    """A figure and what is usual of it; ``limit``: from there on it is unusual, on the bad side."""

    value: Value
    usual: Band
    limit: float

    @property
    def is_worse(self) -> bool:
        """Whether it is beyond the limit, on the bad side."""
        worse = CHECKED_METRICS[self.value.metric][2]
        return self.value.value > self.limit if worse else self.value.value < self.limit

    @property
    def is_better(self) -> bool:
        """Of a rate: as far beyond what is usual on the other side."""
        other = max(self.usual.high, 2 * self.usual.median - self.limit)
        return self.value.metric in RATES and self.value.value > other

    @property
    def text(self) -> str:
        """The figure beside the usual one, as a clause."""
        metric, seen, usual = self.value.metric, self.value.value, self.usual
        ratio = f"{seen / usual.median:.2f}x" if usual.median > 0 else "more than"
        # Of a figure that is a ratio itself a second one only confuses.
        beside = "beside" if CHECKED_METRICS[metric][1] == "x" else ratio
        return (
            f"{figure_words(self.value)} is {with_unit(self.value, seen)}, {beside} the usual "
            f"{with_unit(self.value, usual.median)} of {plural(usual.runs, 'run')}"
        )


def compared(value: Value, earlier: Sequence[HistoryPoint], limits: CheckLimits) -> ComparedFigure | None:
    """None where fewer than five runs have it, or its limit is switched off."""
    series = [seen for each in earlier if (seen := each.value(value.metric, value.level)) is not None]
    usual = band(series, limits.widths)
    if usual is None:
        return None
    if CHECKED_METRICS[value.metric][2]:
        return ComparedFigure(value, usual, usual.high)
    if limits.throughput_drop is None:
        return None
    return ComparedFigure(value, usual, min(usual.low, usual.median * (1 - limits.throughput_drop)))


def unusual(value: Value, now: HistoryPoint, earlier: Sequence[HistoryPoint], limits: CheckLimits) -> list[Violation]:
    """That a value of ``now`` is beyond what is usual, on the bad side; [] where it is not."""
    found = compared(value, earlier, limits)
    if found is None or not found.is_worse:
        return []
    if value.metric in ("connect_s", "steal") and value.value < _NEGLIGIBLE[value.metric]:
        return []
    known = [(each.started_at, each.value(value.metric, value.level)) for each in earlier]
    series = [(started_at, seen) for started_at, seen in known if seen is not None]
    changes = lasting_changes([*series, (now.started_at, value.value)])
    since = changes[-1].since if changes else ""
    text = f"{found.text} (limit {with_unit(value, found.limit)})"
    text += f", lasting change since {changes[-1].when}" if changes else ""
    return [Violation(value.metric, value.level, value.value, found.limit, text, lasting=bool(changes), since=since)]


_NEGLIGIBLE = {"connect_s": 0.1, "steal": 0.01}
"""Smaller values are no violation: 4 ms to connect instead of 2 has no effect."""


def figure_words(value: Value) -> str:
    """``throughput at N=8``; one session alone is slower than nothing but itself, without the time it lost."""
    words = CHECKED_METRICS[value.metric][0]
    if value.metric == "slowdown" and value.level == 1:
        return f"{words} of a single session, by the time that it lost,"
    return f"{words} at N={value.level}" if value.level else words


def with_unit(of: Value, amount: float) -> str:
    """So much of the same figure, with its unit."""
    unit = CHECKED_METRICS[of.metric][1]
    if unit == "s":
        return seconds(amount)
    if unit == "%":
        return percent(amount)
    return times(amount) if unit == "x" else f"{number(amount, 1)} {of.unit}"

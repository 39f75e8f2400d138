"""How a target's figures went over its runs: the series, what changed when, and where nothing was measured. Pure.

Only comparable runs are put in a row (``limits.comparable``). All figures of a run are those that ``show`` gives.
The levels are those of the newest run; where an older run lacks one, the series has a gap. Lasting changes are
those of ``limits``. A pause is a gap when it is longer than a day and than ``GAP`` times the usual one: a
weekend between nightly runs is none, a night left out is one. Kernel, database version and settings of the host that
differ from the run before are marks of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.comparison.brief_header import BriefHeader, BriefPlan
from dbcpu.analysis.comparison.comparability import facts_that_differ, named_facts
from dbcpu.analysis.history.limits import Band, LastingChange, band, lasting_changes
from dbcpu.analysis.history.past_figures import PastFigures
from dbcpu.analysis.results.quote import Quote, QuoteNotes
from dbcpu.config.check_limits import CheckLimits
from dbcpu.formatting import DAY_S, moment, plural, seconds
from dbcpu.record.header import POOL, ROWS_UNIT, SOAK, SWEEP, Header, Plan

GAP = 3.5
MAX_FACTS = 3
UNMARKED = frozenset({"host", "driver on the host", "variant", "amount", "sampler"})
"""Facts that do not change what the host can give, or are shown elsewhere."""
SOLO, TOGETHER, SPREAD = "solo", "throughput", "max_over_min"
GAP_MARK, CHANGED, LASTING = "gap", "changed", "lasting"


class PastRun(Struct, frozen=True):
    """What a run gives to the trend."""

    header: Header | BriefHeader
    figures: PastFigures


class TrendMark(Struct, frozen=True):
    """Something at the run with this index: ``kind`` is gap, changed or lasting; ``metric`` only of the last."""

    index: int
    kind: str
    text: str
    metric: str = ""


class Series(Struct, frozen=True):
    """One figure over the runs, None where it was not measured. ``levels`` are the N it is of (() for alone).

    ``unit``: of a rate, '' of a ratio.

    ``changes``: lasting ones, the oldest first, by the index of the run. ``usual`` is the band of ``history`` over
    all runs since the newest of them.
    """

    metric: str
    levels: tuple[int, ...]
    values: tuple[float | None, ...]
    usual: Band | None
    changes: tuple[LastingChange, ...]
    unit: str = ROWS_UNIT

    @property
    def is_newest_worse(self) -> bool:
        """Whether the newest run is outside the usual band on the bad side: less throughput, or less even."""
        newest = self.values[-1]
        if self.usual is None or newest is None:
            return False
        return newest > self.usual.high if self.metric == SPREAD else newest < self.usual.low


class Trend(Struct, frozen=True):
    """The comparable runs of a target, the oldest first, with their figures and marks.

    ``older``: there are runs before these, which were left out. ``quote``, its notes, ``vcpus`` and ``cpu_model``: of
    the newest run. ``experiment``: sweep, soak, together, or which pool; runs of others are histories of their own.
    ``machine``: what sets it apart from another history of the same name, in words.
    """

    target: str
    host: str
    workload: str
    run_ids: tuple[str, ...]
    started_at: tuple[str, ...]
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    marks: tuple[TrendMark, ...]
    older: bool = False
    quote: Quote = Quote()
    quote_notes: QuoteNotes = QuoteNotes()
    experiment: str = SWEEP
    vcpus: int | None = None
    cpu_model: str = ""
    machine: str = ""

    def marks_at(self, index: int) -> tuple[TrendMark, ...]:
        return tuple(each for each in self.marks if each.index == index)


def trend(runs: Sequence[PastRun]) -> Trend:
    """Put comparable runs in a row, the oldest first; the last one says which levels count. Needs at least one."""
    newest = runs[-1]
    full, shared = _levels(newest.figures)
    limits = CheckLimits()
    wanted = [(SOLO, ())] + ([(TOGETHER, (full,))] if full else []) + ([(SPREAD, shared)] if shared else [])
    series = tuple(_series(metric, levels, runs, limits.widths) for metric, levels in wanted)
    work, host = newest.header.plan.workload, newest.header.host
    return Trend(
        target=newest.header.plan.target,
        host=host.hostname if host else "",
        workload=f"{work.name}, size {work.size}" if work.size else work.name,
        run_ids=tuple(each.header.run_id for each in runs),
        started_at=tuple(each.header.started_at for each in runs),
        labels=tuple(each.header.label for each in runs),
        series=series,
        marks=tuple(sorted((*_gaps(runs), *_changes(runs), *_lasting(series)), key=lambda each: each.index)),
        experiment=_experiment(newest.header.plan),
        vcpus=newest.figures.vcpus,
        cpu_model=host.cpu_model if host else "",
    )


def set_apart(trends: Sequence[Trend]) -> tuple[Trend, ...]:
    """The same, with ``machine`` where a host was resized or replaced: its histories have one name then."""
    named: dict[tuple[str, ...], list[Trend]] = {}
    for each in trends:
        named.setdefault((each.target, each.host, each.workload, each.experiment), []).append(each)
    return tuple(
        replace(each, machine=_machine(each, named[each.target, each.host, each.workload, each.experiment]))
        for each in trends
    )


def _machine(one: Trend, alike: Sequence[Trend]) -> str:
    sized = one.vcpus is not None and len({each.vcpus for each in alike}) > 1
    words = [plural(one.vcpus, "vCPU")] if sized and one.vcpus is not None else []
    same_size = [each for each in alike if each.vcpus == one.vcpus]
    return ", ".join([*words, one.cpu_model] if len({each.cpu_model for each in same_size}) > 1 else words)


def _experiment(plan: Plan | BriefPlan) -> str:
    """``soak of 3 sessions``, ``pool of 100 jobs, 30 of which wait, over 10 connections one at a time``."""
    if plan.experiment == SOAK and plan.levels:
        return f"{SOAK} of {plural(max(plan.levels), 'session')}"
    if plan.experiment != POOL:
        return plan.experiment
    jobs = f"pool of {plural(plan.pieces, 'job')}" if plan.pieces else POOL
    waiting = f", {plan.blocking} of which wait{f' {seconds(plan.block_s)}' if plan.block_s else ''}"
    calls = f", over {plural(plan.connections or 0, 'connection')}{' one at a time' if plan.one_at_a_time else ''}"
    return f"{jobs}{waiting if plan.blocking else ''}{calls if plan.connections else ''}"


def _levels(newest: PastFigures) -> tuple[int | None, tuple[int, ...]]:
    """The fully loaded level and those whose max/min counts: N up to the vCPUs, else what there is."""
    measured = [level for level, _, _ in newest.levels]
    within = tuple(level for level in measured if newest.vcpus is None or level <= newest.vcpus) or tuple(measured)
    return (max(within) if within else None), within


def _series(metric: str, levels: tuple[int, ...], runs: Sequence[PastRun], widths: float) -> Series:
    values = tuple(_value(metric, levels, each.figures) for each in runs)
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    changes = lasting_changes([(runs[at].header.started_at, value) for at, value in known])
    since = known[changes[-1].at :] if changes else known
    usual = band([value for _, value in since], widths)
    if usual is not None and metric == SPREAD:  # no session is faster than the fastest
        usual = replace(usual, low=max(1.0, usual.low))
    return Series(
        metric=metric,
        levels=levels,
        values=values,
        usual=usual,
        changes=tuple(_among_all(each, [at for at, _ in known]) for each in changes),
        unit="" if metric == SPREAD else runs[-1].header.plan.workload.unit,
    )


def _among_all(change: LastingChange, known: Sequence[int]) -> LastingChange:
    """The same with indexes of all runs, where it has those among ``known``."""
    earliest, latest = change.places
    return replace(change, at=known[change.at], places=(known[earliest], known[latest]))


def _value(metric: str, levels: tuple[int, ...], run: PastFigures) -> float | None:
    if metric == SOLO:
        return run.solo
    if metric == TOGETHER:
        return next((throughput for level, throughput, _ in run.levels if level == levels[0]), None)
    found = {level: spread for level, _, spread in run.levels}
    spreads = [found.get(level) for level in levels]
    known = [spread for spread in spreads if spread is not None]
    return max(known) if len(known) == len(spreads) else None


def _gaps(runs: Sequence[PastRun]) -> list[TrendMark]:
    times = [moment(each.header.started_at) for each in runs]
    pauses_s = [(later - earlier).total_seconds() if earlier and later else 0.0 for earlier, later in pairwise(times)]
    usual_s = median(pauses_s) if pauses_s else 0.0
    limit_s = max(GAP * usual_s, DAY_S)
    return [
        TrendMark(at, GAP_MARK, f"no run for {pause_s / DAY_S:.0f} days before")
        for at, pause_s in enumerate(pauses_s, 1)
        if pause_s > limit_s
    ]


def _changes(runs: Sequence[PastRun]) -> list[TrendMark]:
    found = []
    for at, (earlier, later) in enumerate(pairwise(_facts(runs)), 1):
        facts = [each for each in facts_that_differ(earlier, later) if each.fact not in UNMARKED]
        changed = [f"{each.fact} {each.base} -> {each.other}" for each in facts if not each.fact.startswith("host: ")]
        if changed:
            more = [f"{len(changed) - MAX_FACTS} more"] if len(changed) > MAX_FACTS else []
            found.append(TrendMark(at, CHANGED, "; ".join([*changed[:MAX_FACTS], *more])))
    return found


def _facts(runs: Sequence[PastRun]) -> Iterator[Mapping[str, str]]:
    """Whatever may differ, of each run: mostly it is all as in the run before."""
    last, facts = None, dict[str, str]()
    for each in (run.header for run in runs):
        said = (each.tool_version, each.plan, each.host, each.database)
        if said != last:
            last, facts = said, named_facts(each)
        yield facts


def _lasting(series: Sequence[Series]) -> list[TrendMark]:
    return [
        TrendMark(change.at, LASTING, f"lasting change ({change.ratio:.2f}x)", each.metric)
        for each in series
        for change in each.changes
    ]

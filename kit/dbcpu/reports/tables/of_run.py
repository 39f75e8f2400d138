"""The tables of whole runs: one row per run, and one per level and variant."""

from collections.abc import Callable, Iterator
from datetime import UTC
from typing import Any

from msgspec import Struct

from dbcpu.analysis.conclusions.headline import headline, one_word
from dbcpu.analysis.results.quote import quote
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import moment
from dbcpu.reports.tables.table import ExplainedRun, ExportedTable, Type, column

TEXT, WHOLE, NUMBER, BOOLEAN = Type.TEXT, Type.WHOLE, Type.NUMBER, Type.BOOLEAN


class _LevelRow(Struct, frozen=True):
    run: ExplainedRun
    view: LevelView


def _started_at(run: ExplainedRun) -> str | None:
    """UTC without its zone; None for what is no time."""
    found = moment(run.header.started_at)
    if found is None:
        return None
    try:
        return found.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    except OverflowError:  # the first or last day there is, in another zone
        return None


def _first_knee(run: ExplainedRun) -> float | None:
    return next(iter(run.analysis.scaling.knees), None)


def _codes(run: ExplainedRun) -> str:
    return " ".join(dict.fromkeys(each.code for each in run.analysis.findings))


def _quoted(field: str) -> Callable[[ExplainedRun], Any]:
    return lambda run: getattr(quote(run.analysis.vcpus, run.analysis.capacity), field)


RUNS = ExportedTable(
    "runs",
    "run",
    (
        column("run_id", TEXT, "the run", "header.run_id"),
        column("label", TEXT, "its label", "header.label"),
        column("started_at", Type.TIME, "when it began, UTC", _started_at),
        column("status", TEXT, "complete, interrupted, failed or running", "header.status"),
        column("experiment", TEXT, "sweep, soak, pool or together", "header.plan.experiment"),
        column("target", TEXT, "as given on the command line, or its kind", "header.plan.target"),
        column("database_kind", TEXT, "such as postgresql", "header.database.kind"),
        column("database_version", TEXT, "as the database reports it", "header.database.version"),
        column("host", TEXT, "name of the host", "header.host?.hostname"),
        column("kernel", TEXT, "its kernel", "header.host?.kernel"),
        column("cpu_model", TEXT, "its CPUs", "header.host?.cpu_model"),
        column("hypervisor", TEXT, "null on bare metal, or not known", "header.host?.hypervisor"),
        column("vcpus", WHOLE, "CPUs that the sessions may use", "analysis.vcpus"),
        column("cores", WHOLE, "cores behind them", "analysis.cores"),
        column("workload", TEXT, "name of the unit of work", "header.plan.workload.name"),
        column("size", TEXT, "its size", "header.plan.workload.size"),
        column("rows_per_execution", WHOLE, "work in one execution", "header.plan.workload.rows", "rows"),
        column("unit", TEXT, "of all rates of this run", "analysis.unit"),
        column("sampler", TEXT, "how the server processes were watched", "header.plan.sampler"),
        column("hz", NUMBER, "samples per second and process, as requested", "header.plan.hz", "1/s"),
        column("tool_version", TEXT, "dbcpu that measured it", "header.tool_version"),
        column("explained_by", TEXT, "dbcpu that explained it for these tables", "explained_by"),
        column("answer", TEXT, "the answer of the run in one word; null for experiments other than a sweep",
               lambda run: one_word(run.analysis)),
        column("headline", TEXT, "the answer in a line", lambda run: headline(run.analysis).headline),
        column("verdict", TEXT, "the answer in full", "analysis.verdict"),
        column("single_s", NUMBER, "single-session time of one execution", "analysis.reference?.elapsed_s"),
        column("single_rate", NUMBER, "rate of a single session", "analysis.reference?.mrows_per_s", "unit"),
        column("noise", NUMBER, "relative standard deviation of sessions that share nothing",
               "analysis.reference?.spread"),
        column("tolerance", NUMBER, "losses below this share are not explained", "analysis.reference?.tolerance"),
        column("knee", NUMBER, "throughput scales linearly up to here", _first_knee, "sessions"),
        column("effective_cores", NUMBER, "top of the throughput curve in rates of a single session",
               "analysis.scaling.effective_cores"),
        column("usable_cores", NUMBER, "the same, at most the vCPUs: to quote beside the evenness",
               _quoted("usable_cores")),
        column("usable_cores_low", NUMBER, "of its 95 % interval", _quoted("usable_cores_low")),
        column("usable_cores_high", NUMBER, "of its 95 % interval", _quoted("usable_cores_high")),
        column("usable_cores_at_least", BOOLEAN, "other numbers of sessions may show more", _quoted("at_least")),
        column("evenness", NUMBER, "fastest / slowest session at the least even level up to the vCPUs or the quota: 1 "
               "is even", _quoted("evenness")),
        column("evenness_low", NUMBER, "of its 95 % interval", _quoted("evenness_low")),
        column("evenness_high", NUMBER, "of its 95 % interval", _quoted("evenness_high")),
        column("evenness_level", WHOLE, "the N that it is of", _quoted("evenness_level"), "sessions"),
        column("even", TEXT, "all levels up to the vCPUs or the quota are even: yes, no or undecided", _quoted("even")),
        column("smt_yield", NUMBER, "throughput that the second hardware threads add, as a share",
               "analysis.scaling.smt_yield"),
        column("even_up_to", WHOLE, "largest level at which all sessions are shown to be equal",
               "analysis.capacity?.even_up_to", "sessions"),
        column("full_speed_up_to", WHOLE, "the same, and the median session as fast as one alone",
               "analysis.capacity?.full_speed_up_to", "sessions"),
        column("most_throughput", NUMBER,
               "largest sustained throughput: above the vCPUs or a quota corrected for sessions that end early",
               "analysis.capacity?.peak_throughput", "unit"),
        column("findings", TEXT, "codes, blanks between (findings.md)", _codes),
    ),
    of_run=lambda run: (run,),
)  # fmt: skip


def _levels(run: ExplainedRun) -> Iterator[_LevelRow]:
    return (_LevelRow(run, view) for view in run.analysis.levels)


LEVELS = ExportedTable(
    "levels",
    "level and variant of a run; medians over its rounds",
    (
        column("run_id", TEXT, "the run", "run.header.run_id"),
        column("variant", TEXT, "setting of the host", "view.variant"),
        column("level", WHOLE, "concurrency N", "view.level", "sessions"),
        column("rounds", WHOLE, "on which the figures rest", "view.rounds"),
        column("sessions", WHOLE, "on which the figures rest, over all rounds", "view.sessions"),
        column("median_s", NUMBER, "median elapsed time of one execution", "view.median_s"),
        column("slowdown", NUMBER, "elapsed / single-session time, median of the sessions", "view.slowdown_median"),
        column("slowdown_max", NUMBER, "slowdown of the slowest session", "view.slowdown_max"),
        column("max_over_min", NUMBER, "slowest / fastest session of a round", "view.max_over_min"),
        column("cv", NUMBER, "standard deviation / mean of the elapsed times", "view.cv"),
        column("slow", NUMBER, "sessions in the slower of two groups", "view.slow", "sessions"),
        column("even", TEXT, "all sessions are equal: yes, no or undecided; yes of a single session", "view.even"),
        column("full_speed", TEXT, "the median session is as fast as one alone: yes, no or undecided",
               "view.full_speed"),
        column("throughput", NUMBER, "while all sessions run", "view.throughput", "unit"),
        column("makespan_throughput", NUMBER, "until the last session has ended", "view.makespan_throughput", "unit"),
        column("efficiency", NUMBER, "throughput / (single-session rate x min(N, room)), up to 1; room: sessions that "
               "the vCPUs or the quota can run, at least 1", "view.efficiency"),
        column("slower", NUMBER, "sessions with a cause other than none", "view.slower", "sessions"),
        column("main_cause", TEXT, "the cause that cost the sessions most time, in most rounds", "view.main_cause"),
        column("counted_cause", TEXT, "the same by what the kernel counted", "view.counted_cause"),
        column("second_cause", TEXT, "to what else, where that is more than a third", "view.second_cause"),
        column("regime", TEXT, "how the sessions spent their time", "view.regime"),
        column("p50_s", NUMBER, "half of the executions take at most so long", "view.details?.p50_s"),
        column("p95_s", NUMBER, "95 % of the executions, from 20 on", "view.details?.p95_s"),
        column("p99_s", NUMBER, "99 % of the executions, from 100 on", "view.details?.p99_s"),
        column("utilisation", NUMBER, "busy share of all vCPUs", "view.details?.utilisation"),
        column("moves_per_s", NUMBER, "moves of one session to another CPU", "view.details?.moves_per_s", "1/s"),
        column("connect_median_s", NUMBER, "time to connect", "view.connect_median_s"),
        column("skew_s", NUMBER, "of the release, the largest", "view.skew_s"),
        column("alone_s", NUMBER, "session-seconds of a round with a core to itself", "view.alone_s"),
        column("misplaced_s", NUMBER, "on a shared core or in a queue while a place was idle", "view.misplaced_s"),
        column("sharing_s", NUMBER, "on a shared core, with no better place", "view.sharing_s"),
        column("oversubscribed_s", NUMBER, "on a shared CPU, with no better place", "view.oversubscribed_s"),
        column("at_one_pace", BOOLEAN, "the figures are without what the CPUs' own changes of speed cost",
               "view.at_one_pace"),
        column("pace_ratio", NUMBER, "so many times slower the CPUs were than with one session", "view.pace_ratio"),
    ),
    of_run=_levels,
)  # fmt: skip

"""One row per session and round of a run, measured and derived columns, for spreadsheets and statistics programs."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from msgspec import Struct

from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord, Session
from dbcpu.reports.document import Column, Table

DECIMALS = ".6f"


class SessionRow(Struct, frozen=True):
    """The sources of one row."""

    header: Header
    round: Round
    session: Session
    view: SessionView


def session_rows(record: RunRecord, analysis: Analysis) -> Table:
    """In the order of the rounds; seconds and ratios have six decimals."""
    views = {(view.order, view.ordinal): view for view in analysis.sessions}
    rows = [
        SessionRow(record.header, round_, session, views[round_.order, session.ordinal])
        for round_ in record.rounds
        for session in round_.sessions
    ]
    return Table("Sessions", COLUMNS, rows, decimals=DECIMALS)


def _column(key: str, meaning: str, value: Callable[[Any], Any]) -> Column:
    return Column(key, key, meaning=meaning, value=value)


def _cpus(cpus: set[int]) -> str:
    """Blanks between: a spreadsheet takes 1-3 for a date."""
    return " ".join(str(cpu) for cpu in sorted(cpus))


COLUMNS = (
    _column("run_id", "the run", attrgetter("header.run_id")),
    _column("label", "its label", attrgetter("header.label")),
    _column("started_at", "UTC", attrgetter("header.started_at")),
    _column("target", "as given on the command line, or its kind", attrgetter("header.plan.target")),
    _column("database", "kind and version", lambda row: f"{row.header.database.kind} {row.header.database.version}"),
    _column("workload", "name of the unit of work", attrgetter("header.plan.workload.name")),
    _column("size", "its size", attrgetter("header.plan.workload.size")),
    _column("variant", "setting of the host", attrgetter("round.variant")),
    _column("level", "concurrent sessions", attrgetter("round.level")),
    _column("repeat", "counted from 0 within the level", attrgetter("round.repeat")),
    _column("order", "of the round within the run, from 0", attrgetter("round.order")),
    _column("anchor", "an extra single-session round", attrgetter("round.anchor")),
    _column("ordinal", "number of the session within the round", attrgetter("session.ordinal")),
    _column("valid", "counts in verdicts", attrgetter("view.valid")),
    _column("why", "why it does not", attrgetter("view.why")),
    _column("answer_ok", "the answer was the expected one", attrgetter("session.answer_ok")),
    _column("pid", "of the server process", attrgetter("session.server.pid")),
    _column("connect_s", "time to connect", attrgetter("session.connect_s")),
    _column("executions", "that ended", attrgetter("view.executions")),
    _column("elapsed_s", "from the first start to the last end", attrgetter("view.elapsed_s")),
    _column("mrows_per_s", "rate of this session", attrgetter("view.mrows_per_s")),
    _column("reference_s", "single-session time of the same work", attrgetter("view.reference_s")),
    _column("slowdown", "elapsed_s / reference_s", attrgetter("view.slowdown")),
    _column("inflation_s", "loss: more CPU time than with a single session", attrgetter("view.inflation_s")),
    _column("queue_s", "loss: run-queue wait", attrgetter("view.queue_s")),
    _column("throttled_s", "loss: throttled by a CPU quota", attrgetter("view.throttled_s")),
    _column("gap_s", "loss: the rest, neither running nor runnable, or stolen", attrgetter("view.gap_s")),
    _column("unsplit_s", "loss that could not be split on this host", attrgetter("view.unsplit_s")),
    _column("cause", "cause of most of the loss", attrgetter("view.cause")),
    _column("group", "fast, slow, or empty if there are no two groups", attrgetter("view.group")),
    _column("evidence", "in words", attrgetter("view.evidence")),
    _column("cpu_s", "CPU time of the server process", attrgetter("session.cpu_s")),
    _column("cpu_source", "schedstat (exact) or stat (10 ms)", attrgetter("session.cpu_source")),
    _column("run_delay_s", "runnable but not running", attrgetter("session.run_delay_s")),
    _column("voluntary_switches", "it gave the CPU up", attrgetter("session.voluntary_switches")),
    _column("involuntary_switches", "the CPU was taken from it", attrgetter("session.involuntary_switches")),
    _column("migrations", "between CPUs, by the kernel's count", attrgetter("session.migrations")),
    _column("migrations_seen", "of these, as sampled", attrgetter("session.migrations_seen")),
    _column("cpus", "where it ran, as sampled", lambda row: _cpus({each.cpu for each in row.session.residency})),
    _column("allowed_cpus", "where it may run", lambda row: _cpus(set(row.session.allowed_cpus))),
    _column("policy", "of the scheduler", attrgetter("session.policy")),
    _column("nice", "of the server process", attrgetter("session.nice")),
    _column("cgroup", "control group", attrgetter("session.cgroup")),
)

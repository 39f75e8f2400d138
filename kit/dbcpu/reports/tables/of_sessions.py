"""The tables of what was measured: one row per session and round, per execution, and per residency."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from dbcpu.analysis.results.run import SessionView
from dbcpu.record.header import Cpu, Header
from dbcpu.record.rounds import Call, Round, Session
from dbcpu.reports.tables.table import ExplainedRun, ExportedColumn, ExportedTable, Type, column

TEXT, WHOLE, NUMBER, BOOLEAN = Type.TEXT, Type.WHOLE, Type.NUMBER, Type.BOOLEAN


class _SessionRow(Struct, frozen=True):
    """A session in its round; ``view`` is None in the rounds of a long soak that are not explained one by one."""

    header: Header
    round: Round
    session: Session
    view: SessionView | None


class _PartRow(Struct, frozen=True):
    """The ``number``-th execution or residency of a session; ``place`` is where its CPU is."""

    header: Header
    round: Round
    session: Session
    number: int
    part: Any
    place: Cpu | None = None


class _CallRow(Struct, frozen=True):
    """The ``number``-th call of a round, in the order in which they arrived at the pool."""

    header: Header
    round: Round
    number: int
    call: Call


KEY = (
    column("run_id", TEXT, "the run", "header.run_id"),
    column("variant", TEXT, "setting of the host", "round.variant"),
    column("level", WHOLE, "concurrency N", "round.level", "sessions"),
    column("round", WHOLE, "number of the round within the run, from 0, in the order they ran", "round.order"),
    column("session", WHOLE, "number of the session within the round, from 0", "session.ordinal"),
)
"""What all three begin with; ``run_id, round, session`` name a session."""


def _listed(numbers: Sequence[int]) -> str:
    """Blanks between: a spreadsheet takes 1-3 for a date."""
    return " ".join(map(str, numbers))


def _sessions(run: ExplainedRun, round_: Round) -> Iterator[_SessionRow]:
    for session in round_.sessions:
        yield _SessionRow(run.header, round_, session, run.views.get((round_.order, session.ordinal)))


def _executions(run: ExplainedRun, round_: Round) -> Iterator[_PartRow]:
    for session in round_.sessions:
        for number, execution in enumerate(session.executions):
            yield _PartRow(run.header, round_, session, number, execution)


def _calls(run: ExplainedRun, round_: Round) -> Iterator[_CallRow]:
    return (_CallRow(run.header, round_, number, call) for number, call in enumerate(round_.calls))


def _residency(run: ExplainedRun, round_: Round) -> Iterator[_PartRow]:
    for session in round_.sessions:
        for number, stay in enumerate(session.residency):
            yield _PartRow(run.header, round_, session, number, stay, run.cpus.get(stay.cpu))


def _placed(name: str, meaning: str) -> ExportedColumn:
    """A number of the topology, which is -1 where a CPU that is offline has none."""

    def value(row: _PartRow) -> int | None:
        found: int = -1 if row.place is None else getattr(row.place, name)
        return found if found >= 0 else None

    return ExportedColumn(name, WHOLE, meaning, value)


SESSIONS = ExportedTable(
    "sessions",
    "session and round of a run",
    (
        *KEY,
        column("repeat", WHOLE, "number of the round within its level, from 0", "round.repeat"),
        column("anchor", BOOLEAN, "an extra single-session round", "round.anchor"),
        column("valid", BOOLEAN, "counts in verdicts", "view?.valid"),
        column("why", TEXT, "why it does not", "view?.why"),
        column("answer_ok", BOOLEAN, "the answer was the expected one", "session.answer_ok"),
        column("error", TEXT, "what ended it", "session.error"),
        column("pid", WHOLE, "of the server process", "session.server.pid"),
        column("verified", BOOLEAN, "the server process is known to be this session's", "session.server.verified"),
        column("connect_s", NUMBER, "time to connect", "session.connect_s"),
        column("executions", WHOLE, "that ended", lambda row: len(row.session.executions)),
        column("elapsed_s", NUMBER, "from the first start to the last end", "view?.elapsed_s"),
        column("rate", NUMBER, "of this session", "view?.mrows_per_s", "unit"),
        column("reference_s", NUMBER, "single-session time of the same work", "view?.reference_s"),
        column("slowdown", NUMBER, "elapsed_s / reference_s", "view?.slowdown"),
        column("cause", TEXT, "cause of most of the loss (reading-a-result.md)", "view?.cause"),
        column("speed_group", TEXT, "fast or slow; null if there are no two groups", "view?.group"),
        column("inflation_s", NUMBER, "loss: more CPU time than a single session", "view?.inflation_s"),
        column("queue_s", NUMBER, "loss: run-queue wait", "view?.queue_s"),
        column("throttled_s", NUMBER, "loss: throttled by a CPU quota", "view?.throttled_s"),
        column("gap_s", NUMBER, "loss: neither running nor runnable, or stolen", "view?.gap_s"),
        column("unsplit_s", NUMBER, "loss that could not be split on this host", "view?.unsplit_s"),
        column("pace_s", NUMBER, "of inflation_s, what the pace of its CPUs explains", "view?.pace_s"),
        column("pace", NUMBER, "speed of its CPUs meanwhile, 1 is full", "view?.pace"),
        column("shared_s", NUMBER, "CPU time with another session on its core", "view?.shared_s"),
        column("avoidable_s", NUMBER, "lost while another core or CPU was idle", "view?.avoidable_s"),
        column("evidence", TEXT, "in words", "view?.evidence"),
        column("cpu_s", NUMBER, "CPU time of the server process", "session.cpu_s"),
        column("cpu_source", TEXT, "schedstat (exact) or stat (10 ms)", "session.cpu_source"),
        column("run_delay_s", NUMBER, "runnable and not running", "session.run_delay_s"),
        column("voluntary_switches", WHOLE, "it gave the CPU up", "session.voluntary_switches"),
        column("involuntary_switches", WHOLE, "the CPU was taken from it", "session.involuntary_switches"),
        column("migrations", WHOLE, "between CPUs, by the kernel's count", "session.migrations"),
        column("migrations_seen", WHOLE, "of these, as sampled", "session.migrations_seen"),
        column("allowed_cpus", TEXT, "where it may run, blanks between", lambda row: _listed(row.session.allowed_cpus)),
        column("policy", TEXT, "of the scheduler", "session.policy"),
        column("nice", WHOLE, "of the server process", "session.nice"),
        column("cgroup", TEXT, "control group", "session.cgroup"),
    ),
    of_round=_sessions,
)

EXECUTIONS = ExportedTable(
    "executions",
    "execution of a session",
    (
        *KEY,
        column("execution", WHOLE, "number within the session, from 0", "number"),
        column("start_s", NUMBER, "when it was sent, from the release", "part.start_s"),
        column("elapsed_s", NUMBER, "until its answer arrived", "part.elapsed_s"),
        column("server_start_s", NUMBER, "when the server began it, from the release", "part.server_start_s"),
        column("server_elapsed_s", NUMBER, "as long as it took on the server", "part.server_elapsed_s"),
    ),
    of_round=_executions,
)

RESIDENCY = ExportedTable(
    "residency",
    "period in which a session stayed on one CPU in one state, as sampled",
    (
        *KEY,
        column("stretch", WHOLE, "number within the session, from 0", "number"),
        column("from_s", NUMBER, "from the release; below 0 before it", "part.from_s"),
        column("to_s", NUMBER, "from the release", "part.to_s"),
        column("cpu", WHOLE, "number of the CPU", "part.cpu"),
        _placed("core", "number of its core, by dbcpu"),
        _placed("socket", "number of its socket, by dbcpu"),
        _placed("node", "number of its memory node, by dbcpu"),
        column("state", TEXT, "R runs or is ready to, S and D sleep, T is stopped (proc(5))", "part.state"),
        column("cpu_s", NUMBER, "CPU time meanwhile", "part.cpu_s"),
        column("run_delay_s", NUMBER, "ready to run and not running meanwhile", "part.run_delay_s"),
    ),
    of_round=_residency,
)

CALLS = ExportedTable(
    "calls",
    "call to a pool, as its caller had it; times from the release, below 0 before it",
    (
        *KEY[:-1],
        column("call", WHOLE, "number within the round, from 0, in the order they arrived", "number"),
        column("session", WHOLE, "that took it", "call.session"),
        column("connection", WHOLE, "over which it came, from 0", "call.connection"),
        column("connect_s", NUMBER, "time to open that connection", "call.connect_s"),
        column("sent_s", NUMBER, "when the caller sent it", "call.sent_s"),
        column("arrived_s", NUMBER, "when it was at the pool", "call.arrived_s"),
        column("began_s", NUMBER, "when a session began it", "call.began_s"),
        column("ended_s", NUMBER, "when that had ended it", "call.ended_s"),
        column("answered_s", NUMBER, "when its answer was with the caller", "call.answered_s"),
    ),
    of_round=_calls,
)

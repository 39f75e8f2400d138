"""One row per session and round, measured and derived columns, for spreadsheets and statistics programs.

UTF-8, comma, one header row; unknown is an empty cell; seconds and ratios have six decimals. A text that a
spreadsheet would take for a formula is led by an apostrophe, so that no label or command runs there.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO

from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.formatting import plain
from dbcpu.record import Header, Round, RunRecord, Session

SUFFIX = ".csv"
BINARY = False
DECIMALS = 6
FORMULA_STARTS = tuple("=+-@|%＝＋－＠")  # noqa: RUF001 - wide forms are formulas too in some spreadsheets

Value = str | float | bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """What one line is made from."""

    header: Header
    round: Round
    session: Session
    view: SessionView


COLUMNS: dict[str, tuple[str, Callable[[Row], Value]]] = {
    "run_id": ("the run", lambda row: row.header.run_id),
    "label": ("its label", lambda row: row.header.label),
    "started_at": ("UTC", lambda row: row.header.started_at),
    "target": ("as given on the command line, or its kind", lambda row: row.header.plan.target),
    "database": ("kind and version", lambda row: f"{row.header.database.kind} {row.header.database.version}"),
    "workload": ("name of the unit of work", lambda row: row.header.plan.workload.name),
    "size": ("its size", lambda row: row.header.plan.workload.size),
    "variant": ("how the host was set", lambda row: row.round.variant),
    "level": ("sessions at once", lambda row: row.round.level),
    "repeat": ("counted from 0 within the level", lambda row: row.round.repeat),
    "order": ("of the round within the run, from 0", lambda row: row.round.order),
    "anchor": ("an extra solo round", lambda row: row.round.anchor),
    "ordinal": ("number of the session within the round", lambda row: row.session.ordinal),
    "valid": ("counts in verdicts", lambda row: row.view.valid),
    "why": ("why it does not", lambda row: row.view.why),
    "answer_ok": ("the answer was the expected one", lambda row: row.session.answer_ok),
    "pid": ("of the server process", lambda row: row.session.server.pid),
    "connect_s": ("time to connect", lambda row: row.session.connect_s),
    "executions": ("that ended", lambda row: row.view.executions),
    "elapsed_s": ("from the first start to the last end", lambda row: row.view.elapsed_s),
    "mrows_per_s": ("rate of this session", lambda row: row.view.mrows_per_s),
    "reference_s": ("what one session alone takes for the same", lambda row: row.view.reference_s),
    "slowdown": ("elapsed_s / reference_s", lambda row: row.view.slowdown),
    "inflation_s": ("loss: more CPU time than alone", lambda row: row.view.inflation_s),
    "queue_s": ("loss: runnable, but waiting for a CPU", lambda row: row.view.queue_s),
    "throttled_s": ("loss: held back by a CPU quota", lambda row: row.view.throttled_s),
    "gap_s": ("loss: the rest, neither running nor runnable, or stolen", lambda row: row.view.gap_s),
    "unsplit_s": ("loss that the host did not let us split", lambda row: row.view.unsplit_s),
    "cause": ("what took most of the loss", lambda row: row.view.cause),
    "group": ("fast, slow, or empty if there are no two groups", lambda row: row.view.group),
    "evidence": ("in words", lambda row: row.view.evidence),
    "cpu_s": ("CPU time of the server process", lambda row: row.session.cpu_s),
    "cpu_source": ("schedstat (exact) or stat (10 ms)", lambda row: row.session.cpu_source),
    "run_delay_s": ("runnable but not running", lambda row: row.session.run_delay_s),
    "voluntary_switches": ("it gave the CPU up", lambda row: row.session.voluntary_switches),
    "involuntary_switches": ("the CPU was taken from it", lambda row: row.session.involuntary_switches),
    "migrations": ("between CPUs, by the kernel's count", lambda row: row.session.migrations),
    "migrations_seen": ("of these, by polling", lambda row: row.session.migrations_seen),
    "cpus": ("where it was seen", lambda row: _cpus({each.cpu for each in row.session.residency})),
    "allowed_cpus": ("where it may run", lambda row: _cpus(set(row.session.allowed_cpus))),
    "policy": ("of the scheduler", lambda row: row.session.policy),
    "nice": ("of the server process", lambda row: row.session.nice),
    "cgroup": ("control group", lambda row: row.session.cgroup),
}
"""Name -> (meaning, value), in the order of the file."""


def render(record: RunRecord, analysis: Analysis) -> str:
    """The whole file as text, lines ending with a line feed."""
    views = {(each.order, each.ordinal): each for each in analysis.sessions}
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in record.rounds:
        for session in each.sessions:
            row = Row(record.header, each, session, views[each.order, session.ordinal])
            writer.writerow([_cell(value(row)) for _, value in COLUMNS.values()])
    return out.getvalue()


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.{DECIMALS}f}"
    text = plain(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _cpus(cpus: set[int]) -> str:
    """Blanks between: a spreadsheet takes 1-3 for a date."""
    return " ".join(str(cpu) for cpu in sorted(cpus))

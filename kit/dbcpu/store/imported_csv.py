"""Makes a record of times or rates by number of sessions, in CSV, as others publish them; docs/published.md.

    # label: what was measured, and where
    # cpus: 8
    n,repeat,session,seconds
    1,1,1,10.1
    2,1,1,10.2
    2,1,2,10.4

or a line per round, with the rate of all its sessions together: ``n,repeat,rate``. Nothing is invented: what neither
the file nor the user says stays unknown.
"""

import csv
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.errors import RecordFormatError, UsageError, did_you_mean
from dbcpu.formatting import MAX_CPUS, as_whole_number, listed, moment, plain
from dbcpu.record.header import BASELINE, IMPORTED, UNNAMED_WORK, Database, Driver, Header, Plan, WorkloadInfo
from dbcpu.record.plan import MAX_SESSIONS
from dbcpu.record.rounds import Execution, Gate, Round, RunRecord, Server, Session

FORMS = "n,repeat,session,seconds or n,repeat,rate"
COLUMNS = frozenset({"n", "repeat", "session", "seconds", "rate"})
EXECUTIONS = "executions/min"
NO_UNIT = "units"
TIMES, RATES = "times only", "total rates only"
MAX_VALUE, MIN_VALUE = 1e12, 1e-9
MAX_SESSIONS_IN_ALL = 200_000
"""Of all rounds together; a run of more takes minutes to explain."""
MAX_NAMED = 5
_SHOWN = 40
"""Letters of a text from the file within a message."""


class RunFacts(Struct, frozen=True):
    """What is known of an imported run beside its figures; None where it is not.

    ``kind``: of the database or program. ``workload``: what ran; runs are compared only where it has the same name.
    ``unit`` of the rates, such as ``loops/s``. ``others``: further lines ``# key: value``.
    """

    label: str | None = None
    host: str | None = None
    model: str | None = None
    kind: str | None = None
    workload: str | None = None
    unit: str | None = None
    date: str | None = None
    cpus: int | None = None
    cores: int | None = None
    others: Mapping[str, str] = field(default_factory=dict)


_TEXTS = ("label", "host", "model", "kind", "workload", "unit", "date")
_COUNTS = ("cpus", "cores")
SOURCE = "source"
"""A further key that is expected: where the numbers are from."""


class _Row(Struct, frozen=True):
    """One line of figures. ``value``: seconds, or the rate of the whole round."""

    line: int
    n: int
    repeat: str
    session: str
    value: float


class _Table(Struct, frozen=True):
    """The lines of figures, and the column that they are of: ``seconds`` or ``rate``."""

    column: str
    rows: Sequence[_Row]
    ignored: Sequence[str]


def columns_of(text: str) -> frozenset[str]:
    """The names in the first line that is neither empty nor a remark; () without one."""
    _, header, _ = _parts(text)
    return frozenset(_names(header, _delimiter(header)))


def holds_run(columns: frozenset[str]) -> bool:
    """Whether a file with these columns is one of this form."""
    return "n" in columns and bool(columns & {"seconds", "rate"})


def from_text(text: str, name: str, given: RunFacts | None = None) -> tuple[RunRecord, str]:
    """The record of such a text, and a sentence that names the columns and keys without a meaning, '' without any.

    ``name`` is that of the file; ``given`` is what the user says and counts more than what the file says.

    Raises:
        RecordFormatError: a line is not of the form, occurs twice or is missing; the line is named.
        UsageError: a fact makes no sense.
    """
    remarks, _, _ = _parts(text)
    said = _facts(remarks, name)
    facts = _merged(said, given or RunFacts(), name)
    table = _table(text, name)
    if facts.unit is not None and table.column == "seconds":
        raise UsageError(f"{name} has seconds and no rates, so it has no unit; leave unit {facts.unit!r} out")
    record = _record(table, facts, Path(name).stem, hashlib.sha256(f"{name}{text}{facts}".encode()).hexdigest())
    found = [*_columns_without_meaning(table.ignored), *_keys_without_meaning(said.others)]
    return record, f"{name}: {'; '.join(found)}" if found else ""


def _columns_without_meaning(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"passed over column{'s' * (len(names) > 1)} {listed([repr(each) for each in names], most=MAX_NAMED)}"


def _keys_without_meaning(others: Mapping[str, str]) -> Iterator[str]:
    known = (*_TEXTS, *_COUNTS, SOURCE)
    keys = [f"{key!r}{did_you_mean(key, known)}" for key in others if key != SOURCE]
    if keys:
        one = "is kept as a remark, and is no key" if len(keys) == 1 else "are kept as remarks, and are no keys"
        yield f"{listed(keys, most=MAX_NAMED)} {one} with a meaning; these are: {', '.join(known)}"


# --- the file -----------------------------------------------------------------------------------


def _parts(text: str) -> tuple[list[str], str, int]:
    """Remarks before the header, the header, and how many lines come before what follows it."""
    lines = text.lstrip("\ufeff").splitlines()
    remarks: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            remarks.append(line[1:])
        elif line.strip(" \t,;"):
            return remarks, line, number
    return remarks, "", len(lines)


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)


def _names(header: str, delimiter: str) -> list[str]:
    return [name.strip().strip('"').strip().lower() for name in header.split(delimiter)]


def _facts(remarks: Iterable[str], name: str) -> RunFacts:
    """What lines ``# key: value`` say; other remarks are passed over."""
    pairs = [(key.strip().lower(), plain(value)) for key, colon, value in (r.partition(":") for r in remarks) if colon]
    said = {key: value for key, value in pairs if key and value}
    counts: dict[str, int | None] = {key: _count(said[key], key, name) for key in _COUNTS if key in said}
    texts: dict[str, str | None] = {key: said[key] for key in _TEXTS if key in said}
    others = {key[:_SHOWN]: value for key, value in said.items() if key not in (*_TEXTS, *_COUNTS)}
    return RunFacts(**texts, **counts, others=others)  # type: ignore[arg-type]


def _count(text: str, key: str, name: str) -> int:
    if (found := as_whole_number(text, 1, MAX_CPUS)) is None:
        raise UsageError(f"{name}: {key} {text[:_SHOWN]!r} is not a whole number from 1 to {MAX_CPUS}")
    return found


def _merged(file: RunFacts, given: RunFacts, name: str) -> RunFacts:
    said = {key: value for key in (*_TEXTS, *_COUNTS) if (value := getattr(given, key)) is not None}
    facts = replace(file, **said)
    if facts.cpus is not None and facts.cores is not None and facts.cores > facts.cpus:
        raise UsageError(f"{name}: {facts.cores} cores are more than the {facts.cpus} CPUs; swap cpus and cores")
    if facts.date is not None and moment(facts.date) is None:
        raise UsageError(f"{name}: date {facts.date[:_SHOWN]!r} is none; write it as 2026-01-31 or 2026-01-31T08:00:00")
    return facts


def _table(text: str, name: str) -> _Table:
    _, header, before = _parts(text)
    delimiter = _delimiter(header)
    names = _names(header, delimiter)
    if not holds_run(frozenset(names)):
        raise RecordFormatError(f"{name} has no line of column names for a run; give it {FORMS}")
    if twice := next((each for each in names if each in COLUMNS and names.count(each) > 1), None):
        raise RecordFormatError(f"{name} has column {twice!r} twice; keep one of them")
    if {"seconds", "rate"} <= set(names):
        raise RecordFormatError(f"{name} has seconds and rate; keep one of them: {FORMS}")
    column = "seconds" if "seconds" in names else "rate"
    if column == "seconds" and "session" not in names:
        raise RecordFormatError(f"{name} has seconds and no column session; a line per session is needed: {FORMS}")
    rest = "\n".join(text.lstrip("\ufeff").splitlines()[before:])
    reader = csv.reader(StringIO(rest), delimiter=delimiter, skipinitialspace=True)
    rows: list[_Row] = []
    sessions = 0
    try:
        for cells in reader:
            line = before + reader.line_num
            if not any(cell.strip() for cell in cells) or cells[0].startswith("#"):
                continue
            if any(cell.strip() for cell in cells[len(names) :]):
                raise RecordFormatError(
                    f"{name}, line {line} has {len(cells)} fields, and {len(names)} columns have a name; "
                    "write decimals with a point, or separate the fields by semicolons"
                )
            row = _row(dict(zip(names, cells, strict=False)), column, delimiter, f"{name}, line {line}", line)
            rows.append(row)
            sessions += row.n if column == "rate" else 1
            if sessions > MAX_SESSIONS_IN_ALL:
                raise RecordFormatError(
                    f"{name}, line {line}: more than {MAX_SESSIONS_IN_ALL} sessions; split the file"
                )
    except csv.Error as error:
        raise RecordFormatError(f"{name}, line {before + reader.line_num} is not CSV: {error}") from None
    if not rows:
        raise RecordFormatError(f"{name} has column names and no line of figures below them")
    _check_whole(rows, column, name)
    return _Table(column, rows, [each[:_SHOWN] for each in names if each and each not in COLUMNS])


def _row(cells: Mapping[str, str], column: str, delimiter: str, where: str, line: int) -> _Row:
    """Raises RecordFormatError naming the line."""
    n, text = cells.get("n", "").strip(), cells.get(column, "").strip()
    if (sessions := as_whole_number(n, 1, MAX_SESSIONS)) is None:
        raise RecordFormatError(f"{where}: n {n[:_SHOWN]!r} is not a whole number from 1 to {MAX_SESSIONS}")
    try:
        value = float(text if delimiter == "," else text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not MIN_VALUE <= value <= MAX_VALUE:
        raise RecordFormatError(
            f"{where}: {column} {text[:_SHOWN]!r} is not a number from {MIN_VALUE:g} to {MAX_VALUE:g}"
        )
    return _Row(line, sessions, cells.get("repeat", "").strip(), cells.get("session", "").strip(), value)


def _check_whole(rows: Sequence[_Row], column: str, name: str) -> None:
    """No line occurs twice, and of times a round has a line for each of its sessions."""
    seen: dict[tuple[int, str, str], int] = {}
    for row in rows:
        key = (row.n, row.repeat, row.session if column == "seconds" else "")
        if key in seen:
            of = f", session {row.session[:_SHOWN]!r}" if column == "seconds" else ""
            raise RecordFormatError(
                f"{name}, line {row.line} has n {row.n}, repeat {row.repeat[:_SHOWN]!r}{of} again, after line "
                f"{seen[key]}; number the rounds in column repeat, or keep one of the lines"
            )
        seen[key] = row.line
    if column == "seconds":
        for (n, repeat), members in _rounds(rows).items():
            if len(members) != n:
                raise RecordFormatError(
                    f"{name}, line {members[0].line}: the round with n {n}, repeat {repeat[:_SHOWN]!r} has "
                    f"{len(members)} lines and not {n}, one for each session"
                )


def _rounds(rows: Iterable[_Row]) -> dict[tuple[int, str], list[_Row]]:
    found: dict[tuple[int, str], list[_Row]] = {}
    for row in rows:
        found.setdefault((row.n, row.repeat), []).append(row)
    return found


# --- the record ---------------------------------------------------------------------------------


def _record(table: _Table, facts: RunFacts, stem: str, digest: str) -> RunRecord:
    by_round = _rounds(table.rows)
    repeats: dict[int, int] = {}
    rounds: list[Round] = []
    amount = _amount(table) if table.column == "rate" else 60
    for order, ((n, _), members) in enumerate(by_round.items()):
        repeat = repeats[n] = repeats.get(n, -1) + 1
        seconds = [row.value for row in members] if table.column == "seconds" else [n * amount / members[0].value] * n
        rounds.append(_round(order, n, repeat, seconds, table.column))
    unit = facts.unit or (EXECUTIONS if table.column == "seconds" else NO_UNIT)
    header = Header(
        run_id=f"imported-{digest[:12]}",
        label=facts.label or "",
        started_at=facts.date or "",
        status="complete",
        tool_version=f"CSV of {'times' if table.column == 'seconds' else 'rates'}",
        plan=Plan(
            target=facts.host or plain(stem) or IMPORTED,
            workload=WorkloadInfo(
                # Without a name of its own it is the same as no other run's.
                name=facts.workload or f"{UNNAMED_WORK} {digest[:6]}",
                size="",
                n=None,
                rows=amount * 1_000_000,
                sql=None,
                sql_hash=None,
                answer=None,
                unit=unit,
            ),
            levels=tuple(sorted(repeats)),
            repeats=1 + max(repeats.values()),
            seed=0,
            executions=1,
            for_s=None,
            sampler=IMPORTED,
            hz=0.0,
            vcpus=facts.cpus,
            vcpus_source="given" if facts.cpus else "not known",
            cores=facts.cores,
        ),
        host=None,
        database=Database(facts.kind or "", ""),
        driver=Driver("", 0, None, ""),
        notes=(_note(table.column, amount, unit),),
        facts={**({"model": facts.model} if facts.model else {}), **facts.others},
    )
    return RunRecord(header, tuple(rounds))


def _amount(table: _Table) -> int:
    """Work of one execution, in the unit: a power of ten that a session of the fastest round needs 1 to 10 s for."""
    return int(10 ** max(0, math.ceil(math.log10(max(row.value / row.n for row in table.rows)))))


def _note(column: str, amount: int, unit: str) -> str:
    if column == "seconds":
        return "imported times: the sessions of a round are taken to start together at 0 and end after their seconds"
    counted = unit.removesuffix("/s")
    return (
        f"imported rates of whole rounds: seconds are those of {amount} {counted} per session at an equal part of the "
        "rate; the parts of single sessions are not known"
    )


def _round(order: int, n: int, repeat: int, seconds: Sequence[float], column: str) -> Round:
    return Round(
        level=n,
        repeat=repeat,
        variant=BASELINE,
        order=order,
        released_at="",
        released_monotonic_s=0.0,
        gate=Gate(n, n, 0, 0.0, realtime=False),
        sessions=tuple(
            Session(at, Server(None, how=IMPORTED), None, (Execution(0.0, elapsed_s),))
            for at, elapsed_s in enumerate(seconds)
        ),
        not_sampled=TIMES if column == "seconds" else RATES,
        shares_known=column == "seconds" or n == 1,
    )

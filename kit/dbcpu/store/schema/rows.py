"""Records as rows of the store's tables: the columns that people query, and the JSON texts that hold all."""

import zlib
from collections.abc import Sequence
from datetime import UTC
from itertools import takewhile
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row, Select, select

from dbcpu.formatting import as_whole_number, moment, ranges
from dbcpu.hosts import driver_process
from dbcpu.record.figures import Figure
from dbcpu.record.header import Driver, Header
from dbcpu.record.rounds import Round
from dbcpu.store import codec
from dbcpu.store.record_checks import round_inconsistency
from dbcpu.store.schema.tables import round_, run


class RunSummary(Struct, frozen=True):
    """What is shown of a run in a list. ``started_at`` is UTC, ISO 8601; ``levels`` like ``1-4,8``."""

    run_id: str
    label: str
    started_at: str
    status: str
    target: str
    database_kind: str
    database_version: str
    hostname: str
    workload: str
    size: str
    levels: str
    rounds: int
    tool_version: str


_NAMES = RunSummary.__struct_fields__
_STATUS = _NAMES.index("status")
_TYPES = tuple(int if name == "rounds" else str for name in _NAMES)
SUMMARY_COLUMNS = (
    *(run.c[name] for name in _NAMES),
    run.c.driver_hostname,
    run.c.driver_boot_id,
    run.c.driver_pid,
    run.c.driver_start_ticks,
)


def run_values(header: Header, rounds: int) -> dict[str, Any]:
    """The row of table ``run``. Raises RecordFormatError when the header holds what cannot be kept."""
    plan, host, database, drove = header.plan, header.host, header.database, header.driver
    texts = {
        "run_id": header.run_id,
        "label": header.label,
        "started_at": _utc(header.started_at),
        "status": header.status,
        "target": plan.target,
        "database_kind": database.kind,
        "database_version": database.version,
        "hostname": host.hostname if host else None,
        "workload": plan.workload.name,
        "size": plan.workload.size,
        "levels": ranges(plan.levels),
        "tool_version": header.tool_version,
        "driver_hostname": drove.hostname,
        "driver_boot_id": driver_place(drove),
        "driver_start_ticks": None if drove.start_ticks is None else str(drove.start_ticks),
        "header": codec.dumps(codec.header_to_data(header)),
    }
    return {
        **{name: None if text is None else _storable(text) for name, text in texts.items()},
        "rounds": rounds,
        "driver_pid": drove.pid,
    }


def round_values(run_id: str, finished: Round) -> dict[str, Any]:
    """The row of table ``round``. Raises RecordFormatError as ``run_values``."""
    return {
        "run_id": run_id,
        "order": finished.order,
        "level": finished.level,
        "repeat": finished.repeat,
        "variant": _storable(finished.variant),
        "body": zlib.compress(codec.dumps(codec.encode(finished)).encode("ascii")),
    }


def figure_values(run_id: str, analysis: int, each: Figure) -> dict[str, Any]:
    """The row of table ``figure``."""
    return {
        "run_id": run_id,
        "analysis": analysis,
        "metric": each.metric,
        "level": each.level,
        "variant": _storable(each.variant),
        "value": each.value,
        "low": each.low,
        "high": each.high,
        "text": None if each.text is None else _storable(each.text),
    }


def round_from(row: Row[Any], header: Header, source: str) -> Round:
    """The round in the body of a row of table ``round``, of the run with that header.

    Raises:
        RecordFormatError: it is damaged, or not consistent.
    """
    if not isinstance(row.body, bytes):
        raise codec.damaged(source, "its body is no binary value")
    found = codec.decode(Round, codec.loads(codec.uncompressed(row.body, source), source), source)
    own = {"order": found.order, "level": found.level, "repeat": found.repeat, "variant": _storable(found.variant)}
    others = (
        f"its {name} is {repr(value)[:40]}, and that of its row {repr(getattr(row, name))[:40]}"
        for name, value in own.items()
        if value != getattr(row, name)
    )
    if reason := round_inconsistency(header, found) or next(others, None):
        raise codec.damaged(source, reason)
    return found


def bodies(run_id: str, orders: Sequence[int]) -> Select[Any]:
    """The rows of these rounds of a run, in their order."""
    return select(round_).where(round_.c.run_id == run_id, round_.c.order.in_(orders)).order_by(round_.c.order)


def summary(row: Row[Any]) -> RunSummary:
    """One line of a list, from a row of SUMMARY_COLUMNS; a column of SQLite may hold a value of any type."""
    plain = row[: len(_NAMES)]
    if plain[_STATUS] != "running" and tuple(map(type, plain)) == _TYPES:  # nearly all
        return RunSummary(*plain)
    given = dict(zip(_NAMES, row, strict=False))
    values: dict[str, Any] = {
        name: value if isinstance(value, str) else _as_text(value) for name, value in given.items()
    }
    values["rounds"] = row.rounds if isinstance(row.rounds, int) else 0
    if values["status"] == "running":
        ticks, pid = _as_text(row.driver_start_ticks), row.driver_pid
        drove = driver_at(
            _as_text(row.driver_hostname), pid if isinstance(pid, int) else 0, as_whole_number(ticks),
            _as_text(row.driver_boot_id),
        )  # fmt: skip
        values["status"] = status_now("running", drove)
    return RunSummary(**values)


def driver_at(hostname: str, pid: int, start_ticks: int | None, place: str) -> Driver:
    """The process of a row; ``place`` as ``driver_place`` gives it."""
    return Driver(hostname, pid, start_ticks, "", *(part or None for part in place.split(" ")[:3]))


def _as_text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def status_now(status: str, drove: Driver) -> str:
    """``interrupted`` for a run that is stored as running although its driver is gone, else as stored."""
    return "interrupted" if status == "running" and driver_process.is_gone(drove) else status


def header_now(header: Header) -> Header:
    """With the status that ``status_now`` says."""
    return replace(header, status=status_now(header.status, header.driver))


def driver_place(drove: Driver) -> str | None:
    """What names the place of the driver, up to the first part that is unknown: the next says nothing without it."""
    parts = [part or "" for part in (drove.boot_id, drove.pid_namespace, drove.machine)]
    return " ".join(takewhile(bool, parts)) or None


def _utc(started_at: str) -> str:
    """One fixed form, so that sorting the text sorts the times; what is no time stays as it is."""
    started = moment(started_at)
    try:
        return started_at[:32] if started is None else started.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:  # the first or last day there is, in another zone
        return started_at[:32]


def _storable(text: str) -> str:
    """Without what a database column refuses (NUL, lone surrogates); the JSON text has it all."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")

"""Answers queries on the views: an in-memory SQLite of the session's own, filled at each query.

Oracle's functions are given to SQLite, and its few foreign phrases are rewritten. Nothing here judges whether
a text is valid Oracle SQL: only statements of the catalogue get this far.
"""

import functools
import os
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from msgspec import Struct

from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.profiles import Instance
from support.doubles.oracle.session import Session
from support.doubles.oracle.values import Column, Type, Value, number_text, type_of
from support.doubles.oracle.views import DAY_S, IF_EMPTY, PUBLIC, SINCE, VIEWS, container_id

_VIEW = re.compile(r"\b(?:from|join|,)\s+([a-z_]+\$?[a-z_$]*)", re.IGNORECASE)
_OF_SYS = re.compile(r"\bsys\.(?:(g?)v_\$|(?!g?v\$))", re.IGNORECASE)
"""Before an object of SYS; V$SESSION is a public synonym, and SYS has no object of that name."""
_MAX_DAYS = 1e6
_FORMATS = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S", "FF6": "%f"}
_FORMAT = re.compile("|".join(_FORMATS), re.IGNORECASE)
_LEVELS = re.compile(
    r"select\s+level\s+as\s+(\w+)\s+from\s+(?:sys\.)?dual\s+connect\s+by\s+level\s*<=\s*:\w+", re.IGNORECASE
)
_REWRITES = [
    (re.compile(pattern, re.IGNORECASE), by)
    for pattern, by in (
        (r"(?<!\")\b(\w+)#", r'"\1#"'),
        (r"\bcast\s*\(systimestamp as date\)", "this_moment()"),
        (r"\bcast\s*\(sys_extract_utc\((\w+)\) as date\)", r"as_date(\1)"),
        (r"\bdbms_utility\.port_string\b", "port_string()"),
        (r"\bextract\s*\(\s*(\w+)\s+from\s+", r"extract_\1("),
        (r"\btimestamp\s+('[^']*')", r"timestamp_literal(\1)"),
        (r"(?<!')\b(sysdate|systimestamp|user)\b(?!\s*\(|')", r"\1()"),
        (r"(?<![:\w]):\w+\b", "?"),
    )
]
_TIMES = {
    "LOGON_TIME": Type.DATE,
    "STARTUP_TIME": Type.DATE,
    "SYSDATE()": Type.DATE,
    "SYSTIMESTAMP()": Type.TIMESTAMP_TZ,
}


class Table(Struct, frozen=True):
    """A result: its columns and all its rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]


class Engine:
    """One per session, made at its first query."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._raised: OracleError | None = None
        self._tables: dict[str, list[str]] = {}
        """The columns of each: a query is prepared again only when they have changed."""
        self._database = sqlite3.connect(":memory:", isolation_level=None)
        for name, function in {
            **_functions(session),
            "sys_context": self._context,
            "port_string": self._port_string,
        }.items():
            self._database.create_function(name, -1, function)

    def query(self, sql: str, values: Sequence[Value]) -> Table:
        """Run a query of the catalogue. ``values``: one for each bind's occurrence.

        Raises:
            OracleError: ORA-00942 for a view that is not there or not granted, ORA-00904 for a column.
        """
        if generated := _LEVELS.fullmatch(" ".join(sql.split())):
            rows = tuple((row,) for row in range(1, int(str(values[0] or 0)) + 1))
            return Table((Column(generated[1].upper(), Type.NUMBER),), rows)
        sql, views = _rewritten(sql)
        for view in views:
            self._fill(view)
        self._raised = None
        try:
            cursor = self._database.execute(sql, [_plain(value) for value in values])
            rows = tuple(cursor.fetchall())
        except (sqlite3.Error, OverflowError) as error:
            raise self._raised or _translated(str(error)) from None
        names = [name for name, *_ in cursor.description]
        return _typed([name.upper() for name in names], rows)

    def _fill(self, view: str) -> None:
        known = view in VIEWS and self._session.server.profile.version >= SINCE.get(view, ())
        if not known or not (view in PUBLIC or self._session.granted(view)):
            raise OracleError(942, self._missing(view))
        if view.startswith("gv$") and (failure := self._session.server.faults.cluster_views_fail):
            raise OracleError(failure)
        rows = list(VIEWS[view](self._session))
        hidden = {
            name.partition(".")[2]
            for name in self._session.server.faults.missing_columns
            if name.startswith(view + ".")
        }
        every = dict.fromkeys(name for row in rows for name in row) or dict.fromkeys(IF_EMPTY.get(view, ("nothing",)))
        names = [name for name in every if name not in hidden]
        if self._tables.get(view) == names:
            self._database.execute(f'delete from "{view}"')
        else:
            columns = ", ".join(f'"{name}"' for name in names)
            self._database.execute(f'drop table if exists "{view}"')
            self._database.execute(f'create table "{view}" ({columns})')
            self._tables[view] = names
        marks = ", ".join("?" * len(names))
        self._database.executemany(
            f'insert into "{view}" values ({marks})', [[row.get(name) for name in names] for row in rows]
        )

    def _context(self, namespace: str, name: str) -> str | None:
        # SQLite would hide what a function raises.
        try:
            return user_environment(self._session, name)
        except OracleError as error:
            self._raised = error
            raise

    def _port_string(self) -> str:
        if not self._session.may_execute("dbms_utility"):
            self._raised = OracleError(904, '"SYS"."DBMS_UTILITY"."PORT_STRING": invalid identifier')
            raise self._raised
        return self._session.server.instance.platform

    def _missing(self, view: str) -> str:
        """From 23ai on the message names the object; for a v$ synonym that of SYS."""
        if self._session.server.profile.field_version < 17:
            return ""
        name = view.upper().replace("V$", "V_$", 1)
        return f'table or view "SYS"."{name}" does not exist'


@functools.lru_cache
def _rewritten(sql: str) -> tuple[str, tuple[str, ...]]:
    """The text as SQLite takes it, and the views in it."""
    sql = _OF_SYS.sub(lambda found: f"{found[1] or ''}v$" if found[0].endswith("$") else "", sql)
    named = dict.fromkeys(name.lower() for name in _VIEW.findall(sql))
    for pattern, by in _REWRITES:
        sql = pattern.sub(by, sql)
    return sql, tuple(view for view in named if view in VIEWS or "$" in view)


def _plain(value: Value) -> int | float | str | bytes | None:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()
    # SQLite would divide whole numbers as such.
    return float(value) if isinstance(value, (Decimal, int)) else value


def _translated(message: str) -> OracleError:
    if message.startswith("no such column"):
        name = message.partition(": ")[2].upper().replace(".", '"."')
        return OracleError(904, f'"{name}": invalid identifier')
    return OracleError(942 if message.startswith("no such table") else 900, "")


def _typed(names: Sequence[str], rows: tuple[tuple[Value, ...], ...]) -> Table:
    """A column has the type of its first value that is not null; times are told by their names."""
    columns = []
    for at, name in enumerate(names):
        found = next((kind for row in rows if (kind := type_of(row[at]))), Type.VARCHAR)
        texts = [len(str(row[at]).encode()) for row in rows if row[at] is not None]
        columns.append(Column(name.removesuffix("()"), _TIMES.get(name, found), max([*texts, 1])))
    times = [(at, _TIMES[name]) for at, name in enumerate(names) if name in _TIMES]
    return Table(tuple(columns), tuple(_with_times(row, times) for row in rows) if times else rows)


def _with_times(row: tuple[Value, ...], times: list[tuple[int, Type]]) -> tuple[Value, ...]:
    values = list(row)
    for at, kind in times:
        number = values[at]
        if isinstance(number, (int, float)):
            moment = datetime.fromtimestamp(number * (DAY_S if kind is Type.DATE else 1), UTC)
            values[at] = moment.replace(microsecond=0) if kind is Type.DATE else moment
    return tuple(values)


def _number(value: object) -> int | float | None:
    if value is None:
        return None
    number = float(str(value))
    return int(number) if number.is_integer() else number


def _text(value: int | float | str | None, form: str = "") -> str | None:
    """TO_CHAR of a text, a number, or, with a format, of a time: a date is days, and so a far smaller number."""
    if value is None or isinstance(value, str):
        return value
    if not form:
        return number_text(Decimal(repr(value)))
    moment = datetime.fromtimestamp(value * (DAY_S if value < _MAX_DAYS else 1), UTC)
    return _FORMAT.sub(lambda found: moment.strftime(_FORMATS[found[0].upper()]), form)


def _functions(session: Session) -> dict[str, Callable[..., int | float | str | None]]:
    """Oracle's functions, as SQLite calls them. Intervals and timestamps are seconds, dates are days."""

    def literal(text: str) -> float:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    return {
        "to_number": _number,
        "to_char": _text,
        "nvl": lambda value, other: other if value is None else value,
        "sysdate": lambda: int(session.server.instance.fixed_date_s or time.time()) / DAY_S,
        "this_moment": lambda: int(time.time()) / DAY_S,
        "as_date": lambda moment: int(moment) / DAY_S,
        "systimestamp": lambda: time.time_ns() // 1000 / 1e6,
        "sys_extract_utc": lambda moment: moment,
        "timestamp_literal": literal,
        "user": lambda: session.entry["username"],
        "extract_day": lambda seconds: int(seconds // DAY_S),
        "extract_hour": lambda seconds: int(seconds % DAY_S // 3600),
        "extract_minute": lambda seconds: int(seconds % 3600 // 60),
        "extract_second": lambda seconds: round(seconds % 60, 6),
    }


def instance_name(instance: Instance, number: int) -> str:
    """In a cluster each has a number behind its name."""
    return instance.name + (str(number) if instance.instances > 1 else "")


def user_environment(session: Session, name: str) -> str | None:
    """SYS_CONTEXT('userenv', name). Raises OracleError (ORA-02003) for a name this version does not know."""
    instance, entry = session.server.instance, session.entry
    number = entry["instance"]
    values: dict[str, str | None] = {
        "sid": str(session.sid),
        "sessionid": str(400000 + session.sid),
        "instance": str(number),
        "instance_name": instance_name(instance, number),
        "server_host": instance.host_name or os.uname().nodename,
        "service_name": instance.service,
        "con_id": str(container_id(session)),
        "database_role": instance.role,
        "con_name": instance.container or instance.name,
        "db_name": instance.name,
        "db_unique_name": instance.name,
        "cdb_name": instance.name if instance.container else None,
        "current_schema": entry.get("current_schema") or entry["username"],
        "session_user": entry["username"],
        "current_user": entry["username"],
        "isdba": "TRUE" if entry.get("sysdba") else "FALSE",
        "module": entry.get("module"),
        "action": entry.get("action"),
        "client_identifier": entry.get("client_identifier"),
        "cloud_service": instance.cloud_service or None,
    }
    known = name.lower()
    if known not in values or (known == "cloud_service" and session.server.profile.field_version < 12):
        raise OracleError(2003, "invalid USERENV parameter")
    return values[known]

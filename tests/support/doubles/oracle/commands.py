"""Statements without rows or binds: session settings, ending another session, the private table of a workload."""

import re
from collections.abc import Callable

from support.doubles.oracle.catalogue import Statement
from support.doubles.oracle.engine import instance_name
from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.session import Session
from support.doubles.oracle.sessions import PRIVATE_TABLE
from support.doubles.oracle.views import CPU_PLANS, os_statistics

_SETTING = re.compile(r"alter\s+session\s+set\s+(\w+)\s*=\s*(.+)", re.IGNORECASE | re.DOTALL)
_SYSTEM_SETTING = re.compile(r"alter system set (\w+) = (\S+) scope = memory sid = '(\S+)'")
_SETTINGS = {
    "nls_numeric_characters", "result_cache_mode", "statistics_level", "parallel_degree_policy", "time_zone",
    "cursor_sharing", "plsql_optimize_level", "timed_statistics", "optimizer_capture_sql_plan_baselines",
}  # fmt: skip
_FROM_18C = 10
_SETTINGS_FROM_18C = {"optimizer_ignore_hints"}
_NO_PARALLEL = "alter session disable parallel query"
PARALLEL_QUERY = "parallel query"
_ROWS = re.compile(r"connect\s+by\s+level\s*<=\s*(\d+)", re.IGNORECASE)


def execute(statement: Statement, session: Session) -> int:
    """Carry out one command; gives the number of rows it changed.

    Raises:
        OracleError: an unknown setting, a missing privilege, a table that is there already, or not, or in use.
    """
    words = tuple(statement.sql.lower().split()[:3])
    for beginning, command in _COMMANDS.items():
        if words[: len(beginning)] == beginning:
            return command(statement, session)
    raise OracleError(900)


def _alter_session(statement: Statement, session: Session) -> int:
    if " ".join(statement.sql.lower().split()) == _NO_PARALLEL:
        _set(session, PARALLEL_QUERY, "DISABLED")
    elif found := _SETTING.match(statement.sql):
        name = found[1].lower()
        known = _SETTINGS | (_SETTINGS_FROM_18C if session.server.profile.field_version >= _FROM_18C else set())
        if name not in known:
            raise OracleError(2248)
        value = found[2].strip().strip("'").upper()
        if name == "statistics_level" and value != "BASIC" and session.value_of("timed_statistics", "TRUE") == "FALSE":
            raise OracleError(44, "timed_statistics must be TRUE when statistics_level is not BASIC")
        _set(session, name, value)
    return 0


def _set(session: Session, name: str, value: str) -> None:
    if name in session.server.faults.refused_settings:
        raise OracleError(1031)
    if name not in session.server.faults.ignored_settings:
        session.settings[name] = value


def _kill_session(statement: Statement, session: Session) -> int:
    if not session.granted("alter system"):
        raise OracleError(1031)
    own = session.entry["instance"]
    session.end_other(statement.numbers["sid"], statement.numbers["serial"], statement.numbers.get("instance", own))
    return 0


def _alter_system(statement: Statement, session: Session) -> int:
    """In memory, for the instance that is named, wherever this session is. CPU_COUNT = 0 follows the host.

    A CPU_COUNT above the host's CPUs and a plan that is not in the dictionary are refused.
    """
    if not session.granted("alter system"):
        raise OracleError(1031)
    found = _SYSTEM_SETTING.fullmatch(" ".join(statement.sql.lower().split()))
    if found is None:
        raise OracleError(2065)
    name, value, wanted = found.groups()
    instance = session.server.instance
    cpus = next(int(row["value"] or 0) for row in os_statistics(session) if row["stat_name"] == "NUM_CPUS")
    if name == "cpu_count" and int(value) > cpus:
        raise OracleError(2097, "parameter cannot be modified because specified value is invalid")
    plan = value.strip("'").upper().removeprefix("FORCE:")
    if name == "resource_manager_plan" and plan not in ("", instance.plan, *CPU_PLANS):
        raise OracleError(7452, "specified resource manager plan does not exist in the data dictionary")
    for number in range(1, instance.instances + 1):
        if wanted == instance_name(instance, number).lower():
            session.server.table.alter(name, value.strip("'").upper(), number)
            session.server.journal.note("altered", name=name, value=value, instance=wanted)
    return 0


def _cancel_sql(statement: Statement, session: Session) -> int:
    if session.server.profile.field_version < _FROM_18C:
        raise OracleError(2065)
    if not session.granted("alter system"):
        raise OracleError(1031)
    own = session.entry["instance"]
    session.cancel_other(statement.numbers["sid"], statement.numbers["serial"], statement.numbers.get("instance", own))
    return 0


def _create(statement: Statement, session: Session) -> int:
    """The definition of a global temporary table is everybody's."""
    if not session.granted("create table"):
        raise OracleError(1031)
    instance = session.server.instance
    if instance.role in ("PHYSICAL STANDBY", "TRUE CACHE") or instance.pdb_mode == "READ ONLY":
        raise OracleError(16000)
    session.in_transaction = False
    with session.server.table.locked():
        if session.server.table.flag(PRIVATE_TABLE):
            raise OracleError(955)
        session.server.table.set_flag(PRIVATE_TABLE, True)
    return 0


def _insert(statement: Statement, session: Session) -> int:
    _require_table(session)
    rows = int(_ROWS.findall(statement.sql)[0])
    session.in_transaction = True
    session.publish(private_rows=session.entry["private_rows"] + rows)
    return rows


def _truncate(statement: Statement, session: Session) -> int:
    _require_table(session)
    session.in_transaction = False
    session.publish(private_rows=0)
    return 0


def _drop(statement: Statement, session: Session) -> int:
    with session.server.table.locked():
        _require_table(session)
        if any(entry["private_rows"] for entry in session.server.table.entries()):
            raise OracleError(14452, "attempt to create, alter or drop an index on temporary table already in use")
        session.server.table.set_flag(PRIVATE_TABLE, False)
    session.in_transaction = False
    return 0


def _require_table(session: Session) -> None:
    if not session.server.table.flag(PRIVATE_TABLE):
        raise OracleError(942)


_COMMANDS: dict[tuple[str, ...], Callable[[Statement, Session], int]] = {
    ("alter", "session"): _alter_session,
    ("alter", "system", "kill"): _kill_session,
    ("alter", "system", "cancel"): _cancel_sql,
    ("alter", "system", "set"): _alter_system,
    ("create", "global", "temporary"): _create,
    ("insert", "into"): _insert,
    ("truncate", "table"): _truncate,
    ("drop", "table"): _drop,
}

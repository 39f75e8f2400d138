"""What a session sets for itself, and what it then really has.

An order that was refused is not the only one without effect: with LOCKDOWN_ERRORS or
IGNORE_SESSION_SET_PARAM_ERRORS set, ALTER SESSION is ignored without a word. So values are read back where that is
granted. Source: Oracle Database Reference, LOCKDOWN_ERRORS; Security Guide, PDB lockdown profiles; Using Oracle
Autonomous Database Serverless, Initialization Parameters.
"""

from collections.abc import Mapping

from msgspec import Struct

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Views, is_healthy, query
from dbcpu.targets.oracle.error_messages import codes

_UNKNOWN_HERE = frozenset({"ORA-02248", "ORA-00922"})
"""Not known to this version: then it does not have what would be set."""
PARALLEL = "parallel query"


class SessionSetting(Struct, frozen=True):
    """``statement`` of the catalogue sets ``name`` to ``wanted``."""

    statement: str
    name: str
    wanted: str


SETTINGS = (
    SessionSetting("set_no_parallel_query", PARALLEL, "DISABLED"),
    SessionSetting("set_no_result_cache", "result_cache_mode", "MANUAL"),
    SessionSetting("set_timed_statistics", "timed_statistics", "TRUE"),
    SessionSetting("set_statistics_level", "statistics_level", "TYPICAL"),
    SessionSetting("set_exact_cursors", "cursor_sharing", "EXACT"),
    SessionSetting("set_plsql_optimize_level", "plsql_optimize_level", "2"),
    SessionSetting("set_hints_obeyed", "optimizer_ignore_hints", "FALSE"),
    SessionSetting("set_no_plan_capture", "optimizer_capture_sql_plan_baselines", "FALSE"),
    SessionSetting("set_decimal_point", "nls_numeric_characters", ".,"),
)


class Applied(Struct, frozen=True):
    """``missing``: settings that do not hold, by name, with what was found. ``traced``: None where it is not known."""

    missing: Mapping[str, str]
    traced: bool | None = None


def apply(connection: Connection, views: Views) -> Applied:
    """Set all of them in this session, and read them back. Raises ServerError when the connection is lost."""
    refused: dict[str, str] = {}
    for each in SETTINGS:
        try:
            query(connection, statements.text(each.statement))
        except ServerError as error:
            if not is_healthy(connection):
                raise
            refused[each.name] = next(iter(codes(str(error))), str(error))
    held = {
        str(name): str(value)
        for statement in ("session_settings", "session_numerics")
        for name, value in views.rows(connection, statement) or ()
    }
    state = views.one(connection, "session_state")
    if state is not None:
        held[PARALLEL] = str(state[0])
    return Applied(missing_of(refused, held), None if state is None else state[1] == "ENABLED")


def missing_of(refused: Mapping[str, str], held: Mapping[str, str]) -> dict[str, str]:
    """What does not hold, by name.

    Args:
        refused: error code by name.
        held: value by name, of those that may be read.
    """
    found = {}
    for each in SETTINGS:
        value, error = held.get(each.name), refused.get(each.name)
        if value is not None:
            if value.upper() != each.wanted:
                found[each.name] = f"{value}, {f'refused with {error}' if error else 'set without effect'}"
        elif error and error not in _UNKNOWN_HERE:
            found[each.name] = f"value not known, refused with {error}"
    return found


def words(missing: Mapping[str, str]) -> str:
    """For a finding and for the record: ``result_cache_mode (FORCE, refused with ORA-01031)``."""
    return "; ".join(f"{name} ({what})" for name, what in missing.items())

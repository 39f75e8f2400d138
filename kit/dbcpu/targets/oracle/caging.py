"""Reads and sets the two parameters of instance caging, in memory only: see ``variants._settings``."""

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Views, query

COUNT, PLAN = "cpu_count", "resource_manager_plan"
DEFAULT_PLAN = "DEFAULT_PLAN"


def read(connection: Connection, views: Views, name: str) -> str:
    """'' for none. Raises ServerError where V$PARAMETER may not be read."""
    rows = views.rows(connection, "parameters")
    if rows is None:
        raise ServerError(
            "V$PARAMETER may not be read: the value could not be restored; grant select on sys.v_$parameter"
        )
    return next((str(row[1]) for row in rows if row[0] == name and row[1] is not None), "")


def write(connection: Connection, name: str, value: str) -> None:
    """Raises ServerError where ALTER SYSTEM is not granted, or for a value that caging does not need."""
    if name == COUNT and value.isdecimal():
        query(connection, statements.filled("set_cpu_count", cpus=int(value)))
    elif name == PLAN and value in ("", DEFAULT_PLAN):
        query(connection, statements.text("set_resource_plan" if value else "clear_resource_plan"))
    else:
        raise ServerError(f"dbcpu does not set {name} = {value!r}; by hand: alter system set {name} = {value!r}")

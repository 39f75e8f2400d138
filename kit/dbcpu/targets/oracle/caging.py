"""Reads and sets the two parameters of instance caging in one instance, in memory only: see ``variants._settings``.

CPU_COUNT = 0 means not set: the instance then follows the CPUs of its host. V$PARAMETER shows their number, and
a number that is written back would fix it and let a resource plan cage the instance. So a CPU_COUNT that is not set
reads as ``0``.
Source: Oracle Database Reference, CPU_COUNT, V$PARAMETER (ISDEFAULT, ISMODIFIED), V$RSRC_PLAN (INSTANCE_CAGING)
"""

import re
from collections.abc import Callable

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Row, Views, query

COUNT, PLAN = "cpu_count", "resource_manager_plan"
_PLANS = {"": "clear_resource_plan", "DEFAULT_PLAN": "set_resource_plan"}
"""The statement for each plan."""
NOT_SET = "0"
_PLACEHOLDER = "sid = 'INSTANCE'"
_INSTANCE = re.compile(r"[\w$#]{1,30}", re.ASCII)


def checked_name(instance: str) -> str:
    """The name of an instance, as it can stand in a statement or an address. Raises ServerError."""
    if _INSTANCE.fullmatch(instance) is None:
        raise ServerError(f"{instance[:40]!r} is no name of an instance, so none of its parameters is read or set")
    return instance


def same_name(one: str, other: str) -> bool:
    """Whether both name the same instance of a cluster; listeners do not distinguish capitals."""
    return one.casefold() == other.casefold()


class Cage:
    """The parameters of one instance.

    Args:
        connection: gives the control connection.
        views: likewise asked.
        instance: its name, which each statement has: without one, or with a star, all of a cluster would be changed.
            Source: Oracle Database SQL Language Reference, ALTER SYSTEM, SID

    Raises ServerError for a name that cannot stand in a statement.
    """

    def __init__(self, connection: Callable[[], Connection], views: Views, instance: str) -> None:
        self._connection, self._views = connection, views
        self._sid = f"sid = '{checked_name(instance)}'"
        self._wrote: tuple[str, str] | None = None
        """What was last written to CPU_COUNT, and what V$PARAMETER showed then."""

    def read(self, name: str) -> str:
        """'' for no plan, '0' for a CPU_COUNT that is not set. Raises ServerError where that may not be read."""
        row = self._row(name)
        value = "" if row is None or row[1] is None else str(row[1])
        if name != COUNT or row is None:
            return value
        if self._wrote and self._wrote[1] == value:
            return self._wrote[0]
        return NOT_SET if self._is_automatic(row, value) else value

    def write(self, name: str, value: str) -> None:
        """Raises ServerError where ALTER SYSTEM is not granted, or for a value that caging does not need."""
        if name == COUNT and value.isdecimal():
            self._send(statements.filled("set_cpu_count", cpus=int(value)))
            row = self._row(COUNT)
            self._wrote = (value, "" if row is None else str(row[1]))
        elif name == PLAN and value in _PLANS:
            self._send(statements.text(_PLANS[value]))
        else:
            raise ServerError(f"dbcpu does not set {name} = {value!r}; by hand: alter system set {name} = {value!r}")

    def _send(self, statement: str) -> None:
        query(self._connection(), statement.replace(_PLACEHOLDER, self._sid))

    def _row(self, name: str) -> Row | None:
        rows = self._views.rows(self._connection(), "parameters")
        if rows is None:
            raise ServerError(
                "V$PARAMETER may not be read: the value could not be restored; grant select on sys.v_$parameter"
            )
        return next((row for row in rows if row[0] == name), None)

    def _is_automatic(self, row: Row, value: str) -> bool:
        """Never set; or set and put back, by number what the host has: V$PARAMETER does not distinguish these."""
        if row[2] != "TRUE":
            return False
        if row[3] == "FALSE":
            return True
        cpus = {str(name): number for name, number in self._views.rows(self._connection(), "osstat") or ()}
        return value == str(cpus.get("NUM_CPUS"))

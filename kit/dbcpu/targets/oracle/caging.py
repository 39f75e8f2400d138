"""Reads and sets the two parameters of instance caging in one instance, in memory only: see ``variants._settings``.

A scheduler window that opens sets its own plan, and V$PARAMETER shows ``SCHEDULER[0x...]:PLAN``; when it closes, the
plan of before is set again. That value is neither overwritten nor set.

CPU_COUNT = 0 means not set: the instance then follows the CPUs of its host. V$PARAMETER shows their number, and
a number that is written back would fix it and let a resource plan cage the instance. So a CPU_COUNT that is not set
reads as ``0``.
Source: Oracle Database Reference, CPU_COUNT, V$PARAMETER (ISDEFAULT, ISMODIFIED), V$RSRC_PLAN (INSTANCE_CAGING),
V$RSRCPDBMETRIC; Administrator's Guide, Enabling Instance Caging, Enabling Oracle Database Resource Manager and
Switching Plans; PL/SQL Packages and Types Reference, DBMS_SCHEDULER.CREATE_WINDOW
"""

import re
import time
from collections.abc import Callable

from dbcpu.errors import ServerError
from dbcpu.record.service_remedies import by_oracle_window
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.driver import Connection, Row, Views, query
from dbcpu.targets.oracle.facts import active_plan, managed_cpus

COUNT, PLAN = "cpu_count", "resource_manager_plan"
_PLANS = {"": "clear_resource_plan", "DEFAULT_PLAN": "set_resource_plan"}
"""The statement for each plan."""
NOT_SET = "0"
_INTERVAL_S = 75.0
"""A row of V$RSRCPDBMETRIC is of a minute or less; the process that closes it may be late."""
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


def why_kept(name: str, value: str) -> str:
    """See ``variants._settings.Parameters``: a plan other than none and dbcpu's own is not replaced."""
    if name != PLAN or value in _PLANS:
        return ""
    if by_oracle_window(value):
        return "a scheduler window is open and has set it; measure when it has closed (all_scheduler_windows)"
    return "somebody has set it since this run was planned; start again, and the cage uses that plan"


def passes(name: str, value: str) -> bool:
    """See ``variants._settings.Parameters``."""
    return name == PLAN and by_oracle_window(value)


class Cage:
    """The parameters of one instance.

    Args:
        connection: gives the control connection.
        views: likewise asked.
        instance: its name, which each statement has: without one, or with a star, all of a cluster would be changed.
            Source: Oracle Database SQL Language Reference, ALTER SYSTEM, SID
        pluggable: in a pluggable database the plan that enforces CPU_COUNT is one of the root, which is not seen.
        ahead_s: see ``identity.zone_s``.

    Raises ServerError for a name that cannot stand in a statement.
    """

    def __init__(
        self,
        connection: Callable[[], Connection],
        views: Views,
        instance: str,
        *,
        pluggable: bool = False,
        ahead_s: float = 0.0,
    ) -> None:
        self._connection, self._views = connection, views
        self._sid = f"sid = '{checked_name(instance)}'"
        self._pluggable, self._ahead_s = pluggable, ahead_s
        self._wrote_s = 0.0
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
            self._wrote_s = time.monotonic()
        elif name == PLAN and value in _PLANS:
            self._send(statements.text(_PLANS[value]))
        else:
            by_hand = f"by hand: {self._statement(name, value)}"
            how = "it goes with its window" if by_oracle_window(value) else by_hand
            raise ServerError(f"dbcpu does not set {name} = {value!r}; {how}")

    def without_effect(self) -> str:
        """Why CPU_COUNT limits nothing; '' where it does, is not set, or where that may not be seen."""
        count = self.read(COUNT)
        if not count.isdecimal() or count == NOT_SET:
            return ""
        if self._pluggable:
            return self._beyond(int(count))
        plan = active_plan(self._connection(), self._views)
        if plan is None:
            return "" if self.read(PLAN) else f"no resource plan is on, so cpu_count = {count} limits nothing"
        if plan[1] and plan[2]:
            return ""
        why = "enforces no CPU_COUNT (INSTANCE_CAGING is OFF)" if plan[1] else "manages no CPU (CPU_MANAGED is OFF)"
        return f"the active resource plan {plan[0]} {why} in V$RSRC_PLAN, so cpu_count = {count} limits nothing"

    def _beyond(self, count: int) -> str:
        """By an interval that began after CPU_COUNT was set."""
        row = self._views.one(self._connection(), "pdb_cpus")
        if row is None or row[4] is None:
            return ""
        if float(row[4]) - self._ahead_s + _INTERVAL_S > time.monotonic() - self._wrote_s:
            return ""
        cpus = {str(name): number for name, number in self._views.rows(self._connection(), "osstat") or ()}
        allowed = managed_cpus(row[:4], cpus.get("NUM_CPUS"))
        if allowed is None or allowed <= count:
            return ""
        return f"V$RSRCPDBMETRIC shows {allowed} CPUs a minute after cpu_count = {count} was set, so it limits nothing"

    def _statement(self, name: str, value: str) -> str:
        return f"alter system set {name} = {value!r} scope = memory {self._sid}"

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

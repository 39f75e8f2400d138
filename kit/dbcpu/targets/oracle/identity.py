"""The server process of a session according to V$SESSION and V$PROCESS, as a claim to be verified.

It may be older than its session: since 12.2 server processes are started ahead of logons (prespawned), and between the
start of a process and its LOGON_TIME lies whatever authenticates the user, a directory or a RADIUS server.
Source: Oracle Database Reference, V$PROCESS_POOL; PL/SQL Packages and Types Reference, DBMS_PROCESS
"""

import math
import os
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dbcpu.errors import ServerError
from dbcpu.hosts.base import Host
from dbcpu.hosts.proc import START_TOLERANCE_S, boot_time_s, inner_pids, inner_tid, look, started_later_s
from dbcpu.targets.base import ServerClaim
from dbcpu.targets.oracle.address import same_host
from dbcpu.targets.oracle.driver import Connection, Views

NO_VIEWS = "V$SESSION and V$PROCESS are not granted (dbcpu doctor shows the statements)"
COMMAND = "oracle"
"""Server processes are called oracleSID or oracle_PID_SID."""
THREADS = "ora_u"
"""Processes whose threads are sessions (THREADED_EXECUTION) are called ora_u005_SID; what these are is not known.

Source: listings of ps by DBAs (itpub.net, thread 1799332; ludovicocaldara.net, threaded_execution)
"""
_ZONE_STEP_S = 900.0
_IDLE_S, _IDLE_CPU_S, _WORK_CPU_S = 0.05, 0.0005, 0.001


class SessionKey(Struct, frozen=True):
    """A session for whoever ends it: SID and SERIAL# belong to an instance, and each of a cluster has the same ones."""

    sid: int
    serial: int
    instance: int | None = None


def zone_s(row: tuple[Any, ...] | None, known_s: float) -> float:
    """By how many seconds SYSTIMESTAMP is ahead of the clock of LOGON_TIME, a DATE without a time zone.

    Time zones differ by quarter hours; 0 where the view may not be read. A listener can have been started with another
    TZ, and TIME_AT_DBTIMEZONE gives SYSTIMESTAMP that of the database.

    Args:
        row: of server_process.sql.
        known_s: the age of the session by this machine's clock.
    """
    if row is None or row[4] is None:
        return 0.0
    return round((float(row[4]) - known_s) / _ZONE_STEP_S) * _ZONE_STEP_S


def claim(
    connection: Connection, views: Views, here: str, row: tuple[Any, ...] | None, ahead_s: float
) -> tuple[ServerClaim, dict[str, float]]:
    """The server process of this session, and its numbers for the record.

    Args:
        here: the name of this machine.
        row: of server_process.sql, None where it may not be asked.
        ahead_s: see ``zone_s``.

    Raises:
        ServerError: the session is not served by a process of its own, or came to another instance than the others.
    """
    context = views.one(connection, "context") or (None,) * 8
    only, came_to = connection.only_instance, context[2]
    if only and came_to and str(came_to).casefold() != only.casefold():
        raise ServerError(
            f"a session came to instance {came_to}, and the others are on {only}: each instance runs on a host of its "
            f"own; name one: ?instance_name={only}, or, where thick mode passes a name on, (INSTANCE_NAME={only}) in "
            "the CONNECT_DATA of its entry"
        )
    numbers = {
        "sid": context[0],
        # Only thin mode knows it without asking.
        "serial_num": connection.serial_num if connection.thin else row and row[6],
        "instance_number": context[1],
    }
    local = same_host(str(context[3]), here) if context[3] else None
    known = {key: float(value) for key, value in numbers.items() if value is not None}
    if row is None:
        return ServerClaim(None, why_not=NO_VIEWS), known
    server, spid, stid, _, age_s, *_ = row
    if server != "DEDICATED":
        raise ServerError(refusal(str(server)))
    if not str(spid or "").isdecimal():
        return ServerClaim(None, why_not=f"V$PROCESS reports {spid!r} instead of a process number"), known
    tid = int(stid) if _is_thread(row) else None
    started_at_s = None if age_s is None else time.time() - (float(age_s) - ahead_s)
    # A name that differs may still be this machine's; the process itself then has the last word.
    or_command = THREADS if tid is not None else ""
    return ServerClaim(int(spid), tid, started_at_s, local, COMMAND, or_command, may_be_older=True), known


def server_process(connection: Connection, views: Views) -> tuple[Any, ...] | None:
    """Row of server_process.sql, in the form of older versions if need be; None without the privilege."""
    row = views.one(connection, "server_process")
    if row is None and views.denied.get("server_process") == "ORA-00904":
        row = views.one(connection, "server_process_11")
    return row


def in_container(row: tuple[Any, ...] | None, host: Host, work: Callable[[], object]) -> bool:
    """Whether the server process of that row of server_process.sql runs in a container of this host.

    A container has a host name of its own, so the name says nothing. One process that has the claimed number in a pid
    namespace of its own, is called oracle and started with the session: that is not met by chance. Of an older one the
    CPU time has to stand still while the session is idle, and to rise by ``work`` in it. The same of a thread.
    """
    if row is None or not str(row[1] or "").isdecimal() or row[4] is None:
        return False
    clock_ticks, boot_s = os.sysconf("SC_CLK_TCK"), boot_time_s(host)
    # The control session has just been opened.
    started_at_s = time.time() - (float(row[4]) - zone_s(row, 0.0))
    for pid in inner_pids(host).get(int(row[1]), ()):
        tid = inner_tid(host, pid, int(row[2])) if _is_thread(row) else None
        process = look(host, pid, tid, clock_ticks)
        if process is None or not any(name in process.command for name in (COMMAND, *((THREADS,) if tid else ()))):
            continue
        later_s = started_later_s(process, started_at_s, boot_s, clock_ticks)
        if later_s is None or later_s > START_TOLERANCE_S:
            continue
        if later_s >= -START_TOLERANCE_S or _works_with(work, pid, tid, host, clock_ticks):
            return True
    return False


def _is_thread(row: tuple[Any, ...]) -> bool:
    """Of a row of server_process.sql: whether STID says another number than SPID."""
    return str(row[2] or "").isdecimal() and row[2] != row[1]


def _works_with(work: Callable[[], object], pid: int, tid: int | None, host: Host, clock_ticks: int) -> bool:
    looks = [look(host, pid, tid, clock_ticks)]
    for act in (lambda: time.sleep(_IDLE_S), work):
        act()
        looks.append(look(host, pid, tid, clock_ticks))
    first, second, third = (process.cpu_s if process else math.nan for process in looks)
    return second - first <= _IDLE_CPU_S and third - second >= _WORK_CPU_S


def refusal(server: str) -> str:
    """Why a session that is not served by a dedicated process cannot be measured, and what to do."""
    kinds = {"SHARED": "a shared server", "NONE": "a shared server", "POOLED": "a pooled server (DRCP)"}
    return (
        f"the session is served by {kinds.get(server, server)}: sessions would queue for a few processes; dbcpu asks "
        "for a dedicated one, except for a name that thick mode passes on: write (SERVER=DEDICATED) into its "
        "CONNECT_DATA; else use a service without dispatchers or pool, or connect to the instance's own listener"
    )

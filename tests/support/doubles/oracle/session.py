"""One server process's own state: who is served, what it may do, what it did, and what it costs in CPU and time."""

import functools
import hashlib
import os
import resource
import signal
import struct
import threading
import time
import zlib
from collections import Counter, defaultdict
from types import FrameType
from typing import Any

from msgspec import Struct

from support.doubles.oracle.catalogue import Catalogue, Statement
from support.doubles.oracle.errors import Break, ClientGone, OracleError
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.packets import Channel
from support.doubles.oracle.process import go_ahead, pin
from support.doubles.oracle.profiles import Instance, Profile
from support.doubles.oracle.sessions import Entry, Journal, SessionTable

FROM_CLIENT, TO_CLIENT, CPU_QUANTUM = "SQL*Net message from client", "SQL*Net message to client", "resmgr:cpu quantum"
SLEEP = "PL/SQL lock timer"
GRANTED_TO_PUBLIC = frozenset({"v$rsrc_plan", "v$rsrc_session_info"})
"""Views that Oracle's own scripts grant to PUBLIC; a hardening guide takes that back: ``ungranted`` has ``public``."""
_SQL_ID_DIGITS = "0123456789abcdfghjkmnpqrstuvwxyz"


class Server(Struct, frozen=True):
    """What all sessions of one double share."""

    profile: Profile
    instance: Instance
    faults: Faults
    verifier: str
    sdu: int
    users: dict[str, str]
    catalogue: Catalogue
    table: SessionTable
    journal: Journal
    listener_pid: int
    started_s: float


class Session:
    """One logged-on session. ``entry`` is what the others see of it; ``publish`` shows its present state."""

    def __init__(self, server: Server, channel: Channel, number: int, pid: int) -> None:
        self.server = server
        self.channel = channel
        self.sid = self.serial = 0
        """Until it has its instance."""
        self.killed = False
        self.cancelled = False
        self.in_call = False
        self.in_transaction = False
        self.executions: Counter[str] = Counter()
        """Executions of work by sql_id."""
        self.statistics: defaultdict[str, float] = defaultdict(float)
        self.time_model_us: defaultdict[str, float] = defaultdict(float)
        self.waits: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        self.settings: dict[str, str] = {}
        self._number = number
        self._idle_since_s = time.monotonic()
        self._call_began = (0.0, 0.0)
        self._slept_s = 0.0
        """In this call, which is no DB time."""
        instances = server.instance.instances
        self.entry: Entry = {
            "number": number,
            "sid": self.sid,
            "serial": self.serial,
            "pid": pid,
            "tid": threading.get_native_id(),
            "instance": number % instances + 1,
            "status": "INACTIVE",
            "logon_s": time.time(),
            "call_s": time.time(),
            "index": None,
            "cpus": None,
            "executions": 0,
            "sql_id": None,
            "prev_sql_id": None,
            "private_rows": 0,
            "sql": {},
        }

    def join(self, instance: int) -> None:
        """It is a session of that instance from now on."""
        self.sid, self.serial = self.server.table.take_place(self._number, instance)
        self.entry.update(sid=self.sid, serial=self.serial, instance=instance)

    # --- what others see

    def publish(self, **changed: Any) -> None:
        self.entry.update(changed, executions=self.executions.total())
        self.server.table.write(self._number, self.entry)

    def leave(self) -> None:
        self.server.table.clear(self._number)

    def granted(self, what: str) -> bool:
        """Whether this user may read a view or do an action."""
        ungranted = self.server.faults.ungranted
        if what in GRANTED_TO_PUBLIC:
            return not ("public" in ungranted or what in ungranted)
        return not ("all" in ungranted or what in ungranted)

    def may_execute(self, package: str) -> bool:
        """PUBLIC may, unless it was revoked."""
        return package not in self.server.faults.ungranted

    def value_of(self, parameter: str, default: str) -> str:
        """A parameter in this session, in capitals."""
        return self.settings.get(parameter, self.server.instance.parameters.get(parameter, default)).upper()

    def caches(self, name: str) -> bool:
        """Whether the result cache keeps a workload's result: all have a hint against it but the published text."""
        if self.value_of("result_cache_mode", "MANUAL") != "FORCE" or not name:
            return False
        return name == "cartesian_cte" or self.value_of("optimizer_ignore_hints", "FALSE") == "TRUE"

    def number_words(self, text: str) -> str:
        """A number as this session's territory writes it."""
        comma = self.server.instance.decimal_comma and self.settings.get("nls_numeric_characters") != ".,"
        return text.replace(".", ",") if comma else text

    def end_other(self, sid: int, serial: int, instance: int | None = None) -> None:
        """Kill another session, as ALTER SYSTEM KILL SESSION does; None: on this instance.

        Raises OracleError (ORA-00030) if there is none.
        """
        self._tell(sid, serial, signal.SIGUSR1, instance)

    def cancel_other(self, sid: int, serial: int, instance: int | None = None) -> None:
        """End what another session executes, as ALTER SYSTEM CANCEL SQL does. Raises as ``end_other``."""
        self._tell(sid, serial, signal.SIGUSR2, instance)

    def _tell(self, sid: int, serial: int, how: signal.Signals, instance: int | None = None) -> None:
        wanted = (sid, serial, instance or self.entry["instance"])
        for entry in self.server.table.entries():
            if (entry["sid"], entry["serial"], entry["instance"]) == wanted:
                if entry["number"] == self._number:
                    raise OracleError(27)
                os.kill(entry["pid"], how)
                return
        raise OracleError(30, "User session ID does not exist.")

    # --- one call

    def begin_call(self) -> None:
        now_s = time.monotonic()
        self.wait(FROM_CLIENT, now_s - self._idle_since_s)
        self.statistics["user calls"] += 1
        self._call_began, self._slept_s = (now_s, time.thread_time()), 0.0
        self.in_call = True
        self.publish(status="ACTIVE", call_s=time.time())

    def end_call(self) -> None:
        now_s = time.monotonic()
        began_s, began_cpu_s = self._call_began
        cpu_us = (time.thread_time() - began_cpu_s) * 1e6
        self.time_model_us["DB time"] += (now_s - began_s - self._slept_s) * 1e6
        self.time_model_us["DB CPU"] += cpu_us
        self.statistics["CPU used by this session"] = self.time_model_us["DB CPU"] / 1e4
        self.statistics["session pga memory max"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.wait(TO_CLIENT, 0.0)
        self._idle_since_s = now_s
        self.in_call = False
        self.publish(status="INACTIVE", prev_sql_id=self.entry["sql_id"] or self.entry["prev_sql_id"], sql_id=None)

    def wait(self, event: str, seconds: float) -> None:
        count_and_us = self.waits[event]
        count_and_us[0] += 1
        count_and_us[1] += seconds * 1e6

    def sleep(self, seconds: float) -> None:
        """DBMS_SESSION.SLEEP: an idle wait."""
        began_s = time.monotonic()
        time.sleep(seconds)
        slept_s = time.monotonic() - began_s
        self._slept_s += slept_s
        self.wait(SLEEP, slept_s)

    def poll(self) -> None:
        """To be called often during work.

        Raises:
            Break: the client wants the call to end.
            OracleError: ORA-00028, the session was killed; ORA-01013, another one cancelled its statement.
            ClientGone: the client has left, and the double is told to notice.
        """
        if self.killed:
            raise OracleError(28)
        if self.cancelled:
            self.cancelled = False
            raise OracleError(1013)
        break_requested = self.channel.break_requested()
        if self.channel.gone and self.server.faults.notices_gone_client:
            raise ClientGone
        if break_requested and not self.server.faults.ignores_break:
            raise Break

    # --- work

    def become_worker(self) -> None:
        """Take the smallest free index at the first workload statement, and the CPU that goes with it."""
        if self.entry["index"] is not None:
            return
        with self.server.table.locked():
            index = self.server.table.take_index(self._number)
            if self.server.faults.ahead:
                go_ahead()
            cpus = self.server.faults.cpus
            if index < len(cpus):
                pin(cpus[index])
                self.entry["cpus"] = [cpus[index]]
            self.publish(index=index)

    def affected(self) -> bool:
        return self.server.faults.affects(self.entry["index"])

    def plan_hash(self, statement: Statement) -> int:
        """One number per shape of statement; it does not depend on sizes, as with literals in Oracle."""
        odd = self.server.faults.odd_plan and self.affected()
        return zlib.crc32(statement.name.encode()) + odd

    def note_parse(self, statement: Statement) -> None:
        """A statement that no session has in its cursors costs a hard parse. Raises OracleError: ORA-06550."""
        if "dbms_session.sleep" in statement.sql and self.server.profile.version[0] < 18:
            raise OracleError(6550, "line 10, column 18:\nPLS-00302: component 'SLEEP' must be declared")
        number = sql_id(statement.sql)
        if number in self.entry["sql"]:
            return
        same = self.entry["instance"]
        beside = (each for each in self.server.table.entries() if each["instance"] == same)
        others = (each for each in beside if each["number"] != self._number)
        if not any(number in entry["sql"] for entry in others):
            self.statistics["parse count (hard)"] += 1
        self._seen(statement)
        self.publish()

    def note_query(self, sql: str) -> None:
        """A query on views is parsed hard once for each environment of the optimizer, whoever sends it first."""
        if self.server.table.parse(f"{self.entry['instance']} {sql} {sorted(self.settings.items())}"):
            self.statistics["parse count (hard)"] += 1

    def _seen(self, statement: Statement) -> Entry:
        """This session's part of the statement's row in v$sql."""
        new = {"name": statement.name, "plan": self.plan_hash(statement), "executions": 0, "cpu_us": 0, "elapsed_us": 0,
               "gets": 0, "active_s": time.time()}  # fmt: skip
        seen: Entry = self.entry["sql"].setdefault(sql_id(statement.sql), new)
        return seen

    def count_execution(self, statement: Statement, cpu_s: float, elapsed_s: float, gets: int) -> None:
        """Add one execution of work to v$sql."""
        self.time_model_us["PL/SQL execution elapsed time" if statement.is_block else "sql execute elapsed time"] += (
            elapsed_s * 1e6
        )
        seen = self._seen(statement)
        seen["executions"] += 1
        seen["cpu_us"] += round(cpu_s * 1e6)
        seen["elapsed_us"] += round(elapsed_s * 1e6)
        seen["gets"] += gets
        seen["active_s"] = time.time()


class Killing:
    """What other sessions do to this one. Killed (SIGUSR1), an idle one leaves at once, a busy one when it looks.

    Cancelled (SIGUSR2), a busy one ends its call when it looks, and an idle one has nothing to end.
    """

    def __init__(self) -> None:
        self.session: Session | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            if self.session is not None:
                self.session.cancelled = self.session.in_call
            return
        if self.session is not None:
            self.session.killed = True
            if self.session.in_call:
                return
            self.session.leave()
        os._exit(0)


@functools.lru_cache
def sql_id(sql: str) -> str:
    """V$SQL.SQL_ID: the last 64 bits of the MD5 of the text and a NUL, in base 32."""
    high, low = struct.unpack("<8xII", hashlib.md5(sql.encode() + b"\0", usedforsecurity=False).digest())
    number, digits = (high << 32) + low, ""
    for _ in range(13):
        number, digit = divmod(number, 32)
        digits = _SQL_ID_DIGITS[digit] + digits
    return digits

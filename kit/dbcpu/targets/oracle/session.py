"""One Oracle session. The driver blocks, so the gate gives it a thread; executions loop on the server.

One call executes the measured cursor many times and brings back the server's own time stamps, so that a
session never waits for the driver between executions. A call ends after ``BATCH_S`` in any case: a server
process whose client is dead notices only between calls, and so much is what remains of it at most. What a call
ran before it was cancelled is read afterwards, so a cancelled session reports how far it got.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from dbcpu.errors import ServerError
from dbcpu.record.rounds import Execution, Wait
from dbcpu.targets.base import ServerClaim, SessionOutcome, Work
from dbcpu.targets.oracle import driver, settings
from dbcpu.targets.oracle.counters import Snapshot, difference, snapshot
from dbcpu.targets.oracle.driver import Block, Connection, Views
from dbcpu.targets.oracle.error_messages import codes, explained
from dbcpu.targets.oracle.identity import SessionKey, claim, server_process, zone_s
from dbcpu.targets.oracle.plans import active_between, is_query, sql_id
from dbcpu.targets.oracle.settings import Applied

BATCH_S = 4.0
"""Between two calls a session is idle for a round trip: 1 ms where CPUs are free, some 70 ms at 64 sessions on 2.

A call that computes for 5 seconds gets an entry in V$SQL_MONITOR where the packs are enabled, a PL/SQL one too, and has
no hint against it. Source: Oracle Database SQL Tuning Guide, About Database Operations
"""
MAX_IN_BATCH = 400
"""Each execution is at most 80 characters of the 32,767 that come back."""
PATIENCE_S = 15.0
"""The gate cancels what is late; this is for a server that has gone without a word."""
LEAVE_STUCK_S = 0.5
BREAKS = 5
"""So many breaks of the driver's own, then the statement is cancelled from another session, where that is granted."""
WARM_S = 0.03
"""A warm-up lasts three ticks of the coarsest CPU counter, so that its work is seen by any."""
_ROUNDED_S = 2.0
_EXISTS = "ORA-00955"
_CANCELLED = "ORA-01013"


class Ran(Struct, frozen=True):
    """One execution by the server's clock: epoch seconds, seconds, answer as text."""

    start_s: float
    elapsed_s: float
    answer: str


class Elsewhere(Protocol):
    """Another session that can end this one or its statement. Nothing raises; what is not granted is not done."""

    def cancel(self, key: SessionKey) -> None: ...

    def end(self, key: SessionKey) -> bool: ...

    def leave(self, key: SessionKey) -> None:
        """It goes on, and this driver closes its connection."""


class OracleSession:
    """See ``targets.base.DatabaseSession``."""

    def __init__(
        self,
        ordinal: int,
        connection: Connection,
        views: Views,
        clock_offset_s: Callable[[], float],
        here: str,
        making: Callable[[str], object] = lambda _: None,
        elsewhere: Elsewhere | None = None,
        hygiene: Callable[[Applied], object] = lambda _: None,
        batch_s: float = BATCH_S,
    ) -> None:
        """``making`` is called with each setup statement before it is sent, so that what it creates can be removed.

        ``elsewhere`` ends from another session what does not heed this session's own breaks. ``hygiene`` is called
        with what became of the session's settings. ``batch_s``: how long a call goes on with new executions.
        """
        self.ordinal = ordinal
        self._connection, self._views = connection, views
        self._clock_offset_s = clock_offset_s
        self._here = here
        self._making = making
        self._hygiene, self._batch_s = hygiene, batch_s
        self._elsewhere = elsewhere
        self._breaks = 0
        self._work: Work | None = None
        self._run: Block | None = None
        self._measured: dict[str, str | int] = {}
        self._warming: dict[str, str | int] = {}
        self._opened_s = time.monotonic()
        self._prepared_s = 0.0
        self._ahead_s = 0.0
        self._numbers: dict[str, float] = {}
        self._before = Snapshot()
        self._after: Snapshot | None = None
        self._executions: list[Execution] = []
        self._blocked: list[Execution] = []
        self._block_s: float | None = None
        self._wrong: str | None = None
        self._error: str | None = None
        self._broken = False  # by ORA-01013, in thick mode perhaps before the gate heard of Ctrl-C
        self._asked: int | None = None
        self._collected = False
        self._calling = threading.Event()
        self._cancelled = threading.Event()

    # --- before the gate

    def identify(self) -> ServerClaim:
        row = server_process(self._connection, self._views)
        self._ahead_s = zone_s(row, time.monotonic() - self._opened_s)
        found, self._numbers = claim(self._connection, self._views, self._here, row, self._ahead_s)
        return found

    def prepare(self, work: Work) -> None:
        self._work = work
        self._prepared_s = time.monotonic()
        applied = settings.apply(self._connection, self._views)
        self._hygiene(applied)
        if applied.traced is not None:
            self._numbers["sql_trace"] = float(applied.traced)
        for statement in work.setup:
            self._making(statement)
            try:
                driver.query(self._connection, statement)
            except ServerError as error:
                # The definition of a temporary table is shared: another session was first.
                if _EXISTS not in codes(str(error)):
                    raise ServerError(f"the setup of workload {work.name} failed: {explained(str(error))}") from None
        if work.setup:
            driver.commit(self._connection)
        number, text = (float, 0), (str, 32767)
        binds = {
            **dict.fromkeys(("is_query", "most", "until_s", "batch_s"), number),
            "ran": text,
            "failure": (str, 4000),
        }
        if self._native():
            self._measured, self._warming = {"text": work.sql}, {"text": work.warm_sql}
            if is_query(work.sql):
                driver.parse(self._connection, work.sql)
            self._run = Block(self._connection, "run_native", {"text": text, **binds})
            return
        self._measured = {"cursor_id": self._parse(work.sql)}
        same = work.warm_sql == work.sql
        self._warming = self._measured if same else {"cursor_id": self._parse(work.warm_sql)}
        self._run = Block(self._connection, "run", {"cursor_id": number, **binds})

    def warm(self) -> None:
        batch, failure = self._call(self._warming, MAX_IN_BATCH, None, WARM_S)
        if failure:
            raise ServerError(failure)
        if not all(ran.answer for ran in batch):
            raise ServerError(f"session {self.ordinal} got no answer to its warm-up")
        # Whoever asks first parses; in the second look and the first plan of a run that would be the session's work.
        self._look()
        self._plan()
        self._before = self._look()

    # --- between release and the last answer: nothing here prints, writes a file or waits for another

    def arm(self) -> None:
        """See ``targets.base.Arms``: all sessions have connected, in threads."""
        driver.keep_signals()

    def block(self, for_s: float) -> None:
        """See ``targets.base.Blocks``."""
        self._block_s = for_s

    def start(self, executions: int | None, until_s: float | None) -> float:
        if self._collected:
            self._executions, self._wrong, self._error, self._collected = [], None, None, False
            self._blocked, self._broken = [], False
            self._before = self._after or self._before
        if self._block_s is not None:
            return self._wait(self._block_s)
        begun, self._asked = len(self._executions), executions
        assert self._work is not None
        self._connection.call_timeout = round((self._work.timeout_s + self._batch_s + PATIENCE_S) * 1000)
        offset_s = self._clock_offset_s()
        epoch_s, sent_s = time.time(), time.monotonic()
        until_epoch_s = None if until_s is None else epoch_s + (until_s - sent_s) + offset_s
        # Server clock -> driver's monotonic clock.
        behind_s = epoch_s + offset_s - sent_s
        previous_s = sent_s
        try:
            while not self._cancelled.is_set():
                done = len(self._executions) - begun
                most = MAX_IN_BATCH if executions is None else min(MAX_IN_BATCH, executions - done)
                batch, failure = self._call(self._measured, most, until_epoch_s, self._batch_s)
                previous_s = self._take(batch, previous_s, time.monotonic(), behind_s, failed=bool(failure))
                if failure:
                    raise ServerError(failure)
                if not batch or (executions is not None and len(self._executions) - begun >= executions):
                    break
                if until_epoch_s is not None and batch[-1].start_s + batch[-1].elapsed_s >= until_epoch_s:
                    break
        except ServerError as error:
            text = str(error)
            self._error, self._broken = text, _CANCELLED in codes(text)
            if self._broken:
                self._take(self._unfinished(), previous_s, time.monotonic(), behind_s, failed=True)
        if self._cancelled.is_set() and self._error is None:
            self._error = _cancelled_after(len(self._executions), executions)
        return sent_s

    def _wait(self, for_s: float) -> float:
        """One job that only waits, by the driver's clock alone; when it was sent."""
        self._block_s = None
        self._connection.call_timeout = round((for_s + PATIENCE_S) * 1000)
        block = Block(self._connection, "wait", {"for_s": (float, 0)})
        sent_s = time.monotonic()
        self._calling.set()
        try:
            block.run(for_s=for_s)
            self._blocked.append(Execution(sent_s, time.monotonic() - sent_s))
        except ServerError as error:
            self._error = "cancelled" if self._cancelled.is_set() else str(error)
        finally:
            self._calling.clear()
            block.close()
        return sent_s

    def feed(self) -> None:
        """Nothing to do: the server loops on its own."""

    def fileno(self) -> int | None:
        return None

    def finish(self) -> bool:
        return True

    def cancel(self) -> None:
        self._cancelled.set()
        if not self._calling.is_set():
            return
        self._breaks += 1
        key = self._key()
        if self._breaks == BREAKS + 1 and self._elsewhere is not None and key:
            self._elsewhere.cancel(key)
        else:
            driver.cancel(self._connection)

    def _key(self) -> SessionKey | None:
        """None where SID and SERIAL# are not known: in thick mode without V$SESSION."""
        sid, serial, at = (self._numbers.get(name) for name in ("sid", "serial_num", "instance_number"))
        instance = None if at is None else int(at)
        return None if sid is None or serial is None else SessionKey(int(sid), int(serial), instance)

    # --- after it

    def failed(self) -> bool:
        return self._cancelled.is_set() or self._error is not None or self._wrong is not None

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        self._collected = True
        error = self._error
        if self._broken and self._cancelled.is_set():
            error = _cancelled_after(len(self._executions), self._asked)
        if self._wrong is not None and self._work:
            error = error or f"the answer was {self._wrong}, not {self._work.answer}: the work was not done"
        ok = None if not self._executions else self._wrong is None
        db = dict(self._numbers)
        waits: tuple[Wait, ...] = ()
        if not self._calling.is_set() and not self._cancelled.is_set() and driver.is_healthy(self._connection):
            self._connection.call_timeout = driver.QUERY_TIMEOUT_MS
            try:
                self._after = self._look()
                gained, waits = difference(self._before, self._after)
                db |= gained | self._plan()
            except ServerError:
                # The session is gone; what it did before is known, and its error says why.
                pass
        return SessionOutcome(tuple(self._executions), ok, error, db, waits, tuple(self._blocked))

    def close(self) -> None:
        stuck, key = self._calling.is_set(), self._key()
        # Nobody waits for it any more, and nothing else would end it before its statement does.
        ended = bool(stuck and self._elsewhere is not None and key and self._elsewhere.end(key))
        if stuck and not ended:
            driver.cancel(self._connection)
        driver.close(self._connection, LEAVE_STUCK_S if stuck else driver.LOG_OFF_S)
        if stuck and not ended and self._calling.is_set() and self._elsewhere is not None and key:
            self._elsewhere.leave(key)

    # --- calls

    def _parse(self, sql: str) -> int:
        block = Block(self._connection, "parse", {"text": (str, 32767), "is_query": (int, 0), "cursor_id": (int, 0)})
        try:
            block.run(text=sql, is_query=int(is_query(sql)))
            return int(block.value("cursor_id"))
        finally:
            block.close()

    def _native(self) -> bool:
        """Whether the packages of run.sql may not be executed, as hardening guides have it."""
        self._views.rows(self._connection, "packages")
        return "packages" in self._views.denied

    def _call(
        self, what: Mapping[str, str | int], most: int, until_s: float | None, batch_s: float
    ) -> tuple[list[Ran], str | None]:
        """Execute on the server: the executions that ended, and the error of the one that failed after them.

        Raises:
            ServerError: the call itself was cancelled or its session ended, and what it ran is not known.
        """
        assert self._run is not None
        assert self._work is not None
        block = self._run
        self._calling.set()
        try:
            block.run(
                **what,
                is_query=int(is_query(self._work.sql)),
                most=most,
                until_s=until_s,
                batch_s=batch_s,
            )
        finally:
            self._calling.clear()
        failure = block.value("failure")
        return _ran(block.value("ran")), None if failure is None else explained(str(failure))

    def _unfinished(self) -> list[Ran]:
        """What the call that was just cancelled had executed; [] where the server does not report it."""
        if "text" in self._measured:
            return []
        block = Block(self._connection, "ran_before", {"ran": (str, 32767)})
        try:
            self._connection.call_timeout = driver.QUERY_TIMEOUT_MS
            block.run()
            return _ran(block.value("ran"))
        except ServerError:
            return []
        finally:
            block.close()

    def _take(self, batch: list[Ran], previous_s: float, arrived_s: float, behind_s: float, *, failed: bool) -> float:
        """Executions with the driver's stamps: what came back together ended when the server says it did.

        The last one of a call ended when the answer arrived, unless an execution that failed came after it.
        """
        for position, ran in enumerate(batch):
            ended_s = ran.start_s + ran.elapsed_s - behind_s
            last = position == len(batch) - 1 and not failed
            ended_s = arrived_s if last else min(max(ended_s, previous_s), arrived_s)
            self._executions.append(Execution(previous_s, ended_s - previous_s, ran.start_s, ran.elapsed_s))
            previous_s = ended_s
            if self._work and ran.answer != self._work.answer:
                self._wrong = ran.answer
        return previous_s

    def _look(self) -> Snapshot:
        statistics, time_model, waits = (
            self._views.rows(self._connection, name) for name in ("counters", "time_model", "waits")
        )
        if waits is None:
            # Its unit is not documented: what is longer than the time that passed is left out.
            waits = self._views.rows(self._connection, "resource_waits")
            return snapshot(statistics, time_model, waits, time.monotonic())
        return snapshot(statistics, time_model, waits)

    def _age_s(self) -> float:
        """Since this session prepared its work; times of V$SQL are whole seconds."""
        return time.monotonic() - self._prepared_s + _ROUNDED_S

    def _plan(self) -> dict[str, float]:
        """The plan hash value if the statement has one plan only, and how many it has."""
        if not self._work or not is_query(self._work.sql):
            return {}
        binds = active_between(sql_id(self._work.sql), self._age_s(), self._ahead_s)
        rows = self._views.rows(self._connection, "cursor_plans", binds)
        hashes = {int(row[0]) for row in rows or () if row[2]}
        if not hashes:
            return {}
        return {"plans": len(hashes)} | ({"plan_hash_value": float(hashes.pop())} if len(hashes) == 1 else {})


def _ran(text: str | None) -> list[Ran]:
    lines = [line.split(" ", 2) for line in (text or "").splitlines()]
    # Where the territory's decimal sign could not be set, it may be a comma.
    return [
        Ran(float(start.replace(",", ".")), float(elapsed.replace(",", ".")), answer.replace(",", "."))
        for start, elapsed, answer in lines
    ]


def _cancelled_after(done: int, asked: int | None) -> str:
    of_them = f" of {asked}" if asked is not None else ""
    return f"cancelled after {done}{of_them} executions"

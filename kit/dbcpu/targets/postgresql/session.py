"""One PostgreSQL session driven through libpq's own calls, so that one selector serves all of them.

Executions are queued ahead in pipeline mode: the server goes from one to the next without waiting for
the driver. Each is followed by a flush request (its answer leaves at once) and each batch by one sync,
so that cancelling the running execution drops the rest of its batch.
Source: PostgreSQL documentation, "libpq - C Library", chapters Asynchronous Command Processing and Pipeline Mode.
"""

import math
import threading
import time

import psycopg
from psycopg import pq

from dbcpu.record.rounds import Execution
from dbcpu.targets.base import ServerClaim, SessionOutcome, Work
from dbcpu.targets.postgresql.connection import cancel, hang_up, may_set, one_line, prepare, query, text

AHEAD_S = 0.25
"""Time for which executions are queued ahead: the driver may be that late and no session idles."""
MAX_AHEAD = 64
CANCEL_S = 2.0
"""A request to cancel is a connection of its own, which a paused server does not answer."""
HANG_UP_S = 5.0
"""Within this a thread has seen that its connection is gone, also where the machine is busy."""
STATEMENT = b"dbcpu"

_SETTINGS = {
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "enable_memoize": "off",
    "client_connection_check_interval": "500ms",
    "temp_file_limit": "0",
    "client_min_messages": "warning",
}
# Only those the server knows and this user may set; an unknown one would fail on an older server.
_APPLY = """select set_config(s.name, w.value, false)
  from json_each_text($1::json) as w(name, value) join pg_settings s using (name)
 where s.context = 'user' or (s.context = 'superuser' and ({may_set}))"""

# Not the view: it makes a row of every session for each that asks, 4 ms and 1 MB more of each of 1,000 processes.
_WHO = """select extract(epoch from backend_start), inet_server_addr() is null, host(inet_server_addr()),
       host(inet_client_addr())
  from pg_stat_get_activity(pg_backend_pid())"""


class LibpqSession:
    """See ``targets.base.DatabaseSession``."""

    def __init__(self, ordinal: int, connection: pq.abc.PGconn) -> None:
        self.ordinal = ordinal
        self._connection = connection
        self._used = threading.Lock()
        self._answer = ""
        self._warm_sql = ""
        self._wanted: int | None = 0
        self._until_s: float | None = None
        self._queued = 0
        self._syncs_due = 0
        self._in_answer = False
        self._previous_s = 0.0
        self._executions: list[Execution] = []
        self._wrong: str | None = None
        self._error: str | None = None
        self._cancelled = self._cut_short = False
        self._answered = 0
        self._collected = False
        self._block_s: float | None = None
        self._blocking = self._armed = False
        self._blocked: list[Execution] = []

    # --- before the gate

    def identify(self) -> ServerClaim:
        with self._used:
            pid = self._connection.backend_pid
            rows = query(self._connection, _WHO)
        if not rows or rows[0][0] is None:
            return ServerClaim(pid, why_not="pg_stat_get_activity does not show this session to its own user")
        started, by_socket, server_address, client_address = rows[0]
        return ServerClaim(
            pid,
            started_at_s=float(started or 0),
            local=None if by_socket == "t" or server_address == client_address else False,
            command="postgres",
        )

    def prepare(self, work: Work) -> None:
        settings = dict(_SETTINGS)
        settings["statement_timeout"] = f"{math.ceil(work.timeout_s * 1000)}ms"
        settings["work_mem"] = f"{max(4096, 2 * work.memory_bytes // 1024)}kB"
        pairs = ", ".join(f'"{name}": "{value}"' for name, value in settings.items())
        self._answer, self._warm_sql = work.answer, work.warm_sql
        with self._used:
            query(self._connection, _APPLY.format(may_set=may_set(self._connection, "s.name")), "{" + pairs + "}")
            for statement in work.setup:
                query(self._connection, statement)
            prepare(self._connection, STATEMENT, stamped(work.sql))

    def warm(self) -> None:
        with self._used:
            query(self._connection, stamped(self._warm_sql))

    def explain(self, sql: str) -> list[str]:
        """The plan of ``sql`` under this session's settings, a line per operator. Raises ServerError."""
        return [str(row[0]) for row in query(self._connection, f"explain (costs off) {sql}")]

    # --- between release and the last answer: nothing here prints, writes a file or waits

    def block(self, for_s: float) -> None:
        """See ``targets.base.Blocks``."""
        self._block_s = for_s

    def arm(self) -> None:
        """See ``targets.base.Arms``: in pipeline mode libpq sends what is queued with the sync, or from 64 kB on."""
        if self._armed:
            return
        self._blocking = self._block_s is not None
        try:
            self._connection.nonblocking = 1
            self._connection.enter_pipeline_mode()
            self._queue(1)
        except psycopg.Error as error:
            self._break(error)
        self._armed = True

    def start(self, executions: int | None, until_s: float | None) -> float:
        if self._collected:
            self._executions, self._blocked, self._collected = [], [], False
        self._wanted, self._until_s = executions, until_s
        self.arm()
        self._armed, self._queued, self._answered = False, 0, 0
        stamp_s = self._previous_s = time.monotonic()
        try:
            self._sync(1)
        except psycopg.Error as error:
            self._break(error)
        return stamp_s

    def feed(self) -> None:
        if self._error is None:
            try:
                self._top_up()
            except psycopg.Error as error:
                self._break(error)

    def fileno(self) -> int | None:
        return self._connection.socket

    def finish(self) -> bool:
        connection = self._connection
        try:
            connection.consume_input()
            self._take_all(time.monotonic())
            if self._error is None and not self._cancelled:
                self._top_up()
            connection.flush()
        except psycopg.Error as error:
            self._fail(str(error))
            return True
        return self._syncs_due == 0 or connection.status == pq.ConnStatus.BAD

    def failed(self) -> bool:
        gone = self._connection.status == pq.ConnStatus.BAD
        return gone or self._cancelled or self._error is not None or self._wrong is not None

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        self._collected = True
        ok = None if not self._executions and self._wrong is None else self._wrong is None
        error = self._error
        if self._cut_short and self._answered != self._wanted:
            error = error or "cancelled"
        if self._wrong is not None:
            error = error or f"the answer was {self._wrong}, not {self._answer}: the work was not done"
        return SessionOutcome(tuple(self._executions), ok, error, blocked=tuple(self._blocked))

    def cancel(self) -> None:
        # The server heeds no request that comes between two executions: then nothing but this tells.
        self._cut_short = self._cut_short or self._syncs_due > 0
        self._cancelled = True
        try:
            cancel(self._connection, CANCEL_S)
        except psycopg.Error:
            self._fail("cancelled")  # the server is gone or busy leaving: nothing is left to cancel

    def close(self) -> None:
        """Also while a thread that was abandoned waits for an answer: it has to end before libpq frees anything.

        A thread that does not end keeps the connection: the process is about to exit.
        """
        if not self._used.acquire(blocking=False):
            hang_up(self._connection)
            if not self._used.acquire(timeout=HANG_UP_S):
                return
        try:
            self._connection.finish()
        finally:
            self._used.release()

    # --- the pipeline

    def _queue(self, count: int) -> None:
        connection = self._connection
        for _ in range(count):
            if self._blocking:
                connection.send_query_params(stamped(f"select pg_sleep({self._block_s})").encode(), None)
                self._block_s = None
            else:
                connection.send_query_prepared(STATEMENT, None)
            connection.send_flush_request()

    def _sync(self, count: int) -> None:
        """Send what is queued: so many executions."""
        self._connection.pipeline_sync()
        self._queued += count
        self._syncs_due += 1

    def _top_up(self) -> None:
        in_flight = self._queued - self._answered
        ahead = self._ahead()
        if in_flight > ahead // 2:
            return
        if self._wanted is not None:
            left = self._wanted - self._queued
        else:
            left = ahead if self._until_s is not None and time.monotonic() < self._until_s else 0
        if count := min(ahead - in_flight, left):
            self._queue(count)
            self._sync(count)

    def _ahead(self) -> int:
        if self._wanted is not None:
            return MAX_AHEAD
        if not self._executions:
            return 2
        return min(MAX_AHEAD, math.ceil(AHEAD_S / max(self._executions[-1].elapsed_s, 1e-4)) + 1)

    def _take_all(self, now: float) -> None:
        """Each answer is followed by None, each sync stands alone; None out of turn means nothing is there."""
        connection = self._connection
        while not connection.is_busy():
            result = connection.get_result()
            if result is None:
                if not self._in_answer:
                    return
                self._in_answer = False
            elif result.status == pq.ExecStatus.PIPELINE_SYNC:
                self._syncs_due -= 1
            else:
                self._in_answer = True
                self._take(result, now)

    def _take(self, result: pq.abc.PGresult, now: float) -> None:
        if result.status == pq.ExecStatus.TUPLES_OK:
            began, answer, ended = (text(result.get_value(0, column)) or "" for column in range(3))
            done = Execution(self._previous_s, now - self._previous_s, float(began), float(ended) - float(began))
            (self._blocked if self._blocking else self._executions).append(done)
            self._previous_s = now
            self._answered += 1
            if answer != self._answer and not self._blocking:
                self._wrong = answer
        elif result.status != pq.ExecStatus.PIPELINE_ABORTED:
            self._fail("cancelled" if self._cancelled else result.get_error_message())

    def _break(self, error: psycopg.Error) -> None:
        """What was to be sent was refused, for libpq found the connection broken: it knows why."""
        self._fail(self._connection.get_error_message() or str(error))

    def _fail(self, message: str) -> None:
        self._error = self._error or one_line(message)


def stamped(sql: str) -> str:
    """The measured text between two readings of the server's clock, in one statement.

    A scalar sub-select without outer reference is evaluated when its value is first needed, so the
    target list is worked off from left to right (PostgreSQL source, executor/nodeSubplan.c).
    """
    clock = "extract(epoch from clock_timestamp())"
    return f"select {clock}, ({sql})::text, {clock}"

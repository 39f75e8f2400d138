"""The process behind one SQLite session: executes requests from a socket, in lines of JSON.

    python worker.py DATABASE SOCKET CONTROL

SOCKET and CONTROL are inherited descriptors. On SOCKET come requests, each answered by one or more lines:
``prepare`` (setup, sql, warm_sql, timeout_s), ``warm``, ``start`` (executions or until_s), ``block`` (for_s). On
CONTROL one byte cancels, and the end of the stream, which is also the death of the driver, ends this process at once.
An execution that takes longer than timeout_s ends the process by SIGALRM.
Stands alone: it imports nothing of dbcpu, so that it starts in milliseconds without site-packages.
"""

import json
import os
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

REPORT_EVERY_S = 1.0
REPORT_EVERY = 1000
WARM_CPU_S = 0.03
"""A warm-up lasts three ticks of the coarsest CPU counter, so that its work is seen by any."""


class Worker:
    """One connection and the thread that may interrupt it."""

    def __init__(self, connection: sqlite3.Connection, commands: socket.socket, control: socket.socket) -> None:
        self._connection = connection
        self._commands = commands
        self._control = control
        self._cancelled = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._sql = self._warm_sql = ""
        self._timeout_s = 0.0

    def watch(self) -> None:
        """Runs in a thread of its own; sqlite3 lets go of the GIL while a statement runs."""
        while self._control.recv(1):
            self._cancelled.set()
            # An interrupt between two statements is lost: repeat until the loop has ended.
            while not self._idle.wait(0.05):
                self._connection.interrupt()
        os._exit(0)

    def serve(self) -> None:
        for line in self._commands.makefile("rb"):
            request = json.loads(line)
            try:
                for answer in getattr(self, f"do_{request.pop('do')}")(**request):
                    self.say(answer)
            except sqlite3.Error as error:
                self.say({"done": True, "error": str(error)})

    def say(self, answer: dict[str, Any]) -> None:
        self._commands.sendall(json.dumps(answer).encode() + b"\n")

    def do_prepare(self, setup: list[str], sql: str, warm_sql: str, timeout_s: float) -> Iterator[dict[str, Any]]:
        for statement in setup:
            self._connection.execute(statement).close()
        self._cancelled.clear()
        self._sql, self._warm_sql, self._timeout_s = sql, warm_sql, timeout_s
        self._connection.execute(f"explain {sql}").close()
        yield {"done": True}

    def do_warm(self) -> Iterator[dict[str, Any]]:
        enough_s = time.process_time() + WARM_CPU_S
        while True:
            self._connection.execute(self._warm_sql).fetchall()
            if time.process_time() >= enough_s:
                break
        yield {"done": True}

    def do_start(self, executions: int | None, until_s: float | None) -> Iterator[dict[str, Any]]:
        # Busy first, then look for a cancel that came before: the watcher does it the other way round,
        # so that one of the two sees the other. Only prepare takes a cancel back.
        self._idle.clear()
        try:
            yield from self._loop(executions, until_s)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._idle.set()

    def do_block(self, for_s: float) -> Iterator[dict[str, Any]]:
        """``blocked``: as ``ran``, without an answer; a cancel ends the wait."""
        server_start_s, begun_s = time.time(), time.monotonic()
        cancelled = self._cancelled.wait(for_s)
        blocked = [] if cancelled else [(server_start_s, begun_s, time.monotonic())]
        yield {"done": True, "blocked": blocked, **({"error": "cancelled"} if cancelled else {})}

    def _loop(self, executions: int | None, until_s: float | None) -> Iterator[dict[str, Any]]:
        """``ran``: [server start (epoch s), begun (monotonic s), ended (monotonic s), answer as text] each."""
        ran: list[tuple[float, float, float, str]] = []
        reported_s = time.monotonic()
        done = 0
        while not self._cancelled.is_set():
            signal.setitimer(signal.ITIMER_REAL, self._timeout_s)
            server_start_s, begun_s = time.time(), time.monotonic()
            try:
                rows = self._connection.execute(self._sql).fetchall()
            except sqlite3.OperationalError as error:
                if self._cancelled.is_set():
                    break
                yield {"done": True, "ran": ran, "error": str(error)}
                return
            ended_s = time.monotonic()
            ran.append((server_start_s, begun_s, ended_s, str(rows[0][0]) if len(rows) == 1 else f"{len(rows)} rows"))
            done += 1
            if (executions is not None and done >= executions) or (until_s is not None and ended_s >= until_s):
                yield {"done": True, "ran": ran}
                return
            if len(ran) >= REPORT_EVERY or ended_s - reported_s >= REPORT_EVERY_S:
                yield {"ran": ran}
                ran, reported_s = [], ended_s
        yield {"done": True, "ran": ran, "error": "cancelled"}


def started_at_s() -> float | None:
    """Start of this process, seconds since the epoch; None off Linux. Field 22 of proc(5) stat, since boot."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123 - quick to start
            ticks = int(stat.read().rpartition(")")[2].split()[19])
    except OSError:
        return None
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def main(database: str, commands_fd: str, control_fd: str) -> None:
    commands, control = socket.socket(fileno=int(commands_fd)), socket.socket(fileno=int(control_fd))
    try:
        # The thread that interrupts is another than the one that executes.
        connection = sqlite3.connect(database, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute("select count(*) from sqlite_master").fetchall()
    except sqlite3.Error as error:
        commands.sendall(json.dumps({"done": True, "error": str(error)}).encode() + b"\n")
        return
    worker = Worker(connection, commands, control)
    threading.Thread(target=worker.watch, daemon=True).start()
    worker.say({"done": True, "started_at_s": started_at_s()})
    worker.serve()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)

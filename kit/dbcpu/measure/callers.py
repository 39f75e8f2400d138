"""The pool's side of its callers: accepts their connections, takes their calls, and sends the answers.

The callers are a process of their own (``_callers.py``); both sides stamp with CLOCK_MONOTONIC, which they share.
"""

import contextlib
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Self

from dbcpu.errors import MeasureError
from dbcpu.measure._callers import NUMBER
from dbcpu.measure.own_program import read, send
from dbcpu.record.rounds import Call, Session

ARRIVE_S = 30.0
"""All connections are there, and all calls, within this time."""


class Callers:
    """One process for a whole run; ``connect``, ``call``, ``collect`` once per round. A context manager.

    ``one_at_a_time``: over each connection the next call comes only when the last one is answered.
    """

    def __init__(self, connections: int, *, one_at_a_time: bool = False) -> None:
        self._connections = connections
        self._one_at_a_time = one_at_a_time
        self._process: subprocess.Popen[str] | None = None
        self._sockets: list[socket.socket] = []
        self._selector: selectors.DefaultSelector | None = None
        self._opened: list[tuple[int, float]] = []
        self._arrived: list[tuple[int, int, float]] = []
        self._answered: list[int] = []

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def __enter__(self) -> Self:
        script = str(files("dbcpu.measure") / "_callers.py")
        self._process = subprocess.Popen(  # noqa: S603 - this Python and a file of this package
            [sys.executable, "-I", "-S", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self._hang_up()
        if self._process is not None:
            self._process.communicate()  # it ends when its standard input closes
            self._process = None

    def connect(self) -> None:
        """Open the round's connections, one after the other. Raises MeasureError."""
        self._hang_up()
        try:
            door = socket.create_server(("127.0.0.1", 0), backlog=self._connections)
        except OSError as error:
            raise _failed(f"no port of this machine could be opened: {error.strerror}") from None
        with door:
            door.settimeout(ARRIVE_S)
            send(self._process, f"connect {door.getsockname()[1]} {self._connections}", _gone)
            self._opened = [(port, took_s) for port, took_s in read(self._process, _gone)]
            ports = {port: at for at, (port, _) in enumerate(self._opened)}
            found: dict[int, socket.socket] = {}
            while len(found) < len(ports):
                try:
                    one, (_, port) = door.accept()
                except OSError as error:
                    raise _failed(f"{len(found)} of {len(ports)} connections were accepted: {error}") from None
                if port not in ports:  # whoever that is, it is none of the callers
                    one.close()
                    continue
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                one.setblocking(False)
                found[ports[port]] = one
            self._sockets = [found[at] for at in range(len(found))]
        self._selector = selectors.DefaultSelector()
        for at, one in enumerate(self._sockets):
            self._selector.register(one, selectors.EVENT_READ, (at, bytearray()))

    def call(self, calls: int) -> None:
        """Have so many calls sent; returns when those have arrived that wait for no answer. Raises MeasureError."""
        self._arrived, self._answered = [], []
        first = min(calls, self._connections) if self._one_at_a_time else calls
        send(self._process, f"call {calls} {first}", _gone)
        deadline_s = time.monotonic() + ARRIVE_S
        while len(self._arrived) < first:
            if not self._receive(max(0.0, deadline_s - time.monotonic())):
                raise _failed(f"{len(self._arrived)} of {first} calls arrived within {ARRIVE_S:g} s")

    def come(self) -> int:
        """How many calls have arrived so far."""
        return len(self._arrived)

    def fileno(self) -> int:
        """Readable when a call arrives, or the callers have gone. Source: epoll(7), kqueue(2): one inside of another"""
        return self._open_selector().fileno()

    def take(self) -> int:
        """Receive the calls that are there; how many. Raises MeasureError when the callers have gone."""
        before = len(self._arrived)
        self._receive(0.0)
        return len(self._arrived) - before

    def _receive(self, wait_s: float) -> bool:
        """False: nothing came within this time."""
        ready = self._open_selector().select(wait_s)
        for key, _ in ready:
            part = _received(key.fileobj)
            if not part:
                raise _gone()
            at, held = key.data
            now_s = time.monotonic()
            held.extend(part)
            whole = len(held) // NUMBER.size * NUMBER.size
            self._arrived += [(at, number, now_s) for (number,) in NUMBER.iter_unpack(held[:whole])]
            del held[:whole]
        return bool(ready)

    def answer(self, index: int) -> None:
        """The session is through with the ``index``-th call that arrived. Any thread: four bytes leave as a whole."""
        at, number, _ = self._arrived[index]
        with contextlib.suppress(OSError):
            self._sockets[at].send(NUMBER.pack(number))
            self._answered.append(index)

    def collect(self, taken: Sequence[int], sessions: Sequence[Session], released_s: float) -> tuple[Call, ...]:
        """The round's calls in the order in which they arrived. Raises MeasureError.

        ``taken``: the ordinal of the session that took each, in that order; ``released_s``: on CLOCK_MONOTONIC.
        """
        send(self._process, f"end {len(self._answered)}", _gone)
        times = read(self._process, _gone)
        self._hang_up()
        did = {each.ordinal: _jobs(each) for each in sessions}
        made = []
        for index, (at, number, arrived_s) in enumerate(self._arrived):
            sent_ns, answered_ns = times[number]
            ordinal = taken[index] if index < len(taken) else None
            began_s, ended_s = next(did[ordinal], (None, None)) if ordinal is not None else (None, None)
            call = Call(
                connection=at,
                connect_s=self._opened[at][1],
                sent_s=sent_ns / 1e9 - released_s,
                arrived_s=arrived_s - released_s,
                session=ordinal,
                began_s=began_s,
                ended_s=ended_s,
                answered_s=answered_ns / 1e9 - released_s if answered_ns is not None and ended_s is not None else None,
            )
            made.append(call)
        return tuple(made)

    def _hang_up(self) -> None:
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        for one in self._sockets:
            one.close()
        self._sockets = []

    def _open_selector(self) -> selectors.DefaultSelector:
        assert self._selector is not None
        return self._selector


def _received(connection: Any) -> bytes:
    """b'' where the other side has gone, however it went."""
    try:
        return bytes(connection.recv(65536))
    except OSError:
        return b""


def _jobs(session: Session) -> Iterator[tuple[float, float]]:
    """Begin and end of each of its jobs, also of those that only wait, in the order in which it did them."""
    every = sorted([*session.executions, *session.blocked], key=lambda each: each.start_s)
    return ((each.start_s, each.start_s + each.elapsed_s) for each in every)


def _gone() -> MeasureError:
    return _failed("their process ended unexpectedly")


def _failed(why: str) -> MeasureError:
    return MeasureError(f"the callers of the pool did not get through: {why}; run again, with fewer --connections")

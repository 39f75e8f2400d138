"""The callers of a pool: one process that calls it over TCP connections on this machine, and times each call.

Run as a script with the standard library only: ``_callers.py``. To each command, a line on stdin, it answers with one
line of JSON:

    connect PORT N  open N connections to 127.0.0.1:PORT: [[own port, seconds it took] of each]
    call M FIRST    send M calls: FIRST of them at once, over the connections in turn, and each of the others over the
                    one over which an answer has come: no answer yet
    end A           A calls are answered: [[sent, answered or null] of each call], CLOCK_MONOTONIC in ns

A call is its number in four bytes, and its answer is the same. It ends when stdin closes, so it never outlives the
driver.
"""

import json
import os
import selectors
import socket
import struct
import sys
import time

NUMBER = struct.Struct("!I")
LATE_S = 2.0
"""An answer that was sent has come within this time, also where the host is busy."""


class CallerLines:
    """All of one round: their connections, and when each call was sent and answered."""

    def __init__(self, port: int, connections: int) -> None:
        self.sockets: list[socket.socket] = []
        self.opened: list[tuple[int, float]] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ)
        self.sent: list[int] = []
        self.answered: list[int | None] = []
        self.calls = self.left = 0
        for _ in range(connections):
            began_s = time.monotonic()
            one = socket.create_connection(("127.0.0.1", port), 10.0)
            self.opened.append((one.getsockname()[1], time.monotonic() - began_s))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(one)
            self.selector.register(one, selectors.EVENT_READ, bytearray())

    def call(self, calls: int, first: int) -> None:
        self.calls = calls
        for number in range(first):
            self.send(self.sockets[number % len(self.sockets)])

    def send(self, connection: socket.socket) -> None:
        number = len(self.sent)
        self.answered.append(None)
        self.sent.append(time.monotonic_ns())
        connection.sendall(NUMBER.pack(number))

    def receive(self, until_s: float | None = None) -> None:
        """Until stdin has a command; with ``until_s`` until then, or until all have their answer."""
        while until_s is None or (self.left > 0 and time.monotonic() < until_s):
            ready = self.selector.select(None if until_s is None else max(0.0, until_s - time.monotonic()))
            if any(key.fd == 0 for key, _ in ready) and until_s is None:
                return
            for key, _ in ready:
                if key.fd != 0:
                    self.take(key)

    def take(self, key: selectors.SelectorKey) -> None:
        connection: socket.socket = key.fileobj  # type: ignore[assignment]
        part = connection.recv(65536)
        now = time.monotonic_ns()
        if not part:
            self.selector.unregister(connection)
            return
        key.data.extend(part)
        whole = len(key.data) // NUMBER.size * NUMBER.size
        for (number,) in NUMBER.iter_unpack(key.data[:whole]):
            self.answered[number] = now
            self.left -= 1
            if len(self.sent) < self.calls:
                self.send(connection)
        del key.data[:whole]

    def close(self) -> None:
        for one in self.sockets:
            one.close()
        self.selector.close()


def say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    lines: CallerLines | None = None
    while True:
        if lines is not None:
            lines.receive()
        # One command at a time: the driver sends the next one only when it has to be obeyed.
        words = os.read(0, 4096).decode().split()
        if not words:
            return
        if words[0] == "connect":
            if lines is not None:
                lines.close()
            lines = CallerLines(int(words[1]), int(words[2]))
            say(lines.opened)
        elif lines is not None and words[0] == "call":
            lines.call(int(words[1]), int(words[2]))
        elif lines is not None and words[0] == "end":
            lines.calls = 0  # calls that were not sent yet never will be
            lines.left = int(words[1]) - sum(at is not None for at in lines.answered)
            lines.selector.unregister(0)
            lines.receive(time.monotonic() + LATE_S)
            say(list(zip(lines.sent, lines.answered, strict=True)))
            lines.close()
            lines = None


if __name__ == "__main__":
    main()

"""What a server says to the first statement of a session decides whether it is one that is measured."""

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from dbcpu.errors import ConnectError
from dbcpu.targets.postgresql.connection import dial

PID = 4711
READY = b"Z\x00\x00\x00\x05I"


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _answer(rows: Sequence[Sequence[str | None]]) -> bytes:
    """Of the extended query protocol. Source: PostgreSQL documentation, "Message Formats"."""
    columns = len(rows[0]) if rows else 2
    described = struct.pack("!h", columns) + columns * (b"c\x00" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0))
    fields = [
        [b"\xff\xff\xff\xff" if v is None else struct.pack("!i", len(v)) + v.encode() for v in row] for row in rows
    ]
    data = b"".join(_message(b"D", struct.pack("!h", len(row)) + b"".join(row)) for row in fields)
    return _message(b"1") + _message(b"2") + _message(b"T", described) + data + _message(b"C", b"SELECT\x00") + READY


@contextmanager
def server(rows: Sequence[Sequence[str | None]]) -> Iterator[str]:
    """Accepts one session, gives PID as its key to cancel, and answers the first statement with these rows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                key = _message(b"K", struct.pack("!ii", PID, 1))
                connection.sendall(_message(b"R", struct.pack("!i", 0)) + key + READY)
                connection.recv(1 << 16)
                connection.sendall(_answer(rows))
                connection.recv(1 << 16)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"host=127.0.0.1 port={listener.getsockname()[1]} user=me dbname=x sslmode=disable gssencmode=disable"
        finally:
            thread.join()


def test_the_server_process_is_that_of_the_connection() -> None:
    with server([[str(PID), "pg_catalog, pg_temp"]]) as conninfo:
        connection = dial(conninfo, 30.0)
        assert connection.backend_pid == PID
        connection.finish()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [["10902", None]],
            "is a connection pooler or proxy (PgBouncer and the like), and the server process behind it",
        ),
        ([[]], "no row of two columns"),
        ([], "no row of two columns"),
        ([[str(PID)]], "no row of two columns"),
    ],
)
def test_another_answer_is_refused_in_a_sentence(rows: Sequence[Sequence[str | None]], said: str) -> None:
    with server(rows) as conninfo, pytest.raises(ConnectError) as caught:
        dial(conninfo, 30.0)
    assert said in str(caught.value)

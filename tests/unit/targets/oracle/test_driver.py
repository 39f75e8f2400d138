"""What python-oracledb leaves behind when a connection fails."""

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.errors import ConnectError, ServerError
from dbcpu.targets.oracle.address import Address
from dbcpu.targets.oracle.driver import Dialer, query

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing resets the connection. Source: socket(7)"""
CONNECTS = 5


@pytest.fixture
def resetting() -> Iterator[int]:
    """The port of a listener that takes what the driver says first, and resets the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(CONNECTS):
                connection, _ = server.accept()
                with connection:
                    connection.recv(65_536)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

        listener = threading.Thread(target=serve, daemon=True)
        listener.start()
        yield server.getsockname()[1]
        listener.join()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_connections_that_are_reset_leave_no_socket_open(resetting: int) -> None:
    dialer = Dialer(Address("u", None, {"host": "127.0.0.1", "port": resetting, "service_name": "x"}), "p", "test")
    before = open_files()
    for _ in range(CONNECTS):
        with pytest.raises(ConnectError):
            dialer.connect(20.0)
    assert open_files() <= before


def test_no_warning_of_the_driver_reaches_the_user(resetting: int) -> None:
    program = (
        "from dbcpu.errors import ConnectError\n"
        "from dbcpu.targets.oracle.address import Address\n"
        "from dbcpu.targets.oracle.driver import Dialer\n"
        f"where = dict(host='127.0.0.1', port={resetting}, service_name='x')\n"
        "dialer = Dialer(Address('u', None, where), 'p', 'test')\n"
        f"for _ in range({CONNECTS}):\n"
        "    try: dialer.connect(20.0)\n"
        "    except ConnectError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", program],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["refused"] * CONNECTS
    assert "ResourceWarning" not in done.stderr


class Answering:
    """A connection whose cursor fails as the driver does when it cannot read an answer, or has lost its transport."""

    def __init__(self, error: Exception) -> None:
        self._error, self.in_use = error, threading.Lock()

    def cursor(self) -> "Answering":
        raise self._error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "cannot read the server's answer"),
        (AttributeError("'NoneType' object has no attribute 'send'"), "the connection to the server was lost"),
        (OSError(9, "Bad file descriptor"), "the connection to the server was lost"),
    ],
)
def test_what_the_driver_lets_through_is_a_sentence(error: Exception, sentence: str) -> None:
    with pytest.raises(ServerError, match=sentence) as caught:
        query(Answering(error), "select 1 from dual")  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)

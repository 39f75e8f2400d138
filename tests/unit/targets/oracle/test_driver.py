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

from dbcpu.errors import ConnectError, ServerError, UsageError
from dbcpu.targets.oracle import driver
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


@pytest.mark.parametrize(
    "address",
    [
        Address("u", None, {"host": "127.0.0.1", "port": 99999, "service_name": "x"}),
        Address("u", "127.0.0.1:70000/x"),
        Address("u", "(description=(address_list=(address=(protocol=tcp)(host=h)(port=1521))"
                "(address=(protocol=tcp)(host=i)(port=65536)))(connect_data=(service_name=x)))"),
    ],
)  # fmt: skip
def test_a_port_that_is_none_is_refused_and_not_taken_modulo(address: Address) -> None:
    with pytest.raises(UsageError, match=r"has port (99999|70000|65536), and a port is 1 to 65535"):
        Dialer(address, "p", "test")


def test_what_answers_without_being_a_listener_is_named_as_the_reason() -> None:
    """It closes the connection after its own greeting, as an HTTP server does after a request that it does not know."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        listener = threading.Thread(target=serve, daemon=True)
        listener.start()
        where = {"host": "127.0.0.1", "port": server.getsockname()[1], "service_name": "x"}
        with pytest.raises(ConnectError, match="what answers there may be no listener of Oracle: check host and port"):
            Dialer(Address("u", None, where), "p", "test").connect(20.0)
        listener.join()


@pytest.mark.parametrize(
    ("options", "advice", "never"),
    [({"protocol": "tcps"}, "leave out protocol=tcps", "only by"), ({}, "with TLS only by protocol=tcps", "leave out")],
)
def test_who_asked_for_tls_is_not_told_to_ask_for_it(
    options: dict[str, str], advice: str, never: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port without TLS waits for the rest of what is no packet of its own, until the time is over."""
    monkeypatch.setattr(driver, "_within", lambda *_: None)
    address = Address("bench", options={"host": "db1", "port": 1521, "service_name": "orcl", **options})
    with pytest.raises(ConnectError, match="did not open a session") as caught:
        Dialer(address, None, "dbcpu").connect(0.1)
    assert advice in str(caught.value)
    assert never not in str(caught.value)

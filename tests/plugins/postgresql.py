"""Real PostgreSQL servers for tests.

``postgres_url`` is one server per test session (a superuser with a password, TCP on 127.0.0.1), version 18
from the wheel that the embedded target uses too; ``postgres_database`` is a fresh, empty database on it for
one test; ``debian_server`` is one of the system's packages, which tests may crash.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers.postgresql import (
    USER,
    DebianServer,
    connect,
    free_port,
    initialise,
    installed_binaries,
    packaged_binaries,
    start,
    stop,
    unprivileged,
    wait_until_ready,
)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """``postgresql+psycopg://tester:...@127.0.0.1:PORT/postgres``; the server ends with the test session."""
    # Short, since a socket path holds 107 bytes at most; not pytest's folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        identity = unprivileged(folder)
        binaries = packaged_binaries(folder, copy=bool(identity))
        password = secrets.token_hex(12)
        initialise(binaries, folder, password, identity)
        port = free_port()
        server = start(binaries, folder, port, identity)
        try:
            url = f"postgresql+psycopg://{USER}:{password}@127.0.0.1:{port}/postgres"
            wait_until_ready(server, url, folder / "log")
            yield url
        finally:
            stop(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database of its own on that server."""
    name = f"test_{secrets.token_hex(6)}"
    with connect(postgres_url) as connection:
        connection.execute(f"create database {name}")
    yield f"{postgres_url.rpartition('/')[0]}/{name}"
    with connect(postgres_url) as connection:
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture(scope="session")
def debian_server() -> Iterator[DebianServer]:
    """One per test session. Whoever crashes it starts it again."""
    binaries = installed_binaries()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        server = DebianServer(binaries, folder, "s3cret-of-the-tests")
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)

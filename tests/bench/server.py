"""A PostgreSQL server on TCP, 127.0.0.1 only, with a password: Debian's newest, else that of the wheel."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

import psycopg

from dbcpu.config.request import Request
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.postgresql.binaries import binaries_for, server_account

USER = "bench"
_START_S = 60.0


class TcpServer:
    """A context manager. ``environment`` is what psql and pgbench need to reach it; ``programs`` their folder."""

    def __init__(self, guard: Guard, max_connections: int) -> None:
        self._guard = guard
        self._max_connections = max_connections
        self._account = server_account()
        self._password = secrets.token_hex(12)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.programs = _newest_programs() or binaries_for(self._account)

    @property
    def request(self) -> Request:
        url = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        return Request("bench", "postgresql", url=url, password=self._password)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.programs}{os.pathsep}{os.defpath}",
            "LC_ALL": "C",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": USER,
            "PGDATABASE": "postgres",
            "PGPASSWORD": self._password,
        }

    def query(self, sql: str) -> list[tuple[object, ...]]:
        """Run one statement by itself; its rows, or none."""
        with self.connect() as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="dbcpu-bench-"))
        self._guard.remove_later(self._folder)
        if self._account:
            os.chown(self._folder, self._account.uid, self._account.gid)
        try:
            self._initialise()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
            self._guard.forget(self._process.pid)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._guard.forget(self._folder)

    def _initialise(self) -> None:
        password_file = self._folder / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        if self._account:
            os.chown(password_file, self._account.uid, self._account.gid)
        self._launch(
            "initdb", "-D", str(self._folder / "data"), "-U", USER, f"--pwfile={password_file}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
        ).wait()  # fmt: skip
        password_file.unlink()

    def _start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": str(self._max_connections),
            "fsync": "off",
            "autovacuum": "off",
            "jit": "off",
        }
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = self._launch("postgres", "-D", str(self._folder / "data"), *arguments)
        self._guard.end_later(self._process.pid, signal.SIGQUIT)
        deadline_s = time.monotonic() + _START_S
        while time.monotonic() < deadline_s and self._process.poll() is None:
            with suppress(psycopg.OperationalError), self.connect():
                return
            time.sleep(0.05)
        raise SystemExit(f"PostgreSQL did not start: {(self._folder / 'log').read_text(errors='replace')[-500:]}")

    def _launch(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        account = self._account
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self.programs / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of its own, without transactions."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=self._password,
            dbname="postgres",
            autocommit=True,
            connect_timeout=5,
        )


def _newest_programs() -> Path | None:
    """Debian's folder of the highest version that has a server, psql and pgbench."""
    found = [
        folder
        for folder in Path("/usr/lib/postgresql").glob("*/bin")
        if all((folder / name).exists() for name in ("postgres", "initdb", "psql", "pgbench"))
    ]
    return max(found, key=lambda folder: float(folder.parent.name), default=None)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

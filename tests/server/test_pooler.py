"""The real PgBouncer between dbcpu and the server: nothing is measured there, and nothing stays for others."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from support.driving import Drive, until
from support.servers.postgresql import USER, DebianServer, free_port, unprivileged

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

MODES = ("transaction", "session")
END_LIMIT_S = 30.0


@pytest.fixture(scope="module")
def pooler(debian_server: DebianServer) -> Iterator[int]:
    """Its port; a database of it is called like its mode."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("the package pgbouncer is not installed")
    folder, port = Path(tempfile.mkdtemp(prefix="pooler-")), free_port()
    server = f"host=127.0.0.1 port={debian_server.port} dbname=postgres"
    databases = "\n".join(f"{mode} = {server} pool_mode={mode}" for mode in MODES)
    (folder / "users").write_text(f'"{USER}" "{debian_server.password}"\n')
    (folder / "ini").write_text(
        f"[databases]\n{databases}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = users\n"
    )
    identity = unprivileged(folder)
    process = subprocess.Popen(
        [program, "ini"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, **identity,
    )  # fmt: skip
    try:
        until(lambda: _listens(port) or process.poll() is not None, "PgBouncer listens")
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=END_LIMIT_S)
        shutil.rmtree(folder)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _url(server: DebianServer, port: int, mode: str) -> str:
    return f"postgresql://{USER}:{server.password}@127.0.0.1:{port}/{mode}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", [("run", "--sessions", "1-2", "--size", "tiny", "--yes"), ("doctor",)])
def test_a_pooler_is_refused_and_nothing_stays_in_its_sessions(
    drive: Drive, debian_server: DebianServer, pooler: int, mode: str, command: tuple[str, ...]
) -> None:
    # PgBouncer itself passes the name of each client on, and leaves it where the next one has none.
    asked = "select name, setting from pg_settings where source = 'session' and name <> 'application_name' order by 1"
    url = _url(debian_server, pooler, mode)
    with closing(psycopg.connect(url, autocommit=True)) as other:
        before = other.execute(asked).fetchall()
    code, _, err = drive(command[0], url, *command[1:]).finish()
    assert code == 3
    assert f"127.0.0.1:{pooler} is a connection pooler or proxy (PgBouncer and the like)" in err
    assert "give the address of the server" in err
    assert debian_server.password not in err
    with closing(psycopg.connect(url, autocommit=True)) as other:
        assert other.execute(asked).fetchall() == before
        assert other.execute("select count(*) from pg_prepared_statements where name = 'dbcpu'").fetchone() == (0,)
    assert debian_server.ask("select count(*) from pg_locks where locktype = 'advisory'") == [(0,)]

"""Runs that are driven from another host over a real ssh, by its dbcpu or by the shell kit, and are kept here."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from dbcpu.config.origins import NOTES
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import open_store
from support.driving import Drive, Driver, children, command_line, until
from support.servers.far_host import FarHost
from support.servers.postgresql import connect
from support.servers.ssh import Sshd

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SECRET = "THERE_PASSWORD"
QUICK = ("--sessions", "1", "--size", "tiny", "--repeats", "1", "--executions", "2")
LONG = ("--sessions", "1", "--repeats", "100", "--size", "tiny", "--executions", "20")
"""Many rounds: something can happen after the first one."""
LOCK = 0x64626370
ORIGINS = ("there", "shell-kit")


class Far:
    """The target ``far`` of a dbcpu.toml, and the host that it is measured from."""

    def __init__(self, drive: Drive, host: FarHost, config: Path, url: str) -> None:
        self.drive, self.host, self.config, self.url = drive, host, config, url
        self.keys = {"url": url, "host": f"ssh:{host.name}", "program": str(host.program), "from": "there"}
        self.has(password_env=SECRET)

    def has(self, **keys: str) -> None:
        """Other keys; '' takes one away."""
        self.keys |= {key.replace("origin", "from"): value for key, value in keys.items()}
        lines = (f'{key} = "{value}"\n' for key, value in self.keys.items() if value)
        self.config.write_text(f"[targets.far]\n{''.join(lines)}")

    def __call__(self, *arguments: str) -> Driver:
        return self.drive(*arguments, limit_bytes=None, DBCPU_CONFIG=str(self.config))

    def run(self, *options: str) -> Driver:
        return self("run", "far", *options, "--yes")

    def record(self) -> RunRecord:
        return self.drive.last()

    def rounds(self) -> int:
        if not self.drive.store.exists():
            return 0
        with open_store(str(self.drive.store)) as store:
            return sum(run.rounds for run in store.list())

    def is_clean(self) -> None:
        until(self.host.is_clean, "nothing is left there")


@pytest.fixture
def far(drive: Drive, sshd: Sshd, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    monkeypatch.delenv(SECRET, raising=False)
    url = make_url(postgres_url)
    host = FarHost(sshd, f"far-{tmp_path.name}", tmp_path / "there", {SECRET: url.password or ""})
    return Far(
        drive, host, tmp_path / "dbcpu.toml", f"postgresql://{url.username}@{url.host}:{url.port}/{url.database}"
    )


def test_the_dbcpu_there_drives_and_the_run_is_kept_here(far: Far) -> None:
    code, out, err = far.run(*QUICK, "--sessions", "1,2", "--label", "it's far").finish()
    assert code == 0, err
    record = far.record()
    header = record.header
    assert (header.status, header.label, header.plan.target) == ("complete", "it's far", "far")
    assert [note for note in header.notes if note.startswith(NOTES["there"])]
    assert header.host is not None
    assert sorted({each.level for each in record.rounds}) == [1, 2]
    assert all(session.server.verified for each in record.rounds for session in each.sessions)
    assert header.run_id in out
    far.is_clean()
    assert not list(far.host.folder.glob(".local/share/dbcpu/*")), "the dbcpu there keeps nothing"


def test_the_shell_kit_drives_and_the_run_is_kept_here(far: Far) -> None:
    far.has(origin="shell-kit")
    code, _, err = far.run(*QUICK, "--sessions", "1,2", "--hz", "5").finish()
    assert code == 0, err
    header = (record := far.record()).header
    assert (header.status, header.plan.target, header.plan.levels) == ("complete", "far", (1, 2))
    assert header.host is not None
    assert header.host.cpu_model != "CPU not recorded"
    assert [note for note in header.notes if note.startswith(NOTES["shell-kit"]) and "psql-fanout" in note]
    assert [note for note in header.notes if "do not have --hz" in note]
    assert [len(session.executions) for each in record.rounds for session in each.sessions] == [2, 2, 2]
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    far.is_clean()


def test_a_password_file_is_looked_up_there(far: Far, postgres_url: str) -> None:
    far.has(password_env="", password_file="~/secret", origin="shell-kit")
    assert "no password file" in far.run(*QUICK).finish()[2]
    secret = far.host.folder / "secret"
    secret.write_text(f"{make_url(postgres_url).password}\n")
    secret.chmod(0o600)
    code, _, err = far.run(*QUICK).finish()
    assert code == 0, err


REFUSALS: Mapping[str, tuple[Callable[[Far], None], str]] = {
    "no such program": (lambda far: far.has(program="/nowhere/dbcpu"), "there is no dbcpu on"),
    "another version": (lambda far: far.host.has_program("echo dbcpu 0.0.1"), "is needed there"),
    "no password": (lambda far: far.has(password_env="NOBODY_SET_THIS"), "the environment has no NOBODY_SET_THIS"),
    "no way": (lambda far: far.has(host="ssh:nobody-knows-this-host"), "its name is not known"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_refused_there_is_said_here_and_nothing_is_kept(far: Far, postgres_url: str, what: str) -> None:
    change, said = REFUSALS[what]
    change(far)
    code, _, err = far.run(*QUICK).finish()
    assert (code in (2, 3), said in err, far.rounds()) == (True, True, 0), err
    assert str(make_url(postgres_url).password) not in err
    far.is_clean()


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_lock_at_the_target_holds_from_everywhere(far: Far, postgres_url: str, origin: str) -> None:
    with connect(postgres_url) as other:
        other.execute(f"select pg_advisory_lock({LOCK}, 0)")
        code, _, err = far.run(*QUICK, "--from", origin).finish()
        other.execute(f"select pg_advisory_unlock({LOCK}, 0)")
    assert (code, "is taken by" in err, "and two runs at once" in err) == (3, True, True), err
    far.is_clean()


def test_the_shell_kit_holds_the_lock_while_it_measures(far: Far, postgres_url: str) -> None:
    running = far.run("--from", "shell-kit", *LONG)
    running.until(far.rounds, "a round is kept")
    with connect(postgres_url) as other:
        found = other.execute(f"select pg_try_advisory_lock({LOCK}, 0)").fetchone()
    running.send(signal.SIGINT).finish()
    assert found == (False,)
    with connect(postgres_url) as other:
        until(lambda: other.execute(f"select pg_try_advisory_lock({LOCK}, 0)").fetchone() == (True,), "it is let go")
        other.execute(f"select pg_advisory_unlock({LOCK}, 0)")


@pytest.mark.parametrize(
    ("origin", "number", "expected"),
    [("there", signal.SIGINT, 130), ("there", signal.SIGKILL, -9), ("shell-kit", signal.SIGKILL, -9)],
)
def test_the_run_there_ends_with_the_one_here_and_finished_rounds_are_kept(
    far: Far, origin: str, number: signal.Signals, expected: int
) -> None:
    running = far.run("--from", origin, *LONG)
    running.until(far.rounds, "a round is kept")
    code, _, err = running.send(number).finish()
    assert code == expected, err
    record = far.record()
    assert (record.header.status, bool(record.rounds)) == ("interrupted", True)
    far.is_clean()


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_connection_that_is_lost_leaves_a_failed_run_with_its_rounds(far: Far, origin: str) -> None:
    running = far.run("--from", origin, *LONG)
    running.until(far.rounds, "a round is kept")
    (ssh,) = [pid for pid in children(running.process.pid) if "ssh" in command_line(pid).partition(" ")[0]]
    os.kill(ssh, signal.SIGKILL)
    code, _, err = running.finish()
    assert (code, " stored, see: dbcpu show " in err) == (3, True), err
    assert far.record().header.status == "failed"
    far.is_clean()


def test_a_dbcpu_there_that_is_killed_is_named(far: Far) -> None:
    running = far.run(*LONG)
    running.until(far.rounds, "a round is kept")
    (driver,) = [pid for pid in far.host.processes() if "-m dbcpu run" in command_line(pid)]
    os.kill(driver, signal.SIGKILL)
    code, _, err = running.finish()
    assert (code, "ended by signal 9" in err) == (3, True), err
    assert far.record().header.status == "failed"


def test_doctor_looks_from_where_it_is_measured(far: Far) -> None:
    code, out, err = far("doctor", "far", "--json").finish()
    assert (code, out.startswith("[")) == (0, True), err
    far.has(origin="shell-kit")
    code, out, err = far("doctor", "far").finish()
    assert (code, "psql-fanout can measure far on" in out) == (0, True), err
    far.has(url=f"postgresql://nobody@{far.url.partition('@')[2]}")
    code, _, err = far("doctor", "far").finish()
    assert (code, '"nobody"' in err) == (3, True), err


def test_other_commands_refuse_a_target_that_is_measured_from_elsewhere(far: Far) -> None:
    code, _, err = far("soak", "far", "--for", "1s", "--yes").finish()
    assert (code, "is measured from elsewhere" in err) == (2, True)

"""The embedded server's folders and failures, without a server; tests/server starts real ones."""

import fcntl
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dbcpu.errors import MeasureError, UnknownName
from dbcpu.hosts import private_servers
from dbcpu.hosts.cleanup_guard import Guard, start_ticks
from dbcpu.hosts.private_servers import remove_leftovers
from dbcpu.targets.postgresql import embedded_server
from dbcpu.targets.postgresql.binaries import Account
from dbcpu.targets.postgresql.embedded_server import EmbeddedServer
from dbcpu.workflows.restore import put_back

NOBODY = Account("nobody", 65534, 65534)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, which everybody can enter, and the only one that is looked at."""
    folder = Path(tempfile.mkdtemp(prefix="dbcpu test "))
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for module in (embedded_server, private_servers):
        monkeypatch.setattr(module, "places", lambda: (folder,))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def leftover(place: Path) -> Callable[[str], Path]:
    """What a crashed driver leaves: its lock is nobody's now."""

    def make(server_json: str = "{}") -> Path:
        folder = place / f"dbcpu-{os.getuid()}-left"
        (folder / "data").mkdir(parents=True)
        (folder / "lock").touch()
        (folder / "server.json").write_text(server_json)
        return folder

    return make


# --- where it lies


def test_usual_temporary_folder_is_taken_with_its_spaces(place: Path) -> None:
    assert " " in str(place)
    assert embedded_server._place(NOBODY) == place


@pytest.mark.parametrize("name", ["x" * 90, "it's", 'a"b', "a,b", "a\\b"])
def test_folder_whose_name_a_socket_cannot_have_is_avoided(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", f"/var/tmp/{name}")
    assert embedded_server._place(None) == Path("/tmp")


def test_folder_that_the_account_cannot_enter_is_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(embedded_server, "places", lambda: (tmp_path, Path("/tmp")))
    assert embedded_server._place(NOBODY) == Path("/tmp")


def test_leftovers_are_looked_for_wherever_servers_may_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert private_servers.places() == (Path("/var/tmp"), Path("/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    assert private_servers.places() == (Path("/tmp"),)


# --- leftovers


def test_what_a_crashed_driver_left_is_removed(leftover: Callable[[str], Path]) -> None:
    folder = leftover("{}")
    assert remove_leftovers() == (folder.name,)
    assert not folder.exists()
    assert remove_leftovers() == ()


def test_restore_ends_the_server_that_a_crashed_driver_left(
    leftover: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path))
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as server:
        folder = leftover(json.dumps({"pid": server.pid, "start_ticks": start_ticks(server.pid)}))
        assert put_back(None, dry_run=True).lines == (
            f"would be ended and removed: the embedded PostgreSQL of a run that was killed, {folder.name}",
        )
        assert (server.poll(), folder.is_dir()) == (None, True)
        assert put_back(None, dry_run=False).lines == (
            f"ended and removed: the embedded PostgreSQL of a run that was killed, {folder.name}",
        )
        assert server.wait(60) != 0
    assert not folder.exists()
    assert put_back(None, dry_run=False).lines == ()


def test_a_target_that_is_unknown_ends_no_server(
    leftover: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_JOURNAL", str(tmp_path))
    folder = leftover("{}")
    with pytest.raises(UnknownName):
        put_back("TYPO", dry_run=False)
    assert folder.is_dir(), "nobody would say that it was ended"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "start_ticks": null}'])
def test_damaged_notes_do_not_keep_a_leftover_from_going(leftover: Callable[[str], Path], content: str) -> None:
    folder = leftover(content)
    assert remove_leftovers() == (folder.name,)
    assert not folder.exists()


def test_another_process_that_has_the_servers_pid_now_is_spared(leftover: Callable[[str], Path]) -> None:
    """It is this one: were it not, nobody could tell."""
    leftover(json.dumps({"pid": os.getpid(), "start_ticks": 1}))
    assert len(remove_leftovers()) == 1


def test_folder_of_a_living_driver_is_left_alone(leftover: Callable[[str], Path]) -> None:
    folder = leftover("{}")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_leftovers() == ()
    assert (folder / "data").is_dir()


def test_folder_that_is_just_being_made_is_left_alone(leftover: Callable[[str], Path]) -> None:
    folder = leftover("{}")
    (folder / "lock").rename(folder / "new")
    assert remove_leftovers() == ()
    assert folder.is_dir()


def test_link_of_somebody_who_wants_another_folder_removed_is_left_alone(place: Path, tmp_path: Path) -> None:
    victim = tmp_path / "precious"
    victim.mkdir()
    (victim / "lock").touch()
    (place / f"dbcpu-{os.getuid()}-x").symlink_to(victim)
    assert remove_leftovers() == ()
    assert (victim / "lock").exists()


def test_folder_of_another_owner_is_left_alone(leftover: Callable[[str], Path]) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine's tests do not run as root: no folder can be given to somebody else")
    folder = leftover("{}")
    os.chown(folder, NOBODY.uid, NOBODY.gid)
    assert remove_leftovers() == ()
    assert folder.is_dir()


# --- a server that does not start


@pytest.fixture
def programs(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put shell scripts in the place of initdb and postgres."""

    def make(initdb: str, postgres: str = "exit 0") -> None:
        folder = place / "bin"
        folder.mkdir()
        for name, text in (("initdb", initdb), ("postgres", postgres)):
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setattr(embedded_server, "binaries_for", lambda account: folder)

    return make


def start() -> None:
    with Guard() as guard, EmbeddedServer(4, guard):
        pytest.fail("it started")


def until(condition: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline_s, "did not come true in time"
        time.sleep(0.01)


def left_in(place: Path) -> list[Path]:
    return list(place.glob("dbcpu-*"))


def test_place_that_takes_no_folder_is_told(
    programs: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs("exit 0")
    monkeypatch.setattr(embedded_server, "_place", lambda account: place / "gone")
    with pytest.raises(MeasureError, match=r"could be made in .*gone: No such file or directory; .* set TMPDIR"):
        start()


def test_failed_initdb_is_told_by_its_last_line(programs: Callable[..., None], place: Path) -> None:
    programs("echo creating; echo 'initdb: error: No space left on device' >&2; exit 1")
    with pytest.raises(
        MeasureError, match=r"could not be initialised in .*: initdb: error: No space left on device; check free space"
    ):
        start()
    assert left_in(place) == []


def test_server_that_ends_at_once_is_told_by_its_last_line(programs: Callable[..., None], place: Path) -> None:
    programs("exit 0", "echo 'FATAL:  could not map anonymous shared memory: Cannot allocate memory'; exit 1")
    with pytest.raises(MeasureError, match=r"did not start: FATAL:  could not map .*; give a running server instead"):
        start()
    assert left_in(place) == []


def test_no_file_of_the_server_can_be_written_by_others(
    programs: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What they say is done with the rights of the next run: processes are ended."""
    request.addfinalizer(partial(os.umask, os.umask(0)))
    programs("exit 0", "sleep 60")
    modes: dict[str, int] = {}

    def look(server: EmbeddedServer, log: Path) -> None:
        modes.update({file.name: stat.S_IMODE(file.stat().st_mode) for file in log.parent.iterdir()})

    monkeypatch.setattr(EmbeddedServer, "_await_ready", look)
    with Guard() as guard, EmbeddedServer(4, guard):
        pass
    wanted = ("lock", "server.json", "log", "data", "socket")
    assert [name for name in wanted if modes[name] & 0o077] == []


def test_server_that_says_nothing_is_told_too(programs: Callable[..., None]) -> None:
    programs("exit 0", "exit 1")
    with pytest.raises(MeasureError, match="did not start: it said nothing"):
        start()


def test_server_that_never_gets_ready_is_given_up_and_ended(
    programs: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_server, "START_TIMEOUT_S", 0.2)
    programs("exit 0", 'echo $$ > "$2/../pid"; exec sleep 600')
    with pytest.raises(MeasureError, match="did not start"):
        start()
    assert left_in(place) == []


def test_programs_that_cannot_be_executed_are_told(programs: Callable[..., None], place: Path) -> None:
    programs("exit 0")
    (place / "bin/initdb").chmod(0o644)
    with pytest.raises(MeasureError, match=r"initdb could not be started: Permission denied; is its folder mounted"):
        start()
    assert left_in(place) == []


def test_ctrl_c_during_initdb_ends_it_with_all_it_has_started(
    programs: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = place / "pid"
    pid_file.touch()
    pid_file.chmod(0o666)
    programs(f"sleep 600 & echo $! > '{pid_file}'; wait")
    communicate = subprocess.Popen.communicate
    calls: list[int] = []

    def interrupted(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        calls.append(process.pid)
        if len(calls) == 1:
            until(pid_file.read_text)
            raise KeyboardInterrupt
        return communicate(process)

    monkeypatch.setattr("dbcpu.targets.postgresql.embedded_server.subprocess.Popen.communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start()
    until(lambda: start_ticks(int(pid_file.read_text())) is None)
    assert left_in(place) == []

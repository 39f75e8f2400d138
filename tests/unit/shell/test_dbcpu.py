"""shell/dbcpu and shell/venv, with a stand-in for Python that makes a virtual environment in no time."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

SHELL = ROOT / "shell"
DEADLINE_S = 60.0
NOBODY = 65534

# The stand-in: answers the version probe, makes a venv, "installs" (noting each), and runs "dbcpu".
FAKE_PYTHON = r"""#!/bin/sh
me=$0
case "$1 $2" in
    "-I -c") echo "${FAKE_MINOR:-14} ${FAKE_WHOLE:-1} $me" ;;
    "-I -m") mkdir -p "$4/bin"; : >"$4/pyvenv.cfg"; cp "$me" "$4/bin/python" ;;
    "-m pip")
        echo "$*" >>"$FAKE_NOTES"
        [ -z "${FAKE_HANG:-}" ] || { : >"$FAKE_HANG.begun"; while [ -e "$FAKE_HANG" ]; do sleep 0.02; done; }
        [ -z "${FAKE_FAIL:-}" ] || { echo "$FAKE_FAIL" >&2; exit 1; } ;;
    "-P -m") shift 3; echo "ran in $PWD:"; for argument; do echo "<$argument>"; done; exit "${FAKE_EXIT:-0}" ;;
    *) echo "Python 3.9.1" ;;
esac
"""


class Clone:
    """A project folder that holds the two scripts, and a PATH with nothing but the stand-in and the basics."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "a clone"
        shutil.copytree(SHELL, self.folder / "shell")
        (self.folder / "pyproject.toml").write_text("[project]\n")
        self.notes = root / "notes"
        self.bin = root / "bin"
        self.bin.mkdir()
        self.python = self.bin / "python3.14"
        self.python.write_text(FAKE_PYTHON)
        self.python.chmod(0o755)
        basics = ("sh cat cksum cp flock grep id ln ls mkdir mv", "readlink rm rmdir sed sleep sort tail touch")
        for name in " ".join(basics).split():
            (self.bin / name).symlink_to(shutil.which(name) or name)
        self.venv = self.folder / ".venv"
        self.user: int | None = None
        self.environment = {"PATH": str(self.bin), "FAKE_NOTES": str(self.notes)}

    def start(self, *arguments: str, by: Path | None = None, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(by or self.folder / "shell" / "dbcpu"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder.parent,
            env={**self.environment, **environment},
            start_new_session=True,
            user=self.user,
        )

    def run(self, *arguments: str, by: Path | None = None, **environment: str) -> tuple[int, str, str]:
        with self.start(*arguments, by=by, **environment) as process:
            out, errors = process.communicate(timeout=DEADLINE_S)
            return process.returncode, out, errors

    def installs(self) -> int:
        return len(self.notes.read_text().splitlines()) if self.notes.exists() else 0


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def await_file(file: Path) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not file.exists():
        assert time.monotonic() < deadline_s, f"{file} did not appear"
        time.sleep(0.01)


def test_first_use_installs_and_later_ones_are_silent(clone: Clone) -> None:
    code, out, errors = clone.run("run", "two words", "")
    assert (code, out) == (0, f"ran in {clone.folder.parent}:\n<run>\n<two words>\n<>\n")
    assert errors.splitlines() == [
        f"dbcpu: first use: installing into {clone.venv} with Python 3.14; this takes a minute or two"
    ]
    source = clone.venv / "dbcpu-source"
    assert f"-e {source}\n" in clone.notes.read_text()
    assert (source / "kit" / "dbcpu").readlink() == clone.folder / "kit" / "dbcpu"
    assert (source / "pyproject.toml").read_text() == "[project]\n"
    assert clone.run("list") == (0, f"ran in {clone.folder.parent}:\n<list>\n", "")
    assert clone.installs() == 1


def test_with_standard_error_closed_it_does_its_work(clone: Clone) -> None:
    started = clone.folder / "shell" / "dbcpu"
    for _ in range(2):  # with an installation, and without
        done = subprocess.run(
            ["/bin/sh", "-c", '"$0" list 2>&-', started], env=clone.environment, capture_output=True, text=True,
            check=False, timeout=DEADLINE_S,
        )  # fmt: skip
        assert (done.returncode, done.stdout.split()[-1]) == (0, "<list>")


def test_the_exit_code_is_that_of_dbcpu(clone: Clone) -> None:
    assert clone.run(FAKE_EXIT="130")[0] == 130


def test_it_is_found_through_symbolic_links(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "relative").symlink_to("../a clone/shell/dbcpu")
    (tmp_path / "links" / "absolute").symlink_to(tmp_path / "links" / "relative")
    assert clone.run(by=tmp_path / "links" / "absolute")[0] == 0
    assert clone.venv.is_dir()


def test_the_virtual_environment_can_be_elsewhere(clone: Clone, tmp_path: Path) -> None:
    assert clone.run(DBCPU_VENV="else where/venv")[0] == 0
    assert (tmp_path / "else where" / "venv" / "dbcpu-complete").exists()
    assert not clone.venv.exists()


def test_a_log_of_the_user_beside_it_is_left_alone(clone: Clone, tmp_path: Path) -> None:
    log = tmp_path / "venv.log"
    log.write_text("mine\n")
    assert clone.run(DBCPU_VENV="venv")[0] == 0
    assert log.read_text() == "mine\n"


@pytest.mark.parametrize("name", ["dbcpu-log", "dbcpu-lock"])
def test_a_link_beside_the_environment_is_not_followed(clone: Clone, tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("precious")
    clone.venv.with_name(f".venv.{name}").symlink_to(tmp_path / "victim")
    code, _, errors = clone.run("doctor")
    assert (code, (tmp_path / "victim").read_text()) == (3, "precious")
    assert f".venv.{name} is a link, so it is not written; remove it" in errors


@pytest.mark.parametrize(
    ("mode", "group", "works"),
    [
        (0o777, None, False),
        (0o1777, None, False),
        (0o775, None, False),
        (0o775, "the clone's", True),
        (0o777, "the clone's", True),
    ],
)
def test_beside_what_others_may_write_nothing_is_installed(
    clone: Clone, tmp_path: Path, mode: int, group: str | None, works: bool
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine's user may not give files to another group")
    folder = tmp_path / "beside"
    folder.mkdir()
    os.chown(folder, 0, NOBODY)
    folder.chmod(mode)
    if group:
        os.chown(clone.folder, 0, NOBODY)
        clone.folder.chmod(mode)
    code, _, errors = clone.run(DBCPU_VENV=str(folder / "venv"))
    assert (code == 0, f"{folder} can be written by other users" in errors) == (works, not works)
    assert works or list(folder.iterdir()) == []


def test_a_folder_of_ones_own_group_is_installed_into(shared: Clone) -> None:
    """As a umask of 002 leaves a clone."""
    shared.user = NOBODY
    own = shared.folder.parent / "own"
    own.mkdir()
    os.chown(own, NOBODY, 0)  # the group is root's, as the user alone is changed for the process
    own.chmod(0o775)
    assert shared.run(DBCPU_VENV=str(own / "new" / "venv"))[0] == 0


def test_a_lock_with_a_second_name_is_not_written(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    clone.venv.with_name(".venv.dbcpu-log").hardlink_to(tmp_path / "victim")
    code, _, errors = clone.run()
    assert (code, (tmp_path / "victim").read_text()) == (3, "precious")
    assert ".venv.dbcpu-log is no file with one name, so it is not written; remove it" in errors


def test_a_changed_pyproject_installs_again_into_the_same_environment(clone: Clone) -> None:
    clone.run()
    (clone.venv / "kept").touch()
    (clone.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    code, _, errors = clone.run()
    assert code == 0
    assert "has changed: installing" in errors
    assert (clone.installs(), (clone.venv / "kept").exists()) == (2, True)
    assert clone.run()[2] == ""


def test_a_clone_that_was_moved_installs_again(clone: Clone, tmp_path: Path) -> None:
    clone.run()
    clone.folder = clone.folder.rename(tmp_path / "moved")
    code, _, errors = clone.run()
    assert (code, clone.installs()) == (0, 2)
    assert "has changed" in errors


def test_an_environment_whose_python_is_gone_is_made_anew(clone: Clone) -> None:
    clone.run()
    (clone.venv / "bin" / "python").unlink()
    assert clone.run()[0] == 0
    assert clone.installs() == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_install_is_made_anew(clone: Clone, tmp_path: Path, how: signal.Signals) -> None:
    hang = tmp_path / "hang"
    hang.touch()
    with clone.start(FAKE_HANG=str(hang)) as process:
        await_file(Path(f"{hang}.begun"))
        os.killpg(process.pid, how)
        _, errors = process.communicate(timeout=DEADLINE_S)
        if how != signal.SIGKILL:
            assert process.returncode == 130
            assert "interrupted; the next start goes on" in errors
    (clone.venv / "half").touch()
    code, _, errors = clone.run()
    assert (code, clone.installs()) == (0, 2)
    assert "first use" in errors
    assert not (clone.venv / "half").exists()


@pytest.mark.parametrize("with_flock", [True, False])
def test_two_first_starts_at_once_install_once(clone: Clone, tmp_path: Path, with_flock: bool) -> None:
    if not with_flock:
        (clone.bin / "flock").unlink()
    hang = tmp_path / "hang"
    hang.touch()
    with clone.start("one", FAKE_HANG=str(hang)) as first:
        await_file(Path(f"{hang}.begun"))
        with clone.start("two") as second:
            assert second.stderr is not None
            assert "another start is installing" in second.stderr.readline()
            hang.unlink()
            outputs = [process.communicate(timeout=DEADLINE_S)[0] for process in (first, second)]
    assert ["<one>" in outputs[0], "<two>" in outputs[1]] == [True, True]
    assert clone.installs() == 1


def test_the_lock_of_a_killed_start_does_not_hold(clone: Clone) -> None:
    (clone.bin / "flock").unlink()
    held = Path(f"{clone.venv}.dbcpu-lock.d")
    held.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    (held / "pid").write_text(f"{gone.pid}\n")
    assert clone.run()[0] == 0
    assert not held.exists()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"FAKE_WHOLE": "0"}, "Python 3.14 is here, but not its venv module; install it (Debian, Ubuntu: apt-get"),
        ({"FAKE_FAIL": "NewConnectionError: refused"}, "the package index could not be reached"),
        ({"FAKE_FAIL": "OSError: No space left on device"}, "no space is left for"),
        ({"FAKE_FAIL": " "}, "failed without a word; is there room for about 700 MB there (df)? Log: "),
        ({"FAKE_FAIL": "ERROR: some wheel is broken"}, "failed: ERROR: some wheel is broken. Log: "),
        (
            {
                "FAKE_FAIL": "      error: could not create 'x': Permission denied\n"
                "error: subprocess-exited-with-error\n"
                "note: This error originates from a subprocess, and is likely not a problem with pip."
            },
            "failed: error: could not create 'x': Permission denied. Log: ",
        ),
        ({"DBCPU_PYTHON": "/nowhere/python3.12"}, "DBCPU_PYTHON=/nowhere/python3.12 is not a Python 3.11 or newer"),
        ({"DBCPU_VENV": "/proc/venv"}, "/proc is not writable; name a folder"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(clone: Clone, environment: dict[str, str], says: str) -> None:
    code, out, errors = clone.run(by=None, **environment)
    assert (code, out) == (3, "")
    *_, last = errors.splitlines()
    assert says in last
    if "Log: " in last:
        assert environment["FAKE_FAIL"] in Path(last.rpartition("Log: ")[2]).read_text()
    assert clone.run()[0] == 0


def test_no_python_is_said_with_the_version_that_was_found(clone: Clone) -> None:
    clone.python.rename(clone.bin / "python2")
    code, _, errors = clone.run()
    assert code == 3
    assert "Python 3.11 or newer is needed and was not found (no python3); install it" in errors


def test_an_older_python_is_used_where_a_package_has_no_build_for_the_newest(clone: Clone) -> None:
    older = clone.bin / "python3.12"
    older.write_text(FAKE_PYTHON.replace("FAKE_MINOR:-14", "FAKE_MINOR:-12").replace("FAKE_FAIL", "FAKE_NOT"))
    older.chmod(0o755)
    code, _, errors = clone.run(FAKE_FAIL="ERROR: No matching distribution found for x")
    assert code == 0
    assert [line.split("Python 3.")[1][:2] for line in errors.splitlines()] == ["14", "12"]


def test_a_folder_that_is_something_else_is_left_alone(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").touch()
    code, _, errors = clone.run(DBCPU_VENV=str(tmp_path / "home"))
    assert code == 3
    assert "exists and is not a virtual environment" in errors
    assert (tmp_path / "home" / "letter").exists()


def test_a_redirect_file_in_its_place_is_left_alone(clone: Clone) -> None:
    clone.venv.write_text(".tox/type\n")
    code, _, errors = clone.run()
    assert code == 3
    assert "is a file that tells tools where another environment is; remove it" in errors
    assert clone.venv.is_file()


# --- an environment of another user


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Clone]:
    """Root's, where others can read it."""
    if os.geteuid() != 0:
        pytest.skip("this machine's user may not start programs as somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        clone = Clone(Path(folder))
        clone.notes.touch(0o666)
        assert clone.run()[0] == 0
        yield clone


def test_what_root_installed_serves_another_user_and_is_not_written_to(shared: Clone) -> None:
    before = sorted(str(each) for each in shared.folder.rglob("*"))
    shared.user = NOBODY
    assert shared.run("list") == (0, f"ran in {shared.folder.parent}:\n<list>\n", "")
    assert sorted(str(each) for each in shared.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("python", "you may not start the Python of {venv}, which belongs to user root; it can be made anew with one"),
        ("complete", "{venv} belongs to user root, and is not complete, or not to be read by you; user root can start"),
        ("pyproject", "pyproject.toml or the folder has changed since user root installed into {venv}; user root can"),
    ],
)
def test_what_root_installed_and_another_user_cannot_use_is_said(shared: Clone, harm: str, says: str) -> None:
    match harm:
        case "python":
            (shared.venv / "bin" / "python").chmod(0o700)
        case "complete":
            (shared.venv / "dbcpu-complete").chmod(0o600)
        case "pyproject":
            (shared.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    shared.user = NOBODY
    code, out, errors = shared.run("list")
    assert (code, out) == (3, "")
    assert errors.startswith(f"dbcpu: {says.format(venv=shared.venv)}")
    assert errors.endswith(f"make one of your own: DBCPU_VENV=~/dbcpu-venv {shared.folder}/shell/dbcpu\n")


def test_what_another_user_installed_is_not_started(shared: Clone) -> None:
    os.chown(shared.venv, NOBODY, NOBODY)
    code, out, errors = shared.run("list")
    assert (code, out) == (3, "")
    assert errors.startswith(f"dbcpu: {shared.venv} belongs to user ")
    os.chown(shared.folder / "pyproject.toml", NOBODY, NOBODY)
    assert shared.run("list")[0] == 0, "its scripts are run anyway"


def test_another_user_installs_from_roots_clone_without_writing_to_it(shared: Clone) -> None:
    own = shared.folder.parent / "own"
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    shared.notes.chmod(0o666)
    before = sorted(str(each) for each in shared.folder.rglob("*"))
    shared.user = NOBODY
    assert shared.run("list", DBCPU_VENV=str(own / "venv"))[0] == 0
    assert sorted(str(each) for each in shared.folder.rglob("*")) == before
    installed = Path(shared.notes.read_text().splitlines()[-1].rpartition(" -e ")[2])
    assert installed == own / "venv" / "dbcpu-source"
    assert {each.lstat().st_uid for each in (installed, installed / "kit")} == {NOBODY}


def test_root_installs_into_no_environment_of_another_user(shared: Clone) -> None:
    for each in [shared.venv, *shared.venv.rglob("*")]:
        os.chown(each, NOBODY, NOBODY, follow_symlinks=False)
    (shared.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    os.chown(shared.folder / "pyproject.toml", NOBODY, NOBODY)
    installs = shared.installs()
    code, out, errors = shared.run("list")
    assert (code, out, shared.installs()) == (3, "", installs)
    assert errors.startswith("dbcpu: pyproject.toml or the folder has changed since user ")
    assert {each.lstat().st_uid for each in shared.venv.rglob("*")} == {NOBODY}


def test_a_virtual_environment_made_by_hand_is_used_and_kept(clone: Clone) -> None:
    subprocess.run([clone.python, "-I", "-m", "venv", clone.venv], check=True, env=clone.environment)
    (clone.venv / "kept").touch()
    code, _, errors = clone.run()
    assert code == 0
    assert "already at" in errors
    assert (clone.venv / "kept").exists()

"""The frame: exit codes, the error boundary, what is loaded when. Commands are tested in test_cli_commands."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest

from dbcpu import __version__
from dbcpu.cli import AGAIN_S, main
from dbcpu.cli._command_groups import GROUPS
from dbcpu.errors import Interrupted, MeasureError, UsageError
from dbcpu.store import database, record_file
from dbcpu.store.database import open_store
from plugins import runs

HEAVY = {"rich", "sqlalchemy", "alembic", "numpy", "scipy", "matplotlib", "jinja2", "psycopg", "oracledb",
         "importlib.metadata", "msgspec", "platformdirs", "prometheus_client"}  # fmt: skip


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("DBCPU_DEBUG", raising=False)
    return monkeypatch


def test_without_arguments_the_help_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, errors = capsys.readouterr()
    assert out.startswith("Usage: dbcpu [OPTIONS] COMMAND")
    assert errors == ""


def start(*arguments: str, **how: object) -> subprocess.Popen[str]:
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    how = {"stderr": subprocess.PIPE, "env": environment, **how}
    return subprocess.Popen([sys.executable, "-m", "dbcpu", *arguments], text=True, **how)  # type: ignore[call-overload, no-any-return]


def fail_with(failing: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(*_: object, **__: object) -> None:
        raise error

    failing.setattr(database, "open_store", fail)
    return main(["list"])


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MeasureError("17 of 32 connected"), 3, "dbcpu: 17 of 32 connected\n"),
        (UsageError("no such thing"), 2, "dbcpu: no such thing\n"),
        (Interrupted("stopped after 3 rounds"), 130, "dbcpu: stopped after 3 rounds\n"),
        (KeyboardInterrupt(), 130, "dbcpu: interrupted\n"),
        (click.Abort(), 130, "dbcpu: interrupted\n"),
        (
            MeasureError("the server said: \x1b]0;x\x07no\nroot: fine"),
            3,
            "dbcpu: the server said: ]0;x no root: fine\n",
        ),
        (MemoryError(), 3, "dbcpu: out of memory; use fewer sessions or free some\n"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/srv/closed/x"),
            3,
            "dbcpu: '/srv/closed/x' could not be used: Permission denied; start dbcpu as a user who may, or name "
            "another place (DBCPU_DEBUG=1 shows where this was met)\n",
        ),
    ],
)
def test_expected_failures_are_one_sentence_and_a_code(
    failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert fail_with(failing, error) == code
    assert capsys.readouterr() == ("", said)


def test_unexpected_failure_is_one_sentence_and_its_traceback_a_private_file(
    failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert fail_with(failing, ZeroDivisionError("a fault of ours")) == 3
    (kept,) = (tmp_path / "dbcpu").iterdir()
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (f"dbcpu: internal error (ZeroDivisionError); the traceback is in {kept}; please report it\n")
    assert "ZeroDivisionError: a fault of ours" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_unexpected_failure_without_any_place_for_its_traceback_still_ends_well(
    failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where every disk is full there is not even a folder of temporary files."""

    def none_usable() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    failing.setattr(tempfile, "gettempdir", none_usable)
    failing.setattr("dbcpu.cli._crash_report.state_folder", lambda: Path("/proc/nowhere"))
    assert fail_with(failing, ZeroDivisionError()) == 3
    assert "DBCPU_DEBUG=1 shows the traceback" in capsys.readouterr().err


def test_debugging_shows_the_traceback(failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing.setenv("DBCPU_DEBUG", "1")
    assert fail_with(failing, MeasureError("17 of 32 connected to postgresql://u:S3CRET@h")) == 3
    said = capsys.readouterr().err
    assert "Traceback (most recent call last)" in said
    assert said.count("postgresql://u:***@h") == 2
    assert "S3CRET" not in said


def test_ctrl_c_while_the_command_line_is_loaded_shows_no_traceback() -> None:
    code = """
import os, runpy, signal, sys
class Pressed:
    def find_spec(self, name, *_):
        if name == "dbcpu.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Pressed())
runpy.run_module("dbcpu", run_name="__main__")
"""
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    pressed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (pressed.returncode, pressed.stdout, pressed.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("arguments", [["lisst"], ["list", "--limit", "-1"], ["list", "--nonsense"], ["show"]])
def test_wrong_command_line_exits_2_and_leaves_stdout_empty(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "Usage: dbcpu" in output.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--version", "-V"):
        assert main([option]) == 0
        assert capsys.readouterr() == (f"dbcpu {__version__}\n", "")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(["rnu"], "no command is called 'rnu' (did you mean 'run'?)"), (["nothing-like-it"], "'nothing-like-it'\n")],
)
def test_a_mistyped_command_is_answered_with_the_one_that_looks_like_it(
    typed: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 2
    assert meant in capsys.readouterr().err


def test_a_mistyped_name_is_answered_with_the_one_that_looks_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--sampler", "procfss"]) == 2
    assert "is called 'procfss' (did you mean 'procfs'?); there are: " in capsys.readouterr().err
    assert main(["simulate", "c4.4xlargee"]) == 2
    assert "is called 'c4.4xlargee' (did you mean 'c4.4xlarge'?); there are: " in capsys.readouterr().err


def test_help_shows_every_command_once_in_a_group_with_a_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for title, names in GROUPS.items():
        part = shown.split(f"{title}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in part.splitlines()] == [*names]
        assert all(line.endswith((".", "?")) for line in part.splitlines())
    assert "Further commands" not in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_help_lists_exit_codes_and_loads_nothing_heavy() -> None:
    code = "import sys; from dbcpu.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    environment = runs.environment(PYTHONPATH=":".join(sys.path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert "130  interrupted" in done.stdout
    assert set(done.stderr.split()) & HEAVY == set()


# --- as a process of its own


def test_results_and_remarks_go_separate_ways(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with open_store(path) as opened:
        opened.save(runs.record("r1"))
        opened.save(runs.record("r2"))
    child = start("list", "--store", path, "--limit", "1", stdout=subprocess.PIPE)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert [line.split()[0] for line in out.splitlines()] == ["run", "r2"]
    assert err == "older runs are not shown; --limit 0 shows all\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_with_130_and_one_sentence(tmp_path: Path, number: int) -> None:
    pipe = tmp_path / "run.json"
    os.mkfifo(pipe)
    # Between open() and its with block a signal leaves a file to the garbage collector.
    environment = runs.environment(PYTHONPATH=":".join(sys.path), PYTHONWARNINGS="ignore::ResourceWarning")
    child = start("import", str(pipe), stdout=subprocess.PIPE, env=environment)
    with pipe.open("wb"):  # opens only once the child has opened it for reading, and waits
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "dbcpu: interrupted\n")


def test_a_closed_terminal_that_is_told_twice_is_one_stop(tmp_path: Path) -> None:
    """The second comes while the first is cleaned up, however long that takes."""
    (tmp_path / "hung_up.py").write_text(
        "import os, signal, sys\n"
        "from dbcpu import cli\n"
        "def command(_):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "        print('cleaned up')\n"
        "cli._invoke, cli.ONE_PRESS_S = command, -1.0\n"
        "sys.exit(cli.main([]))\n"
    )
    environment = runs.environment(PYTHONPATH=":".join([str(tmp_path), *sys.path]))
    given = [sys.executable, "-m", "hung_up"]
    done = subprocess.run(given, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "cleaned up\n", "dbcpu: interrupted\n")


def test_ctrl_c_while_a_class_is_being_made_ends_with_130_too(tmp_path: Path) -> None:
    """Dataclasses are made by exec of text; Ctrl-C out of one of these has ``python -m`` end in its own way."""
    press = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "pressed.py").write_text(
        f"import sys\nfrom dbcpu import cli\ncli._invoke = lambda _: exec({press!r})\nsys.exit(cli.main([]))\n"
    )
    environment = runs.environment(PYTHONPATH=":".join([str(tmp_path), *sys.path]))
    given = [sys.executable, "-m", "pressed"]
    done = subprocess.run(given, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (130, "dbcpu: interrupted\n")


@pytest.mark.parametrize("again_s", [AGAIN_S, 0.0])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ctrl_c_while_an_object_is_freed_is_not_lost(tmp_path: Path, number: int, again_s: float) -> None:
    """Python drops what is raised there, with a message; the command would go on to its end, here: without one.

    Sent again at once it comes while that is still told, and is dropped, too.
    """
    (tmp_path / "freed.py").write_text(
        "import os, signal, sys, threading\n"
        "from dbcpu import cli\n"
        "class Freed:\n"
        "    def __del__(self):\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "def command(_):\n"
        "    Freed()\n"
        "    threading.Event().wait()\n"
        f"cli._invoke, cli.AGAIN_S = command, {again_s}\n"
        "sys.exit(cli.main([]))\n"
    )
    environment = runs.environment(PYTHONPATH=":".join([str(tmp_path), *sys.path]))
    given = [sys.executable, "-m", "freed"]
    done = subprocess.run(given, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "dbcpu: interrupted\n")


def test_a_store_whose_name_is_no_text_is_named_all_the_same(tmp_path: Path) -> None:
    """Found by the fuzzer: bytes of a name that are no UTF-8 cannot be printed as they are."""
    child = start(
        "store", "upgrade", "--store", f"{tmp_path}/{os.fsdecode(b'x' + bytes([255]))}.db", stdout=subprocess.PIPE
    )
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert out.startswith(f"the store {tmp_path}/x .db went from nothing to schema ")


def test_reader_that_went_away_ends_it_quietly(tmp_path: Path) -> None:
    path = str(tmp_path / "runs.db")
    with open_store(path) as opened:
        opened.save(runs.record(rounds=30))
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["list", "--store", path], ["export", "last", "-", "--store", path], ["--help"]):
        child = start(*arguments, stdout=writing)
        assert child.communicate(timeout=60)[1] == ""
        assert child.returncode == 141
    os.close(writing)


def test_full_output_device_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        child = start("--help", stdout=full)
        assert child.communicate(timeout=60)[1] == (
            "dbcpu: the result could not be written: No space left on device; write it to another file system\n"
        )
    assert child.returncode == 3


@pytest.mark.parametrize(
    "command",
    [("export", "last", "-"), ("show", "last"), ("show", "last", "--json"), ("list", "--json"), ("import", "x.json"),
     ("--version",)],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("closed", [(1,), (0, 1)], ids=str)
def test_a_result_for_which_output_is_closed_is_not_lost_unnoticed(
    tmp_path: Path, command: tuple[str, ...], closed: tuple[int, ...]
) -> None:
    store = str(tmp_path / "runs.db")
    with open_store(store) as opened:
        opened.save(runs.record())
    record_file.write_record(tmp_path / "x.json", runs.record("another"))
    environment = runs.environment(PYTHONPATH=":".join(sys.path), DBCPU_STORE=store)
    child = start(*command, env=environment, cwd=tmp_path, preexec_fn=lambda: [*map(os.close, closed)])
    assert child.communicate(timeout=60)[1] == (
        "dbcpu: the result could not be written: standard output is closed; send it to a file, or to /dev/null\n"
    )
    assert child.returncode == 3


def test_a_run_whose_result_cannot_be_printed_has_its_report_and_its_name(tmp_path: Path) -> None:
    environment = runs.environment(PYTHONPATH=":".join(sys.path), DBCPU_STORE=str(tmp_path / "runs.db"))
    quick = ("--sessions", "1", "--repeats", "1", "--executions", "1", "--size", "tiny", "--report", "json")
    out = tmp_path / "out"
    child = start(
        "run", "sqlite", "--yes", *quick, "--out", str(out), env=environment, cwd=tmp_path,
        preexec_fn=lambda: os.close(1),
    )  # fmt: skip
    said = child.communicate(timeout=120)[1]
    assert child.returncode == 3
    assert "Show again: dbcpu show 20" in said and "standard output is closed" in said
    assert list(out.glob("*.json"))


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)], ids=str)
def test_who_prints_nothing_needs_no_output(tmp_path: Path, closed: tuple[int, ...]) -> None:
    store = tmp_path / "runs.db"
    with open_store(str(store)) as opened:
        opened.save(runs.record())
    child = start(
        "export", "last", str(tmp_path / "x.json"), "--store", str(store), preexec_fn=lambda: [*map(os.close, closed)]
    )
    assert child.communicate(timeout=60)[1] == ""
    assert child.returncode == 0
    assert record_file.read(tmp_path / "x.json") == runs.record()


def test_what_is_not_permitted_without_a_file_is_a_fault_of_ours(
    failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(failing, PermissionError(errno.EPERM, "Operation not permitted")) == 3
    assert capsys.readouterr().err.startswith("dbcpu: internal error (PermissionError)")


def test_a_descriptor_that_went_bad_elsewhere_is_no_closed_output(
    failing: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_with(failing, OSError(errno.EBADF, "Bad file descriptor")) == 3
    assert capsys.readouterr().err.startswith("dbcpu: internal error (OSError)")

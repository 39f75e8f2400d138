"""No password reaches an output: not that of a URL, of a login for ssh, or of sqlplus's form, wherever it is given."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dbcpu import registry
from dbcpu.cli import load_command, main
from dbcpu.errors import DbcpuError, UnknownName, without_password
from dbcpu.formatting import plain
from dbcpu.store.database import open_store
from plugins import runs

SECRET = "geheim99"
URL = f"postgresql://bob:{SECRET}@127.0.0.1:1/x"
GIVEN = (
    URL,
    f"postgresql://127.0.0.1:1/x?user=bob&password={SECRET}",
    f"ssh:bob:{SECRET}@127.0.0.1",
    f"bob:{SECRET}@127.0.0.1",
    f"bob/{SECRET}@127.0.0.1:1/x",
)
WATCHED = {"--target", "--host", "--store", "--from"}
BEFORE = {
    "run": ("sqlite", "--yes"), "soak": ("sqlite", "--for", "1s", "--yes"), "vary": ("sqlite", "--variants", "cpus:0"),
    "pool": ("sqlite", "--yes"), "more": ("last",), "simulate": ("this-vm", "--sessions", "1"), "show": ("last",),
    "compare": ("last", "last"), "check": ("--last",), "report": ("last",), "import": ("none.csv",),
    "export": ("--csv", "tables"), "delete": ("none",),
}  # fmt: skip
"""What a command needs beside the option."""


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, (*path, name))
    else:
        yield path, command


def options() -> Iterator[tuple[str, ...]]:
    """Each command with each watched option that it has, the value still to come."""
    for name in registry.names("cli"):
        for path, command in leaves(load_command(name).command, (name,)):
            for parameter in command.params:
                if isinstance(parameter, click.Option) and (watched := WATCHED.intersection(parameter.opts)):
                    yield (*path, *BEFORE.get(name, ()), *watched)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a store of this test's own, with one run in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DBCPU_STORE", "runs.db")
    with open_store("runs.db") as opened:
        opened.save(runs.record())


def test_the_options_are_found() -> None:
    found = {(command[0], command[-1]) for command in options()}
    assert {("list", "--target"), ("list", "--host"), ("run", "--host"), ("check", "--target")} <= found
    assert {command for command, option in found if option == "--store"} >= {"run", "list", "show", "fleet"}


@pytest.mark.parametrize("command", [*options()], ids=" ".join)
def test_an_option_does_not_repeat_a_password(
    empty: None, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    # The other forms would each be the name of a file that becomes a store.
    for given in GIVEN[:2] if command[-1] == "--store" else GIVEN:
        main([*command, given])
        output = capsys.readouterr()
        assert SECRET not in output.out + output.err, given


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("command", ["run", "soak", "show", "compare", "more", "delete", "topology", "doctor"])
def test_an_argument_does_not_repeat_a_password(
    empty: None, capsys: pytest.CaptureFixture[str], command: str, given: str
) -> None:
    assert main([command, given]) != 0
    output = capsys.readouterr()
    assert SECRET not in output.out + output.err


def test_neither_does_the_log_file(empty: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", URL, "--yes", "--log-file", "run.log"]) == 3
    log = Path("run.log").read_text("utf-8")
    assert "connecting to postgresql://bob@127.0.0.1:1/x" in log
    assert SECRET not in log


@pytest.mark.parametrize("given", GIVEN)
def test_an_error_shows_none_to_whoever_catches_it(given: str) -> None:
    for error in (DbcpuError(f"{given} is unknown"), UnknownName("host", given, ["a"])):
        assert SECRET not in str(error)
    assert SECRET not in plain(given)


@pytest.mark.parametrize(
    "sentence",
    [
        "write ssh:HOST, ssh:USER@HOST or ssh:USER@HOST:PORT", "not sqlplus's USER/PASSWORD@DATABASE",
        "affinity:12/13@99 is 0-1 again", "policy:12@99", "postgresql://user@host/database (in a password write @)",
        "records/me@work.json could not be read", 'use password_env = "VARIABLE"', "ssh:root@10.0.0.1, ssh:root@db2:22",
        "mailto:dba@example.org",
    ],
)  # fmt: skip
def test_what_is_no_password_stays(sentence: str) -> None:
    assert without_password(sentence) == sentence

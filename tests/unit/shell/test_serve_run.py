"""The program that runs another one on a far host, under each shell that is here: it ends with its input."""

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.driving import until
from support.paths import ROOT
from support.servers.ssh import TOOLS, make_tools

SCRIPT = (ROOT / "shell" / "serve-run").read_text()
FURTHER = ("kill", "mkdir", "mkfifo", "rm", "tail", "wc", "id", "chmod", "mv")


class Place:
    """A PATH with the tools of one kind of host, and a folder for temporary files."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.tmp, self.tools = folder / "tmp", tools
        self.tmp.mkdir()

    def start(self, *orders: str) -> "subprocess.Popen[str]":
        """Its input stays open."""
        shell = shutil.which("sh", path=str(self.tools))
        assert shell is not None
        script = "\n".join((SCRIPT, "begin", *orders))
        return subprocess.Popen(
            [shell, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={"PATH": str(self.tools), "TMPDIR": str(self.tmp), "HOME": str(self.tmp.parent), "SECRET": "x"},
        )  # fmt: skip

    def lines(self, *orders: str) -> list[str]:
        """All it says, while its input is open."""
        with self.start(*orders) as process:
            assert process.stdout is not None
            said = process.stdout.read().splitlines()
            assert process.stdin is not None
            process.stdin.close()
        assert process.returncode == 0
        assert list(self.tmp.iterdir()) == []
        assert said[0].startswith("dbcpu-host run ")
        return said[1:]


@pytest.fixture(params=TOOLS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    tools = make_tools(tmp_path / "tools", TOOLS[request.param])
    for name in FURTHER:
        if not (tools / name).exists() and (found := shutil.which(name)):
            (tools / name).symlink_to(found)
    return Place(tmp_path, tools)


def added(name: str, text: str) -> str:
    return f"add {name} {shlex.quote(text)}"


def dbcpu(folder: Path, *lines: str) -> str:
    """A program that has this version, and then these lines."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "dbcpu"
    program.write_text("\n".join(("#!/bin/sh", '[ "$1" != --version ] || { echo dbcpu 9.9; exit; }', *lines, "")))
    program.chmod(0o755)
    return str(program)


def test_output_exit_code_and_last_words_come_back(place: Place, tmp_path: Path) -> None:
    program = dbcpu(tmp_path, 'echo "$2"; cat a/file.txt; echo "dbcpu: why" >&2; echo . >&2; exit 7')
    found = place.lines(added("a/file.txt", "it's\n"), f"find_dbcpu 9.9 /nowhere {program}", 'start "$found" run "a b"')
    assert found == ["a b", "it's", "", "dbcpu-ended 7", "dbcpu: why", " .", "."]


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (("find_dbcpu 9.9 /nowhere/dbcpu",), "there is no dbcpu on"),
        (("need sed nothing-of-that-name",), "there is no nothing-of-that-name in PATH"),
        (("password_in NOT_SET",), "the variable NOT_SET is not set"),
        (("password_from /nowhere/secret",), "there is no password file /nowhere/secret"),
    ],
)
def test_what_is_missing_is_said_and_nothing_runs(place: Place, orders: Sequence[str], said: str) -> None:
    *_, ended, why, dot = place.lines(*orders, "start echo ran")
    assert (ended, said in why, dot) == ("dbcpu-ended 3", True, ".")


def test_another_version_is_named(place: Place, tmp_path: Path) -> None:
    assert "has dbcpu 9.9, and dbcpu 1.0 is needed there" in place.lines(f"find_dbcpu 1.0 {dbcpu(tmp_path)}")[-2]


def test_a_password_is_believed_only_from_a_file_that_nobody_else_reads(place: Place, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    show = ("start sh -c 'echo \"got $PGPASSWORD\"'",)
    secret.chmod(0o644)
    assert "chmod 600" in place.lines("password_from '~/secret'", *show)[-2]
    secret.chmod(0o600)
    assert "got s3cret" in place.lines("password_from '~/secret'", *show)
    assert "got x" in place.lines("password_in SECRET", *show)


def test_the_end_of_its_input_ends_what_it_runs(place: Place) -> None:
    waits = "start sh -c 'sleep 60 & trap \"echo ended; kill $!; exit\" TERM; echo begun; wait'"
    with place.start(waits) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        while process.stdout.readline().strip() != "begun":
            pass
        process.stdin.close()
        rest = process.stdout.read().splitlines()
    assert "ended" in rest
    assert rest[-1] == "."
    until(lambda: list(place.tmp.iterdir()) == [], "its folder is removed")


def test_whole_rounds_come_as_they_end(place: Place) -> None:
    """As the fanouts do it: the file is replaced after each round, and a line is said before."""
    script = """
for round in 1 2; do
    echo "round $round" >&2
    i=1
    { while [ $i -le $round ]; do echo "line $i"; i=$((i + 1)); done; echo "end status=interrupted"; } >draft
    mv draft result
done
sed 's/interrupted/complete/' result >draft && mv draft result
"""
    found = place.lines(added("kit", f"#!/bin/sh{script}"), "followed=yes", "start ./kit")
    body = found[: found.index("dbcpu-ended 0")]
    assert [line for line in body if line not in ("dbcpu-whole", "")] == ["line 1", "line 2", "end status=complete"]
    assert body[-3:-1] == ["dbcpu-whole", "end status=complete"]
    assert found[-3:] == ["round 1", "round 2", "."]

"""Runs the scripts of shell/ with a chosen shell and awk, and finds every process that one of them has started."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

SCRIPTS = ROOT / "shell"
LIMIT_S = 120.0
TOOLS = [("dash", "mawk"), ("busybox sh", "busybox"), ("bash", "mawk"), ("dash", "gawk")]
"""(shell, awk): Debian's, the smallest there is, the one of the article, GNU's."""


class Kit:
    """One place where scripts run: ``folder`` is their TMPDIR, whose name marks all that descends from them."""

    def __init__(self, folder: Path, shell: str, awk: str) -> None:
        self.folder, self.shell = folder / "tmp", shell
        self.folder.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "awk").symlink_to(str(shutil.which(awk)))
        self.environment = {
            **os.environ, "TMPDIR": str(self.folder), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip

    def start(self, script: str, *arguments: str, user: int | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.shell.split(), str(SCRIPTS / script), *arguments], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, user=user,
        )  # fmt: skip

    def run(self, script: str, *arguments: str, user: int | None = None) -> tuple[int, str, str]:
        """Exit code, output and errors; nothing may be left behind."""
        with self.start(script, *arguments, user=user) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        self.nothing_is_left()
        return process.returncode, out, err

    def descendants(self) -> list[int]:
        """Processes with this TMPDIR in their environment."""
        mark = f"TMPDIR={self.folder}\0".encode()
        numbered = (folder for folder in Path("/proc").iterdir() if folder.name.isdecimal())
        return [int(folder.name) for folder in numbered if mark in environ(folder)]

    def nothing_is_left(self) -> None:
        """No process and no file."""
        self.no_process_is_left()
        assert list(self.folder.iterdir()) == []

    def no_process_is_left(self) -> None:
        """Awaits the end of every descendant."""
        deadline_s = time.monotonic() + LIMIT_S
        while (left := self.descendants()) and time.monotonic() < deadline_s:
            time.sleep(0.05)  # a look is at every process of the machine
        assert left == []

    def await_lines(self, process: "subprocess.Popen[str]", text: str) -> None:
        """Until the script has noted ``text`` in its lines."""
        await_while(process, lambda: any(text in read(file) for file in self.folder.glob("*/lines")))


def await_while(process: "subprocess.Popen[str]", condition: Callable[[], object]) -> None:
    """Until the condition is true, while the process runs. Looks leave the CPU to it."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def environ(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


@pytest.fixture(params=TOOLS, ids=lambda tools: f"{tools[0].split()[0]}-{tools[1]}")
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """With every pair of shell and awk."""
    yield made(tmp_path, *request.param)


@pytest.fixture
def one_kit(tmp_path: Path) -> Kit:
    """With the plainest shell and awk, for what does not depend on them."""
    return made(tmp_path, *TOOLS[0])


def made(folder: Path, shell: str, awk: str) -> Kit:
    for program in (shell.split()[0], awk):
        if not shutil.which(program):
            pytest.skip(f"not installed: {program}")
    return Kit(folder, shell, awk)

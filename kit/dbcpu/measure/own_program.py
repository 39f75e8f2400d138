"""Programs of dbcpu's own beside the run, which take commands in lines and answer in lines of JSON."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from dbcpu.errors import MeasureError


def _sent(program: subprocess.Popen[str], line: str) -> bool:
    """Whether the program took ``line``; False where it has ended."""
    assert program.stdin is not None
    try:
        program.stdin.write(line + "\n")
        program.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _answer_of(program: subprocess.Popen[str]) -> Any:
    """Its next answer; None where it has ended."""
    assert program.stdout is not None
    line = program.stdout.readline()
    return json.loads(line) if line else None


def send(program: subprocess.Popen[str] | None, line: str, gone: Callable[[], MeasureError]) -> None:
    """Give it ``line``; raises ``gone`` where it has ended."""
    assert program is not None
    if not _sent(program, line):
        raise gone()


def read(program: subprocess.Popen[str] | None, gone: Callable[[], MeasureError]) -> Any:
    """Its next answer; raises ``gone`` where it has ended."""
    assert program is not None
    answer = _answer_of(program)
    if answer is None:
        raise gone()
    return answer


class OwnProgram:
    """A script of ``samplers`` in an interpreter of its own, without site-packages: it starts fast and stays small."""

    def __init__(self, script: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
            [sys.executable, "-I", "-S", str(files("dbcpu.measure.samplers") / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, command: Mapping[str, Any]) -> dict[str, Any] | None:
        """Its answer; None where it has ended."""
        answer: dict[str, Any] | None = None
        if _sent(self._process, json.dumps(command)):
            answer = _answer_of(self._process)
        return answer

    def kill(self) -> None:
        """For one that leaves nothing behind."""
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Close its input, and wait until it has tidied up."""
        self._process.communicate()

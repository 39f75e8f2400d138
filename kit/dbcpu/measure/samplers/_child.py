"""A stand-alone program beside the run, that answers one line of JSON to each line of JSON."""

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dbcpu.measure.program_lines import answer_of, was_told


class Child:
    """A script of this folder in an interpreter of its own, without site-packages: it starts fast and stays small."""

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
        if was_told(self._process, json.dumps(command)):
            answer = answer_of(self._process)
        return answer

    def kill(self) -> None:
        """For one that leaves nothing behind."""
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Close its input, and wait until it has tidied up."""
        self._process.communicate()

"""Lines between the driver and a program that it has started: one to it, and its answer in JSON."""

import json
import subprocess
from typing import Any


def was_told(program: subprocess.Popen[str], line: str) -> bool:
    """Whether it was there to be told ``line``."""
    assert program.stdin is not None
    try:
        program.stdin.write(line + "\n")
        program.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def answer_of(program: subprocess.Popen[str]) -> Any:
    """What it says next; None where it has ended."""
    assert program.stdout is not None
    line = program.stdout.readline()
    return json.loads(line) if line else None

"""Stand-ins for kubectl, docker and podman on a PATH: they compare their arguments, then run sh or fail."""

import shlex
from collections.abc import Sequence
from pathlib import Path

WRONG = 64
"""Exit code for other arguments than the expected ones."""


def client(folder: Path, program: str, expected: Sequence[str], *, then: str = "exec sh -s", told: str = "") -> Path:
    """A program of that name in ``folder``; returns the folder.

    Args:
        expected: its exact arguments.
        then: what it does with its standard input where they are these.
        told: what it says on standard error instead, before it ends with 1.
    """
    folder.mkdir(exist_ok=True)
    lines = [f'[ $# -eq {len(expected)} ] || {{ echo "$# arguments" >&2; exit {WRONG}; }}']
    for word in expected:
        lines.append(f'[ "$1" = {shlex.quote(word)} ] || {{ echo "unexpected argument $1" >&2; exit {WRONG}; }}; shift')
    lines.append(f"printf '%s\\n' {shlex.quote(told)} >&2; exit 1" if told else then)
    path = folder / program
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return folder

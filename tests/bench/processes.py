"""dbcpu as a process of its own, timed from outside."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from msgspec import Struct

_KIB = 1024
DBCPU = (sys.executable, "-P", "-m", "dbcpu")
"""As shell/dbcpu starts it."""


class Finished(Struct, frozen=True):
    """How a process went. ``peak_bytes``: largest resident size of it or of a child it waited for. getrusage(2)

    ``cpu_s``: of it and of those children; it hardly depends on what else the machine does.
    """

    elapsed_s: float
    cpu_s: float
    peak_bytes: int


def finish(command: Sequence[str]) -> Finished:
    """Run a command without showing its output. A failure ends the bench, with the command's last words."""
    began_s = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read().decode(errors="replace").strip()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.perf_counter() - began_s
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {said[-300:]}")
    return Finished(elapsed_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _KIB)

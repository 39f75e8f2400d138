"""The kernel's own account of who ran where: sched_switch and sched_migrate_task of named processes.

An instance of its own is made below tracefs ``instances``, so that tracing by others is left alone, and
removed again. Source: kernel Documentation/trace/ftrace.rst, events.rst
"""

import os
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MOUNTED_AT = Path("/sys/kernel/tracing")
BUFFER_KB = 8192
_PREFIX = "dbcpu-bench-"
_LINE = re.compile(r"\[(\d+)\] \S+ +(\d+\.\d+): (sched_switch|sched_migrate_task): (.*)")
_SWITCH = re.compile(r"prev_pid=(\d+) prev_prio=.* ==> next_comm=.* next_pid=(\d+) next_prio=")
_MIGRATE = re.compile(r" pid=(\d+) prio=")


@dataclass(frozen=True, slots=True)
class Traced:
    """``run_s``: by pid, seconds run on each CPU. ``migrations``: by pid. ``lost``: events that found no room."""

    run_s: dict[int, dict[int, float]]
    migrations: dict[int, int]
    lost: int


class Unavailable(Exception):
    """Tracing is not possible here; the text says why."""


@contextmanager
def tracefs() -> Iterator[Path]:
    """The tracefs folder, mounted in a folder of our own and unmounted again where it is not. Raises Unavailable."""
    if os.geteuid() != 0:
        raise Unavailable("tracing needs root, and this was run by an ordinary user")
    if (MOUNTED_AT / "instances").is_dir():
        yield MOUNTED_AT
        return
    folder = Path(tempfile.mkdtemp(prefix="dbcpu-tracefs-"))
    try:
        done = subprocess.run(
            ["mount", "-t", "tracefs", "tracefs", folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Unavailable(f"tracefs is not mounted and could not be: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=False)
    finally:
        folder.rmdir()


class Trace:
    """A context manager: one tracing instance. ``begin`` and ``end`` once per round."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / "instances" / f"{_PREFIX}{os.getpid()}"
        self._watched: set[int] = set()

    def __enter__(self) -> "Trace":
        for left in self._root.glob(f"instances/{_PREFIX}*"):
            if not Path("/proc", left.name.removeprefix(_PREFIX)).exists():
                with suppress(OSError):
                    left.rmdir()
        try:
            self._folder.mkdir()
            self._write("trace_clock", "mono")
            self._write("buffer_size_kb", str(BUFFER_KB))
        except OSError as error:
            raise Unavailable(f"a tracing instance could not be made: {error.strerror}") from None
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(OSError):
            self._write("tracing_on", "0")
            self._write("events/enable", "0")
        with suppress(OSError):
            self._folder.rmdir()

    def begin(self, pids: Iterable[int]) -> None:
        self._watched = set(pids)
        watched = sorted(self._watched)
        self._write("tracing_on", "0")
        self._write("trace", "")
        switches = " || ".join(f"prev_pid=={pid} || next_pid=={pid}" for pid in watched)
        self._write("events/sched/sched_switch/filter", switches)
        self._write("events/sched/sched_migrate_task/filter", " || ".join(f"pid=={pid}" for pid in watched))
        for event in ("sched_switch", "sched_migrate_task"):
            self._write(f"events/sched/{event}/enable", "1")
        self._write("tracing_on", "1")

    def end(self) -> Traced:
        self._write("tracing_on", "0")
        stats = "\n".join(file.read_text() for file in self._folder.glob("per_cpu/cpu*/stats"))
        lost = sum(int(count) for count in re.findall(r"(?:overrun|dropped events): (\d+)", stats))
        return account((self._folder / "trace").read_text(errors="replace").splitlines(), self._watched, lost)

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)


def account(lines: Iterable[str], watched: set[int], lost: int = 0) -> Traced:
    """Add up the events of a trace, in order of time. A process that runs when the trace ends is counted to there."""
    events = sorted(
        (float(found[2]), int(found[1]), found[3], found[4]) for line in lines if (found := _LINE.search(line))
    )
    run_s: dict[int, dict[int, float]] = {pid: defaultdict(float) for pid in watched}
    migrations = dict.fromkeys(watched, 0)
    running: dict[int, tuple[int, float]] = {}
    now_s = 0.0
    for now_s, cpu, event, detail in events:
        if event == "sched_migrate_task":
            if (moved := _MIGRATE.search(detail)) and int(moved[1]) in watched:
                migrations[int(moved[1])] += 1
        elif switched := _SWITCH.search(detail):
            leaves, enters = int(switched[1]), int(switched[2])
            if leaves in running:
                on, since_s = running.pop(leaves)
                run_s[leaves][on] += now_s - since_s
            if enters in watched:
                running[enters] = (cpu, now_s)
    for pid, (on, since_s) in running.items():
        run_s[pid][on] += now_s - since_s
    return Traced({pid: dict(by_cpu) for pid, by_cpu in run_s.items()}, migrations, lost)

"""Processes of a host as its /proc shows them: what they are, and by which numbers a container knows them.

/proc/PID/stat, /proc/PID/schedstat and /proc/stat are taken apart here, and in programs that stand alone.
When a process of this machine started is asked of ``cleanup_guard.start_ticks``, which is one of these programs.
A database in a container names its server processes by the pids of its own namespace. NSpid in /proc/PID/status
lists all numbers of a process, from the namespace of the reader to the innermost. Source: proc_pid_status(5).
"""

from collections import defaultdict
from contextlib import suppress
from typing import Self

from msgspec import Struct

from dbcpu.hosts.base import Ahead, Host, RemoteHost

NORMAL_POLICIES = {"other": 0, "batch": 3, "idle": 5}
"""Scheduling policies that have no priority or deadline beside the name, with their numbers. Source: sched(7)"""
_POLICIES = {number: name for name, number in NORMAL_POLICIES.items()} | {1: "fifo", 2: "rr", 6: "deadline", 7: "ext"}
UPTIME_GRAIN_S = 0.01
"""/proc/uptime has two decimals."""
START_TOLERANCE_S = 5.0
"""/proc/stat's btime has whole seconds, and the database stamps its start a moment after the fork."""


class ProcessStat(Struct, frozen=True):
    """/proc/PID/stat of a process or thread. ``fields``: field 3 and what follows. Source: proc_pid_stat(5)

    What an old kernel or a line that is cut off lacks raises ValueError when it is read.
    """

    pid: int
    command: str
    fields: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """From the file's text; the command may hold blanks and brackets. Raises ValueError."""
        pid, command, after = text.index("("), text.rindex(")"), text.rindex(")") + 1
        return cls(int(text[:pid]), text[pid + 1 : command], tuple(text[after:].split()))

    @property
    def state(self) -> str:
        """R, S, D, Z and so on."""
        return self._field(3)

    @property
    def has_ended(self) -> bool:
        """It runs no more, and only its parent has not reaped it yet."""
        return self.state in ("Z", "X", "x")

    @property
    def cpu_ticks(self) -> int:
        """User and system time so far, in clock ticks."""
        return int(self._field(14)) + int(self._field(15))

    @property
    def nice(self) -> int:
        return int(self._field(19))

    @property
    def start_ticks(self) -> int:
        """When it started, in clock ticks since the host did: with the pid it names one process for good."""
        return int(self._field(22))

    @property
    def cpu(self) -> int:
        """The CPU on which it runs, or ran last (PSR)."""
        return int(self._field(39))

    @property
    def policy(self) -> str:
        """Scheduling policy by its name in small letters, as in sched(7); its number where that is not known."""
        number = int(self._field(41))
        return _POLICIES.get(number, str(number))

    def _field(self, number: int) -> str:
        try:
            return self.fields[number - 3]
        except IndexError:
            raise ValueError(f"/proc/{self.pid}/stat has no field {number}") from None


class SchedStat(Struct, frozen=True):
    """/proc/PID/schedstat: time on a CPU and time in the run queue, both in ns. Source: sched-stats.rst"""

    run_ns: int
    run_delay_ns: int

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None where the kernel has no such file, or counts nothing in it (an empty one, or zeros)."""
        counters = [int(word) for word in (text or "").split() if word.isdecimal()]
        return cls(counters[0], counters[1]) if len(counters) >= 2 and any(counters) else None


def cpu_ticks(text: str) -> dict[str, tuple[int, ...]]:
    """The CPU lines of /proc/stat: ``cpu`` (all of them), ``cpu0`` and so on -> clock ticks.

    They are user nice system idle iowait irq softirq steal; guest time is inside user. Source: proc_stat(5)
    """
    lines = (line.split() for line in text.splitlines() if line.startswith("cpu"))
    return {name: tuple(int(word) for word in words[:8]) for name, *words in lines}


class Process(Struct, frozen=True):
    """A process as /proc shows it; ``cpu_s`` is schedstat's where there is one, else counted in clock ticks.

    ``runnable``: on a CPU, waiting for one, or for a page from disk (state D): in any case not idle.
    """

    command: str
    start_ticks: int
    cpu_s: float
    runnable: bool = False


def look(host: Host, pid: int, tid: int | None, clock_ticks: int) -> Process | None:
    """The process (or thread) now, or None if there is none or it cannot be read."""
    folder = f"/proc/{pid}/task/{tid}" if tid else f"/proc/{pid}"
    try:
        stat = ProcessStat.parse(host.read(f"{folder}/stat"))
        command = host.read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    except OSError:
        return None
    counted = None
    with suppress(OSError):  # kernels without SCHED_INFO have no such file
        counted = SchedStat.parse(host.read(f"{folder}/schedstat"))
    cpu_s = counted.run_ns / 1e9 if counted and counted.run_ns else stat.cpu_ticks / clock_ticks
    return Process(f"{stat.command} {command}", stat.start_ticks, cpu_s, runnable=stat.state in ("R", "D"))


def boot_time_s(host: Host) -> float | None:
    """When the host started, seconds since the epoch: btime of /proc/stat."""
    try:
        lines = host.read("/proc/stat").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) for line in lines if line.startswith("btime ")), None)


def started_later_s(
    process: Process, started_at_s: float | None, boot_s: float | None, clock_ticks: int
) -> float | None:
    """How much later than ``started_at_s`` (epoch) a process started, below 0 if before; None where not known."""
    if started_at_s is None or boot_s is None:
        return None
    return boot_s + process.start_ticks / clock_ticks - started_at_s


def inner_pids(host: Host) -> dict[int, tuple[int, ...]]:
    """Innermost pid -> pids on this host, of every process in a pid namespace of its own.

    Several containers may use the same number. Kernels before 4.1 do not show it, nor is what may not be read.
    """
    found: defaultdict[int, list[int]] = defaultdict(list)
    if isinstance(host, RemoteHost):
        files = host.read_matching(["/proc/[0-9]*/status"])
        host = Ahead(host, files, ["/proc"])
    for name in host.list("/proc"):
        if name.isdecimal() and (inner := _inner(host, f"/proc/{name}/status")) is not None:
            found[inner].append(int(name))
    return {inner: tuple(outer) for inner, outer in found.items()}


def inner_tid(host: Host, pid: int, tid: int) -> int | None:
    """The thread of process ``pid`` (by this host's number) that is ``tid`` in its own namespace."""
    for name in host.list(f"/proc/{pid}/task"):
        if name.isdecimal() and _inner(host, f"/proc/{pid}/task/{name}/status") == tid:
            return int(name)
    return None


def _inner(host: Host, path: str) -> int | None:
    """The innermost number, or None for a process in the reader's own namespace."""
    try:
        lines = host.read(path).splitlines()
    except OSError:
        return None
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    return int(numbers[-1]) if len(numbers) > 1 and numbers[-1].isdecimal() else None

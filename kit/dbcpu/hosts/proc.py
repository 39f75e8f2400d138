"""Processes of a host as its /proc shows them: what they are, and by which numbers a container knows them.

A database in a container names its server processes by the pids of its own namespace. NSpid in /proc/PID/status
lists all numbers of a process, from the namespace of the reader to the innermost. Source: proc_pid_status(5).
"""

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass

from dbcpu.hosts.base import Ahead, Host, RemoteHost

START_TOLERANCE_S = 5.0
"""/proc/stat's btime has whole seconds, and the database stamps its start a moment after the fork."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it: proc(5) stat fields 22, 14+15 and 3, schedstat's first where there is one.

    ``runnable``: on a CPU, or waiting for one.
    """

    command: str
    start_ticks: int
    cpu_s: float
    runnable: bool = False


def look(host: Host, pid: int, tid: int | None, clock_ticks: int) -> Process | None:
    """The process (or thread) now, or None if there is none or it cannot be read."""
    folder = f"/proc/{pid}/task/{tid}" if tid else f"/proc/{pid}"
    try:
        stat = host.read(f"{folder}/stat")
        command = host.read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    except OSError:
        return None
    name, fields = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
    cpu_s = (int(fields[11]) + int(fields[12])) / clock_ticks
    # Kernels without SCHED_INFO have no such file, or an empty one.
    with suppress(OSError, IndexError, ValueError):
        cpu_s = int(host.read(f"{folder}/schedstat").split()[0]) / 1e9 or cpu_s
    return Process(f"{name} {command}", int(fields[19]), cpu_s, runnable=fields[0] == "R")


def boot_time_s(host: Host) -> float | None:
    """When the host started, seconds since the epoch: btime of /proc/stat."""
    try:
        lines = host.read("/proc/stat").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) for line in lines if line.startswith("btime ")), None)


def apart_s(process: Process, started_at_s: float | None, boot_s: float | None, clock_ticks: int) -> float | None:
    """How far the start of a process is from ``started_at_s`` (epoch), or None where either is not known."""
    if started_at_s is None or boot_s is None:
        return None
    return abs(boot_s + process.start_ticks / clock_ticks - started_at_s)


def inner_pids(host: Host) -> dict[int, tuple[int, ...]]:
    """Innermost pid -> pids on this host, of every process in a pid namespace of its own.

    Several containers may use the same number. Kernels before 4.1 do not tell, nor does what may not be read.
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

"""Is this pid really that session's server process? Nothing is sampled before the answer is yes.

A pid that the database names may belong to another machine or another pid namespace, where the same
number is an innocent process. Four facts are held against it: its command, its start time, that it
stands still while its session is idle, and that its CPU time rises by the session's own warm-up.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from dbcpu.hosts.base import Ahead, Host, RemoteHost
from dbcpu.record import Server
from dbcpu.targets.base import ServerClaim

START_TOLERANCE_S = 5.0
"""/proc/stat's btime has whole seconds, and the database stamps its start a moment after the fork."""
LEAST_WORK_S = 0.001
IDLE_WORK_S = 0.0005
_ELSEWHERE = "another pid namespace or another machine"


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it: proc(5) stat fields 22 and 14+15, schedstat's first where there is one."""

    command: str
    start_ticks: int
    cpu_s: float


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
    return Process(command=f"{name} {command}", start_ticks=int(fields[19]), cpu_s=cpu_s)


def look_at_all(host: Host, claims: Sequence[ServerClaim], clock_ticks: int) -> list[Process | None]:
    """``look`` at the process of each claim; in one go where each file would cost a round trip."""
    known = [claim for claim in claims if claim.pid is not None]
    if isinstance(host, RemoteHost):
        folders = [f"/proc/{claim.pid}/task/{claim.tid}" if claim.tid else f"/proc/{claim.pid}" for claim in known]
        paths = [f"{folder}/{name}" for folder in folders for name in ("stat", "schedstat")]
        paths += [f"/proc/{claim.pid}/cmdline" for claim in known]
        host = Ahead(host, host.read_all(paths), [f"/proc/{claim.pid}" for claim in known])
    return [None if claim.pid is None else look(host, claim.pid, claim.tid, clock_ticks) for claim in claims]


def boot_time_s(host: Host) -> float | None:
    """When the host started, seconds since the epoch: btime of /proc/stat."""
    try:
        lines = host.read("/proc/stat").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) for line in lines if line.startswith("btime ")), None)


def refuse(
    claim: ServerClaim, process: Process | None, boot_s: float | None, clock_ticks: int, where: str = "here"
) -> str:
    """Why ``process`` cannot be the claimed one, or '' when command and start time agree.

    ``where``: on which host it was looked for, in words; another than this machine has to be named.
    """
    if claim.pid is None:
        return claim.why_not or "the database does not tell the process of a session"
    if claim.local is False and where == "here":
        return "the database runs on another machine"
    if process is None:
        return f"there is no process {claim.pid} {where}: the server runs in a container or on another machine"
    if claim.command and claim.command not in process.command:
        return f"process {claim.pid} {where} is {process.command.split()[0]!r}, not {claim.command!r}: {_ELSEWHERE}"
    if claim.started_at_s is not None and boot_s is not None:
        apart_s = boot_s + process.start_ticks / clock_ticks - claim.started_at_s
        if abs(apart_s) > START_TOLERANCE_S:
            return f"process {claim.pid} {where} started {abs(apart_s):.0f} s apart from the session: {_ELSEWHERE}"
    return ""


def judge(claim: ServerClaim, idle: tuple[Process | None, Process | None], warmed: Process | None, why: str) -> Server:
    """The verdict after the warm-up.

    ``idle``: two looks between which the session did nothing; ``warmed``: one after its warm-up;
    ``why``: what ``refuse`` said.
    """
    first, second = idle
    if not why and (first is None or second is None or warmed is None):
        why = f"process {claim.pid} was gone during the check"
    if why or first is None or second is None or warmed is None:
        return Server(claim.pid, claim.tid, None, verified=False, how=why)
    work_s = warmed.cpu_s - second.cpu_s
    if second.cpu_s - first.cpu_s > IDLE_WORK_S + 0.1 * work_s:
        why = f"process {claim.pid} was busy while its session was idle"
    elif work_s < LEAST_WORK_S:
        why = f"process {claim.pid} used no CPU during its session's warm-up"
    elif warmed.start_ticks != first.start_ticks:
        why = f"process {claim.pid} was replaced during the check"
    if why:
        return Server(claim.pid, claim.tid, None, verified=False, how=f"{why}: it is another process")
    return Server(
        claim.pid,
        claim.tid,
        warmed.start_ticks,
        verified=True,
        how=f"command, start time, idle when idle, {work_s * 1000:.1f} ms of CPU in its own warm-up",
    )

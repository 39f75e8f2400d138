"""Verifies that a pid is the server process of a session. Nothing is sampled before.

A pid that the database reports may belong to another machine or another pid namespace, where the same
number is an unrelated process. Four facts are checked: its command, its start time, that it is idle
while its session is idle, and that its CPU time rises by the session's own warm-up. Where a database starts
processes ahead of their sessions, a process may be older than its session, but not younger. A number
from a container is translated first, see ``hosts.proc``.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from dbcpu.hosts.base import Ahead, Host, RemoteHost
from dbcpu.hosts.proc import START_TOLERANCE_S, Process, boot_time_s, inner_pids, inner_tid, look, started_later_s
from dbcpu.record.rounds import Server
from dbcpu.targets.base import ServerClaim

MIN_WORK_S = 0.001
IDLE_WORK_S = 0.0005
_ELSEWHERE = "another pid namespace or another machine"


def on_host(claims: Sequence[ServerClaim], host: Host, clock_ticks: int, where: str) -> tuple[ServerClaim, ...]:
    """The claims with the process numbers of that host, translated from those of a container if necessary.

    A number that is no such process there is looked up among the processes of other pid namespaces. A claim that
    does not match exactly one process stays as it was, to be refused. ``where``: as for ``refuse``.
    """
    boot_s = boot_time_s(host)

    def refused(candidates: Sequence[ServerClaim]) -> list[bool]:
        found = look_at_all(host, candidates, clock_ticks)
        return [
            bool(refuse(claim, process, boot_s, clock_ticks, where))
            for claim, process in zip(candidates, found, strict=True)
        ]

    wrong = refused(claims)
    if not any(bad and claim.pid is not None for bad, claim in zip(wrong, claims, strict=True)):
        return tuple(claims)
    inner = inner_pids(host)
    translated = []
    for claim, bad in zip(claims, wrong, strict=True):
        outer = list(_outer(claim, host, inner)) if bad else []
        fitting = [candidate for candidate, unfit in zip(outer, refused(outer), strict=True) if not unfit]
        translated.append(fitting[0] if len(fitting) == 1 else claim)
    return tuple(translated)


def _outer(claim: ServerClaim, host: Host, inner: Mapping[int, tuple[int, ...]]) -> Iterator[ServerClaim]:
    """The processes and threads that have the claimed numbers in a namespace of their own."""
    for pid in inner.get(claim.pid or 0, ()):
        tid = inner_tid(host, pid, claim.tid) if claim.tid else None
        if tid is not None or not claim.tid:
            yield replace(claim, pid=pid, tid=tid, inner_pid=claim.pid)


def look_at_all(host: Host, claims: Sequence[ServerClaim], clock_ticks: int) -> list[Process | None]:
    """``look`` at the process of each claim; in one go where each file would cost a round trip."""
    known = [claim for claim in claims if claim.pid is not None]
    if isinstance(host, RemoteHost):
        folders = [f"/proc/{claim.pid}/task/{claim.tid}" if claim.tid else f"/proc/{claim.pid}" for claim in known]
        paths = [f"{folder}/{name}" for folder in folders for name in ("stat", "schedstat")]
        paths += [f"/proc/{claim.pid}/cmdline" for claim in known]
        host = Ahead(host, host.read_all(paths), [f"/proc/{claim.pid}" for claim in known])
    return [None if claim.pid is None else look(host, claim.pid, claim.tid, clock_ticks) for claim in claims]


def refuse(
    claim: ServerClaim, process: Process | None, boot_s: float | None, clock_ticks: int, where: str = "here"
) -> str:
    """Why ``process`` cannot be the claimed one, or '' when command and start time agree.

    ``where``: the host on which it was looked up, in words: ``here``, or ``on NAME``.
    """
    if claim.pid is None:
        return claim.why_not or "the database does not report the process of a session"
    if claim.local is False and where == "here":
        return "the database runs on another machine"
    if process is None:
        return f"there is no process {claim.pid} {where}: the server runs in a container or on another machine"
    if claim.command and not any(name and name in process.command for name in (claim.command, claim.or_command)):
        return f"process {claim.pid} {where} is {process.command.split()[0]!r}, not {claim.command!r}: {_ELSEWHERE}"
    later_s = started_later_s(process, claim.started_at_s, boot_s, clock_ticks)
    if later_s is not None and not claim.may_be_older and abs(later_s) > START_TOLERANCE_S:
        return f"process {claim.pid} {where} and the session started {abs(later_s):.0f} s apart: {_ELSEWHERE}"
    if later_s is not None and later_s > START_TOLERANCE_S:
        return f"process {claim.pid} {where} started {later_s:.0f} s after the session: {_ELSEWHERE}"
    return ""


def was_busy(first: Process, second: Process, warmed: Process) -> bool:
    """Whether it worked between the first two looks, when its session did nothing; the third is after a warm-up.

    On an overloaded host a busy process may get no CPU between two looks, but it is in the run queue.
    """
    return second.runnable or second.cpu_s - first.cpu_s > IDLE_WORK_S + 0.1 * (warmed.cpu_s - second.cpu_s)


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
    if was_busy(first, second, warmed):
        why = f"process {claim.pid} was busy while its session was idle"
    elif work_s < MIN_WORK_S:
        why = f"process {claim.pid} used no CPU during its session's warm-up"
    elif warmed.start_ticks != first.start_ticks:
        why = f"process {claim.pid} was replaced during the check"
    if why:
        return Server(claim.pid, claim.tid, None, verified=False, how=f"{why}: it is another process")
    start = "not younger than its session" if claim.may_be_older else "start time"
    inside = f"process {claim.inner_pid} of a container: " if claim.inner_pid is not None else ""
    return Server(
        claim.pid,
        claim.tid,
        warmed.start_ticks,
        verified=True,
        how=f"{inside}command, {start}, idle when idle, {work_s * 1000:.1f} ms of CPU in its own warm-up",
    )

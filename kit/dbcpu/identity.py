"""Is this pid really that session's server process? Nothing is sampled before the answer is yes.

A pid that the database names may belong to another machine or another pid namespace, where the same
number is an innocent process. Four facts are held against it: its command, its start time, that it
stands still while its session is idle, and that its CPU time rises by the session's own warm-up. A number
that a container gave is translated first, see ``processes``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbcpu.hosts.base import Host
from dbcpu.processes import START_TOLERANCE_S, Process, apart_s, boot_time_s, inner_pids, inner_tid, look
from dbcpu.record import Server
from dbcpu.targets.base import ServerClaim

LEAST_WORK_S = 0.001
IDLE_WORK_S = 0.0005


def on_host(claims: Sequence[ServerClaim], host: Host, clock_ticks: int) -> tuple[ServerClaim, ...]:
    """The claims with this host's numbers, where a container's were meant.

    A number that means no such process here is looked for among the processes of other pid namespaces. What does
    not lead to one process alone is left as it was, to be refused.
    """
    boot_s = boot_time_s(host)
    refused = [
        bool(refuse(claim, _process(host, claim, clock_ticks), boot_s, clock_ticks)) and claim.pid is not None
        for claim in claims
    ]
    if not any(refused):
        return tuple(claims)
    inner = inner_pids(host)
    return tuple(
        _outer(claim, host, boot_s, clock_ticks, inner) if wrong else claim
        for claim, wrong in zip(claims, refused, strict=True)
    )


def _outer(
    claim: ServerClaim, host: Host, boot_s: float | None, clock_ticks: int, inner: Mapping[int, tuple[int, ...]]
) -> ServerClaim:
    """The one process with that number in a namespace of its own that is not refused; else the claim as it is."""
    found = []
    for pid in inner.get(claim.pid or 0, ()):
        tid = inner_tid(host, pid, claim.tid) if claim.tid else None
        if claim.tid and tid is None:
            continue
        outer = replace(claim, pid=pid, tid=tid, inner_pid=claim.pid)
        if not refuse(outer, _process(host, outer, clock_ticks), boot_s, clock_ticks):
            found.append(outer)
    return found[0] if len(found) == 1 else claim


def _process(host: Host, claim: ServerClaim, clock_ticks: int) -> Process | None:
    return look(host, claim.pid, claim.tid, clock_ticks) if claim.pid is not None else None


def refuse(claim: ServerClaim, process: Process | None, boot_s: float | None, clock_ticks: int) -> str:
    """Why ``process`` cannot be the claimed one, or '' when command and start time agree."""
    if claim.pid is None:
        return claim.why_not or "the database does not tell the process of a session"
    if claim.local is False:
        return "the database runs on another machine"
    if process is None:
        return f"there is no process {claim.pid} here: the server runs in a container or on another machine"
    if claim.command and claim.command not in process.command:
        return (
            f"process {claim.pid} here is {process.command.split()[0]!r}, not {claim.command!r}: another pid namespace"
        )
    apart = apart_s(process, claim.started_at_s, boot_s, clock_ticks)
    if apart is not None and apart > START_TOLERANCE_S:
        return f"process {claim.pid} here started {apart:.0f} s apart from the session: another pid namespace"
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
    inside = f"process {claim.inner_pid} of a container: " if claim.inner_pid is not None else ""
    return Server(
        claim.pid,
        claim.tid,
        warmed.start_ticks,
        verified=True,
        how=f"{inside}command, start time, idle when idle, {work_s * 1000:.1f} ms of CPU in its own warm-up",
    )

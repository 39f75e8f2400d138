"""Verifies the server processes of a round's sessions: all are idle for a moment, then all warm up.

What is evidence for or against one process is in ``identity``.
"""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.proc import Process, boot_time_s
from dbcpu.measure.identity import MIN_WORK_S, judge, look_at_all, on_host, refuse, was_busy
from dbcpu.record.rounds import Server
from dbcpu.targets.base import DatabaseSession, ServerClaim

IDLE_LOOK_S = 0.02
IDLE_LOOKS = 100
"""Two seconds: with 50 % steal a process can take that long until it sleeps."""
WARM_UPS = 4
CHECKS = 3
"""A server process may wake by itself while its session is idle (PostgreSQL's writes its statistics after 10 s)."""


class AtGate(Struct):
    """One session at the gate."""

    session: DatabaseSession
    connect_s: float
    claim: ServerClaim
    server: Server


def verify(
    members: Sequence[AtGate],
    host: Host | None,
    clock_ticks: int,
    warm: Callable[[Sequence[AtGate]], None],
) -> None:
    """Warm up all sessions, and set ``claim`` and ``server`` of each. ``host``: None where none can be looked at.

    Raises what ``warm`` raises.
    """

    def look(at: Sequence[AtGate]) -> list[Process | None]:
        return look_at_all(host, [member.claim for member in at], clock_ticks) if host else [None for _ in at]

    where = f"on {host.name}" if isinstance(host, RemoteHost) else "here"
    if host is not None:
        claims = on_host([member.claim for member in members], host, clock_ticks, where)
        for member, claim in zip(members, claims, strict=True):
            member.claim = claim
    boot_s = boot_time_s(host) if host else None

    def refused(member: AtGate, process: Process | None) -> str:
        return refuse(member.claim, process, boot_s, clock_ticks, where)

    unsure = members
    for _ in range(CHECKS):
        unsure = _check(unsure, refused, look, warm)
        if not unsure:
            break
    _refuse_shared_processes(members)


def _check(
    members: Sequence[AtGate],
    refused: Callable[[AtGate, Process | None], str],
    look: Callable[[Sequence[AtGate]], list[Process | None]],
    warm: Callable[[Sequence[AtGate]], None],
) -> list[AtGate]:
    """One idle moment and one warm-up of these sessions. Returns those whose process was busy in that moment."""
    first = look(members)
    reasons = [refused(member, process) for member, process in zip(members, first, strict=True)]
    # A session's own process may not sleep yet; the CPU time until then is not used as evidence.
    for _ in range(IDLE_LOOKS):
        if not any(process and process.runnable and not why for process, why in zip(first, reasons, strict=True)):
            break
        time.sleep(IDLE_LOOK_S)
        first = look(members)
    time.sleep(IDLE_LOOK_S)
    second = look(members)
    warm(members)
    warmed = look(members)
    for _ in range(WARM_UPS):
        if all(why or _moved(before, after) for why, before, after in zip(reasons, second, warmed, strict=True)):
            break
        warm(members)
        warmed = look(members)
    busy = []
    for member, one, two, three, why in zip(members, first, second, warmed, reasons, strict=True):
        member.server = judge(member.claim, (one, two), three, why)
        if not why and one and two and three and was_busy(one, two, three):
            busy.append(member)
    return busy


def _moved(before: Process | None, after: Process | None) -> bool:
    return before is not None and after is not None and after.cpu_s - before.cpu_s >= MIN_WORK_S


def _refuse_shared_processes(members: Sequence[AtGate]) -> None:
    """Two sessions in one process (a shared server, a pooler) cannot be sampled separately."""
    seen: dict[tuple[int | None, int | None], int] = {}
    for member in members:
        key = (member.server.pid, member.server.tid)
        if member.server.verified and seen.setdefault(key, member.session.ordinal) != member.session.ordinal:
            why = f"process {key[0]} already serves session {seen[key]}: sessions share server processes"
            member.server = Server(key[0], key[1], None, verified=False, how=why)

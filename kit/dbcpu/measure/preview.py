"""The plan of a run before it starts, and whether memory, connections and open files are sufficient."""

import resource
from collections.abc import Sequence

from msgspec import Struct

from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.formatting import duration, percent, plural
from dbcpu.record import plan
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database, HostInfo
from dbcpu.record.plan import RoundSpec
from dbcpu.targets.base import NamesItsLimit, Target, Work

MEMORY_SHARE = 0.75
"""Largest part of the available memory that all sessions together may take."""
FILES_PER_SESSION = 4


class Preview(Struct, frozen=True):
    """Levels, wall time, CPU time and memory of a run; ``duration_s`` and ``cpu_s`` are estimates."""

    target: str
    private: bool
    database: Database
    work: Work
    levels: tuple[int, ...]
    rounds: int
    executions: int | None
    duration_s: float
    cpu_s: float
    memory_bytes: int
    findings: tuple[Finding, ...]
    at_most: bool = False
    """Rounds are chosen from the results so far: this is the largest number."""
    amount: str = ""
    """The work per session, in words."""
    changes: tuple[str, ...] = ()
    """What will be changed and restored, a line per variant."""
    touches_host: bool = False
    """Whether the change affects other processes than the measured sessions."""
    left_out: tuple[str, ...] = ()
    """Variants that would change nothing here, a sentence each."""


def foreseen_rounds(rounds: int, *, at_most: bool) -> str:
    """``12 rounds``; ``at_most``: the plan follows from results, which need no more than these on a quiet host."""
    return plural(rounds, "round") + (" or fewer" if at_most else "")


def foreseen_time(lasts_s: float, *, at_most: bool) -> str:
    """Of the rounds alone: not of what is before, between and after them; a busy host takes longer."""
    return f"on a quiet host the rounds take about {duration(lasts_s)}{' or less' if at_most else ''}"


def preview_of(
    request: Request,
    target: Target,
    work: Work,
    specs: Sequence[RoundSpec],
    executions: int | None,
    for_s: float | None,
    solo_s: float,
    vcpus: int | None,
    findings: tuple[Finding, ...],
) -> Preview:
    solo_work_s = for_s if for_s else solo_s * (executions or 1)
    # Fixed time does not grow with the level.
    sharing = plan.MAX_SESSIONS if for_s else vcpus or 1
    return Preview(
        target=request.name,
        private=target.private,
        database=target.describe(),
        work=work,
        levels=tuple(sorted({spec.level for spec in specs})),
        rounds=len(specs),
        executions=executions,
        duration_s=plan.estimate_s(specs, solo_work_s, sharing),
        cpu_s=sum(solo_work_s * (min(spec.level, vcpus or spec.level) if for_s else spec.level) for spec in specs),
        memory_bytes=work.memory_bytes * max(spec.level for spec in specs),
        findings=findings,
        amount=f"{plural(executions, 'execution')} per session" if executions else "fixed time per session",
    )


def check_room(preview: Preview, info: HostInfo | None, target: Target, option: str = "--sessions") -> None:
    """Check memory and connections for the highest level of ``option``, before any load. Raises UsageError."""
    most = max(preview.levels)
    free = target.connections_free()
    if free is not None and free < most:
        instead = f"lower {option} to {free}" if free > 0 else "close some connections"
        limit = target.connection_limit() if isinstance(target, NamesItsLimit) else ""
        raised = "it" if limit else "the limit (max_connections, CONNECTION LIMIT of role or database)"
        raise UsageError(
            f"{max(0, free)} of {plural(most, 'session')} can connect: "
            f"{limit or 'the server has no more free connections'}; {instead} or raise {raised}"
        )
    available = info.limits.memory_available_bytes if info else None
    if available is not None and preview.memory_bytes > MEMORY_SHARE * available:
        fit = int(MEMORY_SHARE * available // preview.work.memory_bytes)
        raise UsageError(
            f"{preview.work.name} {preview.work.size} needs {preview.memory_bytes / 1e9:.1f} GB for "
            f"{plural(most, 'session')}, more than {percent(MEMORY_SHARE)} of the {available / 1e9:.1f} GB available; "
            f"{f'the largest possible level is {fit}' if fit else 'use a smaller --size'}"
        )


def make_room_for_files(sessions: int) -> None:
    """A socket and two sampled files per session; the soft limit is 1024 on most systems. getrlimit(2)

    Raises UsageError where the hard limit is too low.
    """
    needed = FILES_PER_SESSION * sessions + 200
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if needed <= soft or soft == resource.RLIM_INFINITY:
        return
    if needed > hard != resource.RLIM_INFINITY:
        raise UsageError(
            f"{plural(sessions, 'session')} need {needed} open files and the limit is {hard}; "
            "raise the limit (ulimit -n) or use fewer sessions"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))

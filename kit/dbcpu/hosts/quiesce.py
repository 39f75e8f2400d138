"""Waits until the host is quiet, and says how busy it was with other work."""

import os
import time
from dataclasses import dataclass

from dbcpu.errors import UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.proc import cpu_ticks

QUIET_SHARE = 0.05
WINDOW_S = 0.15
PATIENCE_S = 2.0
VARIABLE = "DBCPU_SETTLE_S"


@dataclass(frozen=True, slots=True)
class Quiet:
    """``busy_share``: part of all CPU time that was used in the last window (0 to 1); None where unknown."""

    settled: bool
    busy_share: float | None
    waited_s: float


def patience_s() -> float:
    """How long a round waits for a quiet host: what DBCPU_SETTLE_S says, else 2 s. Raises UsageError."""
    given = os.environ.get(VARIABLE) or str(PATIENCE_S)
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise UsageError(f"{VARIABLE} is {given!r}; give seconds from 0 to 3600, or leave it out for {PATIENCE_S:g}")
    return seconds


def settle(host: Host | None, timeout_s: float) -> Quiet:
    """Look at /proc/stat in windows of 0.15 s until less than 5 % of all CPU time was used in one.

    One tick (10 ms) per window never counts as load: it is the resolution of the counter.
    """
    began_s = time.monotonic()
    before = _ticks(host)
    while before is not None:
        time.sleep(WINDOW_S)
        after = _ticks(host)
        if after is None:
            break
        total, idle = after[0] - before[0], after[1] - before[1]
        busy = total - idle
        share = busy / total if total else 0.0
        waited_s = time.monotonic() - began_s
        if share < QUIET_SHARE or busy <= 1:
            return Quiet(True, share, waited_s)
        if waited_s >= timeout_s:
            return Quiet(False, share, waited_s)
        before = after
    return Quiet(True, None, time.monotonic() - began_s)


def _ticks(host: Host | None) -> tuple[int, int] | None:
    """All ticks and idle ticks (idle + iowait) of the whole machine."""
    if host is None:
        return None
    try:
        ticks = cpu_ticks(host.read("/proc/stat"))["cpu"]
        return sum(ticks), ticks[3] + ticks[4]
    except (OSError, ValueError, LookupError):
        return None

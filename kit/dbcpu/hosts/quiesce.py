"""Waits until the host is quiet, and says how busy it was with other work."""

import os
import time
from collections.abc import Callable

from msgspec import Struct

from dbcpu.errors import UsageError
from dbcpu.hosts.base import Host
from dbcpu.hosts.proc import cpu_ticks

QUIET_SHARE = 0.05
WINDOW_S = 0.15
PATIENCE_S = 2.0
RUN_SHARE = 0.1
"""Of the time that a run is expected to take: its rounds wait no longer than that, all of them together."""
VARIABLE = "DBCPU_SETTLE_S"


class Quiet(Struct, frozen=True):
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


class Patience:
    """How long the rounds of a run wait for a quiet host: one of them and, without DBCPU_SETTLE_S, all of them.

    ``run_s``: how long the run is expected to take. ``used_up`` is called once, when no time to wait is left. Raises
    UsageError.
    """

    def __init__(self, run_s: float | None = None, used_up: Callable[[], object] = lambda: None) -> None:
        self.each_s, self._used_up = patience_s(), used_up
        bounded = run_s is not None and not os.environ.get(VARIABLE)
        self._left_s = RUN_SHARE * (run_s or 0.0) if bounded else float("inf")

    def settle(self, host: Host | None) -> Quiet:
        """As ``settle``; where no time is left one look at the host, so that a busy one is marked."""
        quiet = settle(host, min(self.each_s, self._left_s))
        if self._left_s > 0:
            # A quiet host costs one look in any case.
            self._left_s = max(0.0, self._left_s - quiet.waited_s + (WINDOW_S if quiet.settled else 0.0))
            if not self._left_s:
                self._used_up()
        return quiet


def _ticks(host: Host | None) -> tuple[int, int] | None:
    """All ticks and idle ticks (idle + iowait) of the whole machine."""
    if host is None:
        return None
    try:
        ticks = cpu_ticks(host.read("/proc/stat"))["cpu"]
        return sum(ticks), ticks[3] + ticks[4]
    except (OSError, ValueError, LookupError):
        return None

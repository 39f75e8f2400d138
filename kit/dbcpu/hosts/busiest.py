"""Which processes keep a host busy just now, by name."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from dbcpu.formatting import percent, plain
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.proc import ProcessStat

WINDOW_S = 0.3
"""Thirty ticks of the usual kernel."""
MIN_SHARE, MOST = 0.05, 3
"""Of one CPU; so many are named."""


def busiest(host: Host | None, clock_ticks: int, own_pids: Sequence[int]) -> tuple[tuple[str, int, float], ...]:
    """Command and pid of processes that are not ``own_pids``, and the share of a CPU used in 0.3 s; the busiest first.

    () where nobody uses as much as a twentieth, or processes cannot be listed.
    """
    if host is None or not host.live:
        return ()
    before, began_s = _ticks(host), time.monotonic()
    time.sleep(WINDOW_S)
    after, window_s = _ticks(host), time.monotonic() - began_s
    shares = [
        ((ticks - before[key]) / clock_ticks / window_s, *key)
        for key, ticks in after.items()
        if key in before and key[0] not in own_pids
    ]
    return tuple((name, pid, share) for share, pid, name in sorted(shares, reverse=True)[:MOST] if share >= MIN_SHARE)


def stays_busy(host: Host | None, clock_ticks: int) -> str:
    """What a user is shown when no round waits any more; before a release no session of dbcpu is at work."""
    who = named(host, clock_ticks)
    return f"the host stays busy with other work{who and f' ({who})'}: rounds no longer wait for it, and are marked"


def named(host: Host | None, clock_ticks: int) -> str:
    """``pid 71 md5sum 98 %, pid 8 gzip 45 % of a CPU``; '' for nobody, as ``busiest``. No session is at work."""
    found = [
        f"pid {pid} {plain(name)} {percent(share)}" for name, pid, share in busiest(host, clock_ticks, (os.getpid(),))
    ]
    return f"{', '.join(found)} of a CPU" if found else ""


def _ticks(host: Host) -> dict[tuple[int, str], int]:
    """CPU ticks so far by process number and command."""
    found = {}
    for text in _stats(host):
        with suppress(ValueError):
            stat = ProcessStat.parse(text)
            found[stat.pid, stat.command] = stat.cpu_ticks
    return found


def _stats(host: Host) -> Iterator[str]:
    if isinstance(host, RemoteHost):
        yield from host.process_stats()
        return
    for name in host.list("/proc"):
        if name.isdecimal():
            # It may have ended meanwhile.
            with suppress(OSError):
                yield host.read(f"/proc/{name}/stat")

"""The process that drives a run: which one it is, and whether a recorded one is still there."""

import os
import platform

from dbcpu.hosts.base import Host
from dbcpu.hosts.local import LocalHost
from dbcpu.record import Driver

_START_TICKS = 22 - 3
"""starttime is field 22 of /proc/PID/stat; fields from 3 on follow the last ')'. Source: proc(5)"""


def this_process(host: Host | None = None) -> Driver:
    """The running process as the record names it."""
    host = host or LocalHost()
    found = _state_and_start(host, os.getpid())
    return Driver(
        hostname=platform.node(),
        pid=os.getpid(),
        start_ticks=found[1] if found else None,
        python=platform.python_version(),
        boot_id=boot_id(host),
    )


def is_here(driver: Driver) -> bool:
    """Whether that process ran on this machine."""
    return driver.hostname == platform.node()


def is_gone(driver: Driver, host: Host | None = None) -> bool:
    """True when that process surely runs no more; False also when it cannot be told (another machine)."""
    if not is_here(driver):
        return False
    host = host or LocalHost()
    booted = boot_id(host)
    if booted is None:
        return False
    if driver.boot_id is not None and driver.boot_id != booted:
        return True
    found = _state_and_start(host, driver.pid)
    if found is None:
        # With hidepid not even process 1 is seen: then an absent process proves nothing.
        return _state_and_start(host, 1) is not None
    state, start_ticks = found
    return state in "ZX" or (driver.start_ticks is not None and driver.start_ticks != start_ticks)


def boot_id(host: Host) -> str | None:
    """Names the time from one start of the host to the next; None where it is not told."""
    try:
        return host.read("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return None


def _state_and_start(host: Host, pid: int) -> tuple[str, int] | None:
    try:
        after_name = host.read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return after_name[0], int(after_name[_START_TICKS])
    except (OSError, IndexError, ValueError):
        return None

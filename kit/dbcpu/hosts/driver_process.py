"""The process that drives a run: which one it is, and whether a recorded one is still there."""

import os
import platform

from dbcpu.hosts.base import Host
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.record import Driver


def this_process(host: Host | None = None) -> Driver:
    """The running process as the record names it."""
    host = host or LocalHost()
    found = _stat(host, os.getpid())
    return Driver(
        hostname=platform.node(),
        pid=os.getpid(),
        start_ticks=found.start_ticks if found else None,
        python=platform.python_version(),
        boot_id=boot_id(host),
    )


def is_here(driver: Driver) -> bool:
    """Whether that process ran on this machine."""
    return driver.hostname == platform.node()


def is_gone(driver: Driver, host: Host | None = None) -> bool:
    """True when that process surely runs no more; False also when that is not known (another machine)."""
    if not is_here(driver):
        return False
    host = host or LocalHost()
    booted = boot_id(host)
    if booted is None:
        return False
    if driver.boot_id is not None and driver.boot_id != booted:
        return True
    found = _stat(host, driver.pid)
    if found is None:
        # With hidepid not even process 1 is seen: then an absent process proves nothing.
        return _stat(host, 1) is not None
    return found.has_ended or (driver.start_ticks is not None and driver.start_ticks != found.start_ticks)


def boot_id(host: Host) -> str | None:
    """Names the time from one start of the host to the next; None where the host does not say."""
    try:
        return host.read("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return None


def _stat(host: Host, pid: int) -> ProcessStat | None:
    try:
        return ProcessStat.parse(host.read(f"/proc/{pid}/stat"))
    except (OSError, ValueError):
        return None

"""The process that drives a run: which one it is, and whether a recorded one is still there."""

import os
import platform
from hashlib import blake2b

from dbcpu.hosts.base import Host
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.record.header import Driver

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""That of the machine itself, on every boot of every kernel: PROC_PID_INIT_INO, include/linux/proc_ns.h"""


def this_process(host: Host | None = None) -> Driver:
    """The running process as the record names it."""
    return process(os.getpid(), host)


def process(pid: int, host: Host | None = None) -> Driver:
    """The same of another process of this machine."""
    host = host or LocalHost()
    found = _stat(host, pid)
    return Driver(
        hostname=platform.node(),
        pid=pid,
        start_ticks=found.start_ticks if found else None,
        python=platform.python_version(),
        boot_id=boot_id(host),
        pid_namespace=pid_namespace(),
        machine=machine(host),
    )


def has_capability(number: int) -> bool:
    """Whether this process may do what a capability of Linux stands for, by its number in linux/capability.h.

    A container's root lacks some. False where it cannot be read. Source: proc_pid_status(5), CapEff.
    """
    try:
        lines = LocalHost().read("/proc/self/status").splitlines()
    except OSError:
        return False
    effective = next((line.split()[1] for line in lines if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> number & 1)


def is_here(driver: Driver, host: Host | None = None) -> bool:
    """Whether that process ran among the processes that are seen here: same host name, boot and pid namespace.

    A part that one side does not know is not compared. A host name alone proves little: cloned machines and
    containers share theirs. After a restart of the host this is False; see ``was_before_restart``.
    """
    here = (platform.node(), boot_id(host or LocalHost()), pid_namespace())
    there = (driver.hostname, driver.boot_id, driver.pid_namespace)
    return all(left == right or None in (left, right) for left, right in zip(here, there, strict=True))


def was_before_restart(driver: Driver, host: Host | None = None) -> bool:
    """Whether that process ran on this machine under an earlier boot, and so was cut off.

    Only of machines: same ``machine`` and host name, both in the first pid namespace, and another boot. Containers
    made of one image may share all but that namespace. What one side does not know makes this False.
    """
    host = host or LocalHost()
    same = (driver.hostname, driver.pid_namespace, driver.machine) == (
        platform.node(), FIRST_PID_NAMESPACE, machine(host)
    )  # fmt: skip
    now = boot_id(host)
    known = None not in (driver.machine, driver.boot_id, now)
    return known and same and pid_namespace() == FIRST_PID_NAMESPACE and driver.boot_id != now


def is_gone(driver: Driver, host: Host | None = None) -> bool:
    """True when that process surely runs no more; False also when that is not known (see ``is_here``)."""
    host = host or LocalHost()
    if was_before_restart(driver, host):
        return True
    if boot_id(host) is None or not is_here(driver, host):
        return False
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


def machine(host: Host) -> str | None:
    """Names the installation of the operating system, which restarts leave as it is; None where it has no id.

    16 hexadecimal digits, from which the id does not follow: it is to be kept from others. Source: machine-id(5)
    """
    try:
        found = bytes.fromhex(host.read("/etc/machine-id").strip())
    except (OSError, ValueError):  # "uninitialized" is what an image may hold
        return None
    return blake2b(b"dbcpu", key=found, digest_size=8).hexdigest() if len(found) == 16 else None


def pid_namespace() -> str | None:
    """Names the space in which process numbers have a meaning; None where the kernel does not say. namespaces(7)"""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - the text of the link, which is no path
    except OSError:
        return None


def _stat(host: Host, pid: int) -> ProcessStat | None:
    try:
        return ProcessStat.parse(host.read(f"/proc/{pid}/stat"))
    except (OSError, ValueError):
        return None

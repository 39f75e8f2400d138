"""A PostgreSQL server as in a container with a CPU quota: pids, mounts and control groups of its own.

The quota is one of cgroup version 1, which can be set where version 2 gives no CPU controller away.
Sources: unshare(1), nsenter(1), cgroup_namespaces(7), sched-bwc.rst
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.driving import children, until
from support.servers.namespaces import skip_without_pid_namespace
from support.servers.postgresql import DebianServer, installed_binaries

CPU = Path("/sys/fs/cgroup/cpu")
PRESSURE = Path("/sys/fs/cgroup/unified")
PERIOD_US, QUOTA_US = 100_000, 25_000
# Whoever is moved into the group first sees it as the root of all groups, as in a container.
_INSIDE = """
for group in "$0" "$1"; do echo $$ >"$group/cgroup.procs" || exit; done; shift
exec unshare --pid --fork --kill-child --mount --cgroup --mount-proc sh -c '%s && exec "$@"' sh "$@"
"""
_SHOWN = f"umount {CPU} && mount -t cgroup -o cpu none {CPU}"
# As where the limit is one of the pod, above what its container shows; the kernel counts pressure in version 2.
_HIDDEN = f"umount {CPU} {PRESSURE} && mount -t cgroup2 none {PRESSURE}"


class Box:
    """``enter``: a command that starts a ``sh -s`` in it as docker exec does; ``server``: what runs in it."""

    def __init__(self, server: DebianServer, groups: tuple[Path, Path], hidden: bool) -> None:
        self.server = server
        self._groups = groups
        server.start(own_pids=True, inside=("sh", "-c", _INSIDE % (_HIDDEN if hidden else _SHOWN), *map(str, groups)))
        (self.pid,) = children(server.pid)

    @property
    def enter(self) -> str:
        joining = "; ".join(f"echo $$ >{group}/cgroup.procs" for group in self._groups)
        return f"sh -c '{joining}; exec nsenter --target {self.pid} --pid --mount --cgroup sh -s'"

    def far_ends(self) -> list[int]:
        """Processes in it that are not the server's."""
        space = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if (folder / "ns/pid").readlink() == space and "postgres" not in (folder / "comm").read_text():
                    found.append(int(folder.name))
        return found


@contextmanager
def boxed(*, hidden: bool = False) -> Iterator[Box]:
    """``hidden``: its quota is not seen from inside. Skips where this machine makes no such thing."""
    skip_without_pid_namespace()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    group, counted = CPU / f"dbcpu-{folder.name}", PRESSURE / f"dbcpu-{folder.name}"
    try:
        try:
            group.mkdir()
            counted.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        except OSError as error:
            pytest.skip(f"this machine lets nobody set a CPU quota of cgroup version 1: {error.strerror}")
        server = DebianServer(installed_binaries(), folder, "s3cret-of-the-tests")
        box = Box(server, (group, counted), hidden)
        try:
            yield box
        finally:
            os.kill(box.pid, signal.SIGKILL)  # the first of its namespace: all others end with it
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for each in (group, counted):
            with suppress(OSError):
                until(lambda of=each: not (of / "cgroup.procs").read_text(), "its processes have ended", 20.0)  # type: ignore[misc]
                each.rmdir()

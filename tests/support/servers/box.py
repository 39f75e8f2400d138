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
PERIOD_US, QUOTA_US = 100_000, 50_000
# Whoever is moved into the group first sees it as the root of all groups, as in a container.
_INSIDE = """
echo $$ >"$0/cgroup.procs" &&
exec unshare --pid --fork --kill-child --mount --cgroup --mount-proc \\
    sh -c 'umount "$0" && mount -t cgroup -o cpu none "$0" && exec "$@"' %s "$@"
"""


class Box:
    """``enter``: a command that starts a ``sh -s`` in it as docker exec does; ``server``: what runs in it."""

    def __init__(self, server: DebianServer, group: Path) -> None:
        self.server = server
        self._group = group
        server.start(own_pids=True, inside=("sh", "-c", _INSIDE % CPU, str(group)))
        (self.pid,) = children(server.pid)

    @property
    def enter(self) -> str:
        entering = f"nsenter --target {self.pid} --pid --mount --cgroup sh -s"
        return f"sh -c 'echo $$ >{self._group}/cgroup.procs && exec {entering}'"

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
def boxed() -> Iterator[Box]:
    """Skips where this machine makes no such thing."""
    skip_without_pid_namespace()
    group = CPU / f"dbcpu-tests-{tempfile.gettempprefix()}-{id(object()):x}"
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        try:
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        except OSError as error:
            pytest.skip(f"this machine lets nobody set a CPU quota of cgroup version 1: {error.strerror}")
        server = DebianServer(installed_binaries(), folder, "s3cret-of-the-tests")
        box = Box(server, group)
        try:
            yield box
        finally:
            os.kill(box.pid, signal.SIGKILL)  # the first of its namespace: all others end with it
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            until(lambda: not (group / "cgroup.procs").read_text(), "its processes have ended", 20.0)
            group.rmdir()

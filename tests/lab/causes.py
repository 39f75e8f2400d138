"""The causes of lost time that can be made on real server processes, one generator each."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

import psycopg
from msgspec.structs import replace

from dbcpu.targets.base import Work
from lab.generator import Generator

CPU_GROUPS, IO_GROUPS = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup/blkio")
UNIFIED = Path("/sys/fs/cgroup")
LOCK = 4711
COLD_ROWS, COLD_MB = 125_000, 30
COLD = "public.cold"
"""Sessions of the kit look for relations in the catalogue only."""
LIMIT_S = 10.0

_SPIN = "import sys; print('ready', flush=True)\nwhile True: pass"
_DUTY_SPIN = """import os, sys, time
on_s, off_s = float(sys.argv[1]), float(sys.argv[2])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
print('ready', flush=True)
while True:
    until = time.monotonic() + on_s
    while time.monotonic() < until: pass
    time.sleep(off_s)"""
_STOP = """import os, signal, sys, time
pid, on_s, off_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
print('ready', flush=True)
try:
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(on_s)
        os.kill(pid, signal.SIGCONT)
        time.sleep(off_s)
except ProcessLookupError:
    pass"""


class PinnedTogether(Generator):
    name = "two pinned to one CPU"

    def choose(self) -> None:
        self.labels = ("run_queue", "run_queue")

    def place(self, ordinal: int) -> set[int]:
        return {self.cpu}


class ThreePinned(Generator):
    name = "three pinned 0, 0, 1"

    def choose(self) -> None:
        self.victim = self.rng.randrange(3)
        self.labels = tuple("none" if ordinal == self.victim else "run_queue" for ordinal in range(3))


class ThreeFree(Generator):
    name = "three free on two CPUs"

    def choose(self) -> None:
        self.labels = ("run_queue",) * 3

    @classmethod
    def why_not(cls) -> str | None:
        return None if len(os.sched_getaffinity(0)) == 2 else "this machine has not exactly two CPUs"

    def place(self, ordinal: int) -> set[int]:
        return set()


class Quota(Generator):
    """A control group of its own for the victim: v1 where it is mounted, else v2."""

    name = "CPU quota on one session"
    quotas: tuple[float, ...] = (0.4, 0.5, 0.7)

    def choose(self) -> None:
        self.quota, self.period_ms = self.rng.choice(self.quotas), self.rng.choice((10, 50, 100))
        self.setting = f"{self.quota:g} CPUs per {self.period_ms} ms"
        self.only_victim_loses_to("throttled")

    @classmethod
    def why_not(cls) -> str | None:
        if os.geteuid() != 0:
            return "this machine lets only root make control groups"
        v2 = UNIFIED / "cgroup.subtree_control"
        if CPU_GROUPS.is_dir() or (v2.is_file() and "cpu" in v2.read_text().split()):
            return super().why_not()
        return "this machine has no CPU controller that can be used"

    def members(self) -> list[int]:
        return [self.pids[self.victim]]

    def before(self, pids: Sequence[int]) -> None:
        super().before(pids)
        period_us = self.period_ms * 1000
        quota_us = int(self.quota * period_us)
        v1 = CPU_GROUPS.is_dir()
        folder = (CPU_GROUPS if v1 else UNIFIED) / f"dbcpu-lab-{os.getpid()}"
        folder.mkdir()
        self.undo.callback(remove_group, folder)
        if v1:
            (folder / "cpu.cfs_period_us").write_text(str(period_us))
            (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (folder / "cpu.max").write_text(f"{quota_us} {period_us}")
        for pid in self.members():
            (folder / "cgroup.procs").write_text(str(pid))


class QuotaOnAll(Quota):
    name = "CPU quota on both sessions"
    quotas = (1.0, 1.3)

    def choose(self) -> None:
        super().choose()
        self.labels = ("throttled", "throttled")

    def members(self) -> list[int]:
        return self.pids


class Stopped(Generator):
    name = "stopped and continued"

    def choose(self) -> None:
        self.on_ms, self.off_ms = self.rng.choice(((10, 10), (30, 70), (100, 100), (60, 40)))
        self.setting = f"{self.on_ms} of {self.on_ms + self.off_ms} ms"
        self.only_victim_loses_to("stopped")

    def begin(self) -> None:
        self.help_with(_STOP, self.pids[self.victim], self.on_ms / 1000, self.off_ms / 1000)


class Hog(Generator):
    name = "a busy process on its CPU"

    def choose(self) -> None:
        self.only_victim_loses_to("competitor")

    def begin(self) -> None:
        self.help_with(_SPIN, cpu=self.cpu)


class RealtimeHog(Generator):
    name = "a real-time process on its CPU"

    def choose(self) -> None:
        self.share = self.rng.choice((0.25, 0.35, 0.5))
        self.setting = f"{self.share:.0%} of the time"
        self.only_victim_loses_to("competitor")

    @classmethod
    def why_not(cls) -> str | None:
        return super().why_not() if os.geteuid() == 0 else "this machine lets only root use real-time priority"

    def begin(self) -> None:
        self.help_with(_DUTY_SPIN, 0.01 * self.share, 0.01 * (1 - self.share), cpu=self.cpu)


class Sleep(Generator):
    name = "pg_sleep in the statement"

    def choose(self) -> None:
        share = self.rng.choice((0.1, 0.17, 0.28))
        self.sleep_s = round(share * self.alone_s, 3)
        self.setting = f"{share:.0%} of one session's time"
        self.only_victim_loses_to("wait")

    def alter(self, ordinal: int, work: Work) -> Work:
        return after(f"pg_sleep({self.sleep_s}) is not null", work) if ordinal == self.victim else work


class AdvisoryLock(Generator):
    name = "an advisory lock that another holds"

    def choose(self) -> None:
        share = self.rng.choice((0.17, 0.22, 0.3))
        self.held_s = round(share * self.alone_s, 3)
        self.setting = f"{share:.0%} of one session's time"
        self.only_victim_loses_to("wait")

    def alter(self, ordinal: int, work: Work) -> Work:
        condition = f"pg_advisory_xact_lock({LOCK}) is not null"
        return after(condition, work) if ordinal == self.victim else work

    def before(self, pids: Sequence[int]) -> None:
        super().before(pids)
        self.holder = psycopg.connect(self.conninfo, autocommit=True)
        self.undo.callback(self.holder.close)
        self.holder.execute("select pg_advisory_lock(%s)", (LOCK,))

    def begin(self) -> None:
        timer = threading.Timer(self.held_s, self.holder.close)
        timer.start()
        self.undo.callback(timer.join)


class ColdRead(Generator):
    """A table that is in no cache, from a disk that is slow for this session (v1 blkio)."""

    name = "a cold read from a slow disk"

    def choose(self) -> None:
        self.mb_per_s = self.rng.choice((80, 120))
        self.setting = f"{COLD_MB} MB at {self.mb_per_s} MB/s"
        self.only_victim_loses_to("wait")

    @classmethod
    def why_not(cls) -> str | None:
        if os.geteuid() != 0 or not (IO_GROUPS / "blkio.throttle.read_bps_device").exists():
            return "this machine has no v1 blkio controller that can be used"
        return super().why_not()

    def alter(self, ordinal: int, work: Work) -> Work:
        return after(f"(select count(*) from {COLD}) > 0", work) if ordinal == self.victim else work

    def ready(self) -> None:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            made = connection.execute("select to_regclass(%s)", (COLD,)).fetchone()
            if made is None or made[0] is None:
                connection.execute(
                    f"create table {COLD} as select g, repeat('x', 200) as filler "
                    f"from generate_series(1, {COLD_ROWS}) g"
                )
            connection.execute("checkpoint")
            row = connection.execute(
                "select current_setting('data_directory'), pg_relation_filepath(%s)", (COLD,)
            ).fetchone()
        assert row is not None
        self.file = Path(row[0]) / row[1]

    def before(self, pids: Sequence[int]) -> None:
        super().before(pids)
        file = self.file
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        device = file.stat().st_dev
        folder = IO_GROUPS / f"dbcpu-lab-{os.getpid()}"
        folder.mkdir()
        self.undo.callback(remove_group, folder)
        limit = f"{os.major(device)}:{os.minor(device)} {self.mb_per_s * 1_000_000}"
        (folder / "blkio.throttle.read_bps_device").write_text(limit)
        (folder / "cgroup.procs").write_text(str(self.pids[self.victim]))


class MoreWork(Generator):
    """The observable twin of a slower CPU: more CPU time, and nothing else."""

    name = "more work than the others"

    def choose(self) -> None:
        self.factor = self.rng.choice((1.2, 1.2, 1.5, 2.0))
        self.only_victim_loses_to("slower_cpu")

    def alter(self, ordinal: int, work: Work) -> Work:
        if ordinal != self.victim:
            return work
        n = round(work.n * self.factor**0.25)
        self.setting = f"{(n / work.n) ** 4:.2f} times"
        return replace(work, sql=work.sql.replace(f"(1, {work.n})", f"(1, {n})"), answer=str(n**4))


class Profiled(Generator):
    """A profiler's interrupts make the session need more CPU time: nothing but that is seen of them."""

    name = "profiled at 20 kHz"

    def choose(self) -> None:
        self.victim, self.labels = 0, ("slower_cpu",)

    @classmethod
    def why_not(cls) -> str | None:
        if os.geteuid() != 0 or which("perf") is None:
            return "this machine has no perf that may profile other processes"
        return super().why_not()

    def before(self, pids: Sequence[int]) -> None:
        super().before(pids)
        control, told = os.pipe(), os.pipe()
        for descriptor in (*control, *told):
            self.undo.callback(os.close, descriptor)
        perf = subprocess.Popen(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", "20000", "-D", "-1", "-p", str(pids[0]), "-o", os.devnull,
             f"--control=fd:{control[0]},{told[1]}"],
            pass_fds=(control[0], told[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        self._own(perf, signal.SIGINT)
        os.sched_setaffinity(perf.pid, {self.other})
        self._control, self._told = control[1], told[0]

    def begin(self) -> None:
        os.write(self._control, b"enable\n")
        os.read(self._told, 16)


GENERATORS: tuple[type[Generator], ...] = (
    Generator, PinnedTogether, ThreePinned, ThreeFree, Quota, QuotaOnAll, Stopped, Hog, RealtimeHog, Sleep,
    AdvisoryLock, ColdRead, MoreWork, Profiled,
)  # fmt: skip


def after(condition: str, work: Work) -> Work:
    """The same statement, after ``condition`` was evaluated."""
    return replace(work, sql=f"select case when {condition} then ({work.sql}) end")


def remove_group(folder: Path) -> None:
    """Remove a control group: its processes go to the parent group first."""
    deadline_s = time.monotonic() + LIMIT_S
    for pid in (folder / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (folder.parent / "cgroup.procs").write_text(pid)
    while time.monotonic() < deadline_s:
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.02)


def available() -> tuple[list[type[Generator]], Mapping[str, str]]:
    """Generators that work here, and why the others do not."""
    reasons = {generator.name: generator.why_not() for generator in GENERATORS}
    return [each for each in GENERATORS if reasons[each.name] is None], {
        name: reason for name, reason in reasons.items() if reason
    }

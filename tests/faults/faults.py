"""Faults at random moments of real runs, and an account of what they leave.

Each fault stops, harms or doubles a run of the embedded server. Afterwards nothing of it may be left: no process, no
temporary folder, no shared memory, no journal, no setting to be put back; and its store can be read.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from dbcpu.store.database import open_store
from support.driving import Drive, Driver, until

GONE_S = 60.0
"""How long the guard may take on a busy machine; 2 s where nothing else runs."""
STATUSES = frozenset({"complete", "interrupted", "failed"})
TINY = ("--size", "tiny", "--executions", "4", "--repeats", "2", "--yes")
RUN = ("run", "--sessions", "1,2", *TINY)
VARY = ("vary", "--variants", "policy:batch", "--sessions", "2", *TINY)
CALM = ("--workload", "calm", "--size", "short", "--executions", "8", "--repeats", "1", "--yes")
LONG = ("run", "--sessions", "2", *CALM)
STORE_BYTES = 34_000
"""More than an empty store with its log needs, less than that of a run."""
_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


class Outcome(Struct, frozen=True):
    """What one fault did. ``live``: it hit a run that was going on; ``left``: what was left, by kind, and for whom."""

    fault: str
    codes: tuple[int, ...]
    live: bool
    left: Mapping[str, int] = field(default_factory=dict)
    complaint: str = ""

    @property
    def is_fine(self) -> bool:
        return not self.complaint and not any(self.left.values())


class Ground:
    """Where runs are harmed: a ``Drive`` with journals of its own.

    ``chosen`` has the moments, between the start and ``usual_s`` later; None: as long as a run takes here.
    """

    def __init__(self, drive: Drive, chosen: random.Random, usual_s: float | None = None) -> None:
        self.drive, self.random = drive, chosen
        self.journals = drive.folder / "journals"
        with open_store(str(drive.store)):
            pass  # it is made
        self.usual_s = self._usual() if usual_s is None else usual_s

    def start(self, arguments: Iterable[str], limit_bytes: int | None = None) -> Driver:
        return self.drive(*arguments, limit_bytes=limit_bytes, DBCPU_JOURNAL=str(self.journals))

    def at_random_moment(self, driver: Driver) -> bool:
        """Wait for one; whether the run still goes on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.process.wait(self.random.uniform(0.05, self.usual_s))
        return driver.process.poll() is None

    def account(self, segments: set[str], names: set[str]) -> dict[str, int]:
        """What is left, when the guard has had its time. ``segments``, ``names``: the shared memory there was."""

        def left() -> dict[str, int]:
            return {
                "processes": len(self.drive.embedded()),
                "folders": len(list(self.drive.place.iterdir())),
                "shared memory": len(segments & used_segments()) + sum(Path(name).exists() for name in names),
                "journals": len(list(self.journals.glob("*"))) if self.journals.is_dir() else 0,
            }

        with contextlib.suppress(AssertionError):
            until(lambda: not any(left().values()), "all is gone", GONE_S)
        code, out, _ = self.start(("restore", "--dry-run")).finish()
        return {**left(), "settings": int((code, out) != (0, "nothing to restore\n"))}

    def complaint(self, drivers: Iterable[Driver]) -> str:
        """What is wrong with the store or with what was said; '' if nothing is."""
        if traced := [driver.err for driver in drivers if "Traceback" in driver.err or "internal error" in driver.err]:
            return traced[0].strip().splitlines()[-1]
        statuses = {run.status for run in self.drive.runs()}
        return f"a run is shown as {', '.join(sorted(statuses - STATUSES))}" if statuses - STATUSES else ""

    def _usual(self) -> float:
        began_s = time.monotonic()
        code, _, err = self.start(RUN).finish()
        assert code == 0, err
        return time.monotonic() - began_s


def used_segments() -> set[str]:
    """Identifiers of all System V segments. Source: proc(5), sysvipc/shm"""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


def stopped(ground: Ground, fault: str, arguments: tuple[str, ...], how: signal.Signals) -> Outcome:
    """A signal at a random moment."""
    driver = ground.start(arguments)
    live = ground.at_random_moment(driver)
    before = ground.drive.shared_memory()
    driver.send(how)
    code = driver.process.wait(GONE_S)
    after = ground.drive.shared_memory()
    left = ground.account(before[0] | after[0], before[1] | after[1])
    return Outcome(fault, (code,), live, left, ground.complaint([driver]))


def full_disk(ground: Ground) -> Outcome:
    """No file may grow: a full disk as the store sees it. What is kept can be read."""
    store = str(ground.drive.folder / "full.db")
    driver = ground.drive("run", "sqlite", *RUN[1:], limit_bytes=STORE_BYTES, DBCPU_STORE=store)
    code, _, err = driver.finish()
    assert ground.drive("list", DBCPU_STORE=store).finish()[0] == 0, "what is kept can be read"
    said = "" if code == 3 and ("is full" in err or "could not be written" in err) else f"exit {code}: {err[-200:]}"
    return Outcome("full disk", (code,), True, ground.account(set(), set()), said or ground.complaint([driver]))


def read_only(ground: Ground) -> Outcome:
    """The folder of the store is mounted read-only, in a mount namespace of its own; its runs can be read.

    Others may make files in it: then names beside a store are taken before it is opened, and cannot be here.
    """
    before, folder = ground.drive.store.read_bytes(), ground.drive.folder

    def driven(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", _READ_ONLY, "sh", str(folder), sys.executable, "-m", "dbcpu", *arguments],
            env={**os.environ, "DBCPU_STORE": str(ground.drive.store), "TMPDIR": str(ground.drive.place)},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    mode = folder.stat().st_mode
    folder.chmod(0o1777)
    try:
        done, listed = driven(*RUN), driven("list")
    finally:
        folder.chmod(mode)
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        return Outcome("read-only store", (), False)
    fine = done.returncode == 3 and "written" in done.stderr and ground.drive.store.read_bytes() == before
    said = "" if fine else f"exit {done.returncode}: {done.stderr[-200:]}"
    said += "" if listed.returncode == 0 else f"list, exit {listed.returncode}: {listed.stderr[-200:]}"
    return Outcome("read-only store", (done.returncode,), True, ground.account(set(), set()), said)


def ended_backend(ground: Ground) -> Outcome:
    """One server process is ended while it works: its session is marked, and the run goes on.

    One that still warms up ends the run, which says so; the rounds before are kept.
    """
    driver = ground.start(LONG).said("round 2 of")
    working: list[int] = []

    def both() -> bool:
        working[:] = ground.drive.working_pids()
        return len(working) == 2

    driver.until(both, "two working sessions")
    victim = working[0]
    os.kill(victim, signal.SIGTERM)
    code, _, err = driver.finish()
    marked = [s.error for each in ground.drive.last().rounds for s in each.sessions if s.server.pid == victim]
    before_the_gate = code == 3 and "terminating connection" in err and "rounds stored" in err
    said = "" if (code == 0 and any(marked)) or before_the_gate else f"exit {code}, {marked}: {err[-200:]}"
    return Outcome("one backend ended", (code,), True, ground.account(set(), set()), said or ground.complaint([driver]))


def two_at_once(ground: Ground) -> Outcome:
    """Two runs on one store: both are kept whole."""
    before = len(ground.drive.runs())
    drivers = [ground.start(RUN), ground.start(RUN)]
    codes = tuple(driver.finish()[0] for driver in drivers)
    kept = [run.status for run in ground.drive.runs()[: len(ground.drive.runs()) - before]]
    said = "" if codes == (0, 0) and kept == ["complete"] * 2 else f"exit {codes}, kept {kept}"
    return Outcome("two runs at once", codes, True, ground.account(set(), set()), said or ground.complaint(drivers))


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAULTS: Mapping[str, Callable[[Ground], Outcome]] = {
    "kill -9 of run": lambda ground: stopped(ground, "kill -9 of run", RUN, signal.SIGKILL),
    "kill -9 of vary": lambda ground: stopped(ground, "kill -9 of vary", VARY, signal.SIGKILL),
    **{
        f"{how.name} to run": lambda ground, how=how: stopped(ground, f"{how.name} to run", RUN, how)  # type: ignore[misc]
        for how in SIGNALS
    },
    "full disk": full_disk,
    "read-only store": read_only,
    "one backend ended": ended_backend,
    "two runs at once": two_at_once,
}

"""Drives the program as its users do: a process of its own, watched by what it says on standard error.

A ``Drive`` starts drivers: ``drive("run", ...)`` is ``dbcpu run ...``. See fix_drive.py.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.record.rounds import RunRecord
from dbcpu.store.database import RunSummary, open_store
from support.nursery import Forked, nursery

PATIENCE_S = 600.0
LOOK_EVERY_S = 0.05
"""Some conditions look at every process of the machine, or ask a server: that must not take a CPU of its own. Where a
look takes longer than this, as long as it took passes before the next.
"""
MEASURING = ("run", "more", "vary", "soak", "pool")
SECRETS = ("s3cret-of-the-tests", "wr0ng-password")


def until(condition: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> None:
    """Wait for a condition; fail with ``what`` when it does not come true within ``limit_s``."""
    deadline_s = time.monotonic() + limit_s
    while True:
        looked_s = time.monotonic()
        if condition():
            return
        now_s = time.monotonic()
        assert now_s < deadline_s, f"not within {limit_s:g} s: {what}"
        time.sleep(max(LOOK_EVERY_S, now_s - looked_s))


def limit_file_size(limit_bytes: int) -> None:
    """For a child that is about to become the program. Source: setrlimit(2)"""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


def started(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], limit_bytes: int | None, out: IO[str]
) -> "tuple[subprocess.Popen[str], IO[str]]":
    """``python -m dbcpu``, as a user's shell starts it, and its standard error."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dbcpu", *arguments],
        stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder,
        env={**environment, "PYTHONFAULTHANDLER": "1"}, start_new_session=True,
        preexec_fn=None if limit_bytes is None else lambda: limit_file_size(limit_bytes),
    )  # fmt: skip
    assert process.stderr is not None
    return process, process.stderr


def forked(
    arguments: Sequence[str], folder: Path, environment: dict[str, str], limit_bytes: int | None, out: IO[str]
) -> tuple[Forked, IO[str]]:
    """The same from the nursery."""
    process, err = nursery().start(arguments, folder, environment, limit_bytes, out.fileno())
    return process, os.fdopen(err)


def starts_alike(environment: Mapping[str, str]) -> bool:
    """Whether an interpreter would start with this environment as it did with this process's."""
    read = ("PYTHON", "LC_", "LANG")
    return all(
        environment.get(name) == os.environ.get(name) for name in {*environment, *os.environ} if name.startswith(read)
    )


class Driver:
    """A dbcpu that runs. ``err`` is what it has said so far."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        environment: dict[str, str],
        limit_bytes: int | None,
        *,
        exec_it: bool,
    ) -> None:
        self._out = tempfile.TemporaryFile("w+", dir=folder)  # noqa: SIM115 - closed by finish
        self._lines: list[str] = []
        self._ended = False
        start = started if exec_it or not starts_alike(environment) else forked
        self.process: subprocess.Popen[str] | Forked
        self.process, self._err = start(arguments, folder, environment, limit_bytes, self._out)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def err(self) -> str:
        return "".join(self._lines)

    def said(self, text: str) -> "Driver":
        """Wait until it has said so."""
        until(lambda: text in self.err or self._ended, f"{text!r} in:\n{self.err}")
        assert text in self.err, f"it ended without {text!r}:\n{self.err}"
        return self

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for what is true only while it runs."""

        def true() -> bool:
            if condition():
                return True
            assert not self._ended, f"it ended before {what}:\n{self.err}"
            return False

        until(true, what)

    def send(self, number: signal.Signals) -> "Driver":
        self.process.send_signal(number)
        return self

    def finish(self) -> tuple[int, str, str]:
        """Its exit code, standard output and standard error, when it has ended."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGABRT)  # with faulthandler: says where it hangs
            code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self._out.seek(0)
        return code, self._out.read(), self.err

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self._out.close()
        self._err.close()

    def _read(self) -> None:
        for line in self._err:
            self._lines.append(line)
        self._ended = True


def command_line(pid: int) -> str:
    """With spaces between the arguments; '' when the process is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def children(pid: int) -> list[int]:
    """Processes whose parent it is."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and start_ticks(int(entry.name)) is not None:
            try:
                stat = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found


class Drive:
    """Starts drivers that share one store and one folder for temporary files (``place``)."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder, self.place = folder, place
        self.store = folder / "runs.db"
        self._drivers: list[Driver] = []

    def __call__(
        self, *arguments: str, limit_bytes: int | None = None, exec_it: bool = False, **environment: str
    ) -> Driver:
        """``limit_bytes``: no file may grow beyond that; it stands in for a full disk. ``exec_it``: not forked.

        Pictures take most of the time of a short run: there is a report only where one is asked for.
        """
        if arguments[0] in MEASURING and not {"--out", "--report"} & set(arguments):
            arguments = (*arguments, "--report", "none")
        given = {"DBCPU_STORE": str(self.store), "TMPDIR": str(self.place)} | environment
        driver = Driver(arguments, self.folder, {**os.environ, **given}, limit_bytes, exec_it=exec_it)
        self._drivers.append(driver)
        return driver

    def last(self) -> RunRecord:
        """The run that was kept last."""
        with open_store(str(self.store)) as store:
            return store.load("last")

    def runs(self) -> list[RunSummary]:
        """The runs that were kept, newest first, as ``dbcpu list`` shows them."""
        with open_store(str(self.store)) as store:
            return list(store.list())

    def working(self) -> int:
        """How many sessions of embedded servers execute a statement right now."""
        return len(self.working_pids())

    def working_pids(self) -> list[int]:
        """Their server processes, by their titles."""
        return [pid for pid in self.embedded() if " SELECT" in command_line(pid)]

    def shared_memory(self) -> tuple[set[str], set[str]]:
        """What embedded servers have now: identifiers of System V segments, and names in /dev/shm that they map."""
        segments, names = set[str](), set[str]()
        for file in self.place.glob("dbcpu-*/data/postmaster.pid"):
            with contextlib.suppress(OSError, ValueError):
                # Source: PostgreSQL source, miscadmin.h; the number is negative where it is no postmaster.
                pid, _, _, _, _, _, key_and_number, *_ = file.read_text().splitlines()
                segments.add(key_and_number.split()[1])
                maps = Path(f"/proc/{pid.lstrip('-')}/maps").read_text(errors="replace")
                names |= set(re.findall(r"/dev/shm/PostgreSQL\.\d+", maps))
        return segments, names

    def embedded(self) -> list[int]:
        """Processes of the embedded servers below ``place``."""
        return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and self._serves(entry)]  # noqa: PTH208

    def _serves(self, pid: str) -> bool:
        """Backends change their command line, but all work in the data folder; initdb names it."""
        try:
            where = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115
        except OSError:
            return False
        ours = where.startswith(str(self.place)) or str(self.place) in command_line(int(pid))
        return ours and start_ticks(int(pid)) is not None

    def close(self) -> None:
        for driver in self._drivers:
            driver.close()
        for driver in self._drivers:
            assert "Traceback" not in driver.err, driver.err
            for secret in SECRETS:
                assert secret not in driver.err

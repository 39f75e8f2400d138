"""Drives the program as its users do: a process of its own, watched by what it says on standard error.

A ``Drive`` starts drivers: ``drive("run", ...)`` is ``dbcpu run ...``. See fix_drive.py.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from dbcpu.guard import start_ticks
from dbcpu.record import RunRecord
from dbcpu.store.database import open_store

PATIENCE_S = 60.0
SECRETS = ("s3cret-of-the-tests", "wr0ng-password")


def until(condition: Callable[[], object], what: str, limit_s: float = PATIENCE_S) -> None:
    """Wait for a condition; fail with ``what`` when it does not come true within ``limit_s``."""
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {limit_s:g} s: {what}"
        time.sleep(0.01)


class Driver:
    """A dbcpu that runs. ``err`` is what it has said so far."""

    def __init__(self, arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
        self._out = tempfile.TemporaryFile("w+", dir=folder)  # noqa: SIM115 - closed by finish
        self._lines: list[str] = []
        self._ended = False
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dbcpu", *arguments],
            stdin=subprocess.DEVNULL, stdout=self._out, stderr=subprocess.PIPE, text=True, cwd=folder,
            env=environment, start_new_session=True,
        )  # fmt: skip
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

    def send(self, number: signal.Signals) -> "Driver":
        self.process.send_signal(number)
        return self

    def finish(self) -> tuple[int, str, str]:
        """Its exit code, standard output and standard error, when it has ended."""
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
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line)
        self._ended = True


class Drive:
    """Starts drivers that share one store and one folder for temporary files (``place``)."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder, self.place = folder, place
        self.store = folder / "runs.db"
        self._drivers: list[Driver] = []

    def __call__(self, *arguments: str, **environment: str) -> Driver:
        given = {"DBCPU_STORE": str(self.store), "TMPDIR": str(self.place)} | environment
        driver = Driver(arguments, self.folder, {**os.environ, "PYTHONWARNINGS": "error", **given})
        self._drivers.append(driver)
        return driver

    def last(self) -> RunRecord:
        """The run that was kept last."""
        with open_store(str(self.store)) as store:
            return store.load("last")

    def embedded(self) -> list[int]:
        """Processes of the embedded servers below ``place``."""
        return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and self._serves(entry)]  # noqa: PTH208

    def _serves(self, pid: str) -> bool:
        """Backends change their command line, but all work in the data folder; initdb names it."""
        try:
            where, line = os.readlink(f"/proc/{pid}/cwd"), Path(f"/proc/{pid}/cmdline").read_text()  # noqa: PTH115
        except OSError:
            return False
        return (where.startswith(str(self.place)) or str(self.place) in line) and start_ticks(int(pid)) is not None

    def close(self) -> None:
        for driver in self._drivers:
            driver.close()
        for driver in self._drivers:
            assert "Traceback" not in driver.err, driver.err
            for secret in SECRETS:
                assert secret not in driver.err

"""Runs commands within this process, in folders of their own, and judges how they end.

Failures are: an error that is no sentence of dbcpu's, an exit code that is not documented, more than ``CPU_S`` of CPU
time, more than ``MEMORY_BYTES`` of memory.
"""

import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from click.testing import CliRunner

import dbcpu
from dbcpu import cli
from dbcpu.errors import DbcpuError, MeasureError
from dbcpu.store.database import open_store
from support.builders.record import record, solos

CODES = (0, 1, 2, 3, 4, 130)
CPU_S = 10.0
CPU_TIME = "CPU time"
"""The place of a failure at that limit."""
MEMORY_BYTES = 1 << 30
KIT = str(Path(dbcpu.__file__).parent)
_CLEAR_PEAK = "5"  # /proc/self/clear_refs: the peak of memory begins anew (proc(5))


class Failure(Exception):
    """``place`` is the innermost line of dbcpu's, or the limit: two failures of one place have one cause."""

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place}: {what}")
        self.place = place


class _TooLong(BaseException):
    """Out of the midst of whatever takes too long."""


def failure_of(error: BaseException) -> Failure:
    """What was raised, by its place in dbcpu."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(KIT)]
    place = f"{Path(frames[-1].filename).relative_to(KIT)}:{frames[-1].lineno}" if frames else "outside"
    return Failure(f"{place} {type(error).__name__}", str(error)[:300])


class Sandbox:
    """A context manager: its folders are the home, the state and the working folder of whatever runs inside.

    Nothing is measured: a command that would is stopped once all its options were understood. ``inputs`` counts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work, self.journals = folder / "work", folder / "journals"
        self.store = self.work / "runs.db"
        self.inputs = 0
        self._empty_store, self._kept_store = folder / "empty.db", folder / "kept.db"
        self._runner = CliRunner()

    def __enter__(self) -> Self:
        for path in (self.work, self.journals):
            path.mkdir(parents=True)
        open_store(str(self._empty_store)).close()
        with open_store(str(self._kept_store)) as store:
            store.save(record(solos(2)))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DBCPU_", "XDG_", "PG"))}
        environment = {
            **kept,
            **{name: str(self.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")},
            "DBCPU_JOURNAL": str(self.journals),
            "DBCPU_CONFIG": "",
            "DBCPU_SETTLE_S": "0",
            "DBCPU_STORE": str(self.store),
            "PATH": str(self.folder / "no programs"),
        }
        self._environment = patch.dict(os.environ, environment, clear=True)
        self._environment.start()
        self._before = Path.cwd()
        os.chdir(self.work)
        # Signals are for who started the fuzzer: a command would end by them, and nothing else.
        terminable = patch("dbcpu.cli._terminable", nullcontext)
        self._mended: list[Any] = [patch("dbcpu.cli._unexpected", _crash), terminable, *_measuring_nothing()]
        for each in self._mended:
            each.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for each in self._mended:
            each.stop()
        os.chdir(self._before)
        self._environment.stop()

    def tidy(self, *, with_run: bool = False) -> None:
        """Begin with a working folder in which there is a store, empty or with a run, and nothing else; no journals."""
        for path in (*self.work.iterdir(), *self.journals.iterdir()):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copy(self._kept_store if with_run else self._empty_store, self.store)

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run a command line; returns its exit code and all that it printed. Raises Failure."""
        with self.judged(), self._runner.isolation() as streams:
            code = cli.main(arguments)
            printed = streams[2].getvalue().decode("utf-8", "replace")
        if code not in CODES:
            raise Failure(f"exit code {code}", printed[-300:])
        return code, printed

    def call(self, function: Callable[[], object]) -> None:
        """Call what no command reaches alone. Raises Failure for any error but dbcpu's own."""
        with self.judged():
            try:
                function()
            except DbcpuError:
                return
            except Exception as error:
                raise failure_of(error) from error

    @contextmanager
    def judged(self) -> Iterator[None]:
        """Count an input, and hold it to the limits."""
        self.inputs += 1
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
        # What a hundred thousand inputs left in this one process is not this one's.
        began_s, before = time.process_time(), _peak_bytes()
        previous = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        try:
            yield
        except _TooLong as error:
            raise Failure(f"{failure_of(error).place} CPU", f"more than {CPU_S:g} s of CPU time") from error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, previous)
        spent_s, taken = time.process_time() - began_s, _peak_bytes() - before
        if spent_s > CPU_S:
            raise Failure(CPU_TIME, f"{spent_s:.1f} s")
        if taken > MEMORY_BYTES:
            raise Failure("memory", f"{taken >> 20} MiB")


def _crash(error: BaseException) -> str:
    raise error if isinstance(error, _TooLong) else failure_of(error) from error


def _stop(number: int, frame: object) -> None:
    raise _TooLong


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))


def _measuring_nothing() -> Sequence[Any]:
    """Patches: what starts a server, a guard or a program raises instead, after the options were read."""

    def refuse(*_: object, **__: object) -> None:
        raise MeasureError("nothing is measured here")

    names = ("measure_run._open", "doctor.diagnose", "restore.Guard")
    return [patch(f"dbcpu.workflows.{name}", refuse) for name in names]

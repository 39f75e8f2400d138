"""The driver's side of the witness: which rate, where it can run, and what it hands over for each round."""

import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Self

from msgspec import Struct

from dbcpu.errors import MeasureError
from dbcpu.measure.own_program import read, send
from dbcpu.record.plan import MAX_PACE_HZ, MIN_PACE_PIECES, PACE_LEAD_S, PACE_PIECES
from dbcpu.record.rounds import CpuPace, Witness

MIN_HZ = 1.0
MIN_SESSION_S = 0.001
"""No session is timed shorter."""
MAX_CPU_SHARE = 0.01
"""Of each CPU."""
WAKING_S = 60e-6
"""CPU time of waking up and going to sleep again, beside the piece."""


class Paced(Struct, frozen=True):
    """What one round brought: the record's form but for the origin of time, which is CLOCK_MONOTONIC, and its cost."""

    hz: float
    realtime: bool
    cpus: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
    cpu_used_s: float

    def from_release(self, monotonic_s: float) -> Witness:
        """As the record keeps it; ``monotonic_s``: of the release."""
        origin_ns = round(monotonic_s * 1e9)
        cpus = [CpuPace(cpu, tuple((end - origin_ns) // 1000 for end in ends), took) for cpu, ends, took in self.cpus]
        return Witness(self.hz, self.realtime, tuple(cpus))


def expected_hz(session_s: float, tick_s: float, asked_hz: float | None = None) -> float:
    """Pieces per second for sessions of ``session_s``: 30 beside each, 1 to 25 Hz, at most 1 % of a CPU.

    ``tick_s``: CPU time of one piece with all around it. ``asked_hz``: instead of the 30 pieces.
    """
    wanted = asked_hz or min(max(PACE_PIECES / max(session_s, MIN_SESSION_S), MIN_HZ), MAX_PACE_HZ)
    return min(wanted, MAX_CPU_SHARE / tick_s)


class PaceWitness:
    """One program for a whole run; ``begin`` and ``end`` once per round. A context manager."""

    def __init__(self, cpus: Sequence[int], session_s: float, asked_hz: float | None = None) -> None:
        self._cpus, self._session_s, self._asked_hz = tuple(cpus), session_s, asked_hz
        self._process: subprocess.Popen[str] | None = None
        self._began_s = 0.0
        self.hz, self._tick_s = 0.0, 0.0
        self.realtime = False
        self.pids: tuple[int, ...] = ()

    @property
    def pid(self) -> int | None:
        """The program's process, which leads the group of all of them."""
        return self._process.pid if self._process else None

    @property
    def too_few(self) -> str | None:
        """Why sessions as short as these get no pace from it, or None."""
        found = self.hz * self._session_s
        if found >= MIN_PACE_PIECES:
            return None
        return f"sessions of {self._session_s:.2g} s have room for {found:.0f} pieces, {MIN_PACE_PIECES} are needed"

    def __enter__(self) -> Self:
        script = str(files("dbcpu.measure.pace") / "_witness.py")
        self._process = subprocess.Popen(  # noqa: S603 - this Python and a file of this package
            [sys.executable, "-I", "-S", script, ",".join(map(str, self._cpus))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        ready = read(self._process, _gone)
        self.realtime, self.pids = bool(ready["realtime"]), (self._process.pid, *ready["pids"])
        self._tick_s = ready["tick_s"] + WAKING_S
        self.hz = expected_hz(self._session_s, self._tick_s, self._asked_hz)
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all its processes; a second time is fine."""
        if self._process is not None:
            # It ends its other processes, and then itself, when its standard input closes.
            self._process.communicate()
            self._process, self.pids = None, ()

    def expect(self, session_s: float) -> None:
        """A session was seen to take so long: the rate is raised if that is less than was expected."""
        self._session_s = min(self._session_s, session_s)
        self.hz = expected_hz(self._session_s, self._tick_s, self._asked_hz)

    def begin(self) -> None:
        """From now on pieces are done."""
        send(self._process, f"begin {self.hz!r}", _gone)
        self._began_s = time.monotonic()

    def lead(self, patience_s: float) -> None:
        """Wait until the CPUs were seen without any session for long enough; ``patience_s``: at most."""
        left_s = min(PACE_LEAD_S, patience_s) - (time.monotonic() - self._began_s)
        if left_s > 0:
            time.sleep(left_s)

    def end(self) -> Paced:
        """Stop, and hand over. Raises MeasureError."""
        send(self._process, "end", _gone)
        reports = read(self._process, _gone)
        seen = tuple((cpu, tuple(ends), tuple(took)) for cpu, ends, took, _ in reports if ends)
        return Paced(self.hz, self.realtime, seen, sum(used_ns for *_, used_ns in reports) / 1e9)


def _gone() -> MeasureError:
    return MeasureError("the witness of the CPUs' pace ended unexpectedly; run again, or with --pace off")

"""The witness on a host over ssh: shell/pace-host does the pieces there, each when it is requested from here.

Nothing goes on there between two pieces, and nothing when this process is gone. A piece is shorter than the way to the
host and back is on many networks, so each is requested ahead by a short one that brings its code into the caches.
"""

import random
import re
import threading
import time
from collections.abc import Sequence
from importlib.resources import files
from statistics import mean, median
from typing import Self

from msgspec import Struct

from dbcpu.errors import HostError, MeasureError
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.measure.pace.witness import Paced, PaceWitness, expected_hz

STEPS, WARM_UP = 600, 150
"""Of a piece, and of the one before it, which is not reported."""
ANSWER = 428
APART_S = 0.004
"""Between both; the first one has gone to sleep by then."""
TRIALS = 6
LAST_S = 0.02
"""After the last piece its CPU time is requested."""
MIN_COUNTED, MIN_COUNTED_WARM = 0.25, 0.5
"""Of the usual. The pace of a CPU changes by less than four times, and what is counted in part is mostly nothing."""
_PROCESS, _DONE = re.compile(r"#(\d+)"), re.compile(r"\|(\d+) (\d+) (\d+) (\d+)")
"""Lines of an answer; any other is of a login shell that says something."""
_LACKS = {"no-taskset": "it has no taskset", "no-awk": "it has no awk", "no-schedstat": "its kernel has no schedstat"}


class _Work(Struct, frozen=True):
    """One of the works that all CPUs were given to do: its steps, and when on CLOCK_MONOTONIC."""

    steps: int
    at_s: float


class _Reading(Struct, frozen=True):
    """One line of one CPU: its CPU time when the work ``number`` began, and what that work gave."""

    number: int
    cpu_ns: int
    result: int


class FarWitness(PaceWitness):
    """As ``PaceWitness``, over a connection of its own. ``pids``: its processes there."""

    def __init__(self, host: ShellHost, cpus: Sequence[int], session_s: float, asked_hz: float | None = None) -> None:
        super().__init__(cpus, session_s, asked_hz)
        self._host = host
        self._connection: ShellConnection | None = None
        self._number = 0
        self._works: dict[int, _Work] = {}
        self._heard: dict[int, list[_Reading]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: HostError | None = None

    @property
    def pid(self) -> int | None:
        """That of the connection on this machine."""
        return self._connection.pid if self._connection else None

    def __enter__(self) -> Self:
        try:
            self._open()
        except (HostError, ValueError) as error:
            self.close()
            raise MeasureError(str(error)) from None
        except BaseException:
            self.close()
            raise
        return self

    def _open(self) -> None:
        """Connect, and see how long a piece takes."""
        masks = " ".join(f"{cpu}={1 << cpu:x}" for cpu in self._cpus)
        script = (files("dbcpu") / "shell" / "pace-host").read_text("utf-8")
        self._connection = self._host.further(f"set -- {masks}\n{script}")
        match self._connection.greeting:
            case ["1", pid, parent, *rest]:
                self.pids = self._host.serving(int(pid), int(parent))
                self.realtime = rest == ["realtime"]
            case ["none", why, *_]:
                raise MeasureError(_LACKS.get(why, why))
        for _ in range(TRIALS):
            self._piece()
            time.sleep(LAST_S)
        self._hear()
        took = [done.ns + done.warm_ns for done in self._pieces()[len(self._cpus) :]]
        if not took:
            raise MeasureError("its CPUs did no piece")
        # The mean is what a share of a CPU comes from; one piece that took long is no reason to do without all.
        self._tick_s = mean(took) / 1e9
        self.hz = expected_hz(self._session_s, self._tick_s, self._asked_hz)

    def close(self) -> None:
        self._end_thread()
        if self._connection is not None:
            self._connection.close()
            self._connection, self.pids = None, ()

    def begin(self) -> None:
        self._works.clear()
        self._heard.clear()
        self._stop.clear()
        self._error = None
        self._began_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> Paced:
        self._end_thread()
        try:
            if self._error is not None:
                raise self._error
            self._hear()
        except HostError as error:
            raise MeasureError(f"the witness of the CPUs' pace ended: {error}; run again, or with --pace off") from None
        ends: dict[int, list[tuple[int, int]]] = {}
        for done in self._pieces():
            ends.setdefault(done.cpu, []).append((round(done.at_s * 1e9), done.ns))
        seen = tuple((cpu, tuple(at for at, _ in own), tuple(ns for _, ns in own)) for cpu, own in sorted(ends.items()))
        used_ns = sum(readings[-1].cpu_ns - readings[0].cpu_ns for readings in self._heard.values() if readings)
        return Paced(self.hz, self.realtime, seen, used_ns / 1e9)

    def _end_thread(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        try:
            while not self._stop.wait((0.5 + random.random()) / self.hz):  # noqa: S311 - no secret
                self._piece()
        except HostError as error:
            self._error = error

    def _piece(self) -> None:
        self._work(WARM_UP)
        time.sleep(APART_S)
        self._work(STEPS)

    def _work(self, steps: int) -> None:
        """Every CPU begins; what is reported meanwhile of earlier work is noted."""
        assert self._connection is not None
        self._number += 1
        asked_s = time.monotonic()
        lines = self._connection.ask([f"{steps} {self._number}"])
        self._works[self._number] = _Work(steps, (asked_s + time.monotonic()) / 2)
        for line in lines:
            self._note(line)

    def _hear(self) -> None:
        """What the last works took: two more, of nothing, report it."""
        for _ in range(2):
            time.sleep(LAST_S)
            self._work(0)

    def _note(self, line: str) -> None:
        if found := _PROCESS.fullmatch(line):
            self.pids = (*self.pids, int(found[1]))
        elif found := _DONE.fullmatch(line):
            cpu, number, cpu_ns, result = map(int, found.groups())
            self._heard.setdefault(cpu, []).append(_Reading(number, cpu_ns, result))

    def _pieces(self) -> list["_Piece"]:
        """In the order of time, without those that were counted in part: on a busy CPU it may not go to sleep between
        two works, and then the next one holds what is missing.
        """
        found = []
        for cpu, readings in self._heard.items():
            at = {each.number: each for each in readings}
            took = {number: at[number + 1].cpu_ns - each.cpu_ns for number, each in at.items() if number + 1 in at}
            own = [
                _Piece(cpu, self._works[number].at_s, ns, took[number - 1])
                for number, ns in took.items()
                if number in self._works
                and self._works[number].steps == STEPS
                and at[number].result == ANSWER
                and number - 1 in took
            ]
            if own:
                usual_ns, usual_warm_ns = median(each.ns for each in own), median(each.warm_ns for each in own)
                found += [
                    each
                    for each in own
                    if each.ns > MIN_COUNTED * usual_ns and each.warm_ns > MIN_COUNTED_WARM * usual_warm_ns
                ]
        return sorted(found, key=lambda each: each.at_s)


class _Piece(Struct, frozen=True):
    """CPU time of a piece, and of the shorter one before it."""

    cpu: int
    at_s: float
    ns: int
    warm_ns: int

"""How fast was each CPU meanwhile? The lab's own instrument; to the kit it is a foreign process.

A virtual CPU has no one speed: its host changes the clock, and a stranger may run on the other thread of its core. No
counter inside tells, yet what nobody touched is then truly slower. So one process per CPU does the same small piece of
interpreted work again and again, before all others, and notes the CPU time that it takes.
"""

import gzip
import json
import os
import subprocess
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from msgspec import Struct

from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.record.rounds import Round, RunRecord, Session

EVERY_S = 0.04
"""One piece takes about 0.7 ms with its warming up: 2 % of each CPU, in solo rounds, too."""
FEWEST = 5
LATE_S = 0.003
"""A piece comes late if it ends so much more than usual after the one before. Nothing in the guest goes before it:
its CPU did not run.
"""
_SUFFIX = ".speed.gz"
_WORK = """import os, sys, time
every_s = float(sys.argv[1])
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
except PermissionError:
    pass
def piece(times):
    seen = {}
    for i in range(times):
        seen[i & 511] = seen.get((i * 7) & 511, 0) + len(str(i))
    return seen
print('ready', flush=True)
while True:
    piece(500)
    began_ns = time.thread_time_ns()
    piece(1500)
    print(time.monotonic(), time.thread_time_ns() - began_ns, flush=True)
    time.sleep(every_s)"""


class Speeds(Struct, frozen=True):
    """``samples``: by CPU, the time of each piece on the driver's monotonic clock, and the CPU time it took in ns."""

    samples: Mapping[int, Sequence[tuple[float, int]]]
    pids: tuple[int, ...] = ()

    def within(self, since_s: float, until_s: float) -> "Speeds":
        return Speeds(
            {cpu: [each for each in own if since_s <= each[0] <= until_s] for cpu, own in self.samples.items()},
            self.pids,
        )

    def write(self, folder: Path, name: str) -> None:
        samples = {cpu: [[round(at_s, 4), ns] for at_s, ns in own] for cpu, own in self.samples.items()}
        told = {"pids": self.pids, "samples": samples}
        with gzip.GzipFile(folder / f"{name}{_SUFFIX}", "wb", mtime=0) as file:
            file.write(json.dumps(told, separators=(",", ":")).encode())


def read(folder: Path, name: str) -> Speeds:
    """What was noted beside the record ``name``; nothing where there was no instrument yet."""
    file = folder / f"{name}{_SUFFIX}"
    if not file.is_file():
        return Speeds({})
    told = json.loads(gzip.decompress(file.read_bytes()))
    samples = {int(cpu): [(float(at_s), int(ns)) for at_s, ns in own] for cpu, own in told["samples"].items()}
    return Speeds(samples, tuple(told["pids"]))


class Instrument:
    """A process per usable CPU. A context manager; they end with it, or with the driver."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._stack = ExitStack()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Instrument":
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(TemporaryDirectory()))
            for cpu in sorted(os.sched_getaffinity(0)):
                file = stack.enter_context((self._folder / str(cpu)).open("wb"))
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _WORK, str(EVERY_S)], stdout=file, start_new_session=True
                )
                self._guard.end_later(process.pid)
                stack.callback(self._end, process)
                os.sched_setaffinity(process.pid, {cpu})
                self._processes[cpu] = process
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        self._guard.forget(process.pid)

    def speeds(self) -> Speeds:
        """All that was noted until now."""
        return Speeds(
            {cpu: list(_parsed((self._folder / str(cpu)).read_text())) for cpu in self._processes},
            tuple(process.pid for process in self._processes.values()),
        )


def _parsed(text: str) -> Iterable[tuple[float, int]]:
    for line in text.splitlines()[1:]:
        # The last line may be half written.
        with suppress(ValueError):
            at_s, ns = line.split()
            yield float(at_s), int(ns)


def times_as_slow(record: RunRecord, speeds: Speeds, solos: Iterable[int]) -> dict[tuple[int, int], float]:
    """By round order and ordinal: CPU time of a piece where and while the session ran, over that of sessions alone.

    ``solos``: orders of the rounds whose median is the reference. Sessions with fewer than ``FEWEST`` pieces are left
    out; so are all if no solo round has them.
    """
    known = {
        (each.order, session.ordinal): ns
        for each in record.rounds
        for session in each.sessions
        if (ns := _beside(each, session, speeds)) is not None
    }
    alone = [known[order, 0] for order in solos if (order, 0) in known]
    reference_ns = median(alone) if alone else 0.0
    return {key: ns / reference_ns for key, ns in known.items()} if alone else {}


def late_share(samples: Sequence[tuple[float, int]], from_s: float, to_s: float) -> float | None:
    """Of the pieces of one CPU that ended in that time, the share that came late; None with fewer than ``FEWEST``."""
    at_s = np.array([each for each, _ in samples])
    gaps_s = np.diff(at_s)
    own_s = gaps_s[(from_s <= at_s[1:]) & (at_s[1:] <= to_s)]
    if len(own_s) < FEWEST:
        return None
    return float(np.mean(own_s > np.median(gaps_s) + LATE_S))


def _beside(each: Round, session: Session, speeds: Speeds) -> float | None:
    released_s, found = each.released_monotonic_s, list[int]()
    for stay in session.residency:
        samples = speeds.samples.get(stay.cpu, ()) if stay.state == "R" else ()
        first = bisect_left(samples, stay.from_s, key=lambda sample: sample[0] - released_s)
        last = bisect_right(samples, stay.to_s, key=lambda sample: sample[0] - released_s)
        found += [ns for _, ns in samples[first:last]]
    return fmean(found) if len(found) >= FEWEST else None

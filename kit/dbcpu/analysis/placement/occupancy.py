"""How many sessions were runnable on each CPU at each moment of a round, and what follows for cores.

Time is cut at every edge of every stretch; between two cuts nothing changes, so each question is one
array over (CPUs, cuts). Answers come back as cumulative curves, to be asked for any stretch of time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.placement.residency import Stretches
from dbcpu.analysis.statistics.cumulative import FLAT, Curve, Floats

Counts = npt.NDArray[np.int32]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Idle:
    """For sessions that may use the same CPUs: how many of those cores and CPUs were idle at each moment."""

    cores: Counts
    cpus: Counts


class Occupancy:
    """Runnable sessions by CPU. ``runnable``: their stretches; ``siblings``: all CPUs of a CPU's core, by CPU.

    ``foreign``: by CPU, when a process that is no session kept it busy: such a CPU is not idle.
    """

    def __init__(
        self,
        runnable: Stretches,
        siblings: Mapping[int, tuple[int, ...]],
        foreign: Mapping[int, Sequence[Interval]],
    ) -> None:
        self.cpus = sorted({*siblings, *(int(cpu) for cpu in np.unique(runnable.cpu)), *foreign})
        self._row = {cpu: row for row, cpu in enumerate(self.cpus)}
        taken = [edge for intervals in foreign.values() for interval in intervals for edge in interval]
        self.times: Floats = np.unique(np.concatenate([runnable.from_s, runnable.to_s, np.array(taken)]))
        self.queue = self._counts(runnable)
        self.foreign = self._foreign(foreign)
        cores: dict[tuple[int, ...], int] = {}
        self._core = np.array(
            [cores.setdefault(tuple(sorted(siblings.get(cpu) or (cpu,))), len(cores)) for cpu in self.cpus],
            dtype=np.int64,
        )

    @property
    def known(self) -> bool:
        """Was any session seen runnable?"""
        return self.times.size > 1

    @cached_property
    def busy(self) -> npt.NDArray[np.bool_]:
        """(CPUs, cuts): is some session runnable there?"""
        return np.asarray(self.queue > 0)

    @cached_property
    def busy_threads(self) -> Counts:
        """(cores, cuts): CPUs of the core with a runnable session."""
        return self._by_core(self.busy)

    @cached_property
    def busy_cores(self) -> Counts:
        """(cuts): cores with a runnable session."""
        return np.asarray((self.busy_threads > 0).sum(axis=0), dtype=np.int32)

    def others(self, cpu: int) -> Counts:
        """(cuts): other CPUs of the same core with a runnable session."""
        row = self._row[cpu]
        return np.asarray(self.busy_threads[self._core[row]] - self.busy[row])

    def queued(self, cpu: int) -> Counts:
        """(cuts): sessions that are runnable on this CPU, a foreign process counting as one more."""
        row = self._row[cpu]
        return np.asarray(self.queue[row] + self.foreign[row])

    def idle(self, allowed: Sequence[int]) -> Idle:
        """Idle cores and CPUs among ``allowed`` (all, if empty). A core is idle when all of its CPUs are."""
        rows = [self._row[cpu] for cpu in allowed if cpu in self._row] or list(range(len(self.cpus)))
        taken = self.busy | self.foreign
        cores = np.unique(self._core[rows])
        idle_cores = (self._by_core(taken)[cores] == 0).sum(axis=0)
        return Idle(np.asarray(idle_cores, dtype=np.int32), np.asarray((~taken[rows]).sum(axis=0), dtype=np.int32))

    def curve(self, worth: npt.ArrayLike) -> Curve:
        """The integral over time of ``worth``, which has one value per cut."""
        if not self.known:
            return FLAT
        gained = np.diff(self.times) * np.asarray(worth, dtype=np.float64)
        return Curve(self.times, np.concatenate([[0.0], np.cumsum(gained)]))

    def _counts(self, runnable: Stretches) -> Counts:
        steps = np.zeros((len(self.cpus), max(1, self.times.size)), dtype=np.int32)
        rows = np.array([self._row[int(cpu)] for cpu in runnable.cpu], dtype=np.int64)
        np.add.at(steps, (rows, np.searchsorted(self.times, runnable.from_s)), 1)
        np.add.at(steps, (rows, np.searchsorted(self.times, runnable.to_s)), -1)
        return np.asarray(np.cumsum(steps, axis=1)[:, :-1], dtype=np.int32)

    def _foreign(self, foreign: Mapping[int, Sequence[Interval]]) -> npt.NDArray[np.bool_]:
        taken = np.zeros_like(self.queue, dtype=np.bool_)
        for cpu, intervals in foreign.items():
            for from_s, to_s in intervals:
                first, last = np.searchsorted(self.times, [from_s, to_s])
                taken[self._row[cpu], first:last] = True
        return taken

    def _by_core(self, by_cpu: npt.NDArray[np.bool_]) -> Counts:
        total = np.zeros((int(self._core.max(initial=-1)) + 1, by_cpu.shape[1]), dtype=np.int32)
        np.add.at(total, self._core, by_cpu)
        return total

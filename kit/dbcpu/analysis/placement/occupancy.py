"""How many sessions were runnable on each CPU at each moment of a round, and who shared a core with whom.

The one place that answers this: the evidence, the regimes and the pictures ask it. Time is cut at every edge of every
stretch; between two cuts nothing changes, so each question is one array over (CPUs, cuts). Answers come back as
cumulative curves, to be read for any stretch of time.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.residency import ResidencyStretches
from dbcpu.analysis.statistics.cumulative import FLAT, Curve, Floats, order_of
from dbcpu.analysis.statistics.robust import distinct

Counts = npt.NDArray[np.int32]
Cuts = npt.NDArray[np.intp]
Interval = tuple[float, float]
BEGINS_ENDS, NOBODY = np.array([1, -1], dtype=np.int32), np.zeros(1, dtype=np.int32)
"""How many sessions more are there from then on."""


class Idle(Struct, frozen=True):
    """For sessions that may use the same CPUs: how many of those cores and CPUs were idle at each moment."""

    cores: Counts
    cpus: Counts


class SessionCounts(Struct, frozen=True):
    """Sessions at each moment, by what they do; their sum is all runnable sessions.

    ``misplaced``: on a shared core while an allowed core was idle, or in a queue while an allowed CPU was. An idle
    place relieves one session, not all who crowd. ``sharing`` and ``oversubscribed``: there was no better place.
    """

    alone: Floats
    misplaced: Floats
    sharing: Floats
    oversubscribed: Floats


class Occupancy:
    """Runnable sessions by CPU. ``runnable``: their stretches; ``siblings``: all CPUs of a CPU's core, by CPU.

    ``foreign``: by CPU, when a process that is no session kept it busy: such a CPU is not idle.
    """

    def __init__(
        self,
        runnable: ResidencyStretches,
        siblings: Mapping[int, tuple[int, ...]],
        foreign: Mapping[int, Sequence[Interval]],
    ) -> None:
        self.cpus = sorted({*siblings, *runnable.cpu.tolist(), *foreign})
        self._sorted = np.array(self.cpus, dtype=np.int64)
        self._row = {cpu: row for row, cpu in enumerate(self.cpus)}
        taken = [edge for intervals in foreign.values() for interval in intervals for edge in interval]
        self.times: Floats = distinct(np.concatenate([runnable.from_s, runnable.to_s, np.array(taken)]))
        self._lengths, self._all_runnable = np.diff(self.times), runnable
        self.queue = self._count(runnable, np.arange(len(self.cpus)))
        self.foreign = self._foreign(foreign)
        cores: dict[tuple[int, ...], int] = {}
        of_cpu = [cores.setdefault(tuple(sorted(siblings.get(cpu) or (cpu,))), len(cores)) for cpu in self.cpus]
        self._core = np.array(of_cpu, dtype=np.int64)
        self._threads = _by_thread(of_cpu)

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
    def threads(self) -> Counts:
        """(CPUs, cuts): CPUs of this CPU's core with a runnable session, itself included."""
        return self.busy_threads if self.is_single else np.asarray(self.busy_threads[self._core])

    @cached_property
    def taken(self) -> npt.NDArray[np.bool_]:
        """(CPUs, cuts): is a session runnable there, or does another process keep it busy?"""
        return np.asarray(self.busy | self.foreign)

    @cached_property
    def _free_cores(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self._by_core(self.taken) == 0)

    @cached_property
    def busy_cores(self) -> Counts:
        """(cuts): cores with a runnable session."""
        return _how_many(self.busy if self.is_single else self.busy_threads > 0)

    @property
    def is_single(self) -> bool:
        """Whether no core has several threads: then no CPU has others beside it."""
        return len(self._threads) <= 1

    @cached_property
    def others(self) -> Counts:
        """(CPUs, cuts): other CPUs of the same core with a runnable session."""
        return np.asarray(self.threads - self.busy)

    @cached_property
    def queued(self) -> Counts:
        """(CPUs, cuts): sessions that are runnable on this CPU, another process counting as one more."""
        return np.asarray(self.queue + self.foreign)

    def idle(self, allowed: Sequence[int]) -> Idle:
        """Idle cores and CPUs among ``allowed`` (all, if empty). A core is idle when all of its CPUs are."""
        rows = [self._row[cpu] for cpu in allowed if cpu in self._row] or list(range(len(self.cpus)))
        idle_cpus = len(rows) - _how_many(self.taken if len(rows) == len(self.cpus) else self.taken[rows])
        if self.is_single:
            return Idle(idle_cpus, idle_cpus)
        return Idle(_how_many(self._free_cores[distinct(self._core[rows])]), idle_cpus)

    def sessions(self, own: ResidencyStretches, allowed: Sequence[int]) -> SessionCounts:
        """What the sessions of ``own`` do, who all may use the CPUs ``allowed``. Other processes are no sessions."""
        rows = self._sorted.searchsorted(distinct(own.cpu))
        every = rows.size == len(self.cpus)
        queue, threads = (each if every else each[rows] for each in (self.queue, self.threads))
        here = queue if own is self._all_runnable else self._count(own, rows)
        queued = np.where(queue > 1, here, 0)
        shared = np.zeros_like(here[:0]) if self.is_single else np.where((queue == 1) & (threads > 1), here, 0)
        idle = self.idle(allowed)
        # Beyond one on each CPU or core there is one too many, divided among all who are there.
        misplaced_queued = _relieved(queued, queue, idle.cpus)
        misplaced_shared = _relieved(shared, threads, idle.cores)
        all_here, all_queued, all_shared = (each.sum(axis=0, dtype=np.int32) for each in (here, queued, shared))
        return SessionCounts(
            alone=np.asarray(all_here - all_queued - all_shared, dtype=np.float64),
            misplaced=misplaced_queued + misplaced_shared,
            sharing=all_shared - misplaced_shared,
            oversubscribed=all_queued - misplaced_queued,
        )

    def at(self, moments: Floats) -> tuple[Counts, Counts]:
        """``queue`` and ``threads`` at these moments, (CPUs, moments); 0 before the first and after the last edge."""
        cuts = np.searchsorted(self.times, moments, side="right")
        queue, threads = (np.pad(counts, ((0, 0), (1, 1)))[:, cuts] for counts in (self.queue, self.threads))
        return queue, threads

    def curve(self, worth: npt.ArrayLike) -> Curve:
        """The integral over time of ``worth``, which has one value per cut."""
        if not self.known:
            return FLAT
        gained = self._lengths * np.asarray(worth, dtype=np.float64)
        return Curve(self.times, np.concatenate([[0.0], gained.cumsum()]))

    def during(self, part: ResidencyStretches) -> "During":
        """To integrate over these stretches, each on its CPU, which is one of ``cpus``."""
        return During(self.times, self._sorted.searchsorted(part.cpu), part.from_s, part.to_s)

    def _count(self, runnable: ResidencyStretches, rows: npt.NDArray[np.int64]) -> Counts:
        """(rows, cuts): how many of these stretches on the CPUs of these rising rows; each begins and ends at a cut."""
        width = max(1, self.times.size)
        at = self._sorted.searchsorted(runnable.cpu)
        at = (at if rows.size == len(self.cpus) else rows.searchsorted(at)) * width
        places = np.concatenate([at + self.times.searchsorted(each) for each in (runnable.from_s, runnable.to_s)])
        order = order_of(places)
        steps = BEGINS_ENDS.repeat(runnable.cpu.size)[order]
        # Summed over the edges alone: all that begins on a CPU ends there, so nothing is left for the next row.
        counts = np.concatenate([NOBODY, steps.cumsum(dtype=np.int32)])
        edges = np.concatenate([[0], places[order], [rows.size * width]])
        return counts.repeat(edges[1:] - edges[:-1]).reshape(rows.size, width)[:, :-1]

    def _foreign(self, foreign: Mapping[int, Sequence[Interval]]) -> npt.NDArray[np.bool_]:
        taken = np.zeros_like(self.queue, dtype=np.bool_)
        for cpu, intervals in foreign.items():
            for from_s, to_s in intervals:
                first, last = np.searchsorted(self.times, [from_s, to_s])
                taken[self._row[cpu], first:last] = True
        return taken

    def _by_core(self, by_cpu: npt.NDArray[np.bool_]) -> Counts:
        """(cores, cuts): how many CPUs of each core; the first CPUs of all cores are added, then the second ones."""
        if self.is_single:  # cores are numbered as their CPUs are
            return by_cpu.astype(np.int32)
        counts = np.zeros((len(self._threads[0][0]), by_cpu.shape[1]), dtype=np.int32)
        for cores, rows in self._threads:
            counts[cores] += by_cpu[rows]
        return counts


class During:
    """Integrals over many stretches of time of what is constant from cut to cut; 0 before the first and after the last.

    ``rows``: of (CPUs, cuts), for each stretch.
    """

    def __init__(self, times: Floats, rows: npt.NDArray[np.intp], from_s: Floats, to_s: Floats) -> None:
        self._times, self._rows = times, rows
        self._ends = [self._places(times, moments) for moments in (from_s, to_s)] if times.size > 1 else []

    def of(self, worth: npt.NDArray[Any]) -> Floats:
        """For each stretch; ``worth`` per second is (CPUs, cuts), or (cuts,) if it is alike on all CPUs."""
        if not self._ends or not np.any(worth):
            return np.zeros(self._rows.size)
        cuts = worth.shape[-1]
        rows = self._rows * cuts if worth.ndim > 1 else np.zeros_like(self._rows)
        # Of each CPU few cuts change anything: what is constant from one such to the next is summed as one piece.
        flat = worth.ravel()
        begins = np.ones(flat.size, dtype=np.bool_)
        np.not_equal(flat[1:], flat[:-1], out=begins[1:])
        begins[::cuts] = True
        first, row_starts = begins.nonzero()[0], np.arange(0, flat.size, cuts)
        places = first.searchsorted(row_starts)
        of_row = row_starts.repeat(np.concatenate([places[1:], [first.size]]) - places)
        rate, from_s = flat[first].astype(np.float64), self._times[first - of_row]
        to_s = self._times[np.concatenate([first[1:], [flat.size]]) - of_row]
        before = np.zeros(rate.size)
        (rate * (to_s - from_s))[:-1].cumsum(out=before[1:])

        def until(cut: Cuts, moments: Floats) -> Floats:
            piece = first.searchsorted(rows + cut, side="right") - 1
            return np.asarray(before[piece] + rate[piece] * (moments - from_s[piece]))

        (low_cut, low_s), (high_cut, high_s) = self._ends
        return until(high_cut, high_s) - until(low_cut, low_s)

    @staticmethod
    def _places(times: Floats, moments: Floats) -> tuple[Cuts, Floats]:
        """The cut that each moment lies in, and the moment, within all cuts."""
        moments = np.clip(moments, times[0], times[-1])
        return np.clip(np.searchsorted(times, moments, side="right") - 1, 0, times.size - 2), moments


def _by_thread(core_of: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Cores and rows of CPUs: of the first CPU of each core, of the second of each that has two, and so on."""
    threads: list[tuple[list[int], list[int]]] = []
    seen: dict[int, int] = {}
    for row, core in enumerate(core_of):
        nth = seen[core] = seen.get(core, -1) + 1
        if nth == len(threads):
            threads.append(([], []))
        threads[nth][0].append(core)
        threads[nth][1].append(row)
    return threads


def cpus_of_same_core(cores: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    """All CPUs of a CPU's core, by CPU; ``cores`` is the core by CPU."""
    together: dict[int, list[int]] = {}
    for cpu, core in cores.items():
        together.setdefault(core, []).append(cpu)
    return {cpu: tuple(together[core]) for cpu, core in cores.items()}


def _relieved(crowd: Counts, together: Counts, idle: Counts) -> Floats:
    """(cuts): how many of ``crowd`` the ``idle`` places relieve; (CPUs, cuts): ``together`` share one CPU or core."""
    relieved = np.zeros(idle.shape)
    cuts = np.flatnonzero(idle)
    if cuts.size and crowd.any():
        idle, crowd, together = idle[cuts], crowd[:, cuts], together[:, cuts]
        beyond = (crowd * (together - 1) / np.maximum(together, 1)).sum(axis=0)
        share = np.divide(idle, beyond, out=np.zeros_like(beyond), where=beyond > 0)
        relieved[cuts] = crowd.sum(axis=0) * np.minimum(1.0, share)
    return relieved


def _how_many(of_each: npt.NDArray[np.bool_]) -> Counts:
    """(cuts): how many of these CPUs or cores; NumPy counts in 32 bits in a fraction of the time."""
    return np.asarray(of_each.sum(axis=0, dtype=np.int32))

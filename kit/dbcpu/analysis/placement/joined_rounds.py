"""Rounds one after the other on one axis of time: what is asked of each of many small rounds is then asked once.

A round begins ``GAP_S`` after the one before has ended, and nothing happens in between: no stretch of a session lies
there, and what CPUs did and processes used does not grow.
Interrupts are counted in ticks of 10 ms, each of which goes to who has the CPU then: one or two are chance.
Source: proc_stat(5), columns irq and softirq, in units of USER_HZ.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import accumulate, chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.once_per_round import kept
from dbcpu.analysis.placement.residency import ResidencyStretches, poll_hz, stretches
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.sessions.valid_sessions import Timed, session_spans
from dbcpu.analysis.statistics.columns import floats
from dbcpu.analysis.statistics.cumulative import CumulativeCurves, Curve, Floats, spread_by
from dbcpu.record.rounds import CpuSeries, Round

GAP_S = 1.0
MAX_CELLS = 1 << 20
"""CPUs times changes of state: more at once gain nothing, and take memory."""
PIECE_WHOLE = 1.4
"""CPU time of a piece of the witness with its warm-up and waking, over that of the piece."""


class Pieces(NamedTuple):
    """Of the witness on one CPU: when each ended, in seconds after the release and rising, and its CPU time in ns."""

    cpu: int
    at_s: Floats
    ns: Floats


@kept
def witness_pieces(round_: Round) -> tuple[Pieces, ...]:
    """Of all CPUs; none where the round has no witness."""
    cpus = round_.witness.cpus if round_.witness else ()
    return tuple(Pieces(each.cpu, floats(each.at_us) / 1e6, floats(each.ns)) for each in cpus)


class WatchedRound(Struct, frozen=True):
    """A round with the ``spans`` of its sessions, and its ``stretches``, which begin and end with these."""

    round: Round
    spans: SessionSpans
    hz: float
    stretches: ResidencyStretches

    @classmethod
    def each(cls, rounds: Sequence[Sequence[Timed]]) -> list["WatchedRound"]:
        """Of the sessions of each round; the times are those of the round, in seconds after its release."""
        if not rounds:
            return []
        own, counts = [members[0].round for members in rounds], list(map(len, rounds))
        hz, spans = list(map(poll_hz, own)), list(map(session_spans, rounds))
        every = ResidencyStretches.joined(list(map(stretches, own)), counts)
        snapped = every.snapped(SessionSpans.joined(spans), np.repeat(1 / np.array(hz), counts))
        return list(map(cls, own, spans, hz, snapped.divided(counts)))

    @classmethod
    def as_polled(cls, round_: Round, spans: SessionSpans) -> "WatchedRound":
        """The same with ``stretches`` that begin and end as they were polled."""
        return cls(round_, spans, poll_hz(round_), stretches(round_))

    @property
    def cpus(self) -> set[int]:
        """CPUs that anything is known of."""
        return {*self.stretches.cpu.tolist(), *(row.cpu for row in self.round.cpu_timeline)}


def batches(rounds: Sequence[WatchedRound], width: int, known: Set[int] | None = None) -> Iterator[list[WatchedRound]]:
    """Neighbours together, as many as are worth it with so many CPUs.

    ``known``: a round with a CPU beyond these is by itself, for it has a list of CPUs of its own.
    """
    together, cells = list[WatchedRound](), 0
    for each in rounds:
        apart = known is not None and not each.cpus <= known
        own = width * (2 * each.stretches.cpu.size + len(each.round.timeline_s))
        if together and (apart or cells + own > MAX_CELLS):
            yield together
            together, cells = [], 0
        together.append(each)
        cells += own
        if apart:
            yield together
            together, cells = [], 0
    if together:
        yield together


class JoinedRounds:
    """``sessions``, ``spans``, ``stretches`` and ``round_at`` are those of all rounds; ``starts``: what was added to
    the times of each. ``counted``: of each round, whether the CPU time of all its stretches is known; ``quota_cpus``:
    the least quota that it used up, else infinity."""

    def __init__(self, rounds: Sequence[WatchedRound]) -> None:
        self.rounds = rounds
        self.starts = _starts(rounds)
        self.sessions = [session for each in rounds for session in each.round.sessions]
        counts = [len(each.round.sessions) for each in rounds]
        self.spans = SessionSpans.joined([each.spans for each in rounds]).later(np.repeat(self.starts, counts))
        self.round_at: npt.NDArray[np.int64] = np.repeat(np.arange(len(rounds)), counts)
        starts_s = np.repeat(self.starts, [each.stretches.cpu.size for each in rounds])
        every = ResidencyStretches.joined([each.stretches for each in rounds], counts)
        self.stretches = every if len(rounds) == 1 else every.later(starts_s)
        self.hz = np.array([each.hz for each in rounds])[self.round_at]
        runnable = self.stretches.where(self.stretches.runnable)
        at, many = self.round_at[runnable.session], len(rounds)
        self.counted = (np.bincount(at, minlength=many) > 0) & (
            np.bincount(at, np.isnan(runnable.cpu_s), minlength=many) == 0
        )
        self.has_timeline = np.array([bool(each.round.cpu_timeline) for each in rounds])
        self.quota_cpus = np.array([_used_up(each.round) for each in rounds])
        self.has_processes = ~self.has_timeline & np.array([bool(_by_process(each)) for each in rounds])

    @cached_property
    def allowed(self) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.int64]]:
        """Each set of CPUs that some session may use, and by session which of them is its own."""
        kinds: dict[tuple[int, ...], int] = {}
        own = [np.zeros(0, dtype=np.int64)]
        for found, at in (allowed_cpus(each.round) for each in self.rounds):
            own.append(np.array([kinds.setdefault(each, len(kinds)) for each in found], dtype=np.int64)[at])
        return tuple(kinds), np.concatenate(own)

    @cached_property
    def edges_s(self) -> list[Floats]:
        """Of each round: the ends of the slices of its timeline."""
        return [floats(each.round.timeline_s) + start for each, start in zip(self.rounds, self.starts, strict=True)]

    @cached_property
    def steal(self) -> CumulativeCurves:
        """Seconds, by CPU."""
        return self._timeline("steal_s")

    @cached_property
    def irq(self) -> CumulativeCurves:
        """Seconds of interrupts of either kind, by CPU; without what may be a tick by chance."""
        return self._timeline("irq_s", "softirq_s", only=self._is_irq)

    def _is_irq(self, at: int, row: CpuSeries) -> bool:
        times = self.rounds[at].round.timeline_s
        return len(times) > 1 and irq_s(row, times[-1] - times[0]) > 0

    @cached_property
    def busy(self) -> CumulativeCurves:
        """Seconds, by CPU."""
        return self._timeline("busy_s")

    @cached_property
    def cycles(self) -> CumulativeCurves:
        """Millions, by CPU, where its frequency is known."""
        return self._timeline("mhz", per_second=True)

    @cached_property
    def witness(self) -> CumulativeCurves:
        """CPU time of the witness, by CPU."""
        points: dict[int, list[tuple[Floats, Floats]]] = {}
        for each, start in zip(self.rounds, self.starts, strict=True):
            for pieces in witness_pieces(each.round):
                spent_s = pieces.ns * (PIECE_WHOLE / 1e9)
                spent_s[:1] = 0.0  # nothing is known before the end of the first piece
                points.setdefault(pieces.cpu, []).append((pieces.at_s + start, spent_s))
        return _curves(points)

    @cached_property
    def processes(self) -> CumulativeCurves:
        """Seconds of other processes by CPU in rounds without a timeline: spread evenly over their CPUs and round."""
        used = [
            (float(cpu), float(each.stretches.from_s.min()) + start, float(each.stretches.to_s.max()) + start, used_s)
            for each, start in zip(self.rounds, self.starts, strict=True)
            if not each.round.cpu_timeline
            for cpu, used_s in _by_process(each).items()
        ]
        cpus, from_s, to_s, used_s = np.array(used, dtype=np.float64).reshape(-1, 4).T
        return spread_by(cpus.astype(np.int64), from_s, to_s, used_s)

    def rows(self, *amounts: str) -> list[tuple[int, CpuSeries]]:
        """Those of the timelines that have a value per slice for each of ``amounts``, with the index of their round."""
        many = [edges_s.size - 1 for edges_s in self.edges_s]
        wanted = [many[at] for at, _ in self._rows]
        series = [row for _, row in self._rows]
        if all([*map(len, map(attrgetter(name), series))] == wanted for name in amounts):
            return self._rows
        return [(at, row) for at, row in self._rows if all(len(getattr(row, name)) == many[at] for name in amounts)]

    @cached_property
    def _rows(self) -> list[tuple[int, CpuSeries]]:
        return [(at, row) for at, each in enumerate(self.rounds) for row in each.round.cpu_timeline]

    @cached_property
    def _every_slice(self) -> "Slices":
        return self._slices(self._rows)

    def slices(self, rows: Sequence[tuple[int, CpuSeries]]) -> "Slices":
        """Of all of these rows, one after the other."""
        return self._every_slice if rows is self._rows else self._slices(rows)

    def _slices(self, rows: Sequence[tuple[int, CpuSeries]]) -> "Slices":
        at = np.array([number for number, _ in rows], dtype=np.int64)
        edges = np.array([each.size for each in self.edges_s], dtype=np.int64)
        counts = np.maximum(edges - 1, 0)[at]
        row = np.arange(at.size).repeat(counts)
        within = np.arange(row.size) - (counts.cumsum() - counts)[row]
        cpu, round_at = np.array([each.cpu for _, each in rows], dtype=np.int64)[row], at[row]
        edge, times = (edges.cumsum() - edges)[round_at] + within, self._times
        return Slices(cpu, times[edge], times[edge + 1], round_at, edge)

    @cached_property
    def _times(self) -> Floats:
        return np.concatenate([*self.edges_s, np.zeros(0)])

    @cached_property
    def _cpus(self) -> npt.NDArray[np.int64]:
        return np.array(sorted({row.cpu for each in self.rounds for row in each.round.cpu_timeline}), dtype=np.int64)

    def _timeline(
        self, *amounts: str, per_second: bool = False, only: Callable[[int, CpuSeries], bool] | None = None
    ) -> CumulativeCurves:
        """By CPU: the sum of ``amounts`` of its row, each with one value per slice; other rows are left out."""
        rows = self.rows(*amounts)
        if only is not None and not all(only(*each) for each in rows):
            rows = [each for each in rows if only(*each)]
        each, sums = self.slices(rows), sum(values_of(rows, name) for name in amounts)
        gained = np.zeros((self._cpus.size, self._times.size))
        gained[self._cpus.searchsorted(each.cpu), each.edge + 1] = sums * (each.length_s if per_second else 1.0)
        some = gained.any(axis=1)
        many = int(some.sum())
        starts, totals = np.arange(many) * self._times.size, gained[some].cumsum(axis=1)
        times = self._times[None].repeat(many, axis=0)
        return CumulativeCurves(self._cpus[some], starts, times.ravel(), totals.ravel())


class Slices(NamedTuple):
    """Of the timelines of CPUs, ``from_s`` to ``to_s``; ``edge``: the index of the first among those of all rounds."""

    cpu: npt.NDArray[np.int64]
    from_s: Floats
    to_s: Floats
    round_at: npt.NDArray[np.int64]
    edge: npt.NDArray[np.int64]

    @property
    def length_s(self) -> Floats:
        return self.to_s - self.from_s

    def by_cpu(self, which: npt.NDArray[np.bool_]) -> dict[int, list[tuple[float, float]]]:
        """Those that are marked."""
        found: dict[int, list[tuple[float, float]]] = {}
        columns = (each[which].tolist() for each in (self.cpu, self.from_s, self.to_s))
        for cpu, from_s, to_s in zip(*columns, strict=True):
            found.setdefault(cpu, []).append((from_s, to_s))
        return found


def values_of(rows: Sequence[tuple[int, CpuSeries]], name: str) -> Floats:
    """Those of one amount of these rows, one after the other."""
    return np.fromiter(chain.from_iterable(map(attrgetter(name), [row for _, row in rows])), dtype=np.float64)


def _curves(points: Mapping[int, Sequence[tuple[Floats, Floats]]]) -> CumulativeCurves:
    """Of moments, and what was gained since the one before; the first of a round has gained nothing."""
    joined = {cpu: tuple(map(np.concatenate, zip(*rounds, strict=True))) for cpu, rounds in points.items()}
    return CumulativeCurves.of({cpu: Curve(moments, gained.cumsum()) for cpu, (moments, gained) in joined.items()})


def _starts(rounds: Sequence[WatchedRound]) -> list[float]:
    """Of each round: 0 for the first, whose times stay as they are."""
    starts, end_s = list[float](), 0.0
    for first_s, last_s in _extents(rounds):
        starts.append(end_s + GAP_S - first_s if starts else 0.0)
        end_s = starts[-1] + last_s
    return starts


def _extents(rounds: Sequence[WatchedRound]) -> Iterator[tuple[float, float]]:
    """Of each round: the first and the last moment of all that is known of it."""
    spans, rows = [each.spans for each in rounds], [each.stretches for each in rounds]
    of_all = (
        of_each(np.fmin, [each.starts_s for each in spans]), of_each(np.fmax, [each.ends_s for each in spans]),
        of_each(np.fmin, [each.from_s for each in rows]), of_each(np.fmax, [each.to_s for each in rows]),
    )  # fmt: skip
    for each, *ends in zip(rounds, *map(np.ndarray.tolist, of_all), strict=True):
        moments = [*_stamped(each.round), *(end for end in ends if not math.isnan(end))]
        yield min(moments, default=0.0), max(moments, default=0.0)


@kept
def _stamped(round_: Round) -> tuple[float, ...]:
    """The first and the last moment of its timeline, and of the pieces of the witness on each CPU."""
    pieces = [each.at_us for each in round_.witness.cpus] if round_.witness else []
    ends_us = [end_us for at_us in pieces for end_us in (*at_us[:1], *at_us[-1:])]
    return (*round_.timeline_s[:1], *round_.timeline_s[-1:], *(end_us / 1e6 for end_us in ends_us))


def of_each(reduction: np.ufunc, parts: Sequence[Floats]) -> Floats:
    """What ``reduction`` makes of each part; NaN of an empty one."""
    sizes = [part.size for part in parts]
    if sizes and all(sizes):
        return np.asarray(reduction.reduceat(np.concatenate(parts), [0, *accumulate(sizes[:-1])]))
    found, some = np.full(len(parts), np.nan), np.array(sizes, dtype=np.int64) > 0
    if any(sizes):
        found[some] = of_each(reduction, [part for part in parts if part.size])
    return found


def _used_up(round_: Round) -> float:
    quotas = [each.quota_cpus for each in round_.cgroups if each.throttled_s > 0 and each.quota_cpus is not None]
    return min(quotas, default=math.inf)


def _by_process(each: WatchedRound) -> dict[int, float]:
    """What all other processes of a round used of each CPU, in seconds."""
    used_s: dict[int, float] = {}
    if each.stretches.from_s.size:
        for process in each.round.foreign:
            for cpu in process.cpus:
                used_s[cpu] = used_s.get(cpu, 0.0) + process.cpu_s / len(process.cpus)
    return used_s


MIN_S = 0.03
"""Three ticks."""
WORTH_SHARE = 0.05
"""Of a CPU: what is less slows nobody, and a long round has more ticks than it takes to see it."""


def irq_s(cpu: CpuSeries, lasted_s: float) -> float:
    """Seconds of interrupts of either kind in a round that lasted so long; 0 where they may be chance alone."""
    counted_s = sum(cpu.irq_s) + sum(cpu.softirq_s)
    return 0.0 if WORTH_SHARE * lasted_s < counted_s < MIN_S else counted_s


@kept
def allowed_cpus(round_: Round) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.int64]]:
    """Each set of CPUs that some session may use, and by session which of them is its own."""
    kinds: dict[tuple[int, ...], int] = {}
    own: list[int] = []
    last: tuple[int, ...] | None = None
    number = 0
    for each in round_.sessions:
        # Nearly all have the same: that two are equal is seen faster than where one belongs.
        if each.allowed_cpus != last:
            last = each.allowed_cpus
            number = kinds.setdefault(last, len(kinds))
        own.append(number)
    return tuple(kinds), np.array(own, dtype=np.int64)

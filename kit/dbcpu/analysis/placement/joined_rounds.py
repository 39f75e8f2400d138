"""Rounds one after the other on one axis of time: what is asked of each of many small rounds is then asked once.

A round begins ``GAP_S`` after the one before has ended, and nothing happens in between: no stretch of a session lies
there, and what CPUs did and processes used does not grow.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.residency import Bounds, Stretches, poll_hz, stretches, stretches_within
from dbcpu.analysis.statistics.cumulative import Curve, Curves, Floats, spread_by
from dbcpu.record import Round

GAP_S = 1.0
MAX_CELLS = 1 << 20
"""CPUs times changes of state: more at once gain nothing, and take memory."""
PIECE_WHOLE = 1.4
"""CPU time of a piece of the witness with its warm-up and waking, over that of the piece."""


class WatchedRound(Struct, frozen=True):
    """A round with the ``bounds`` of its sessions, and its ``stretches``, which begin and end with these."""

    round: Round
    bounds: Bounds
    hz: float
    stretches: Stretches

    @classmethod
    def of(cls, round_: Round, bounds: Bounds) -> "WatchedRound":
        """The times are those of the round, in seconds after its release."""
        return cls(round_, bounds, poll_hz(round_), stretches_within(round_, bounds))

    @classmethod
    def as_polled(cls, round_: Round, bounds: Bounds) -> "WatchedRound":
        """The same with ``stretches`` that begin and end as they were polled."""
        return cls(round_, bounds, poll_hz(round_), stretches(round_))

    @property
    def extent(self) -> tuple[float, float]:
        """The first and the last moment of all that is known of it."""
        moments = [*self.round.timeline_s[:1], *self.round.timeline_s[-1:]]
        if (known := self.bounds.known).any():
            moments += [float(self.bounds.starts_s[known].min()), float(self.bounds.ends_s[known].max())]
        if self.stretches.from_s.size:
            moments += [float(self.stretches.from_s.min()), float(self.stretches.to_s.max())]
        for each in self.round.witness.cpus if self.round.witness else ():
            moments += [at_us / 1e6 for at_us in (*each.at_us[:1], *each.at_us[-1:])]
        return min(moments, default=0.0), max(moments, default=0.0)

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
        alone = known is not None and not each.cpus <= known
        own = width * (2 * each.stretches.cpu.size + len(each.round.timeline_s))
        if together and (alone or cells + own > MAX_CELLS):
            yield together
            together, cells = [], 0
        together.append(each)
        cells += own
        if alone:
            yield together
            together, cells = [], 0
    if together:
        yield together


class JoinedRounds:
    """``sessions``, ``bounds``, ``stretches`` and ``round_at`` are those of all rounds; ``starts``: what was added to
    the times of each. ``counted``: of each round, whether the CPU time of all its stretches is known."""

    def __init__(self, rounds: Sequence[WatchedRound]) -> None:
        self.rounds = rounds
        self.starts = _starts(rounds)
        self.sessions = [session for each in rounds for session in each.round.sessions]
        counts, both = [len(each.round.sessions) for each in rounds], zip(rounds, self.starts, strict=True)
        shifted = [(each.bounds.starts_s + start, each.bounds.ends_s + start) for each, start in both]
        self.bounds = Bounds(*map(np.concatenate, zip(*shifted, strict=True)))
        self.round_at: npt.NDArray[np.int64] = np.repeat(np.arange(len(rounds)), counts)
        self.stretches = Stretches.joined([each.stretches for each in rounds], counts, self.starts)
        self.hz = np.array([each.hz for each in rounds])[self.round_at]
        runnable = self.stretches.where(self.stretches.runnable)
        at, many = self.round_at[runnable.session], len(rounds)
        self.counted = (np.bincount(at, minlength=many) > 0) & (
            np.bincount(at, np.isnan(runnable.cpu_s), minlength=many) == 0
        )
        self.has_timeline = np.array([bool(each.round.cpu_timeline) for each in rounds])
        self.has_processes = ~self.has_timeline & np.array([bool(_by_process(each)) for each in rounds])

    @cached_property
    def allowed(self) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.int64]]:
        """Each set of CPUs that some session may use, and by session which of them is its own."""
        kinds: dict[tuple[int, ...], int] = {}
        own: list[int] = []
        last: tuple[int, ...] | None = None
        number = 0
        for each in self.sessions:
            # Nearly all have the same: that two are equal is seen faster than where one belongs.
            if each.allowed_cpus != last:
                last = each.allowed_cpus
                number = kinds.setdefault(last, len(kinds))
            own.append(number)
        return tuple(kinds), np.array(own, dtype=np.int64)

    @cached_property
    def edges_s(self) -> list[Floats]:
        """Of each round: the ends of the slices of its timeline."""
        return [
            np.array(each.round.timeline_s, dtype=np.float64) + start
            for each, start in zip(self.rounds, self.starts, strict=True)
        ]

    @cached_property
    def steal(self) -> Curves:
        """Seconds, by CPU."""
        return self._timeline("steal_s")

    @cached_property
    def irq(self) -> Curves:
        """Seconds of interrupts of either kind, by CPU."""
        return self._timeline("irq_s", "softirq_s")

    @cached_property
    def busy(self) -> Curves:
        """Seconds, by CPU."""
        return self._timeline("busy_s")

    @cached_property
    def cycles(self) -> Curves:
        """Millions, by CPU, where its frequency is known."""
        return self._timeline("mhz", per_second=True)

    @cached_property
    def witness(self) -> Curves:
        """CPU time of the witness, by CPU."""
        points: dict[int, list[tuple[Floats, Floats]]] = {}
        for each, start in zip(self.rounds, self.starts, strict=True):
            for row in each.round.witness.cpus if each.round.witness else ():
                spent_s = np.array(row.ns) * (PIECE_WHOLE / 1e9)
                spent_s[:1] = 0.0  # nothing is known before the end of the first piece
                points.setdefault(row.cpu, []).append((np.array(row.at_us) / 1e6 + start, spent_s))
        return _curves(points)

    @cached_property
    def processes(self) -> Curves:
        """Seconds of other processes by CPU in rounds without a timeline: spread evenly over their CPUs and round."""
        used = [
            (float(cpu), float(each.stretches.from_s.min()) + start, float(each.stretches.to_s.max()) + start, used_s)
            for each, start in zip(self.rounds, self.starts, strict=True)
            if not each.round.cpu_timeline
            for cpu, used_s in _by_process(each).items()
        ]
        cpus, from_s, to_s, used_s = np.array(used, dtype=np.float64).reshape(-1, 4).T
        return spread_by(cpus.astype(np.int64), from_s, to_s, used_s)

    def _timeline(self, *amounts: str, per_second: bool = False) -> Curves:
        """By CPU: the sum of ``amounts`` of its row, each with one value per slice; other rows are left out."""
        cpus = sorted({row.cpu for each in self.rounds for row in each.round.cpu_timeline})
        place = {cpu: at for at, cpu in enumerate(cpus)}
        times = np.concatenate([*self.edges_s, np.zeros(0)])
        gained, first = np.zeros((len(cpus), times.size)), 1
        for each, edges_s in zip(self.rounds, self.edges_s, strict=True):
            slices_s = np.diff(edges_s) if per_second else 1.0
            rows, many = each.round.cpu_timeline, edges_s.size - 1
            parts = [list(map(attrgetter(name), rows)) for name in amounts]
            if any(set(map(len, part)) - {many} for part in parts):
                rows = tuple(row for row in rows if all(len(getattr(row, name)) == many for name in amounts))
                parts = [list(map(attrgetter(name), rows)) for name in amounts]
            if rows and many > 0:
                sums = np.array(parts, dtype=np.float64).sum(axis=0)
                gained[[place[row.cpu] for row in rows], first : first + many] = sums * slices_s
            first += edges_s.size
        some = gained.any(axis=1)
        many = int(some.sum())
        starts, totals = np.arange(many) * times.size, np.cumsum(gained[some], axis=1)
        return Curves(np.array(cpus, dtype=np.int64)[some], starts, np.tile(times, many), totals.ravel())


def _curves(points: Mapping[int, Sequence[tuple[Floats, Floats]]]) -> Curves:
    """Of moments, and what was gained since the one before; the first of a round has gained nothing."""
    joined = {cpu: tuple(map(np.concatenate, zip(*rounds, strict=True))) for cpu, rounds in points.items()}
    return Curves.of({cpu: Curve(moments, np.cumsum(gained)) for cpu, (moments, gained) in joined.items()})


def _starts(rounds: Sequence[WatchedRound]) -> list[float]:
    """Of each round: 0 for the first, whose times stay as they are."""
    starts, end_s = list[float](), 0.0
    for each in rounds:
        first_s, last_s = each.extent
        starts.append(end_s + GAP_S - first_s if starts else 0.0)
        end_s = starts[-1] + last_s
    return starts


def _by_process(each: WatchedRound) -> dict[int, float]:
    """What all other processes of a round used of each CPU, in seconds."""
    used_s: dict[int, float] = {}
    if each.stretches.from_s.size:
        for process in each.round.foreign:
            for cpu in process.cpus:
                used_s[cpu] = used_s.get(cpu, 0.0) + process.cpu_s / len(process.cpus)
    return used_s

"""Residency of all sessions of a round as columns, so that it can be worked on as a whole."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.record import Residency, Round

DEFAULT_HZ = 20.0
"""Where a record does not have it."""
HELD_POLLS = 3.0
"""A stretch lasts until the next one begins, unless more than this many polls are missing between them."""

RUNNABLE, STOPPED, ASLEEP, OTHER = range(4)
_KINDS = {"R": RUNNABLE, "T": STOPPED, "t": STOPPED, "S": ASLEEP, "D": ASLEEP}

Mask = npt.NDArray[np.bool_]
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Stretches:
    """One row per stretch, in the order of sessions. ``session`` indexes them; ``cpu_s`` is NaN where not counted."""

    session: npt.NDArray[np.int64]
    cpu: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    from_s: Floats
    to_s: Floats
    cpu_s: Floats

    @property
    def length_s(self) -> Floats:
        return self.to_s - self.from_s

    @property
    def runnable(self) -> Mask:
        return np.asarray(self.kind == RUNNABLE)

    def of(self, index: int) -> slice:
        """The rows of one session."""
        first, last = np.searchsorted(self.session, (index, index + 1))
        return slice(int(first), int(last))

    def where(self, mask: Mask) -> "Stretches":
        """The rows that ``mask`` marks."""
        return Stretches(*(getattr(self, name)[mask] for name in Stretches.__slots__))

    def clipped(self, spans: Sequence[Span | None]) -> "Stretches":
        """Every stretch cut to its session's (start, end); its CPU time shrinks with it."""
        starts = np.array([span[0] if span else np.inf for span in spans], dtype=np.float64)
        ends = np.array([span[1] if span else -np.inf for span in spans], dtype=np.float64)
        from_s, to_s = np.maximum(self.from_s, starts[self.session]), np.minimum(self.to_s, ends[self.session])
        kept = np.asarray(to_s > from_s)
        inner, from_s, to_s = self.where(kept), from_s[kept], to_s[kept]
        share = (to_s - from_s) / inner.length_s
        return Stretches(inner.session, inner.cpu, inner.kind, from_s, to_s, inner.cpu_s * share)

    def snapped(self, spans: Sequence[Span | None], period_s: float) -> "Stretches":
        """The first and last runnable stretch of each session moved to its (start, end).

        A change of state is put halfway between two polls; of these two it is known when they happened. Nothing
        is moved by more than ``period_s``; CPU time goes along with what is moved.
        """
        from_s, to_s, cpu_s = self.from_s.copy(), self.to_s.copy(), self.cpu_s.copy()
        runnable = self.runnable
        for index, span in enumerate(spans):
            rows = self.of(index)
            own = np.arange(rows.start, rows.stop)
            ran = own[runnable[rows]]
            if span is None or not ran.size:
                continue
            first, last = ran[0], ran[-1]
            if abs(from_s[first] - span[0]) <= period_s and span[0] < to_s[first]:
                from_s[first] = span[0]
                if first > own[0]:
                    cpu_s[first], cpu_s[first - 1] = cpu_s[first] + cpu_s[first - 1], 0.0
                    to_s[first - 1] = max(from_s[first - 1], span[0])
            if abs(to_s[last] - span[1]) <= period_s and span[1] > from_s[last]:
                to_s[last] = span[1]
                if last < own[-1]:
                    cpu_s[last], cpu_s[last + 1] = cpu_s[last] + cpu_s[last + 1], 0.0
                    from_s[last + 1] = min(to_s[last + 1], span[1])
        return Stretches(self.session, self.cpu, self.kind, from_s, to_s, cpu_s)


def stretches(round_: Round) -> Stretches:
    """The residency of all sessions of a round."""
    hold_s = HELD_POLLS / poll_hz(round_)
    rows = [
        (index, *stretch)
        for index, session in enumerate(round_.sessions)
        for stretch in _held(session.residency, hold_s)
    ]
    session, cpu, kind, from_s, to_s, cpu_s = zip(*rows, strict=True) if rows else ((),) * 6
    return Stretches(
        np.array(session, dtype=np.int64),
        np.array(cpu, dtype=np.int64),
        np.array(kind, dtype=np.int64),
        np.array(from_s, dtype=np.float64),
        np.array(to_s, dtype=np.float64),
        np.array(cpu_s, dtype=np.float64),
    )


def poll_hz(round_: Round) -> float:
    """Polls per second as they were made, which on a busy host is less than was requested."""
    cost = round_.cost
    asked_hz = (cost.hz if cost else None) or DEFAULT_HZ
    # The timeline begins with the first poll and ends with the last; the window is a little shorter.
    watched_s = round_.timeline_s[-1] - round_.timeline_s[0] if round_.timeline_s else cost.window_s if cost else 0.0
    if cost is None or cost.polls < 2 or watched_s <= 0:
        return asked_hz
    return min(asked_hz, (cost.polls - 1) / watched_s)


def _held(residency: Iterable[Residency], hold_s: float) -> list[tuple[int, int, float, float, float]]:
    ordered = sorted(residency, key=lambda each: each.from_s)
    held = []
    starts = [each.from_s for each in ordered] + [float("inf")]
    for each, next_s in zip(ordered, starts[1:], strict=True):
        to_s = max(each.to_s, each.from_s)
        if next_s - to_s <= hold_s:
            to_s = max(each.from_s, next_s)
        cpu_s = np.nan if each.cpu_s is None else each.cpu_s
        held.append((each.cpu, _KINDS.get(each.state, OTHER), each.from_s, to_s, cpu_s))
    return held

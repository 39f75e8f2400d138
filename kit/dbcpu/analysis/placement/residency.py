"""Residency of all sessions of a round as columns, so that it can be worked on as a whole."""

from collections.abc import Sequence
from itertools import chain, repeat
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dbcpu.analysis.placement.once_per_round import kept_together
from dbcpu.analysis.sessions.session_spans import SessionSpans
from dbcpu.analysis.statistics.columns import columns
from dbcpu.analysis.statistics.cumulative import Floats, Mask
from dbcpu.record.rounds import Round

DEFAULT_HZ = 20.0
"""Where a record does not have it."""
HELD_POLLS = 3.0
"""A stretch lasts until the next one begins, unless more than this many polls are missing between them."""

RUNNABLE, STOPPED, ASLEEP, OTHER = range(4)
_KINDS = {"R": RUNNABLE, "T": STOPPED, "t": STOPPED, "S": ASLEEP, "D": ASLEEP}

Span = tuple[float, float]


class ResidencyStretches(Struct, frozen=True):
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

    @classmethod
    def joined(cls, parts: Sequence["ResidencyStretches"], counts: Sequence[int]) -> "ResidencyStretches":
        """Those of several rounds: of so many sessions each, which are counted on."""
        if len(parts) == 1:
            return parts[0]
        before = np.repeat(np.cumsum([0, *counts])[:-1], [part.session.size for part in parts])
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__struct_fields__}
        return cls(**columns | {"session": columns["session"] + before})

    def divided(self, counts: Sequence[int]) -> list["ResidencyStretches"]:
        """Those of the first so many sessions, of the next ones, and so on: what ``joined`` has joined."""
        if len(counts) == 1:
            return [self]
        firsts = np.cumsum([0, *counts])
        places = self.session.searchsorted(firsts).tolist()
        return [
            ResidencyStretches(
                self.session[rows] - first, self.cpu[rows], self.kind[rows], self.from_s[rows], self.to_s[rows],
                self.cpu_s[rows],
            )
            for first, rows in zip(firsts.tolist(), map(slice, places, places[1:]), strict=False)
        ]  # fmt: skip

    def later(self, by_s: Floats) -> "ResidencyStretches":
        """With so much added to the times of each row."""
        return ResidencyStretches(self.session, self.cpu, self.kind, self.from_s + by_s, self.to_s + by_s, self.cpu_s)

    def of(self, index: int) -> slice:
        """The rows of one session."""
        first, last = np.searchsorted(self.session, (index, index + 1))
        return slice(int(first), int(last))

    def where(self, mask: Mask) -> "ResidencyStretches":
        """The rows that ``mask`` marks."""
        (at,) = mask.nonzero()
        return ResidencyStretches(
            self.session[at], self.cpu[at], self.kind[at], self.from_s[at], self.to_s[at], self.cpu_s[at]
        )

    def clipped(self, spans: SessionSpans) -> "ResidencyStretches":
        """Every stretch cut to its session's spans; its CPU time shrinks with it. None is left where they are not
        known."""
        starts, ends = (each[self.session] for each in spans)
        from_s, to_s = np.maximum(self.from_s, starts), np.minimum(self.to_s, ends)
        kept = np.asarray(to_s > from_s)
        inner, from_s, to_s = self.where(kept), from_s[kept], to_s[kept]
        share = (to_s - from_s) / inner.length_s
        return ResidencyStretches(inner.session, inner.cpu, inner.kind, from_s, to_s, inner.cpu_s * share)

    def as_polled(self, spans: SessionSpans, period_s: float) -> "ResidencyStretches":
        """Idle stretches that no poll saw while their session ran have kind OTHER: they are of before or after it.

        The outer edges of a session's stretches are polls, an inner one lies halfway between two, ``period_s`` apart.
        """
        starts, ends = (each[self.session] for each in spans)
        other = np.diff(self.session) != 0
        first = np.append(True, other)[: self.session.size]
        last = np.append(other, True)[: self.session.size]
        first_poll_s = self.from_s + np.where(first, 0.0, period_s / 2)
        last_poll_s = self.to_s - np.where(last, 0.0, period_s / 2)
        from_s, to_s = np.maximum(first_poll_s, starts), np.minimum(last_poll_s, ends)
        # One of both sides of the session has polls within only if it is longer than they are apart.
        around = (first_poll_s < starts) & (last_poll_s > ends)
        seen = (from_s <= to_s) & (~around | (ends - starts >= period_s))
        kind = np.where(self.runnable | seen, self.kind, OTHER)
        return ResidencyStretches(self.session, self.cpu, kind, self.from_s, self.to_s, self.cpu_s)

    def snapped(self, spans: SessionSpans, period_s: Floats) -> "ResidencyStretches":
        """The first and last runnable stretch of each session moved to its spans.

        A change of state is put halfway between two polls; of these two it is known when they happened. Nothing
        is moved by more than ``period_s`` of its session; CPU time goes along with what is moved.
        """
        from_s, to_s, cpu_s = self.from_s.copy(), self.to_s.copy(), self.cpu_s.copy()
        (ran,) = self.runnable.nonzero()
        ran = ran[spans.known[self.session[ran]]]
        of = self.session[ran]
        begins = np.append(True, of[1:] != of[:-1])[: of.size]
        first, last, sessions = ran[begins], ran[np.append(begins[1:], True)[: of.size]], of[begins]
        starts, ends, period_s = spans.starts_s[sessions], spans.ends_s[sessions], period_s[sessions]

        moved = (np.abs(from_s[first] - starts) <= period_s) & (starts < to_s[first])
        from_s[first[moved]] = starts[moved]
        begun = first[moved & (first > self.session.searchsorted(sessions))]
        cpu_s[begun], cpu_s[begun - 1] = cpu_s[begun] + cpu_s[begun - 1], 0.0
        to_s[begun - 1] = np.maximum(from_s[begun - 1], from_s[begun])

        moved = (np.abs(to_s[last] - ends) <= period_s) & (ends > from_s[last])
        to_s[last[moved]] = ends[moved]
        ended = last[moved & (last < self.session.searchsorted(sessions, side="right") - 1)]
        cpu_s[ended], cpu_s[ended + 1] = cpu_s[ended] + cpu_s[ended + 1], 0.0
        from_s[ended + 1] = np.minimum(to_s[ended + 1], to_s[ended])
        return ResidencyStretches(self.session, self.cpu, self.kind, from_s, to_s, cpu_s)


@kept_together
def stretches(rounds: Sequence[Round]) -> list[ResidencyStretches]:
    """The residency of all sessions of a round, of each in the order of time."""
    sessions = [session.residency for each in rounds for session in each.sessions]
    counts, every = np.array(list(map(len, sessions)), dtype=np.int64), list(chain.from_iterable(sessions))
    session = np.arange(counts.size).repeat(counts)
    many = len(every)
    from_s, to_s, cpu_s, on_cpu = columns(every, "from_s", "to_s", "cpu_s", "cpu")
    cpu = on_cpu.astype(np.int64)
    kind = np.fromiter(map(_KINDS.get, map(attrgetter("state"), every), repeat(OTHER)), np.int64, many)
    if ((from_s[1:] < from_s[:-1]) & (session[1:] == session[:-1])).any():
        order = np.lexsort((from_s, session))
        cpu, kind = cpu[order], kind[order]
        from_s, to_s, cpu_s = from_s[order], to_s[order], cpu_s[order]
    to_s = np.maximum(to_s, from_s)
    following = np.append(from_s[1:], np.inf)[: from_s.size]
    following[np.append(np.diff(session) != 0, True)[: from_s.size]] = np.inf
    members = [len(each.sessions) for each in rounds]
    held_s = np.repeat([HELD_POLLS / poll_hz(each) for each in rounds], members)[session]
    held = following - to_s <= held_s
    found = ResidencyStretches(session, cpu, kind, from_s, np.where(held, np.maximum(from_s, following), to_s), cpu_s)
    return found.divided(members)


def stretches_as_polled(round_: Round, spans: SessionSpans) -> ResidencyStretches:
    """Those of a round within its sessions' spans; idle ones that no poll saw are OTHER, but not of a trace."""
    rows = stretches(round_)
    exact = round_.trace is not None and not round_.trace.why
    return (rows if exact else rows.as_polled(spans, 1 / poll_hz(round_))).clipped(spans)


def poll_hz(round_: Round) -> float:
    """Polls per second as they were made, which on a busy host is less than was requested."""
    cost = round_.cost
    asked_hz = (cost.hz if cost else None) or DEFAULT_HZ
    # The timeline begins with the first poll and ends with the last; the window is a little shorter.
    watched_s = round_.timeline_s[-1] - round_.timeline_s[0] if round_.timeline_s else cost.window_s if cost else 0.0
    if cost is None or cost.polls < 2 or watched_s <= 0:
        return asked_hz
    return min(asked_hz, (cost.polls - 1) / watched_s)

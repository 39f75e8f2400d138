"""Where a session was, made of the looks at its process: stretches on one CPU in one state."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from dbcpu.record.rounds import Residency, Session
from dbcpu.store.shell_kit.line_reader import NEAR_S, Look, SessionLines

_CLOSE_S = 0.05
"""Clocks of looks have grains of 10 ms."""


def residency(session: SessionLines, released_s: float) -> tuple[Residency, ...]:
    """Offsets are from the release. A first and a last look that are near the session's ends reach to these."""
    return _from_the_start(
        _to_the_end(tuple(_stretches(session.seen, released_s)), session, released_s), session, released_s
    )


def is_whole(session: Session) -> bool:
    """Whether it was seen, and its CPU time is known from its start to its end where looks have it.

    A session that executed nothing counts as seen.
    """
    if not session.executions:
        return True
    stays = session.residency
    if not stays or any(stay.cpu_s is None for stay in stays):
        return bool(stays)
    last = session.executions[-1]
    start_s, end_s = session.executions[0].start_s, last.start_s + last.elapsed_s
    return stays[0].from_s <= start_s + _CLOSE_S and stays[-1].to_s >= end_s - _CLOSE_S


def _from_the_start(stays: tuple[Residency, ...], session: SessionLines, released_s: float) -> tuple[Residency, ...]:
    """The first stretch made to begin with the session's start, with the CPU time that no look saw.

    That is at most what the kernel has counted since the process began, and the rest of the session's own count.
    """
    start_s = min((start for start, _, _ in session.executions), default=released_s) - released_s
    first = stays[0] if stays else None
    if first is None or first.cpu_s is None or not 0 < first.from_s - start_s <= NEAR_S:
        return stays
    look, gap_s = session.seen[0], first.from_s - start_s
    missing_s = min(gap_s, look.run_s or 0.0)
    if session.cpu_s is not None:
        missing_s = min(missing_s, max(0.0, session.cpu_s - sum(each.cpu_s or 0.0 for each in stays)))
    delay_s = None if first.run_delay_s is None else first.run_delay_s + min(gap_s - missing_s, look.delay_s or 0.0)
    return (replace(first, from_s=start_s, cpu_s=first.cpu_s + missing_s, run_delay_s=delay_s), *stays[1:])


def _to_the_end(residency: tuple[Residency, ...], session: SessionLines, released_s: float) -> tuple[Residency, ...]:
    """The last stretch made to last until the session's end, with the CPU time that no look saw.

    That is the rest of the session's own count; without one, its pace until then goes on.
    """
    end_s = max((end for _, end, _ in session.executions), default=released_s) - released_s
    last = residency[-1] if residency else None
    if last is None or last.cpu_s is None or not 0 < end_s - last.to_s <= NEAR_S:
        return residency
    seen_s = sum(each.cpu_s or 0.0 for each in residency)
    rate = seen_s / (last.to_s - residency[0].from_s) if last.to_s > residency[0].from_s else 0.0
    missing_s = rate * (end_s - last.to_s) if session.cpu_s is None else max(0.0, session.cpu_s - seen_s)
    return (*residency[:-1], replace(last, to_s=end_s, cpu_s=last.cpu_s + min(missing_s, end_s - last.to_s)))


def _stretches(seen: Sequence[Look], released_s: float) -> Iterable[Residency]:
    """Looks that follow each other with the same CPU and state; a change is put in the middle between two."""
    if not seen:
        return
    began = (seen[0].at_s, seen[0].run_s, seen[0].delay_s)
    for earlier, later in pairwise(seen):
        if (earlier.cpu, earlier.state) != (later.cpu, later.state):
            turn = (
                (earlier.at_s + later.at_s) / 2,
                _middle(earlier.run_s, later.run_s),
                _middle(earlier.delay_s, later.delay_s),
            )
            yield _stretch(earlier, began, turn, released_s)
            began = turn
    last = seen[-1]
    yield _stretch(last, began, (last.at_s, last.run_s, last.delay_s), released_s)


_Moment = tuple[float, float | None, float | None]
"""Seconds since 1970, CPU time so far, time on the run queue so far."""


def _stretch(look: Look, began: _Moment, ended: _Moment, released_s: float) -> Residency:
    gained = [
        None if one is None or two is None else max(0.0, two - one)
        for one, two in zip(began[1:], ended[1:], strict=True)
    ]
    return Residency(look.cpu, look.state, began[0] - released_s, ended[0] - released_s, *gained)


def _middle(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else (one + two) / 2

"""How many active sessions are enough for a given amount of CPU work, and what more of them cost.

The total is the time from the first send to the last end, a piece's time that of one execution in its session.
Medians over rounds. Enough is the smallest K whose total is within the tolerance of the least: 5 %, or what the
rounds of one K differ by, if that is more.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from dbcpu.analysis.placement.valid_sessions import Timed
from dbcpu.analysis.results.experiments import Pool, PoolSize
from dbcpu.record import Round, RunRecord

TOLERANCE = 0.05


def pool(record: RunRecord, sessions: Sequence[Timed]) -> Pool | None:
    """The answer, or None when no round did all of its work."""
    pieces = record.header.plan.pieces or 0
    rounds: dict[int, list[list[Timed]]] = {}
    for done in record.rounds:
        members = [each for each in sessions if each.round is done]
        whole = sum(len(each.span.executions) for each in members if each.span and not each.why) == pieces
        if whole and not done.anchor:
            rounds.setdefault(done.level, []).append(members)
    if not rounds:
        return None
    alone = [each.span.per_execution_s for each in sessions if each.round.anchor and each.span and not each.why]
    alone_s = float(np.median(alone)) if alone else None
    totals = {level: [_total_s(members) for members in found] for level, found in rounds.items()}
    sizes = tuple(_size(level, rounds[level], totals[level], pieces, alone_s) for level in sorted(rounds))
    best = min(sizes, key=lambda each: each.total_s)
    spreads = [max(each) / min(each) - 1 for each in totals.values() if len(each) > 1]
    tolerance = max(TOLERANCE, float(np.median(spreads)) if spreads else 0.0)
    enough = next(each for each in sizes if each.total_s <= best.total_s * (1 + tolerance))
    return Pool(pieces, sizes, best.active, enough.active, tolerance)


def _size(
    active: int, rounds: Sequence[Sequence[Timed]], totals: Sequence[float], pieces: int, alone_s: float | None
) -> PoolSize:
    pieces_s = [
        float(np.median([end - start for each in members if each.span for start, end in each.span.executions]))
        for members in rounds
    ]
    uses = [members[0].round.server_use for members in rounds]
    piece_s, total_s = float(np.median(pieces_s)), float(np.median(totals))
    return PoolSize(
        active=active,
        rounds=len(rounds),
        total_s=total_s,
        piece_s=piece_s,
        x_alone=piece_s / alone_s if alone_s else None,
        pieces_per_s=pieces / total_s,
        rss_bytes=_median(use.rss_bytes for use in uses if use),
        pss_bytes=_median(use.pss_bytes for use in uses if use and use.pss_bytes is not None),
        processes=_median(use.processes for use in uses if use),
        threads=_median(use.threads for use in uses if use),
        switches=_median(each for members in rounds if (each := _switches(members[0].round)) is not None),
    )


def _total_s(members: Sequence[Timed]) -> float:
    spans = [each.span for each in members if each.span]
    return max(span.end_s for span in spans) - min(span.start_s for span in spans)


def _switches(done: Round) -> int | None:
    """Of all sessions in the round, voluntary and not."""
    both = [(each.voluntary_switches, each.involuntary_switches) for each in done.sessions]
    known = [one + two for one, two in both if one is not None and two is not None]
    return sum(known) if len(known) == len(both) else None


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return float(np.median(known)) if known else None

"""What is asked of a level beside its medians: percentiles, CPU utilisation, and moves between CPUs."""

from collections.abc import Sequence
from operator import add, attrgetter

import numpy as np

from dbcpu.analysis.levels.throughput import RoundWork
from dbcpu.analysis.results.run import LevelDetails
from dbcpu.analysis.sessions.valid_sessions import Timed
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import median, quantile
from dbcpu.record.rounds import Round

MIN_EXECUTIONS = {50: 1, 95: 20, 99: 100}
"""Of fewer executions the percentile would be the slowest of them."""
MIN_ROUND_S = 0.1
"""The kernel counts in steps of 10 ms: of a shorter round the share of busy time is not known."""
MIN_PART = 0.5
"""Of a round that slices of the timeline must cover, each from its beginning to its end."""


def level_details(rounds: Sequence[Sequence[Timed]], works: Sequence[RoundWork]) -> LevelDetails | None:
    """Of the usable rounds of a level, and what was done in each; None without an execution."""
    members = [each for one in rounds for each in one if each.span]
    taken_s = np.concatenate([each.to_s - each.from_s for each in works]) if works else np.zeros(0)
    if not taken_s.size:
        return None
    known = all(one[0].round.shares_known for one in rounds if one)
    p50_s, p95_s, p99_s = percentiles(taken_s) if known else (None, None, None)
    used = [share for one in rounds if one and (share := utilisation(one[0].round)) is not None]
    moves = [*map(attrgetter("session.migrations"), members)]
    lasted_s = sum(map(attrgetter("span.elapsed_s"), members))
    counted = [each for each in moves if each is not None]
    return LevelDetails(
        executions=taken_s.size,
        p50_s=p50_s,
        p95_s=p95_s,
        p99_s=p99_s,
        utilisation=median(used) if used else None,
        moves_per_s=sum(counted) / lasted_s if len(counted) == len(moves) and lasted_s > 0 else None,
    )


def utilisation(round_: Round) -> float | None:
    """Busy share of all CPUs while the round lasted, as top or sar would show it; None where they were not sampled, or
    the round was too short to say."""
    edges, executions = np.array(round_.timeline_s), [one for each in round_.sessions for one in each.executions]
    if not executions or edges.size < 2 or not round_.cpu_timeline:
        return None
    end_s = max(map(add, map(attrgetter("start_s"), executions), map(attrgetter("elapsed_s"), executions)))
    # Of a slice that began before the release, or ends after the last end, nobody knows when its CPUs were busy.
    inside = (edges[:-1] >= 0.0) & (edges[1:] <= end_s)
    watched_s = few_values.sum_of((edges[1:] - edges[:-1])[inside])
    if watched_s < max(MIN_ROUND_S, MIN_PART * end_s):
        return None
    rows = [row.busy_s for row in round_.cpu_timeline if len(row.busy_s) == inside.size]
    busy_s = float(np.array(rows).reshape(-1, inside.size)[:, inside].sum())
    return min(1.0, busy_s / (watched_s * len(round_.cpu_timeline)))


def percentiles(taken_s: Sequence[float] | Floats) -> tuple[float | None, float | None, float | None]:
    """Those of ``MIN_EXECUTIONS``, each None where there are too few."""
    p50_s, p95_s, p99_s = (
        float(quantile(taken_s, each / 100)) if len(taken_s) >= few else None for each, few in MIN_EXECUTIONS.items()
    )
    return p50_s, p95_s, p99_s

"""What more or fewer sessions cost in throughput, in words: of the whole host, not of one session."""

from collections.abc import Sequence

from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.scaling.falling_throughput import WORTH_SAYING
from dbcpu.formatting import percent


def falls_words(scaling: Scaling | None) -> tuple[str, ...]:
    """Where more sessions do less; () where none do."""
    fall = scaling.fall if scaling else None
    if fall is None:
        return ()
    than = f"at {fall.from_level}" if fall.from_level > 1 else "of a single one"
    less = f"at {fall.to_level} sessions it is {percent(fall.share)} less than {than}"
    return (f"throughput falls with more sessions: {less}",)


def advised(fit: int, scaling: Scaling | None) -> int:
    """So many sessions as ``fit``, or fewer where the host does more with fewer."""
    fall = scaling.fall if scaling else None
    return fit if fall is None else min(fit, fall.from_level)


def price_of_fewer(levels: Sequence[LevelView], fewer: int) -> str:
    """What a host loses where no more than ``fewer`` sessions run, against its best level; '' for nothing, or unknown.

    By the makespan of the larger level, which is at most what lasts.
    """
    at = next((each.throughput for each in levels if each.level == fewer), None)
    more = [each for each in levels if each.level > fewer and each.makespan_throughput]
    best = max(more, key=lambda each: each.makespan_throughput or 0.0, default=None)
    if not at or best is None or 1 - at / (best.makespan_throughput or at) < WORTH_SAYING:
        return ""
    less = percent(1 - at / (best.makespan_throughput or at))
    return f". A pool of {fewer} does {less} less in all than {best.level} sessions"

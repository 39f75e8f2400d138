"""The yield of second threads where sessions were seen to share cores, and what it leaves possible for the curve."""

from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Scaling, SharedCore
from dbcpu.analysis.results.run import REGIME_SHARE, LevelView, Reference
from dbcpu.analysis.statistics.interval import Interval

MAX_WIDTH = 0.5
"""A yield that was seen is reported if its interval is no wider than that."""
TOO_MUCH = 1.03
"""Noise of the rates makes them so many times as high."""
UNLIKE_CORES = (Cause.SLOWER_CPU, Cause.REMOTE_MEMORY)
"""Sessions that each have a core may differ by them: by the core, or by the memory that is far from it."""


def with_seen_yield(
    scaling: Scaling,
    shared: SharedCore | None,
    threads: Sequence[int],
    levels: Sequence[LevelView],
    reference: Reference | None,
) -> Scaling:
    """The yield from where sessions were seen to run, if that gave the speed of a full core.

    ``threads``: usable threads of each core. Where sharing stays, the curve counts a session whose partner ended early
    at more than its speed beside it, for it does not know who was whose partner. Where some cores have one thread, only
    the others add something to what all cores do: they are full cores, and do so much of it as they are of all.
    """
    full, part = max(threads, default=0), 1.0
    if len(set(threads)) > 1:
        rate = _of_all_cores(levels, reference, len(threads))
        full, part = (full, threads.count(full) / rate) if set(threads) == {1, full} and rate else (0, 1.0)
    speed = next((each for each in shared.speeds if each.threads == full), None) if shared else None
    low, high = (part * (full * each - 1) for each in (speed.low, speed.high)) if speed else (0.0, 1.0)
    if speed is None or high - low > MAX_WIDTH:
        return scaling
    return replace(scaling, smt_yield=part * (full * speed.speed - 1), smt_yield_interval=Interval(low, high))


def _of_all_cores(levels: Sequence[LevelView], reference: Reference | None, cores: int | None) -> float | None:
    """What one session on each core does, in sessions alone; shares differ by the cores alone, if at all."""
    found = next((each for each in levels if each.level == cores), None)
    if found is None or reference is None or not found.throughput:
        return None
    # Seen to have a core each, they differ by what the cores lose, such as steal, however small that is.
    apart = found.alone_s is not None and found.share(found.misplaced_s) <= REGIME_SHARE
    fine = apart or found.even is not Answer.NO or found.main_cause in UNLIKE_CORES
    return found.throughput / reference.mrows_per_s if fine else None


def within_seen_yield(
    scaling: Scaling,
    levels: Sequence[LevelView],
    reference: Reference | None,
    cores: int | None,
    threads: Sequence[int],
    quota: float | None,
) -> Scaling:
    """Effective cores no higher than the cores do with the yield that was seen, and without it where it is negative.

    Between the cores and the vCPUs some sessions share a core and others do not: who ends early leaves a core to those
    who shared one, and the sum of rates is too high, as it is where few levels were measured or a quota ends them.
    ``threads``, ``quota``: see ``seen_yield_limit``, whose ``busy`` is the quota in CPUs.
    """
    found, within = scaling.effective_cores, scaling.effective_cores_interval
    most = seen_yield_limit(scaling, levels, reference, cores, threads, quota)
    if found is None or most is None or found <= TOO_MUCH * most:
        return scaling
    if within is not None:  # as wide as that of what it replaces: the limit has the errors of the same rates
        within = Interval(within.low * most / found, within.high * most / found)
    return replace(scaling, effective_cores=most, effective_cores_interval=within)


def seen_yield_limit(
    scaling: Scaling,
    levels: Sequence[LevelView],
    reference: Reference | None,
    cores: int | None,
    threads: Sequence[int],
    busy: float | None = None,
) -> float | None:
    """What the cores do with the yield that was seen, and without it where it is negative, in sessions alone.

    ``threads``: usable threads of each core; ``busy``: as many of them as can be at work at once, None for all. Where
    a core has two each second thread adds as much as the next. No less than an even level does: nobody ends early
    there, and of more than two threads per core no curve shows all. No less than a level with a core for each either:
    turbo may fall so far that fewer do more.
    """
    seen, full = scaling.smt_yield_interval, _of_all_cores(levels, reference, cores)
    if seen is None or full is None or reference is None or cores is None:
        return None
    further, part = sum(threads) - cores, 1.0
    if busy is not None and further > 0 and max(threads) == 2:
        part = min(1.0, max(0.0, (busy - cores) / further))
    lasts = (each for each in levels if each.even is Answer.YES or each.level <= cores)
    even = max((each.throughput or 0.0 for each in lasts), default=0.0)
    return max(full * (1 + part * max(0.0, seen.high)), even / reference.mrows_per_s)

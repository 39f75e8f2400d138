"""How many sessions should be slow, and how uneven should they be, if none were ever moved?

A frozen placement fills cores evenly, then their further threads, then queues, and leaves every session there. With two
threads per core and cores < N <= 2 cores exactly 2 (N - cores) sessions then share a core; for other
shapes the placement is played through. What a core gets done with k busy threads is read from the
measured throughput at k sessions per core. Observed CV over frozen CV is the stickiness: about 1 where the scheduler
leaves running sessions alone, 0 where they take turns.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.levels.two_groups import widest_gap
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.statistics import few_values
from dbcpu.analysis.statistics.cumulative import Floats
from dbcpu.analysis.statistics.robust import median

MIN_FROZEN_CV = 0.02
"""Below this even a frozen placement is even: nothing to compare with."""

Throughput = Mapping[int, float]
"""Rate sum by level, in any unit."""


def frozen_times(level: int, threads: Sequence[int], throughput: Throughput) -> Floats | None:
    """Elapsed time of each of ``level`` sessions in a frozen placement, as a multiple of the fastest possible.

    ``threads``: usable threads of each core. None where the throughput of that many sessions per core was not
    measured, or cores differ in a way that leaves open what one more thread does.
    """
    speed = core_speeds(threads, throughput, least=min(max(threads), -(-level // len(threads))))
    if speed is None:
        return None
    busy = _filled(min(level, sum(threads)), threads)
    queues, beside = np.array(_queues(level, sum(threads))), np.repeat(busy, busy)
    rates = np.array(speed)[beside] / beside / queues
    return np.asarray(np.repeat(max(speed[1], 1e-9) / rates, queues))


def expected_slow(level: int, threads: Sequence[int], elapsed: Floats | None, min_gap: float) -> float | None:
    """Slow sessions by the formula where it holds, else by the largest gap of a frozen placement."""
    cores = len(threads)
    if set(threads) == {2} and cores < level <= 2 * cores:
        return 2.0 * (level - cores)
    if elapsed is None or level < 2:
        return None
    _, slowest_of_fast = widest_gap(elapsed, min_gap)
    return 0.0 if slowest_of_fast is None else float((elapsed > slowest_of_fast).sum())


def core_speeds(threads: Sequence[int], throughput: Throughput, least: int) -> list[float] | None:
    """What one core gets done with 0, 1, ... busy threads, at least up to ``least``; None if that was not measured."""
    cores, most, shapes = len(threads), max(threads), Counter(threads)
    if cores not in throughput:
        return None
    one = throughput[cores] / cores
    if len(shapes) == 1:
        speeds = [0.0, one]
        for k in range(2, most + 1):
            rate = _between(k * cores, throughput)
            if rate is None:
                break
            speeds.append(rate / cores)
    elif set(shapes) == {1, 2} and sum(threads) in throughput:
        speeds = [0.0, one, (throughput[sum(threads)] - one * shapes[1]) / shapes[2]]
    else:
        return None
    return speeds if len(speeds) > least and min(speeds[1:]) > 0 else None


def with_stickiness(
    levels: Sequence[LevelView], threads: Sequence[int], min_gap: float
) -> tuple[tuple[LevelView, ...], float | None]:
    """The levels of one variant with what a frozen placement predicts, and the median of their stickiness."""
    throughput = {each.level: each.throughput for each in levels if each.throughput is not None}
    predicted = tuple(_predicted(each, threads, throughput, min_gap) for each in levels) if threads else tuple(levels)
    # Beyond the threads queues are evened out by every scheduler: that is another question.
    known = [each.stickiness for each in predicted if each.stickiness is not None and each.level <= sum(threads)]
    return predicted, median(known) if known else None


def _predicted(level: LevelView, threads: Sequence[int], throughput: Throughput, min_gap: float) -> LevelView:
    elapsed = frozen_times(level.level, threads, throughput)
    slow = expected_slow(level.level, threads, elapsed, min_gap)
    if elapsed is None or level.level < 2:
        return replace(level, slow_expected=slow)
    cv = few_values.deviation(elapsed.tolist()) / few_values.mean(elapsed.tolist())
    sticky = level.cv / cv if level.cv is not None and cv >= MIN_FROZEN_CV else None
    return replace(level, slow_expected=slow, frozen_cv=cv, stickiness=sticky)


def _between(level: int, throughput: Throughput) -> float | None:
    """The throughput at ``level``, or on the line between its measured neighbours if they are near."""
    if level in throughput:
        return throughput[level]
    below = max((each for each in throughput if each < level), default=None)
    above = min((each for each in throughput if each > level), default=None)
    if below is None or above is None or above > 1.6 * below:
        return None
    return float(np.interp(level, [below, above], [throughput[below], throughput[above]]))


def _filled(sessions: int, threads: Sequence[int]) -> list[int]:
    """Busy threads per core when each session goes where fewest are busy."""
    busy = [0] * len(threads)
    depth = 0
    while sessions > 0:
        for core, most in enumerate(threads):
            if sessions > 0 and busy[core] == depth < most:
                busy[core] += 1
                sessions -= 1
        depth += 1
    return busy


def _queues(sessions: int, cpus: int) -> list[int]:
    """Sessions on each busy CPU, one or more."""
    if sessions <= cpus:
        return [1] * sessions
    return [sessions // cpus + (cpu < sessions % cpus) for cpu in range(cpus)]

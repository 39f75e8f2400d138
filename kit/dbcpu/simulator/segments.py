"""A long simulated round cut into the segments of a soak: each as if it had been watched alone."""

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dbcpu.simulator.trace import ClockTrace, Floats


def segment(trace: ClockTrace, from_s: float, to_s: float) -> ClockTrace:
    """What happened from one moment to another, by a clock that starts at ``from_s``.

    Executions are those that ended meanwhile; one that began before has a start below 0.
    """
    first = int(np.searchsorted(trace.times_s, from_s, side="right")) - 1
    last = int(np.searchsorted(trace.times_s, to_s, side="left"))
    inner = slice(first + 1, last)
    times_s = np.concatenate([[from_s], trace.times_s[inner], [to_s]]) - from_s
    share = (to_s - from_s) / float(trace.times_s[-1])

    def sums(total: Floats) -> Floats:
        at = [_at(trace.times_s, total, moment) for moment in (from_s, to_s)]
        return np.asarray(np.concatenate([at[0], total[inner], at[1]]) - at[0])

    named: tuple[str, ...] = (
        "run_s",
        "delay_s",
        "lost_s",
        "work_s",
        "busy_s",
        "steal_s",
        "irq_s",
        "foreign_s",
        "speed_s",
    )
    spans = slice(first, last)
    return replace(
        trace,
        times_s=times_s,
        cpu=trace.cpu[spans],
        runnable=trace.runnable[spans],
        piece=trace.piece[spans],
        executions=tuple(
            tuple((began - from_s, ended - from_s) for began, ended in each if from_s < ended <= to_s)
            for each in trace.executions
        ),
        moves=_moves(trace.cpu[spans]),
        sleeps=np.rint(trace.sleeps * share).astype(np.intp),
        periods=round(trace.periods * share),
        throttled_periods=round(trace.throttled_periods * share),
        throttled_s=trace.throttled_s * share,
        truth={},
        **{name: sums(getattr(trace, name)) for name in named},
    )


def _at(times_s: Floats, total: Floats, moment: float) -> Floats:
    """A row: the sums at this moment."""
    after = min(max(int(np.searchsorted(times_s, moment)), 1), len(times_s) - 1)
    before = after - 1
    lasted_s = times_s[after] - times_s[before]
    part = (moment - times_s[before]) / lasted_s if lasted_s > 0 else 1.0
    return np.asarray(total[before : before + 1] + part * (total[after : after + 1] - total[before : before + 1]))


def _moves(cpu: NDArray[np.intp]) -> NDArray[np.intp]:
    return np.asarray((np.diff(cpu, axis=0) != 0).sum(axis=0), dtype=np.intp)

"""What the virtual clock kept of one round."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Losses = Mapping[str, Floats]
"""By cause, of each session."""


class ClockTrace(Struct, frozen=True):
    """All that happened. E events after the start, N sessions, C online CPUs; all sums grow with time.

    ``times_s`` (E+1). During the interval before event e: ``cpu[e]`` (E, N), ``runnable[e]`` (E, N). Sums at
    each event: ``run_s``, ``delay_s``, ``lost_s`` (stolen or interrupted while running), ``work_s`` (E+1, N);
    ``busy_s``, ``steal_s``, ``irq_s`` (E+1, C); ``foreign_s``, ``speed_s`` (integral of the turbo factor) (E+1).
    ``piece`` (E, C): time of a witness' piece on the CPU over that at full speed.
    ``executions``: (start, end) per session. ``sleeps`` (N): how often each waited for something.
    ``work_s`` is in seconds of a session alone that never waits.
    ``truth``: seconds that each session (N) lost, by cause: the elapsed time beyond ``work_s`` is their sum; {} where
    nobody asks for it.
    ``blocked``: (start, end) of the jobs of a pool that only waited, per session.
    """

    times_s: Floats
    cpu: NDArray[np.intp]
    runnable: NDArray[np.bool_]
    run_s: Floats
    delay_s: Floats
    lost_s: Floats
    work_s: Floats
    busy_s: Floats
    steal_s: Floats
    irq_s: Floats
    foreign_s: Floats
    speed_s: Floats
    piece: Floats
    executions: tuple[tuple[tuple[float, float], ...], ...]
    moves: NDArray[np.intp]
    sleeps: NDArray[np.intp]
    periods: int
    throttled_periods: int
    throttled_s: float
    truth: Losses
    blocked: tuple[tuple[tuple[float, float], ...], ...] = ()

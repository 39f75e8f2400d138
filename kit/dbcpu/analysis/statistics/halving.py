"""Where does something that holds cease to hold? By halves, several at once, or where one is soon looked at, singly."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

AT_ONCE = 5
"""Halvings for which all places are looked at together: NumPy takes hardly longer for 31 places than for one."""
PLACES = np.arange(2.0**AT_ONCE + 1)


def halved(
    low: float, high: float, times: int, holds: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]]
) -> float:
    """The upper end of the interval that is left after it was halved so often; ``times`` is a multiple of AT_ONCE.

    ``holds``: at which of these places it does, (places,). It holds from ``low`` up to some place.
    """
    for _ in range(times // AT_ONCE):
        places = low + PLACES * ((high - low) / 2**AT_ONCE)
        holding = holds(places[1:-1])
        at, step = 0, 2**AT_ONCE
        while step := step // 2:
            at += step if holding[at + step - 1] else 0
        low, high = float(places[at]), float(places[at + 1])
    return high


def halved_singly(low: float, high: float, times: int, holds: Callable[[float], bool]) -> float:
    """The same, of the same places, with one looked at after the other."""
    for _ in range(times // AT_ONCE):
        part, at, step = (high - low) / 2**AT_ONCE, 0, 2**AT_ONCE
        while step := step // 2:
            at += step if holds(low + (at + step) * part) else 0
        low, high = low + at * part, low + (at + 1) * part
    return high

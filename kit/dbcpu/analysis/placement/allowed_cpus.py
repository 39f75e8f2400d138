"""Which CPUs the sessions of a round may use."""

import numpy as np
import numpy.typing as npt

from dbcpu.analysis.placement.once_per_round import kept
from dbcpu.record import Round


@kept
def allowed_cpus(round_: Round) -> tuple[tuple[tuple[int, ...], ...], npt.NDArray[np.int64]]:
    """Each set of CPUs that some session may use, and by session which of them is its own."""
    kinds: dict[tuple[int, ...], int] = {}
    own: list[int] = []
    last: tuple[int, ...] | None = None
    number = 0
    for each in round_.sessions:
        # Nearly all have the same: that two are equal is seen faster than where one belongs.
        if each.allowed_cpus != last:
            last = each.allowed_cpus
            number = kinds.setdefault(last, len(kinds))
        own.append(number)
    return tuple(kinds), np.array(own, dtype=np.int64)

"""How much do slowdowns differ where more sessions than CPUs take turns, and every turn is fair? Pure.

All share the CPUs equally while they are there: egalitarian processor sharing (Kleinrock, "Queueing Systems", vol. 2,
section 4.4). A session with less to do ends while all others still want a CPU; the last ones have one each.
"""

from collections.abc import Sequence

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats


def ratio_of_fair_turns(work_s: Sequence[float] | Floats, cpus: int) -> float:
    """The largest slowdown over the least, of sessions that start together; 1 where all have the same to do.

    ``work_s``: CPU time that each needs, above 0.
    """
    ordered: list[float] = sorted(work_s.tolist() if isinstance(work_s, np.ndarray) else work_s)
    slowdowns: list[float] = []
    at_s = done_s = 0.0
    for left, own_s in zip(range(len(ordered), 0, -1), ordered, strict=True):
        at_s, done_s = at_s + (own_s - done_s) * max(1.0, left / cpus), own_s
        slowdowns.append(at_s / own_s)
    return max(slowdowns) / min(slowdowns)

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
    ordered = np.array(work_s, dtype=np.float64)
    ordered.sort()
    more_s, left = ordered.copy(), np.arange(ordered.size, 0.0, -1.0)
    more_s[1:] -= ordered[:-1]
    slowdowns = (more_s * np.maximum(1.0, left / cpus)).cumsum() / ordered
    found: list[float] = slowdowns.tolist()  # of few values NumPy's own takes ten times as long
    return max(found) / min(found)

"""How much do slowdowns differ where more sessions than CPUs take turns, and every turn is fair? Pure.

All share the CPUs equally while they are there: egalitarian processor sharing (Kleinrock, "Queueing Systems", vol. 2,
section 4.4). A session with less to do ends while all others still want a CPU; the last ones have one each.
"""

from collections.abc import Sequence


def ratio_of_fair_turns(work_s: Sequence[float], cpus: int) -> float:
    """The largest slowdown over the least, of sessions that start together; 1 where all have the same to do.

    ``work_s``: CPU time that each needs, above 0.
    """
    ordered = sorted(work_s)
    now_s, done_s, slowdowns = 0.0, 0.0, []
    for ended, needed_s in enumerate(ordered):
        now_s += (needed_s - done_s) * max(1.0, (len(ordered) - ended) / cpus)
        done_s = needed_s
        slowdowns.append(now_s / needed_s)
    return max(slowdowns) / min(slowdowns)

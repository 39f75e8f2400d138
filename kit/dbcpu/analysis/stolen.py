"""How much of its CPUs' time did the hypervisor give to others? Pure.

Source: proc(5), "steal" of /proc/stat.
"""

from collections.abc import Iterable
from statistics import median

from dbcpu.record import Round


def stolen_share(each: Round) -> float | None:
    """Of all that the round's CPUs could have given; None where they were not sampled."""
    lasted_s = each.timeline_s[-1] - each.timeline_s[0] if each.timeline_s else 0.0
    if lasted_s <= 0 or not each.cpu_timeline:
        return None
    return sum(sum(row.steal_s) for row in each.cpu_timeline) / (lasted_s * len(each.cpu_timeline))


def typical_share(rounds: Iterable[Round]) -> float | None:
    """Median over the rounds that were sampled; None if none was."""
    known = [share for each in rounds if (share := stolen_share(each)) is not None]
    return median(known) if known else None

"""How many sessions are advised: as many as keep the CPUs busy, and no fewer than were shown at full speed."""

from collections.abc import Sequence

from dbcpu.analysis.conclusions.fine_levels import largest_full_speed_level
from dbcpu.analysis.conclusions.throughput_words import advised
from dbcpu.analysis.levels.level_losses import is_loss
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import Scaling
from dbcpu.analysis.results.run import LevelView
from dbcpu.formatting import plural


def sessions_that_fit(
    cpus: float, vcpus: int | None, busy: float, levels: Sequence[LevelView], scaling: Scaling
) -> str:
    """So many keep ``cpus`` busy, and no more than get most done; of work that waits more than one per CPU.

    ``cpus``: the vCPUs, the limiting CPU quota, or the cores where second threads cost throughput. ``vcpus``: the
    host's. Of work that waits the largest level below the first that lost: sessions sleep at random, and wait before
    all CPUs are busy. Where full speed is shown for fewer, this is said.
    """
    alone = any(each.level == 1 and each.full_speed is Answer.YES for each in levels)
    shown = largest_full_speed_level(levels, vcpus) or int(alone)
    if busy == 1.0:
        return plural(advised(max(1, int(cpus), shown), scaling), "busy session")
    fit = max(1, round(cpus / busy), shown)
    within = [each for each in levels if cpus <= each.level <= fit]
    lost = min((each.level for each in within if each.level > cpus and is_loss(each)), default=None)
    if lost is not None:
        fit = max((each.level for each in within if each.level < lost), default=max(1, int(cpus)))
    most = advised(fit, scaling)
    unsure = f", shown at full speed up to {shown} and inconclusive beyond" if shown < most else ""
    return plural(most, "such session") + (unsure if shown else ", which were not shown to be at full speed")

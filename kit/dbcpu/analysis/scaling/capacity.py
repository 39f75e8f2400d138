"""How many sessions does this host serve evenly, and what is that per vCPU and per core?"""

from collections.abc import Sequence

from dbcpu.analysis.levels.consistency import gate
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.run import Capacity, LevelView, Scaling

EVEN = 1.1
"""Largest slowest over fastest, as the median over rounds, that counts as even."""


def even_level(levels: Sequence[LevelView], ratio: float = EVEN, most: int | None = None) -> LevelView | None:
    """The largest level, up to ``most``, with max/min <= ``ratio`` there and at every smaller measured level.

    It is what "even up to" and the fair N of the sizing answer mean; None when already the first one is uneven.
    """
    found = None
    for each in sorted(levels, key=lambda view: view.level):
        if not each.sessions or (most is not None and each.level > most):
            continue
        if not each.shares_known or (each.max_over_min or 1.0) > ratio:
            break
        found = each
    return found


def capacity(context: RunContext, levels: Sequence[LevelView], scaling: Scaling) -> Capacity | None:
    """From the levels of one variant; None when none but one session alone was measured.

    Sessions are ``even_up_to`` a level when max/min is at most 1.1 at it and at every lower measured level. A host
    whose cores are all doubly used is even again at ``even_again``, and everybody is slow there.
    """
    reference, vcpus, cores = context.reference, context.vcpus, context.cores
    measured = sorted((each for each in levels if each.sessions), key=lambda each: each.level)
    if not any(each.level > 1 for each in measured):
        return None
    top = even_level(measured)
    beyond = [each for each in measured if top is None or each.level > top.level]
    known = [each for each in beyond if each.shares_known]
    again = [each for each in known if (each.max_over_min or 1.0) <= EVEN and each.level <= (vcpus or 0)]
    fast = [each.slowdown_max is not None and each.slowdown_max <= gate(reference) for each in measured]
    at_speed = measured[: fast.index(False) if False in fast else len(fast)]
    most = max(each.throughput or 0.0 for each in measured) or None
    if scaling.effective_cores is not None and reference is not None:
        most = scaling.effective_cores * reference.mrows_per_s
    full = scaling.effective_cores is not None
    return Capacity(
        even_up_to=top.level if top else None,
        at_least=not beyond,
        even_again=again[-1].level if again else None,
        full_speed_up_to=at_speed[-1].level if at_speed else None,
        even_throughput=top.throughput if top else None,
        most_throughput=most,
        per_vcpu=most / vcpus if most is not None and full and vcpus else None,
        per_core=most / cores if most is not None and full and cores else None,
        even_share=top.throughput / most if top and top.throughput is not None and most else None,
    )

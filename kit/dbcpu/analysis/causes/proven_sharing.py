"""Where sharing a core is shown to cost, levels in which sessions shared cores are decided, however noisy their times.

The regression over all rounds (``shared_core_cost``) knows the cost far better than the rounds of one level do, and the
sampled placement says who shared. Counted are sessions that shared for most of their CPU time, against those that
hardly did: noise alone lets some end early and others share a little longer. Used is the least cost that the 95 %
interval leaves, and no more than was seen. Above the vCPUs all wait in turn, and this says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dbcpu.analysis.causes.attribution import Watch
from dbcpu.analysis.causes.evidence_rules import WATCHED
from dbcpu.analysis.causes.shared_core_cost import MOSTLY
from dbcpu.analysis.levels.answers import exceeds
from dbcpu.analysis.levels.consistency import by_round, usable
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.placement.valid_sessions import Timed
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import SharedCore
from dbcpu.analysis.results.run import LevelView

HARDLY = 0.1
"""A session that shared its core for no more of its CPU time had one to itself."""


def with_proven_sharing(
    levels: Sequence[LevelView],
    context: RunContext,
    seen: Mapping[tuple[int, int], Watch],
    shared: SharedCore | None,
) -> tuple[LevelView, ...]:
    """The levels of a run, undecided ones answered ``no`` where shared cores alone make them unequal or slow."""
    costs = {} if shared is None else {each.threads - 1: each.high for each in shared.speeds if each.costs}
    if not costs:
        return tuple(levels)
    rounds: dict[tuple[str, int], list[list[Timed]]] = {}
    for round_, members in by_round(context.sessions):
        rounds.setdefault((round_.variant, round_.level), []).append(members)
    most = context.vcpus or 0
    return tuple(
        _answered(each, rounds.get((each.variant, each.level), []), seen, costs) if 1 < each.level <= most else each
        for each in levels
    )


def _answered(
    level: LevelView,
    rounds: Sequence[Sequence[Timed]],
    seen: Mapping[tuple[int, int], Watch],
    costs: Mapping[int, float],
) -> LevelView:
    if Answer.UNDECIDED not in (level.even, level.full_speed):
        return level
    used = usable(rounds)
    factors = [found for members in used if (found := _factors(members, seen, costs)) is not None]
    if 2 * len(factors) <= len(used):
        return level
    slowdown = min(float(np.median([np.median(each) for each in factors])), level.slowdown_median or 1.0)
    apart = [max(each) / min(each) if min(each) == 1.0 else 1.0 for each in factors]
    ratio = min(float(np.median(apart)), level.max_over_min or 1.0)
    answered = level
    if level.full_speed is Answer.UNDECIDED and exceeds(slowdown):
        answered = replace(answered, full_speed=Answer.NO)
    if level.even is Answer.UNDECIDED and exceeds(ratio):
        many = float(np.median([sum(map(exceeds, each)) for each in factors]))
        answered = replace(answered, even=Answer.NO, even_bound=None, slow=many)
    return answered


def _factors(
    members: Sequence[Timed], seen: Mapping[tuple[int, int], Watch], costs: Mapping[int, float]
) -> list[float] | None:
    """By session of a round: how many times as long it took through shared cores at least.

    None where one was not watched, or shared for some of its time only.
    """
    found: list[float] = []
    for each in members:
        evidence = seen[each.key].evidence
        if each.span is None or evidence is None or evidence.watched_s < WATCHED * each.span.elapsed_s:
            return None
        whole_s = sum(evidence.shared_s)
        if whole_s <= 0:
            return None
        shares = [busy_s / whole_s for busy_s in evidence.shared_s]
        if HARDLY < 1.0 - shares[0] < MOSTLY:
            return None
        lost = sum(share * (1.0 - costs.get(others, 1.0)) for others, share in enumerate(shares))
        found.append(1.0 / (1.0 - lost) if shares[0] <= MOSTLY else 1.0)
    return found

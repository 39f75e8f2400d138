"""Whether the run answers its question, and whether its baseline allows an answer, as findings."""

from collections.abc import Callable

from msgspec.structs import replace

from dbcpu.analysis.conclusions.finding_input import FindingInput
from dbcpu.analysis.conclusions.named_levels import worst_words
from dbcpu.analysis.conclusions.open_questions import one_round_words, too_few_words
from dbcpu.analysis.conclusions.verdict import HIDDEN
from dbcpu.analysis.levels.answers import EQUAL, exceeds
from dbcpu.analysis.levels.level_losses import level_losses, over_ideal
from dbcpu.analysis.levels.rounds_apart import (
    apart_words,
    is_explained,
    level_with_most_slow_rounds,
)
from dbcpu.analysis.levels.rounds_needed import hidden_cores_possible, why_no_more
from dbcpu.analysis.results.answer import Answer
from dbcpu.formatting import joined, plural, ranges, times
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import ANONYMOUS, SWEEP
from dbcpu.record.run_findings import ALL_LEVELS, LONGER, MORE_ROUNDS, QUIETER

HOW_OFTEN = "which show how often sessions are slow, or a quieter host"
"""What more rounds are for where rounds differ."""
WHOLE_CORES = "or whole cores: CPUs share cores that the host does not show (EC2, RDS: `ThreadsPerCore=1`)"
LEVELS_SHOW = f"{ALL_LEVELS}: they show whether CPUs share cores that this host does not show"


def inconclusive(given: FindingInput) -> Finding | None:
    """Levels up to the vCPUs without an answer; not for experiments, which ask another question."""
    first = [each for each in given.levels if each.variant == given.levels[0].variant]
    undecided = level_losses(first, given.vcpus, given.lost).undecided
    if not undecided or given.reference is None or given.record.header.plan.experiment != SWEEP:
        return None
    where = f"at N={ranges(each.level for each in undecided)} it is inconclusive"
    if not all(each.shares_known for each in undecided):
        found = noted(
            "inconclusive", f"{where} whether sessions get equal CPU: only total rates are known", repeats="N"
        )
        return replace(found, remedy="import the times of single sessions (`n,repeat,session,seconds`)")
    more = given.more_rounds
    apart = level_with_most_slow_rounds(undecided)
    one_round = one_round_words(undecided)
    noisy = [each for each in undecided if each.rounds_apart is None and each.calm_rounds is None]
    noisy = [each for each in noisy if each.rounds > 1] if one_round else noisy
    few = [each for each in undecided if each.calm_rounds is not None]
    limits = [each.detectable for each in noisy if each.detectable is not None]
    within_noise = bool(limits) and exceeds(max(limits))
    why = [f"slowdowns below {times(min(max(limits), HIDDEN))} are within noise"] if within_noise else []
    why += [f"rounds at N={apart.level} differ: {apart_words(apart, with_cause=True)}"] if apart else []
    why += [too_few_words(few, undecided, more)] if few else []
    why += [one_round] if one_round else []
    rounds = more.rounds if more else "N"
    asked, known = "whether all sessions get equal CPU at full speed", ""
    if all(each.even is Answer.YES for each in undecided):
        asked, known = "whether sessions are at full speed", "their shares are equal"
    elif all(each.full_speed is Answer.YES for each in undecided):
        asked, known = "whether shares are equal", "the median session is at full speed"
    begun = f"{where} {asked}: {why[0]}" if why else f"{where} {asked}"
    found = noted("inconclusive", joined(begun, *why[1:], known), repeats=rounds)
    header = given.record.header
    alone = len(few) == len(undecided) and more is not None  # only rounds are missing
    if more is not None and not given.in_turns and not why_no_more(header) and not header.run_id.endswith(ANONYMOUS):
        return replace(found, remedy=MORE_ROUNDS.format(repeats=rounds)) if alone else found
    shared = given.topology is not None and given.topology.verdict == "fewer_cores"
    steadier = HOW_OFTEN if apart else LONGER if shared else QUIETER
    steadier = f"{steadier}, {WHOLE_CORES}" if shared else steadier
    again = "all variants measured again, " if given.in_turns else ""
    repeats = "more rounds" if more is None else f"more rounds ({again}`--repeats {rounds}`)"
    remedy = repeats if alone else steadier if more is None and not apart else f"{repeats}, {steadier}"
    hidden = hidden_cores_possible([each.level for each in first], given.vcpus, given.cores)
    if not alone and hidden and not is_explained(undecided):
        remedy = f"{LEVELS_SHOW}. Or take {remedy}"
    return replace(found, remedy=remedy)


def impossible_figures(given: FindingInput) -> Finding | None:
    """More throughput than so many sessions alone could have: the baseline, and all that rests on it, is wrong.

    Rates of sessions that hold a job which waits are no throughput together, see ``experiments.pool``.
    """
    if given.record.header.plan.blocking:
        return None
    seen = [(over_ideal(each, given.vcpus), each.level) for each in given.levels if each.level > 1]
    fast = [each for each in seen if each[0] > EQUAL]
    if not fast:
        return None
    ratio, level = max(fast)
    named = [each for _, each in fast]
    who, vcpus = "so many single sessions", given.vcpus
    if vcpus is not None and level * given.busy > vcpus:  # they have no vCPU each
        who = f"{plural(vcpus, 'vCPU')} at the speed of a single session"
    return noted(
        "baseline-too-slow",
        f"at N={ranges(named)} the throughput is up to {times(ratio)} of what {who} would reach"
        f"{worst_words(level, named)}",
    )


FINDERS: tuple[Callable[[FindingInput], Finding | None], ...] = (
    inconclusive,
    impossible_figures,
)

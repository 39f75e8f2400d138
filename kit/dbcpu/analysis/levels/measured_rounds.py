"""The rounds of a level: which sessions of them count, and by how much they differ from one round to the next."""

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.levels.solo_reference import without_unusual_loss
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.sessions.valid_sessions import Timed, spoils_round, times_of
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.analysis.statistics.robust import median


def usable(rounds: Sequence[Sequence[Timed]]) -> list[list[Timed]]:
    """The valid sessions of the rounds in which none failed; where every round has a failure, of all rounds.

    A session of a pool whose jobs only waited did not fail; it has no times.
    """
    clean = [members for members in rounds if not any(spoils_round(each.why) for each in members)]
    rest = [[each for each in members if not each.why] for members in clean or rounds]
    return [members for members in rest if members]


def is_whole(members: Sequence[Timed]) -> bool:
    """Whether a round has the valid sessions of its level, or jobs that only waited in the others.

    Where a session failed, the others had more CPU than the level gives: what they did is no throughput of that level.
    """
    every = members[0].round
    missing = every.level - len(members)
    return missing <= 0 or missing <= sum(bool(each.blocked) and not each.executions for each in every.sessions)


def with_rates_of_whole(view: LevelView, rounds: Sequence[Sequence[Timed]]) -> LevelView:
    """A level without rates where one of its usable ``rounds`` is not whole (``is_whole``): they are medians of all."""
    if all(map(is_whole, rounds)):
        return view
    return replace(view, throughput=None, makespan_throughput=None, lasting_throughput=None, efficiency=None)


def scatter_of_rounds(context: RunContext, variant: str) -> Chance | None:
    """Of the logarithms of the medians of rounds about the mean of their level; None where no level has two rounds.

    Only of levels that need share no cores: where they do, the median of a round may be that of either group.
    """
    if variant not in context.scatter_of_rounds:
        context.scatter_of_rounds[variant] = _scatter_of_rounds(context, variant)
    return context.scatter_of_rounds[variant]


def _scatter_of_rounds(context: RunContext, variant: str) -> Chance | None:
    cores = context.cores or context.vcpus or 0
    rounds: dict[int, list[list[Timed]]] = {}
    for each, members in context.rounds:
        if each.variant == variant and each.level <= cores:
            rounds.setdefault(each.level, []).append(members)
    waits = context.reference is not None and context.reference.busy < 1
    medians = {
        level: [float(np.log(median(times_of(one)))) for one in _compared(usable(members), waits=waits)]
        for level, members in rounds.items()
    }
    return scatter_of(medians, cores)


def _compared(rounds: Sequence[Sequence[Timed]], *, waits: bool) -> list[Sequence[Timed]]:
    """Those of one level without what the kernel counted in some alone; as they are of work that ``waits``."""
    if waits:
        return list(rounds)
    every = iter(without_unusual_loss([each for members in rounds for each in members]))
    return [list(islice(every, len(members))) for members in rounds]


def scatter_of(medians: Mapping[int, Sequence[float]], cores: int) -> Chance | None:
    """The same of such logarithms by level."""
    known = [np.array(logs) for level, logs in medians.items() if level <= cores and len(logs) > 1]
    return pooled(known) if known else None

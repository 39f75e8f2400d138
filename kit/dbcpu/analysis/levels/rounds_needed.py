"""What would decide an open question: how many more rounds, and how long they take; or nothing but a quieter host.

If all sessions are equal and as fast as they look, the answer is ``yes`` with a chance of 90 % after so many rounds.
The noise is taken to be what this run showed.
"""

from collections.abc import Collection, Sequence

import numpy as np

from dbcpu.analysis.levels.answers import EQUAL, will_agree
from dbcpu.analysis.levels.calm_rounds import are_enough
from dbcpu.analysis.levels.level_losses import LevelLosses, is_loss, level_losses
from dbcpu.analysis.levels.measured_rounds import scatter_of_rounds
from dbcpu.analysis.levels.noise import slowdown_error
from dbcpu.analysis.levels.run_context import RunContext
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView, MoreRounds, Reference
from dbcpu.analysis.statistics.apart_bound import decidable_noise, freedom
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.robust import median
from dbcpu.config.origins import NOTES, THERE
from dbcpu.formatting import moment
from dbcpu.record.header import SIMULATED, SWEEP, Header
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import Round

PLANNED_POWER = 0.90
"""More than of what is called detectable: whoever measures again wants an answer."""
WELL_KNOWN = 8
"""Degrees of freedom."""
ROUNDS = (3, 4, 5, 6, 8, 10, 15, 20)
MORE_ALONE = 6
"""Rounds of a single session of which some lost time."""


def more_rounds(context: RunContext, levels: Sequence[LevelView]) -> MoreRounds | None:
    """What ``dbcpu more`` adds, for the ``levels`` of one variant; None where nothing is open, or 20 rounds are not
    expected to decide all: undecided levels, and without any the other open questions."""
    found = level_losses(levels, context.vcpus, context.lost)
    return _of_undecided(context, found.undecided) if found.undecided else _of_half_open(context, found)


def half_open(found: LevelLosses, lost: Collection[int]) -> tuple[list[LevelView], list[LevelView]]:
    """Levels with a loss, or above the vCPUs, of which it is open whether shares are equal; the same of full speed.

    ``lost``: levels without a whole round.
    """
    some = [each for each in found.levels if each.level > 1 and (is_loss(each) or each in found.beyond)]
    some = [each for each in some if each.level not in lost]
    shares = [each for each in some if each.even is Answer.UNDECIDED]
    return shares, [each for each in some if each.full_speed is Answer.UNDECIDED and each not in found.beyond]


def open_levels(found: LevelLosses, lost: Collection[int]) -> list[LevelView]:
    """Levels of several sessions with an open question: the undecided ones, and without any those half open."""
    shares, speed = half_open(found, lost)
    return list(found.undecided) or [each for each in found.levels if each in shares or each in speed]


def _of_half_open(context: RunContext, found: LevelLosses) -> MoreRounds | None:
    """Rounds for what is open beside answers; without undecided levels."""
    levels = open_levels(found, context.lost)
    alone = found.alone_undecided and context.reference is not None and context.reference.noise_range is not None
    needed = _rounds_of_each(context, levels)
    known = [each for each in needed if each is not None]
    if len(known) < len(needed) or not (levels or (alone and found.levels)):
        return None
    count = max([MORE_ALONE if alone else 1, *(all_ - each.rounds for all_, each in zip(known, levels, strict=True))])
    added = ((1, count), *((each.level, count) for each in levels))
    more = count * len(added)
    most = count + max([each.rounds for each in levels], default=context.reference.sessions if context.reference else 0)
    return MoreRounds(added, most, more, more * _round_s(context.record.rounds))


def _of_undecided(context: RunContext, undecided: Sequence[LevelView]) -> MoreRounds | None:
    known = [ref for each in undecided if (ref := context.reference_at(each.level)) is not None]
    if not known:
        return None
    noisiest = max(known, key=lambda ref: ref.spread)
    scatter = scatter_of_rounds(context, undecided[0].variant)
    needed = [rounds_to_decide(each, noisiest, scatter) for each in undecided]
    rounds = max((each for each in needed if each is not None), default=0)
    if None in needed or noisiest.noise_range is None:
        return None
    added = [(each.level, max(1, rounds - each.rounds)) for each in undecided]
    # Rounds of another hour are compared with one session alone of that hour.
    added = [(1, max(count for _, count in added)), *((level, count) for level, count in added if level > 1)]
    more = sum(count for _, count in added)
    return MoreRounds(tuple(added), rounds, more, more * _round_s(context.record.rounds))


def why_no_more(header: Header) -> str:
    """Why no rounds can be added to this run later, in words; '' where they can."""
    if header.database.kind == SIMULATED:
        return "it is simulated; `dbcpu simulate` with larger `--repeats` makes another"
    if not header.driver.python:
        return "the shell kit or another program measured it"
    if any(note.startswith(NOTES[THERE]) for note in header.notes):
        return "the dbcpu of another host measured it (`--from there`), and keeps nothing there"
    if header.plan.experiment != SWEEP:
        return f"it is a {header.plan.experiment} run; only rounds of dbcpu run can be added"
    if len(header.plan.variants) > 1:
        return "it has several variants, which are measured in turns"
    if header.status == "running":
        return "it is still being measured"
    return ""


def hidden_cores_possible(measured: Sequence[int], vcpus: int | None, cores: int | None) -> bool:
    """Whether CPUs may share cores that the host does not show, and the levels that would show it are missing."""
    if vcpus is None or vcpus <= 2 or cores not in (vcpus, None):
        return False
    return not {level for level in auto_levels(vcpus, cores) if level <= vcpus} <= set(measured)


def _rounds_of_each(context: RunContext, levels: Sequence[LevelView]) -> list[int | None]:
    """``rounds_to_decide`` of levels of one variant; None also where no single session is there to compare with."""
    scatter = scatter_of_rounds(context, levels[0].variant) if levels else None
    references = [context.reference_at(each.level) for each in levels]
    return [
        rounds_to_decide(level, reference, scatter) if reference else None
        for level, reference in zip(levels, references, strict=True)
    ]


def rounds_to_decide(level: LevelView, reference: Reference, scatter: Chance | None) -> int | None:
    """How many rounds in all probably decide what is undecided of a level; None where 20 would not.

    ``scatter``: of the medians of rounds (``scatter_of_rounds``).
    """
    answered = level.even, level.full_speed
    slowdown = level.slowdown_median or 1.0
    # Both a yes takes rounds enough; those of larger levels count where these are calm as well.
    calm = level.rounds if level.calm_rounds is None else level.calm_rounds
    slow = Answer.NO in answered and level.calm_rounds is None
    wanted = (each for each in ROUNDS if each > level.rounds and (slow or are_enough(calm + each - level.rounds)))
    if (apart := level.rounds_apart) is not None:
        few = min(apart.rounds, level.rounds - apart.rounds)
        wanted = (each for each in wanted if will_agree(few, level.rounds, each))
    within = None if level.cv is None else Chance(level.cv, float(freedom(level.rounds, level.level)))
    return next(
        (
            each
            for each in wanted
            if would_decide(level.level, answered, slowdown, reference, each, _pace(level, each), within, scatter)
        ),
        None,
    )


def _pace(level: LevelView, rounds: int) -> float:
    """How much slower the CPUs may still be than with one session after so many rounds, as a logarithm."""
    if not level.at_one_pace or level.pace_ratio is None or level.pace_high is None:
        return 0.0
    half = np.log(level.pace_high / level.pace_ratio) * (level.rounds / rounds) ** 0.5
    return float(max(0.0, np.log(level.pace_ratio)) + half)


def would_decide(
    sessions: int,
    answered: tuple[Answer, Answer],
    slowdown: float,
    reference: Reference,
    rounds: int,
    pace: float = 0.0,
    within: Chance | None = None,
    scatter: Chance | None = None,
) -> bool:
    """Whether so many rounds in all probably decide what is undecided. ``answered``: even, full speed, so far.

    ``pace``: what the pace of the CPUs takes of the limits, as a logarithm. ``within``: by how much sessions of a round
    differ at this level; where that is well known, it shows more of their shares than the noise of single sessions.
    ``scatter``: by how much the medians of rounds do.
    """
    even, full_speed = answered
    alone = max(rounds, reference.sessions)
    if even is Answer.UNDECIDED:
        limit = float(np.log(EQUAL)) - pace * max(1.0, sessions / 2)
        known = within is not None and within.freedom >= WELL_KNOWN
        noise = min(within.spread, reference.spread) if within is not None and known else reference.spread
        if noise > limit * decidable_noise(sessions, rounds):
            return False
    if full_speed is Answer.UNDECIDED:
        error = slowdown_error(reference.noise, sessions, rounds, alone, scatter)
        apart = abs(float(np.log(EQUAL / slowdown))) - pace * (slowdown < EQUAL)
        return error.passed_by(0.025) + error.passed_by(1 - PLANNED_POWER) < apart
    return True


def _round_s(done: Sequence[Round]) -> float:
    """How long a round takes with all that belongs to it: median distance of two releases; 0 where nobody noted them.

    Lines of scripts have them by the clock, and times that others measured do not have them.
    """
    released = sorted(each.released_monotonic_s for each in done)
    if not any(released):
        stamps = [at.timestamp() for each in done if (at := moment(each.released_at)) is not None]
        released = sorted(stamps) if len(stamps) == len(done) else []
    return median(np.diff(released)) if len(released) > 1 else 0.0

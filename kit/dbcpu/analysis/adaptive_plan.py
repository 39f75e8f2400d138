"""Which round is the most useful next? The adaptive plan behind ``--sessions auto``: pure, so that a seed repeats it.

1. One session alone, then every level that ``plan.auto_levels`` names, once, in shuffled order.
2. Where the largest even and the smallest uneven level are not neighbours, the level that decides: the cores or
   vCPUs that the kernel shows, or their successors, else the middle.
3. One session alone again, to see drift and noise.
4. Again the level whose slowdown is known least well, until the interval of each is narrow, or it had its repeats.
5. Up to the vCPUs, and up to seven times the repeats and 20 rounds: again a level that is undecided, unless even
   so many would not decide it, until the run has twice the rounds of the plan (60 at least).
6. One session alone, last.

The interval of a level rests on the scatter of rounds over the whole run, and on its own once it has three rounds.
"""

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.analysis.levels.answers import EQUAL, Answers, LevelSeen, answers, calm_of_two_kinds, will_agree
from dbcpu.analysis.levels.calm_rounds import short_of_rounds
from dbcpu.analysis.levels.level_views import pace_seen
from dbcpu.analysis.levels.measured_rounds import scatter_of
from dbcpu.analysis.levels.rounds_needed import ROUNDS, would_decide
from dbcpu.analysis.levels.run_context import RunContext, run_context
from dbcpu.analysis.levels.solo_reference import MIN_TOLERANCE
from dbcpu.analysis.placement.once_per_round import KeptAnswers, answers_kept
from dbcpu.analysis.placement.usable_cpus import core_count, vcpu_count
from dbcpu.analysis.placement.usual_cpu import usual_cpus
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import Timed, by_round
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.pooled_spread import pooled
from dbcpu.record.header import Header
from dbcpu.record.plan import RoundSpec, auto_levels
from dbcpu.record.rounds import Round, RunRecord

NARROW = 0.05
"""Half-width of the 95 % interval of a level's median and worst slowdown, relative, that is good enough."""
MIN_ROUNDS_PER_LEVEL = 2
"""Of the levels up to the vCPUs; others may do with one where rounds scatter little."""
MIN_SOLOS = 3
LONGER, MAX_ROUNDS = 7, ROUNDS[-1]
"""Times the repeats that a level may have while its answer is undecided, and how many rounds at most."""
MIN_CAP, MAX_TIMES_PLANNED = 60, 2
"""To decide what is undecided a run may come to so many rounds, or to so many times those of its plan."""
DOUBT = 0.2
"""A level is given up where 20 rounds would not decide it even with the least noise, and the clearest slowdown, that
these rounds leave possible; either is still further out with this probability. Few rounds know little of both."""
OF_INTERVAL = 0.43
"""So much of the 95 % interval of a normal value is as far out."""
MAX_REFINED = 8
MAX_ANCHORS = 3
OWN_SCATTER_FROM = 3


class _Level(Struct, frozen=True):
    """What the rounds of one level say so far: logarithms of each round's median and worst slowdown, and max/min.

    ``logs``: of the slowdown of each session, by round; ``cpus``: where each of them mostly ran.
    """

    median: tuple[float, ...]
    worst: tuple[float, ...]
    ratio: tuple[float, ...]
    logs: tuple[tuple[float, ...], ...]
    cpus: tuple[tuple[int, ...], ...]

    def even(self, limit: float) -> bool:
        """Whether neither max/min nor the slowest session is beyond this ratio, by the median round."""
        return float(np.median(self.ratio)) <= limit and float(np.median(self.worst)) <= np.log(limit)


def adaptive(header: Header) -> Callable[[Sequence[Round]], RoundSpec | None]:
    """The function that ``measure`` asks for the next round; ``header.plan.repeats`` caps the rounds of a level."""
    vcpus, cores = vcpu_count(RunRecord(header, ())) or 1, core_count(RunRecord(header, ()))
    levels = auto_levels(vcpus, cores)
    of_rounds: KeptAnswers = {}

    def next_round(done: Sequence[Round]) -> RoundSpec | None:
        with answers_kept(done, of_rounds):
            found = _next(RunRecord(header, tuple(done)), levels, vcpus, cores)
        if found is None:
            return None
        repeat = sum(each.level == found for each in done)
        anchor = found == 1 and repeat >= header.plan.repeats
        return RoundSpec(found, repeat, header.plan.variants[0], len(done), anchor)

    return next_round


def _next(record: RunRecord, levels: Sequence[int], vcpus: int, cores: int | None) -> int | None:
    done = [each.level for each in record.rounds]
    if not done:
        return 1
    context = run_context(record)
    sessions, alone = context.sessions, context.reference
    if alone is None:
        # Nothing can be reckoned without a valid solo round: three tries, then the bare pass.
        return 1 if done.count(1) < 3 else _first_pass(done, levels, record.header.plan.seed)
    wanted = _first_pass(done, levels, record.header.plan.seed)
    if wanted is not None:
        return wanted
    seen = _seen(sessions, alone)
    refined = len(set(done)) - len(set(levels))
    wanted = _deciding(seen, vcpus, cores) if refined < MAX_REFINED else None
    if wanted is not None:
        return wanted
    repeats = record.header.plan.repeats
    if done.count(1) < min(2, repeats):
        return 1
    wanted = _least_known(seen, done, repeats, vcpus)
    if wanted is None and len(done) < max(MIN_CAP, MAX_TIMES_PLANNED * len(levels) * repeats):
        wanted = _undecided(seen, done, context, vcpus, min(LONGER * repeats, MAX_ROUNDS))
    if wanted is not None:
        return wanted
    return 1 if done[-1] != 1 and done.count(1) < record.header.plan.repeats + MAX_ANCHORS else None


def _first_pass(done: Sequence[int], levels: Sequence[int], seed: int) -> int | None:
    order = [level for level in levels if level > 1]
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return next((level for level in order if level not in done), None)


def _seen(sessions: Sequence[Timed], alone: Reference) -> dict[int, _Level]:
    rounds: dict[int, list[tuple[float, float, float, tuple[float, ...], tuple[int, ...]]]] = {}
    for each, members in by_round(sessions):
        slowdowns = [m.span.per_execution_s / alone.elapsed_s for m in members if m.span and not m.why]
        if slowdowns:
            logs = tuple(float(value) for value in np.log(slowdowns))
            median, ratio = float(np.log(np.median(slowdowns))), max(slowdowns) / min(slowdowns)
            rounds.setdefault(each.level, []).append((median, max(logs), ratio, logs, usual_cpus(members)))
    return {level: _Level(*(tuple(column) for column in zip(*rows, strict=True))) for level, rows in rounds.items()}


def _border(seen: Mapping[int, _Level]) -> tuple[int, int] | None:
    """The largest level below which all are even, and the smallest that is not."""
    limit = 1 + MIN_TOLERANCE
    uneven = min((level for level, each in seen.items() if level > 1 and not each.even(limit)), default=None)
    if uneven is None:
        return None
    return max(level for level in {1, *seen} if level < uneven), uneven


def _deciding(seen: Mapping[int, _Level], vcpus: int, cores: int | None) -> int | None:
    """A level within the border that would narrow it; None when its ends are neighbours."""
    border = _border(seen)
    if border is None or border[1] - border[0] <= 1:
        return None
    low, high = border
    likely = [level for each in (cores, vcpus) if each for level in (each, each + 1)]
    return next((level for level in likely if low < level < high), (low + high) // 2)


def _least_known(seen: Mapping[int, _Level], done: Sequence[int], most: int, vcpus: int) -> int | None:
    """The level to measure again: ends of the border first, then the widest interval; None when all are narrow."""
    border = _border(seen) or (max(seen), max(seen))
    within = sorted(level for level in seen if 1 < level <= vcpus)
    due = [
        level for level in (*border, *within) if level in seen and done.count(level) < min(MIN_ROUNDS_PER_LEVEL, most)
    ]
    if done.count(1) < min(MIN_SOLOS, most) or due:
        return due[0] if due else 1
    widths = {level: _half_width(seen, level) for level in seen if done.count(level) < most}
    wide = {level: width for level, width in widths.items() if width > NARROW}
    return max(wide, key=lambda level: (-done.count(level), wide[level], -level), default=None)


def _undecided(
    seen: Mapping[int, _Level], done: Sequence[int], context: RunContext, vcpus: int, most: int
) -> int | None:
    """The level to measure again because its answer is undecided and not out of reach; 1 where the baseline is due."""
    due, fine, slow = list[int](), list[tuple[int, int]](), list[tuple[int, int]]()
    scatter = scatter_of({level: each.median for level, each in seen.items()}, context.cores or vcpus)
    least = _at_best(scatter) if scatter else None
    for level, each in seen.items():
        alone = context.reference_at(level)
        if alone is None or not 1 < level <= vcpus:
            continue
        medians = tuple(float(np.exp(value)) for value in each.median)
        whole = each.logs if all(len(logs) == level for logs in each.logs) else ()
        given = LevelSeen(
            level, each.ratio, medians, None, split=False, slow=False, vcpus=vcpus, scatter=scatter, logs=whole,
            cpus=each.cpus, alone=context.alone_at(level),
        )  # fmt: skip
        found = answers(given, alone, pace_seen(level, context))
        so_far = found.even, found.full_speed
        if found.even is Answer.YES and found.full_speed is not Answer.UNDECIDED:
            (slow if found.full_speed is Answer.NO else fine).append((level, len(each.ratio)))
        if done.count(level) >= most:
            continue
        is_open = Answer.UNDECIDED in so_far and Answer.NO not in so_far
        within = _at_best(pooled([np.array(logs) for logs in each.logs]))
        at_best = replace(alone, spread=_at_best(alone.noise).spread)
        slowdown = _clearest(float(np.median(medians)), found)
        rounds, kinds = len(each.ratio), [calm_of_two_kinds(values) for values in (each.ratio, medians)]
        agree = all(not calm or will_agree(min(calm, rounds - calm), rounds, most) for calm in kinds)
        if is_open and agree and would_decide(level, so_far, slowdown, at_best, most, within=within, scatter=least):
            due.append(level)
    if not due:
        return max((level for level in short_of_rounds(fine, slow) if done.count(level) < most), default=None)
    wanted = min(due, key=lambda level: (done.count(level), level))
    return 1 if done.count(1) <= done.count(wanted) else wanted


def _at_best(noise: Chance) -> Chance:
    """The least that it may be, see DOUBT. Source: the interval of a variance by chi-square."""
    from dbcpu.analysis.statistics.special_functions import chdtri  # loads slowly

    return noise.times(float((noise.freedom / chdtri(noise.freedom, DOUBT)) ** 0.5)) if noise.freedom > 0 else noise


def _clearest(slowdown: float, found: Answers) -> float:
    """As far from the limit as the rounds leave possible."""
    end = found.slowdown_low if slowdown < EQUAL else found.slowdown_high
    return slowdown if end is None else float(slowdown * (end / slowdown) ** OF_INTERVAL)


def _half_width(seen: Mapping[int, _Level], level: int) -> float:
    """Of the 95 % interval of the level's slowdown, for the worse known of its median and its worst."""
    widths: list[float] = []
    for name in ("median", "worst"):
        common = pooled([np.array(getattr(level_seen, name)) for level_seen in seen.values()])
        if common.freedom < 1:
            return float("inf")
        own = np.array(getattr(seen[level], name))
        scatter = max(common.spread, float(own.std(ddof=1))) if own.size >= OWN_SCATTER_FROM else common.spread
        widths.append(Chance(scatter / own.size**0.5, common.freedom).passed_by(0.025))
    return max(widths, default=float("inf"))

"""Equal, and at full speed: yes and no are shown, all else is undecided."""

import json

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.answers import EQUAL, CountedSlowdown, LevelSeen, answers, may_stand_apart
from dbcpu.analysis.levels.level_losses import level_losses
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.results.run import LevelView, Reference
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.reports.plain_data import plain_data
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.example import three_on_two
from support.builders.record import record, round_of, session, workload

YES, NO, UNDECIDED = Answer.YES, Answer.NO, Answer.UNDECIDED


def reference(spread: float = 0.01, solos: int = 6, known: bool = True) -> Reference:
    low, high = (0.5 * spread, 3 * spread) if known else (None, None)
    return Reference(solos, 1.0, 1.0, 1.0, spread, max(0.1, 3 * spread), noise_low=low, noise_high=high)


def seen(ratio: float = 1.0, median: float = 1.0, rounds: int = 6, sessions: int = 4, **how: object) -> LevelSeen:
    given = {"counted": None, "split": False, "slow": False, "vcpus": 8, **how}
    return LevelSeen(sessions, (ratio,) * rounds, (median,) * rounds, **given)  # type: ignore[arg-type]


def both(of: LevelSeen, ref: Reference | None = None) -> tuple[Answer, Answer]:
    found = answers(of, ref or reference())
    return found.even, found.full_speed


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (seen(1.02, 1.01), (YES, YES)),
        (seen(1.02, 1.5), (YES, NO)),
        (seen(1.5, 1.0), (NO, YES)),
        (seen(1.02, 1.01, rounds=1), (UNDECIDED, UNDECIDED)),
        (seen(1.02, 1.01, sessions=9), (YES, UNDECIDED)),
        (seen(1.02, 1.2, sessions=9), (YES, NO)),
        (seen(1.02, 1.01, split=True), (UNDECIDED, YES)),
        (seen(1.02, 1.01, slow=True), (YES, UNDECIDED)),
        (seen(1.02, 1.01, counted=CountedSlowdown(1.3, 1.01)), (YES, NO)),
        (seen(1.12, 1.01, counted=CountedSlowdown(1.05, 1.2, 1.06)), (NO, YES)),
        (seen(1.02, 1.01, counted=CountedSlowdown(1.05, 1.2, 1.06)), (YES, YES)),
        (seen(1.02, 1.01, counted=CountedSlowdown(1.05, 1.01, 1.12)), (YES, UNDECIDED)),
    ],
    ids=[
        "clean", "all slow", "some slow", "one round", "above the vCPUs", "taking turns",
        "a slow group", "most have a cause", "kept waiting", "waits differ", "waits differ, times do not",
        "may be kept waiting",
    ],
)  # fmt: skip
def test_a_level_is_answered_by_what_is_shown(level: LevelSeen, expected: tuple[Answer, Answer]) -> None:
    assert both(level) == expected


def test_noise_makes_yes_and_no_undecided() -> None:
    assert both(seen(1.02, 1.01), reference(0.3)) != (YES, YES)
    assert both(seen(1.5, 1.5), reference(0.3)) == (UNDECIDED, UNDECIDED)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ((1.012, 1.015, 1.23), UNDECIDED),
        ((1.012, 1.015, 1.02), YES),
        ((1.01, 1.01, 1.02, 1.02, 1.01, 1.23), UNDECIDED),
        ((1.01, 1.01, 1.02, 1.02, 1.01, 1.01, 1.02, 1.23), YES),  # one of eight came and went
        ((1.01, 1.01, 1.02, 1.01, 1.02, 1.01, 1.30, 1.23), UNDECIDED),
    ],
)
def test_rounds_that_differ_by_more_than_noise_are_not_called_even(ratios: tuple[float, ...], expected: Answer) -> None:
    level = replace(seen(rounds=len(ratios), sessions=3), ratios=ratios)
    assert answers(level, reference(0.02)).even is expected


@pytest.mark.parametrize(("rounds", "apart"), [(2, 0), (7, 0), (8, 1), (10, 1), (11, 2), (20, 5)])
def test_so_many_rounds_may_stand_apart_as_the_usual_one_still_has_a_confidence_of_95(rounds: int, apart: int) -> None:
    assert may_stand_apart(rounds) == apart


def test_a_ratio_above_what_is_called_even_is_none_whatever_the_noise() -> None:
    assert both(seen(1.2, 1.0), reference(0.5))[0] is UNDECIDED


def test_where_nothing_was_measured_twice_only_what_was_counted_answers() -> None:
    unknown = reference(0.1, known=False)
    assert both(seen(1.02, 1.0), unknown) == (UNDECIDED, UNDECIDED)
    assert both(seen(1.02, 1.0, counted=CountedSlowdown(1.4, 1.0)), unknown) == (UNDECIDED, NO)
    assert answers(seen(1.02, 1.0), unknown).detectable is None


def test_one_session_alone_is_slow_only_by_what_was_counted() -> None:
    def alone(counted: CountedSlowdown | None) -> LevelSeen:
        return LevelSeen(1, (), (1.0,), counted, split=False, slow=False, vcpus=2)

    assert both(alone(CountedSlowdown(1.0, 1.0, 1.01))) == (YES, YES)
    assert both(alone(CountedSlowdown(2.0, 1.0, 2.1))) == (YES, NO)
    assert both(alone(CountedSlowdown(1.04, 1.0, 1.13))) == (YES, UNDECIDED)
    assert both(alone(CountedSlowdown(1.0, 1.0))) == (YES, UNDECIDED), "one round"
    assert both(alone(None)) == (YES, YES), "nothing was counted: as fast as alone by definition"


def test_what_could_have_been_shown_is_a_factor_that_grows_with_the_noise() -> None:
    limits = [answers(seen(1.05, 1.0), reference(spread)).detectable for spread in (0.1, 0.2, 0.3)]
    assert limits == sorted(limits)  # type: ignore[type-var]
    assert limits[0] is not None and limits[0] > EQUAL


def test_a_level_of_which_only_the_rate_is_known_says_nothing_of_its_sessions() -> None:
    """A table of rates by level, as magazines print them, has no times of single sessions."""
    found = answers(LevelSeen(9999, (), (1.0,), None, split=False, slow=False, vcpus=None), reference())
    assert (found.even, found.even_bound) == (Answer.UNDECIDED, None)
    assert found.slowdown_high is not None


def test_no_interval_excludes_its_estimate() -> None:
    found = answers(seen(1.05, 1.3), reference(0.03))
    assert found.slowdown_low is not None and found.slowdown_high is not None
    assert found.slowdown_low <= 1.3 <= found.slowdown_high


def test_a_wait_longer_than_the_session_and_no_knowledge_of_noise_give_no_infinity() -> None:
    """Seen on SQLite with executions of milliseconds: such a figure could not be written as JSON."""
    waiting = [replace(session(i, 0.004), run_delay_s=9.0) for i in range(2)]
    alone = [round_of([session(0, run_s)], repeat=at, order=at) for at, run_s in enumerate((1e-3, 9.0))]
    rounds = [*alone, *(round_of(waiting, repeat=at, order=5 + at) for at in range(2))]
    analysis = explain(record(rounds, work=workload(rows=10_000)))
    assert json.dumps(plain_data(analysis), allow_nan=False)
    assert analysis.levels[-1].full_speed is NO


# --- all levels together -----------------------------------------------------------------------


def level(sessions: int, even: Answer, full_speed: Answer) -> LevelView:
    some = explain(three_on_two()).levels[0]
    return replace(some, level=sessions, even=even, full_speed=full_speed)


@pytest.mark.parametrize(
    ("levels", "kind", "fine"),
    [
        ([(2, YES, YES), (4, YES, YES)], Outcome.GOOD, 2),
        ([(2, YES, YES), (4, YES, YES), (6, YES, NO)], Outcome.PARTLY, 2),
        ([(2, YES, YES), (4, NO, YES)], Outcome.BAD, 1),
        ([(2, YES, YES), (4, YES, UNDECIDED)], Outcome.UNKNOWN, 1),
        ([(2, UNDECIDED, YES), (4, YES, YES)], Outcome.UNKNOWN, 0),
        ([(2, UNDECIDED, YES), (4, NO, NO)], Outcome.BAD, 0),
        ([(6, YES, NO)], Outcome.PARTLY, 0),
        ([(6, UNDECIDED, UNDECIDED)], Outcome.UNKNOWN, 0),
        ([], Outcome.UNKNOWN, 0),
    ],
)
def test_the_levels_up_to_the_vcpus_make_the_answer(
    levels: list[tuple[int, Answer, Answer]], kind: str, fine: int
) -> None:
    found = level_losses([level(*each) for each in levels], vcpus=4)
    assert (found.kind, len(found.fine)) == (kind, fine)


# --- on simulated hosts ------------------------------------------------------------------------


def test_yes_is_never_said_of_sessions_that_are_uneven_on_average() -> None:
    """A host on which one of nine sessions shares a core: 1.2x at any noise, drawn anew for each run."""
    for number in range(24):
        noise = float(np.random.default_rng(number).uniform(0.0, 0.15))
        shared = SimulatedHost(cores=2, scheduler="frozen", smt_yield=2 / 1.2 - 1, noise=noise)
        (three,) = [each for each in explain(simulate(shared, (1, 3), 6, number)).levels if each.level == 3]
        assert three.even is not YES, f"noise {noise:.3f}"


def test_equal_sessions_on_a_quiet_host_are_called_equal() -> None:
    quiet = SimulatedHost(cores=4, threads=1, noise=0.01)
    found = explain(simulate(quiet, (1, 2, 4), 6, 1))
    assert [(each.even, each.full_speed) for each in found.levels] == [(YES, YES)] * 3


def by_degrees(cpus: tuple[tuple[int, ...], ...] = (), order: tuple[tuple[int, ...], ...] = ()) -> LevelSeen:
    """Four sessions, 10.4 % from first to last by degrees, in six rounds; in this ``order``, or always the same."""
    logs = 0.033 * np.array(order or ((0, 1, 2, 3),) * 6) + np.random.default_rng(1).normal(0.0, 0.005, (6, 4))
    return replace(seen(1.09), logs=tuple(map(tuple, logs.tolist())), cpus=cpus)


TURNS = ((0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2))


def test_sessions_that_are_slow_by_degrees_in_each_round_are_not_called_even() -> None:
    assert answers(by_degrees(), reference()).even is UNDECIDED
    assert answers(replace(by_degrees(), sorted=True), reference()).even is YES, "a file may have put them in order"


def test_cpus_that_are_slow_by_degrees_are_found_by_where_sessions_ran() -> None:
    assert answers(by_degrees(order=TURNS), reference()).even is YES, "nothing shows that it is no noise"
    assert answers(by_degrees(order=TURNS, cpus=TURNS), reference()).even is UNDECIDED
    moved = (*TURNS[:5], ())
    assert answers(by_degrees(order=TURNS, cpus=moved), reference()).even is YES, "two sessions shared a CPU"


@pytest.mark.parametrize(("alone", "expected"), [(0.005, UNDECIDED), (0.02, UNDECIDED), (0.06, YES)])
def test_single_sessions_that_vary_less_show_that_it_is_no_noise(alone: float, expected: Answer) -> None:
    level = replace(by_degrees(order=TURNS), alone=Chance(alone, 5.0))
    assert answers(level, reference()).even is expected


def test_two_single_sessions_are_enough_to_leave_it_undecided() -> None:
    assert answers(replace(by_degrees(order=TURNS), alone=Chance(0.005, 1.0)), reference()).even is UNDECIDED


@pytest.mark.parametrize("lasting", [True, False])
def test_so_many_sessions_that_differ_by_degrees_are_not_called_even(lasting: bool) -> None:
    sessions, rng = 160, np.random.default_rng(3)
    rows = np.tile(np.linspace(0.0, np.log(1.11), sessions), (6, 1)) + rng.normal(0.0, 0.003, (6, sessions))
    logs = rows if lasting else rng.permuted(rows, axis=1)
    level = replace(seen(1.11, sessions=sessions, vcpus=sessions), logs=tuple(map(tuple, logs.tolist())))
    level = replace(level, alone=Chance(0.003, 5.0))
    narrow = replace(reference(), noise_low=0.002, noise_high=0.004)
    assert answers(replace(level, ratios=(1.08,) * 6), narrow).even is not YES
    equal = replace(level, logs=tuple(map(tuple, rng.normal(0.0, 0.003, (6, sessions)).tolist())))
    assert answers(replace(equal, ratios=(1.02,) * 6), narrow).even is YES

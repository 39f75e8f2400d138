"""The figures of a level, held against values worked out by hand."""

import math

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.two_groups import widest_gap
from dbcpu.analysis.results.run import LevelView
from dbcpu.record.rounds import Execution, Round
from support.builders.record import ROWS, SOLO_S, record, round_of, session, solos

SMT_NOISE = 0.002


def level(number: int, *loaded: Round, vcpus: int | None = 2) -> LevelView:
    analysis = explain(record([*solos(), *loaded], vcpus=vcpus))
    return next(each for each in analysis.levels if each.level == number)


@pytest.mark.parametrize("sessions", range(9, 16))
def test_the_split_finds_exactly_the_sessions_that_share_cores(sessions: int) -> None:
    # 8 cores, 16 threads: 2 (N - 8) sessions are 1.5 times slower; noise of 0.2 %.
    slow = 2 * (sessions - 8)
    elapsed = [(1.5 if i < slow else 1.0) * (1 + SMT_NOISE * math.sin(7.0 * i)) for i in range(sessions)]
    ratio, fastest_of_slow = widest_gap(elapsed, 1.1)
    assert ratio == pytest.approx(1.5, rel=0.01)
    assert fastest_of_slow is not None
    assert sum(value > fastest_of_slow for value in elapsed) == slow


def test_noise_alone_makes_no_groups() -> None:
    ratio, fastest_of_slow = widest_gap([1 + SMT_NOISE * math.sin(7.0 * i) for i in range(16)], 1.1)
    assert ratio == pytest.approx(1.0, abs=0.01)
    assert fastest_of_slow is None


def test_two_sessions_can_be_two_groups_and_one_session_none() -> None:
    assert widest_gap([1.0, 1.2], 1.1) == pytest.approx((1.2, 1.0))
    assert widest_gap([1.0, 1.05], 1.1)[1] is None
    assert widest_gap([1.0], 1.1) == (None, None)


def test_figures_of_one_round() -> None:
    view = level(3, round_of([session(0, 2.0), session(1, 3.0), session(2, 4.0)]))
    assert view.median_s == pytest.approx(3.0)
    assert view.slowdown_median == pytest.approx(3.0 / SOLO_S)
    assert view.slowdown_max == pytest.approx(4.0 / SOLO_S)
    assert view.max_over_min == pytest.approx(2.0)
    assert view.cv == pytest.approx(1.0 / 3.0)
    assert (view.ideal_slowdown, view.regime) == (1.5, "oversubscribed")


def test_figures_are_medians_over_rounds_not_over_pooled_sessions() -> None:
    ratios = (1.0, 1.2, 3.0)
    rounds = [round_of([session(0, 2.0), session(1, 2.0 * ratio)], repeat=i) for i, ratio in enumerate(ratios)]
    assert level(2, *rounds).max_over_min == pytest.approx(1.2)


def test_rate_sum_and_makespan_differ_when_one_session_is_late() -> None:
    view = level(2, round_of([session(0, 2.0), session(1, 4.0)]))
    assert view.throughput == pytest.approx((ROWS / 2 + ROWS / 4) / 1e6)
    assert view.makespan_throughput == pytest.approx(2 * ROWS / 4 / 1e6)
    assert view.ideal_throughput == pytest.approx(2 * ROWS / SOLO_S / 1e6)
    assert view.mrows_per_s == pytest.approx((ROWS / 2 + ROWS / 4) / 2 / 1e6)


def test_only_the_time_in_which_all_ran_counts_for_the_rate_sum() -> None:
    # The second session speeds up when the first has left: only its slow executions overlap.
    fast = session(0, 4.0, executions=4)
    slow = replace(
        session(1, 6.0),
        executions=tuple(
            Execution(at, took, at, took) for at, took in ((0.0, 2.0), (2.0, 2.0), (4.0, 1.0), (5.0, 1.0))
        ),
    )
    view = level(2, round_of([fast, slow]))
    assert view.throughput == pytest.approx((ROWS / 1.0 + ROWS / 2.0) / 1e6)


def test_fixed_time_runs_are_compared_per_execution() -> None:
    view = level(2, round_of([session(0, 7.2, executions=4), session(1, 7.2, executions=2)]))
    assert view.max_over_min == pytest.approx(2.0)
    assert view.slowdown_max == pytest.approx(2.0)


def test_a_round_with_a_failed_session_counts_only_if_there_is_no_other() -> None:
    broken = round_of([session(0, 1.8), session(1, 0.1, answer_ok=None, error="terminated")])
    clean = round_of([session(0, 2.0), session(1, 2.0)], repeat=1)
    both = level(2, broken, clean)
    assert [both.rounds, both.sessions, both.median_s] == pytest.approx([1, 2, 2.0])
    alone = level(2, broken)
    assert [alone.rounds, alone.sessions, alone.median_s] == pytest.approx([1, 1, 1.8])


def test_a_level_of_which_nothing_is_left_has_no_figures() -> None:
    view = level(2, round_of([session(0, answer_ok=False), session(1, answer_ok=False)]))
    assert (view.rounds, view.median_s, view.throughput, view.max_over_min) == (0, None, None, None)


def test_late_server_starts_count_as_time_lost_and_are_reported() -> None:
    late = session(1, SOLO_S)
    late = replace(late, executions=(Execution(0.0, SOLO_S + 0.3, 0.2, SOLO_S),))
    view = level(2, round_of([session(0, SOLO_S), late]))
    assert view.server_start_spread_s == pytest.approx(0.2)
    assert view.max_over_min == pytest.approx((SOLO_S + 0.2) / SOLO_S)


def test_without_known_vcpus_there_is_no_ideal() -> None:
    lone = replace(record([*solos(), round_of([session(0), session(1)])], vcpus=None))
    lone = replace(lone, header=replace(lone.header, host=None))
    view = explain(lone).levels[1]
    assert (view.ideal_throughput, view.ideal_slowdown, view.efficiency, view.regime) == (None, None, None, "")


def test_a_round_without_loss_counts_among_the_rounds_that_say_how_much_was_lost() -> None:
    both = [[session(i, run_s=SOLO_S, queue_s=(factor - 1) * SOLO_S) for i in range(2)] for factor in (4.0, 1.5, 1.0)]
    seen = level(2, *(round_of(sessions, repeat=repeat) for repeat, sessions in enumerate(both)))
    assert seen.slower == 2
    assert seen.slower_factor == pytest.approx(1.5, rel=0.02)
    assert (seen.slower_factor or 0) <= (seen.slowdown_max or 0) * 1.001

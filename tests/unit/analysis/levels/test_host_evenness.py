"""Evenness: fastest over slowest at the least even level up to the vCPUs, with an answer and an interval."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.host import Capacity, Evenness
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.quoted import quotable
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.comparison import noisy_run


def found(record: RunRecord) -> tuple[Analysis, Capacity, Evenness]:
    analysis = explain(record)
    room = analysis.capacity
    assert room is not None and room.evenness is not None
    return analysis, room, room.evenness


def test_an_uneven_host_is_quoted_at_its_least_even_level() -> None:
    record = simulate(preset("c4.4xlarge"), (1, 4, 8, 12, 16, 20, 32), repeats=4, seed=1)
    analysis, room, even = found(record)
    ratios = {each.level: each.max_over_min or 1.0 for each in analysis.levels}
    assert (even.even, even.level) == (Answer.NO, 12)
    assert even.value == pytest.approx(1 / ratios[12]) == pytest.approx(1 / max(ratios[n] for n in (4, 8, 12, 16)))
    assert even.interval is not None and even.interval.low < even.value < even.interval.high < 1
    cores = room.usable_cores_interval
    assert cores is not None and room.usable_cores is not None
    assert cores.low < room.usable_cores < cores.high <= 16
    assert quotable(record, analysis).startswith(f"{room.usable_cores:.1f} usable cores (95 % CI ")
    assert f"of 16 vCPUs, evenness {even.value:.2f} (95 % CI " in quotable(record, analysis)


def test_levels_above_the_vcpus_do_not_count() -> None:
    _, _, even = found(
        simulate(SimulatedHost("box", cores=4, threads=1, noise=0.002), (1, 2, 3, 4, 5, 8), repeats=5, seed=1)
    )
    assert (even.even, even.level <= 4) == (Answer.YES, True)
    assert even.interval is not None and 1 / 1.1 < even.interval.low <= even.value <= even.interval.high == 1


@pytest.mark.parametrize("hidden", [False, True])
def test_without_a_level_at_which_some_share_a_core_nothing_says_that_all_are_even(hidden: bool) -> None:
    """At 16 sessions on 8 cores with two threads all share one, and are alike again."""
    host = SimulatedHost(cores=8, threads=2, hidden_smt=hidden)
    analysis, room, even = found(simulate(host, (1, 2, 4, 16), repeats=6, seed=1))
    assert analysis.levels[-1].even is Answer.YES
    assert even.even is Answer.UNDECIDED
    assert hidden or (room.even_up_to, room.full_speed_up_to) == (4, 4)
    assert found(simulate(host, (1, 2, 4, 12, 16), repeats=6, seed=1))[2].even is Answer.NO


def test_levels_that_are_even_are_quoted_beside_those_that_nobody_measured() -> None:
    """It was inconclusive whether all levels are even, beside a verdict of equal CPU at every measured level."""
    record = simulate(SimulatedHost(cores=8, threads=1), (1, 2, 4), repeats=6, seed=1)
    said = quotable(record, explain(record))
    assert ": even at N=2,4, inconclusive at levels that were not measured;" in said


def test_what_is_not_shown_is_undecided() -> None:
    record = noisy_run(1, levels=(1, 2), repeats=1)
    analysis, _, even = found(record)
    assert even.even is Answer.UNDECIDED
    said = quotable(record, analysis)
    assert said.endswith(": inconclusive whether all levels are even; usable cores need a level of 4 sessions")


def test_a_run_of_one_session_alone_has_nothing_to_quote() -> None:
    record = noisy_run(1, levels=(1,))
    analysis = explain(record)
    assert analysis.capacity is None
    assert quotable(record, analysis) == ""


def test_where_a_quota_bounds_the_sessions_cores_are_of_it_and_effective_ones_are_no_more() -> None:
    record = simulate(SimulatedHost("box", cores=4, quota_cpus=0.5), (1, 2), repeats=4, seed=1)
    analysis = explain(record)
    room = analysis.capacity
    assert room is not None
    assert analysis.scaling.effective_cores == room.usable_cores == 0.5
    assert "0.5 usable cores (by the best level, without a curve" in quotable(record, analysis)
    assert "of a CPU quota of 0.5" in quotable(record, analysis)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_holds_what_many_rounds_give(seed: int) -> None:
    host = SimulatedHost("box", cores=4, threads=2, noise=0.01)
    truth = found(simulate(host, (1, 4, 6, 8), repeats=30, seed=99))[2]
    few = found(simulate(host, (1, 4, 6, 8), repeats=5, seed=seed))[2]
    assert few.interval is not None
    assert few.interval.low - 0.01 <= truth.value <= few.interval.high + 0.01


def test_the_interval_of_one_that_is_not_even_ends_below_even() -> None:
    """By two rounds alone it would reach 1, beside the answer that shares are unequal."""
    run = simulate(SimulatedHost(cores=4, threads=1, steal=0.05), (1, 2, 3, 4, 5, 8), 2, 1, size="medium")
    capacity = explain(run).capacity
    assert capacity is not None and capacity.evenness is not None and capacity.evenness.interval is not None
    assert capacity.evenness.even is Answer.NO
    assert capacity.evenness.interval.high == pytest.approx(1 / 1.10)

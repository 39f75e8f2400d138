"""Which throughput lasts: above the vCPUs an uneven sum of rates holds only until the first session ends."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.lasting_throughput import (
    lasting_by_level,
    lasting_by_round,
    lasting_throughput,
    rate_sum_lasts,
)
from dbcpu.analysis.levels.round_figures import figures_by_round
from dbcpu.analysis.results.answer import Answer
from dbcpu.simulator import SimulatedHost, simulate

VCPUS = 4
RECORD = simulate(SimulatedHost(cores=VCPUS, threads=1, scheduler="sticky"), (1, 4, 5, 6), repeats=5, seed=1)
LEVELS = explain(RECORD).levels


def test_the_sum_of_rates_counts_where_it_lasts_and_the_lesser_one_elsewhere() -> None:
    assert lasting_throughput(10.0) == 10.0
    assert lasting_throughput(10.0, 8.0) == 8.0
    assert lasting_throughput(10.0, 12.0) == 10.0
    assert lasting_throughput(None, None) == 0.0


def test_up_to_the_vcpus_rate_sums_last_and_above_them_they_are_more_than_the_host_does() -> None:
    assert {each.level: each.even for each in LEVELS}[5] is Answer.NO
    assert {each.level: rate_sum_lasts(each, VCPUS) for each in LEVELS} == {
        each.level: each.level <= VCPUS or each.even is Answer.YES for each in LEVELS
    }
    found = lasting_by_level(LEVELS, VCPUS)
    for each in LEVELS:
        assert each.throughput is not None
        if each.level <= VCPUS:
            assert found[each.level] == each.throughput
        else:
            assert found[each.level] < each.throughput


def test_of_just_even_sessions_under_a_quota_the_peak_is_no_more_than_the_quota() -> None:
    """Those who end early leave their part of the quota to the others, even or not."""
    host = SimulatedHost(cores=4, threads=1, quota_cpus=1.5, noise=0.05, scheduler="sticky")
    found = explain(simulate(host, (1, 2, 3, 5, 8), repeats=5, seed=2))
    above = [each for each in found.levels if each.level > 2]
    assert any(each.even is Answer.YES and (each.throughput or 0.0) > 1.53 * host.mrows_per_s for each in above)
    assert found.capacity is not None
    assert found.capacity.peak_throughput == pytest.approx(1.5 * host.mrows_per_s, rel=0.03)


def test_rounds_have_what_their_level_has() -> None:
    rounds, by_level = lasting_by_round(figures_by_round(RECORD), LEVELS, 1.0), lasting_by_level(LEVELS, VCPUS)
    for level, throughput in by_level.items():
        of_level = sorted(each.throughput for each in rounds if each.level == level)
        assert of_level[len(of_level) // 2] == pytest.approx(throughput)


def test_sessions_that_took_turns_have_the_throughput_of_whole_rounds() -> None:
    figures = figures_by_round(RECORD)
    apart = lasting_by_round(figures, LEVELS, 1.0, {6})
    assert {each.throughput for each in apart if each.level == 6} == {
        each.makespan for each in figures if each.level == 6
    }


def test_where_enough_sessions_have_a_sum_that_lasts_others_have_no_more_than_whole_rounds() -> None:
    enough = lasting_by_level(LEVELS, VCPUS, wanted=4.0)
    uneven = next(each for each in LEVELS if each.level == 5)
    assert enough[5] == uneven.makespan_throughput
    assert enough[5] < lasting_by_level(LEVELS, VCPUS, wanted=7.0)[5]

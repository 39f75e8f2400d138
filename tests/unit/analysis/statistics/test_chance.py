"""What chance does to a value, how well that is known, and what could be seen beside it."""

import numpy as np
import pytest

from dbcpu.analysis.statistics.chance import Chance
from dbcpu.analysis.statistics.pooled_spread import pooled, pooled_resistant, pooled_robust


def test_groups_are_pooled_about_their_own_means() -> None:
    found = pooled([np.array([1.0, 3.0]), np.array([11.0, 12.0, 13.0])])
    assert found.spread**2 == pytest.approx(4 / 3)
    assert found.freedom == 3


def test_what_is_expected_counts_as_so_many_more_degrees_of_freedom() -> None:
    groups = [np.array([1.0, 3.0])]
    assert pooled(groups, Chance(0.0, 1)).spread == pytest.approx(1.0)
    assert pooled(groups, Chance(2.0, 1e9)).spread == pytest.approx(2.0)


def test_without_a_repeat_chance_may_be_anything() -> None:
    assert pooled([np.array([1.0]), np.array([2.0])]) == Chance(float("inf"), 0.0)


def test_the_robust_estimate_is_the_same_of_normal_values_and_bears_an_outlier() -> None:
    luck = np.random.default_rng(1)
    groups = [luck.normal(size=50) for _ in range(40)]
    assert pooled_robust(groups).spread == pytest.approx(pooled(groups).spread, rel=0.03)
    assert pooled_robust([*groups, np.array([0.0, 0.0, 60.0])]).spread < 1.1


def test_the_resistant_estimate_bears_one_of_five_pairs_and_is_the_same_of_normal_values() -> None:
    luck = np.random.default_rng(3)
    many = [luck.normal(size=2) for _ in range(2000)]
    assert pooled_resistant([*many, np.array([5.0])]).spread == pytest.approx(pooled(many).spread, rel=0.03)
    pairs = [np.array([-each, each]) for each in (0.5, 0.7, 0.9, 0.6)]
    clean, apart = pooled_resistant(pairs), pooled_resistant([*pairs, np.array([-30.0, 30.0])])
    assert apart.spread < 2 * clean.spread
    assert pooled_robust([*pairs, np.array([-30.0, 30.0])]).spread > 10 * clean.spread


def test_an_alarm_is_as_rare_as_it_says_and_what_is_detectable_is_seen_four_times_in_five() -> None:
    luck, freedom, draws = np.random.default_rng(2), 6, 200_000
    estimate = np.sqrt(luck.chisquare(freedom, draws) / freedom)
    value = luck.standard_normal(draws)
    one = Chance(1.0, freedom)
    assert float((value > estimate * one.passed_by(0.01)).mean()) == pytest.approx(0.01, rel=0.1)
    seen = (value + one.detectable(0.05)) / estimate > one.passed_by(0.025)
    assert float(seen.mean()) == pytest.approx(0.8, abs=0.03)
    assert one.times(3.0).passed_by(0.01) == pytest.approx(3 * one.passed_by(0.01))

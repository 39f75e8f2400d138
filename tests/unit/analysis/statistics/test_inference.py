"""Tests of difference against SciPy and against simulated truth."""

import numpy as np
import pytest
from scipy import stats

from dbcpu.analysis.statistics import inference


def test_three_against_three_never_decide_and_four_against_four_can() -> None:
    assert inference.min_p(3, 3) == pytest.approx(0.10)
    assert not inference.can_decide(3, 3)
    assert inference.min_p(5, 5) == pytest.approx(2 / 252)
    assert not inference.can_decide(5, 5)
    assert inference.can_decide(6, 6)
    assert not inference.can_decide(0, 5)
    assert inference.mann_whitney_p([1.0, 2.0, 3.0], [10.0, 11.0, 12.0]) == pytest.approx(0.10)


@pytest.mark.parametrize(("base", "other"), [(1, 1), (1, 6), (6, 7), (7, 6), (30, 30), (40, 21)])
def test_mann_whitney_is_scipys_exact_one(base: int, other: int) -> None:
    luck = np.random.default_rng([base, other])
    for shift in (0.0, 0.5, 3.0, -3.0):
        values = list(luck.normal(10, 1, base)), list(luck.normal(10 + shift, 1, other))
        expected = float(stats.mannwhitneyu(*values, method="exact").pvalue)
        assert inference.mann_whitney_p(*values) == pytest.approx(expected, rel=1e-9)


def test_ties_are_counted_over_arrangements_not_approximated() -> None:
    # Of the 70 arrangements of {1,1,1,1,2,2,2,2} only the two extreme ones are as far apart.
    assert inference.mann_whitney_p([1.0] * 4, [2.0] * 4) == pytest.approx(2 / 70)
    assert inference.mann_whitney_p([1.0], [1.0]) == 1.0
    assert inference.mann_whitney_p([1.0], [1.0, 2.0, 2.0]) == 1.0


@pytest.mark.parametrize(("base", "other"), [(2, 2), (2, 7), (5, 4), (7, 7)])
def test_with_ties_it_is_that_of_all_arrangements(base: int, other: int) -> None:
    luck = np.random.default_rng([base, other])
    for kinds in (2, 3, 5):
        values = luck.integers(kinds, size=base) / 3, luck.integers(kinds, size=other) / 3
        every = stats.PermutationMethod(n_resamples=20_000)
        expected = float(stats.mannwhitneyu(*values, method=every).pvalue)
        assert inference.mann_whitney_p(*map(list, values)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("base", "other"), [(4, 4), (6, 6), (5, 9), (10, 10), (20, 30)])
def test_test_and_interval_agree(base: int, other: int) -> None:
    luck = np.random.default_rng([base, other])
    for _ in range(100):
        values = np.exp(luck.normal(0, 0.03, base)).tolist(), np.exp(luck.normal(0.02, 0.03, other)).tolist()
        found = inference.ratio_interval(*values)
        assert found is not None
        assert (inference.mann_whitney_p(*values) < 0.05) == (not found.low <= 1 <= found.high)
        assert found.low <= float(np.median(values[1]) / np.median(values[0])) <= found.high


def test_ties_leave_test_and_interval_in_agreement() -> None:
    same, apart = inference.ratio_interval([2.0] * 6, [2.0] * 6), inference.ratio_interval([2.0] * 6, [3.0] * 6)
    assert same is not None and apart is not None
    assert (same.low, same.high) == pytest.approx((1.0, 1.0))
    assert (apart.low, apart.high) == pytest.approx((1.5, 1.5))


def test_an_interval_is_of_the_ratio_whatever_the_outlier() -> None:
    base = [10.0, 10.1, 9.9, 10.2, 9.8, 10.05, 9.95, 10.15, 9.85, 10.25]
    other = [value * 1.2 for value in base]
    found = inference.ratio_interval(base, [*other[:9], 1000.0])
    assert found is not None
    assert 1.15 < found.low < 1.2 < found.high < 1.25
    swapped = inference.ratio_interval(other, base)
    assert swapped is not None
    assert swapped.low == pytest.approx(1 / inference.ratio_interval(base, other).high)  # type: ignore[union-attr]


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """200 simulated pairs of 5 rounds, log-normal, 3 % noise, true ratio 1.10: 95 % +- three standard errors."""
    luck = np.random.default_rng(7)
    hits = 0
    for _ in range(200):
        base, other = np.exp(luck.normal(0, 0.03, 5)), 1.10 * np.exp(luck.normal(0, 0.03, 5))
        found = inference.ratio_interval(list(base), list(other))
        assert found is not None
        hits += found.low <= 1.10 <= found.high
    assert 0.90 <= hits / 200 <= 1.0


def test_false_alarms_of_the_exact_test_stay_below_five_per_cent() -> None:
    luck = np.random.default_rng(11)
    pairs = (luck.normal(10, 0.3, (2, 5)).tolist() for _ in range(300))
    alarms = sum(inference.mann_whitney_p(base, other) < 0.05 for base, other in pairs)
    assert alarms / 300 <= 0.07


def test_what_could_have_been_seen_is_seen_in_about_four_of_five() -> None:
    luck = np.random.default_rng(13)
    noise, seen, tried = 0.03, 0, 200
    needed = float(
        np.median(
            [
                inference.detectable(list(np.exp(luck.normal(0, noise, 8))), list(np.exp(luck.normal(0, noise, 8))))
                for _ in range(200)
            ]
        )
    )
    for _ in range(tried):
        base, other = np.exp(luck.normal(0, noise, 8)), (1 + needed) * np.exp(luck.normal(0, noise, 8))
        seen += inference.mann_whitney_p(list(base), list(other)) < inference.ALPHA
    assert 0.65 <= seen / tried <= 0.90


def test_one_round_has_no_interval_and_nothing_detectable() -> None:
    assert inference.ratio_interval([1.0], [1.0, 2.0]) is None
    assert inference.detectable([1.0], [1.0, 2.0]) is None
    assert inference.interval(np.ones(10), 1, 5) is None


def test_the_same_values_give_the_same_interval() -> None:
    values = [10.0, 10.2, 9.9, 10.1, 10.3], [11.0, 11.2, 10.9, 11.1, 11.3]
    assert inference.ratio_interval(*values) == inference.ratio_interval(*values)

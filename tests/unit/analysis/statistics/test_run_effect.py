"""The run as the unit: the interval holds the truth though every run has a luck of its own."""

import math

import numpy as np
import pytest

from dbcpu.analysis.statistics import inference, run_effect


def drawn(luck: np.random.Generator, runs: int, spread: float, noise: float, rounds: int = 6) -> list[list[float]]:
    return [luck.normal(luck.normal(0, spread), noise, rounds).tolist() for _ in range(runs)]


@pytest.mark.parametrize(("runs", "spread"), [(4, 0.02), (4, 0.05), (6, 0.05)])
def test_the_interval_of_several_runs_covers_the_truth_as_often_as_it_says(runs: int, spread: float) -> None:
    """800 pairs: 95 % +- three standard errors, and at most one in a hundred told apart."""
    luck = np.random.default_rng([runs, round(1000 * spread)])
    inside = alarms = 0
    for _ in range(800):
        base, other = drawn(luck, runs, spread, 0.02), drawn(luck, runs, spread, 0.02)
        effect = run_effect.between_runs((base, other))
        assert effect is not None
        found = run_effect.difference(base, other, (effect, effect))
        interval = found.ratio_interval(0.95)
        inside += interval.low <= 1 <= interval.high
        alarms += found.p < inference.ALPHA
    assert 0.927 <= inside / 800 <= 0.973
    assert alarms <= 0.012 * 800


def test_the_spread_between_runs_is_what_their_rounds_do_not_explain() -> None:
    luck = np.random.default_rng(5)
    many = run_effect.between_runs((drawn(luck, 400, 0.05, 0.04),))
    none = run_effect.between_runs((drawn(luck, 400, 0.0, 0.04),))
    assert many is not None and none is not None
    assert many.spread == pytest.approx(0.05, rel=0.1)
    assert none.spread < 0.008
    assert (many.runs, many.freedom) == (400, 399)


def test_runs_count_once_however_many_rounds_they_have() -> None:
    assert run_effect.group_mean([[0.0] * 100, [1.0]]) == pytest.approx(0.5)


def test_one_run_a_side_has_no_spread_between_runs() -> None:
    assert run_effect.between_runs(([[1.0, 1.1]], [[1.2, 1.3]])) is None


def test_of_one_run_against_several_the_several_show_how_much_runs_differ() -> None:
    effect = run_effect.between_runs(([[0.0]], [[0.1], [0.2], [0.3]]))
    assert effect is not None
    found = run_effect.difference([[0.0]], [[0.1], [0.2], [0.3]], (effect, effect))
    assert found.freedom == 2
    assert found.shift == pytest.approx(0.2)
    assert found.error == pytest.approx(0.1 * math.sqrt(1 + 1 / 3))


def test_without_any_scatter_what_differs_is_certain() -> None:
    effect = run_effect.BetweenRuns(0.0, 4, 2)
    assert run_effect.difference([[0.0]], [[0.0]], (effect, effect)).p == 1.0
    assert run_effect.difference([[0.0]], [[0.1]], (effect, effect)).p == 0.0


def test_the_bounds_of_an_interval_are_those_at_which_the_test_decides() -> None:
    luck = np.random.default_rng(6)
    for _ in range(100):
        base, other = drawn(luck, 3, 0.03, 0.02), drawn(luck, 4, 0.03, 0.02)
        effect = run_effect.between_runs((base, other))
        assert effect is not None
        found = run_effect.difference(base, other, (effect, effect))
        interval = found.ratio_interval(0.95)
        assert interval.low <= math.exp(found.shift) <= interval.high
        assert (found.p < 0.05) == (not interval.low <= 1 <= interval.high)

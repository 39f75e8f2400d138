"""Two preferred values are found where there are two, and not where there is one."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

from dbcpu.analysis.statistics.bimodality import GATE, MIN_VALUES, dip, two_modes

Floats = npt.NDArray[np.float64]
TRIALS = 60


def mixed(chance: np.random.Generator, n: int, share: float, ratio: float, noise: float = 0.03) -> Floats:
    slow = chance.uniform(size=n) < share
    return np.asarray(np.exp(chance.normal(0.0, noise, n)) * np.where(slow, ratio, 1.0))


def nearest_unimodal(values: Floats) -> float:
    """The dip by its definition: linear programs for a mode at each value. Slow and plain."""
    places, counts = np.unique(values, return_counts=True)
    right = np.cumsum(counts) / values.size
    left, n, best = right - counts / values.size, places.size, 1.0
    for mode in range(n):
        rows: list[Floats] = []
        bounds: list[float] = []

        def bound(terms: dict[int, float], most: float, rows: list[Floats] = rows, kept: list[float] = bounds) -> None:
            row = np.zeros(n + 2)
            for column, factor in terms.items():
                row[column] += factor
            rows.append(row)
            kept.append(most)

        for at in range(n):
            before_jump = n if at == mode else at  # the distribution may jump at its mode
            for column, height in ((at, right[at]), (before_jump, left[at])):
                bound({column: 1, n + 1: -1}, height)
                bound({column: -1, n + 1: -1}, -height)
        bound({n: 1, mode: -1}, 0.0)
        convex, concave = ([*range(mode), n], places[: mode + 1], -1.0), ([*range(mode, n)], places[mode:], 1.0)
        for columns, at_x, sign in (convex, concave):
            for k in range(1, len(columns) - 1):
                share = (at_x[k + 1] - at_x[k]) / (at_x[k + 1] - at_x[k - 1])
                chord = {columns[k]: -sign, columns[k - 1]: sign * share, columns[k + 1]: sign * (1 - share)}
                bound(chord, 0.0)
            if len(columns) > 1:
                bound({columns[-2]: 1, columns[-1]: -1}, 0.0)
                bound({columns[0]: 1, columns[1]: -1}, 0.0)
        exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        cost = [0.0] * (n + 1) + [1.0]
        solved = linprog(cost, np.array(rows), bounds, bounds=[(0, 1)] * (n + 2), options=exact)  # type: ignore[call-overload]
        if solved.success and solved.fun is not None:
            best = min(best, float(solved.fun))
    return best


SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "flat": lambda chance, n: chance.uniform(size=n),
    "two humps": lambda chance, n: chance.choice([0.0, 3.0], n) + chance.normal(0, 0.5, n),
    "a peak": lambda chance, n: chance.exponential(size=n) * chance.choice([-1.0, 1.0], n),
    "three spots": lambda chance, n: chance.choice([0.0, 1.0, 2.5], n) + chance.uniform(0, 0.1, n),
    "far tails": lambda chance, n: chance.standard_cauchy(n),
    "ties": lambda chance, n: np.round(3 * chance.normal(size=n)),
    "many ties": lambda chance, n: chance.integers(0, 6, n).astype(np.float64),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_the_dip_is_the_distance_from_the_nearest_unimodal_distribution(shape: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = np.sort(SHAPES[shape](chance, int(chance.integers(4, 20))))
    assert dip(values) == pytest.approx(nearest_unimodal(values), abs=1e-9)


def test_evenly_spread_and_equal_values_dip_least() -> None:
    assert dip(np.arange(20.0)) == pytest.approx(1 / 40)
    assert dip(np.ones(20)) == pytest.approx(1 / 40)


def test_two_points_dip_most() -> None:
    values = np.concatenate([np.linspace(0, 0.001, 100), np.linspace(1, 1.001, 100)])
    assert dip(values) == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("n", [MIN_VALUES, 400])
def test_uniform_samples_rarely_pass_the_gate(n: int) -> None:
    chance = np.random.default_rng(5)
    passed = sum(np.sqrt(n) * dip(np.sort(chance.uniform(size=n))) > GATE for _ in range(300))
    assert passed <= 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda chance, n: np.exp(chance.normal(0, 0.05, n)),
        lambda chance, n: np.exp(chance.normal(0, 0.4, n)),
        lambda chance, n: 1 + chance.gamma(2, 0.2, n),
        lambda chance, n: 1 + chance.exponential(0.3, n),
        lambda chance, n: chance.uniform(1.0, 1.6, n),
    ],
    ids=["normal", "wide", "skewed", "one-sided", "flat"],
)
def test_one_value_is_one_however_it_spreads(draw: Callable[[np.random.Generator, int], Floats]) -> None:
    chance = np.random.default_rng(2)
    assert sum(two_modes(draw(chance, 600)) is not None for _ in range(TRIALS)) <= 1


@pytest.mark.parametrize(("share", "ratio"), [(0.25, 1.5), (0.5, 1.2), (0.1, 1.5), (0.8, 1.9)])
def test_a_second_value_is_found_nearly_always(share: float, ratio: float) -> None:
    chance = np.random.default_rng(3)
    found = [two_modes(mixed(chance, 1000, share, ratio)) for _ in range(TRIALS)]
    assert sum(each is not None for each in found) >= 0.9 * TRIALS
    known = [each for each in found if each]
    assert np.median([each.high / each.low for each in known]) == pytest.approx(ratio, rel=0.02)
    assert np.median([each.share_above for each in known]) == pytest.approx(share, abs=0.02)


def test_values_closer_than_a_tenth_are_one() -> None:
    assert two_modes(mixed(np.random.default_rng(4), 3000, 0.5, 1.06, noise=0.005)) is None


def test_few_values_tell_nothing() -> None:
    assert two_modes(mixed(np.random.default_rng(4), MIN_VALUES - 1, 0.5, 2.0)) is None


def test_one_broad_hump_with_two_edges_has_no_two_values() -> None:
    """As of six sessions in turns on four CPUs: most were said to take 157, with a median of 234."""
    chance = np.random.default_rng(4)
    edges = np.concatenate([np.full(190, 157.0), np.full(260, 311.0), np.linspace(160.0, 305.0, 550)])
    assert two_modes(edges * np.exp(chance.normal(0.0, 0.005, edges.size))) is None

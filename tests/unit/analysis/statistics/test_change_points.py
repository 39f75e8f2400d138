"""Several changes of a series are found where they are, a spike is none, and noise alone has hardly ever one."""

from itertools import product
from statistics import median

import numpy as np
import pytest

from dbcpu.analysis.statistics import change_points as module
from dbcpu.analysis.statistics.change_points import (
    ALPHA,
    MIN_PART,
    _costs,
    _least_distances,
    _segmentations,
    change_points,
    change_ranges,
)


def steps(*parts: tuple[float, int], noise: float = 1.0, seed: int = 1) -> list[float]:
    luck = np.random.default_rng(seed)
    return [float(value) for middle, count in parts for value in luck.normal(middle, noise, count)]


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (((100, 10), (90, 10)), (10,)),
        (((100, 10), (90, 10), (100, 10)), (10, 20)),
        (((100, 12), (94, 8), (88, 9), (100, 11)), (12, 20, 29)),
        (((100, 20), (90, 4), (100, 20)), (20, 24)),
        (((100, 30),), ()),
        (((100, 7),), ()),
        ((), ()),
    ],
)
def test_changes_are_found_where_they_are(parts: tuple[tuple[float, int], ...], found: tuple[int, ...]) -> None:
    assert change_points(steps(*parts)) == found


@pytest.mark.parametrize(("before", "noise"), [(6, 1.0), (15, 1.3), (20, 0.7)])
def test_the_true_place_is_in_the_range_of_a_change(before: int, noise: float) -> None:
    """In 95 % of 120 series and more, so that fewer than 108 would be seen once in a hundred times by chance."""
    held = []
    for seed in range(120):
        values = steps((100, before), (98, 15), noise=noise, seed=seed)
        if len(found := change_points(values)) == 1:
            ((earliest, latest),) = change_ranges(values, found)
            assert earliest <= found[0] <= latest
            held.append(earliest <= before <= latest)
    assert sum(held) >= 0.9 * len(held) > 9


def test_the_range_of_a_change_ends_at_its_neighbours_and_a_clear_one_has_none() -> None:
    clear = [*steps((100, 10), (60, 10), (100, 10)), *steps((99.0, 10))]
    clear[14] = 300.0
    assert change_ranges(clear, change_points(clear)) == ((10, 10), (20, 20))
    assert change_ranges(clear, ()) == ()


@pytest.mark.parametrize("digits", [0, 6])
def test_a_part_costs_the_absolute_deviation_about_its_median(digits: int) -> None:
    """With ties and without."""
    values = [round(value, digits) for value in steps((100, 9), (96, 8))]
    costs = _costs(values)
    for first, last in product(range(len(values)), repeat=2):
        part = values[first : last + 1]
        if part:
            assert costs[first, last + 1] == pytest.approx(sum(abs(each - median(part)) for each in part))


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("height", [-60.0, 200.0])
def test_a_spike_is_no_change_and_moves_none(length: int, height: float) -> None:
    flat = steps((100, 24))
    flat[8 : 8 + length] = [height] * length
    assert change_points(flat) == ()
    step = steps((100, 20), (90, 20))
    step[5 : 5 + length] = [height] * length
    assert change_points(step) == (20,)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("at", [0, 1, 4, 7, 8, 9, 13])
def test_a_spike_hides_no_change(at: int, length: int) -> None:
    """Of eight nights before and after: one more of the lowest rank before makes the test fail."""
    step = steps((39.6, 8), (34.4, 8), noise=0.4)
    step[at : at + length] = [24.7] * len(step[at : at + length])
    before, after = (count - sum(each == 24.7 for each in part) for count, part in ((8, step[:8]), (8, step[8:])))
    found = change_points(step)
    assert len(found) == (before >= MIN_PART <= after)
    assert all(step[each] > 30 and not any(value > 37 for value in step[each:]) for each in found)


def test_a_stretch_that_varies_between_calm_ones_is_no_row_of_spikes() -> None:
    """Its values are far from each other by the differences of calm neighbours: most of it was set aside."""
    found = 0
    for seed in range(40):
        values = [
            *steps((90, 12), noise=0.1, seed=seed),
            *steps((83, 12), noise=3.5, seed=seed),
            *steps((90, 12), noise=0.1, seed=seed + 40),
        ]
        values[30] = 37.0
        found += len(change_points(values)) == 2
    assert found >= 36


def test_noise_alone_has_hardly_ever_a_change() -> None:
    """At most 5 %; 400 series of 30 values, so that 35 would be seen once in a thousand times by chance."""
    luck = np.random.default_rng(20_170_105)
    assert sum(bool(change_points(luck.normal(100, 2, 30).tolist())) for _ in range(400)) <= 34


def test_of_one_step_there_is_hardly_ever_a_second_change() -> None:
    luck = np.random.default_rng(7)
    made = [[*luck.normal(100, 2, 15), *luck.normal(90, 2, 15)] for _ in range(200)]
    found = [change_points(each) for each in made]
    assert sum(len(each) > 1 for each in found) <= 18
    assert all(each for each in found)


def test_the_segmentation_is_the_best_there_is() -> None:
    values = steps((10, 5), (12, 5), (9, 6), noise=1.5, seed=3)
    costs = _costs(values)
    count = len(values)

    def deviation(edges: tuple[int, ...]) -> float:
        parts = [values[a:b] for a, b in zip((0, *edges), (*edges, count), strict=True)]
        return float(sum(np.abs(np.array(part) - np.median(part)).sum() for part in parts))

    for number, found in enumerate(_segmentations(costs, 3), 1):
        tried = [
            edges for edges in product(range(count), repeat=number)
            if all(b - a >= MIN_PART for a, b in zip((0, *edges), (*edges, count), strict=True))
        ]  # fmt: skip
        assert deviation(found) == pytest.approx(min(map(deviation, tried)))


def chances(most: int) -> dict[tuple[int, int], np.ndarray]:
    """Of every value of Mann and Whitney's U, by the sizes of both groups, together at most ``most``."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for one, other in product(range(most + 1), repeat=2):
        if one + other <= most:
            share = np.zeros(one * other + 1)
            share[0] = not (one and other)
            if one and other:  # the largest of all is of the other group, or of this one and above all of the other
                share[: one * (other - 1) + 1] += found[one, other - 1] * other / (one + other)
                share[other:] += found[one - 1, other] * one / (one + other)
            found[one, other] = share
    return found


def test_what_is_left_out_at_a_glance_passes_no_exact_test() -> None:
    """Every U that is far enough from its usual value for the exact test, of all sizes, is far enough for a look."""
    shares, looked_at = chances(60), 0
    for count in range(2 * MIN_PART, 61):
        usual, least = _least_distances(count)
        for first, second in product(range(MIN_PART, count), range(MIN_PART, count)):
            if first + second == count or first + second <= count - MIN_PART:
                p = 2 * shares[first, second].cumsum()
                passing = np.flatnonzero(p <= ALPHA / (count - 2 * MIN_PART + 1) * (1 + 1e-9))
                at = (first - 1, first + second - 1)
                assert usual[at] == first * second / 2
                assert all(usual[at] - passing >= least[at])
                looked_at += passing.size
    assert looked_at > 10_000


@pytest.mark.parametrize("count", [8, 12, 20, 33, 60, 61])
def test_a_glance_changes_no_answer(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    luck = np.random.default_rng(count)
    series = [luck.normal(0, 1, count) for _ in range(60)]
    for at, values in enumerate(series):
        for cut in luck.integers(1, count, at % 4):
            values[cut:] += luck.choice([0.5, 1.0, 3.0])
    found = [change_points(values.tolist()) for values in series]
    monkeypatch.setattr(module, "_may_differ", lambda values: True)
    assert found == [change_points(values.tolist()) for values in series]
    assert any(found)

"""Who is slow at an unequal level, and by how much: no slowdown is told that no session has."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.unequal_words import unequal_words
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import LevelView
from dbcpu.simulator import SimulatedHost, simulate


def level(**figures: object) -> LevelView:
    found = explain(simulate(SimulatedHost(cores=4, threads=1), (1, 4), 2, seed=1, size="short"))
    plain = replace(found.levels[1], level=13, even=Answer.NO, full_speed=Answer.UNDECIDED, slowdown_min=1.0)
    return replace(plain, **figures)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"slower": 3.0, "slower_min": 1.24, "slower_factor": 1.99, "slowdown_max": 2.0, "slow": 2.0},
         "3 of 13 have a slowdown, from 1.24x to 2.00x, 2 of 13 in a slow group"),
        ({"slower": 3.0, "slower_min": 1.95, "slower_factor": 1.99, "slowdown_max": 2.0, "slow": 3.0},
         "3 of 13 have a slowdown of 1.99x"),
        ({"slower": 1.0, "slower_min": 1.5, "slower_factor": 1.5, "slowdown_max": 1.5, "slow": 1.0},
         "1 of 13 has a slowdown of 1.50x"),
        ({"slower": 1.0, "slower_min": 1.5, "slower_factor": 1.5, "slowdown_max": 1.5, "slow": 4.0},
         "4 of 13 have a slowdown of up to 1.50x"),
        ({"slower": 2.0, "slower_min": 1.5, "slower_factor": 1.5, "slowdown_max": 1.6, "slow": 0.0,
          "full_speed": Answer.NO, "slowdown_median": 1.33, "max_over_min": 1.6},
         "the median slowdown is 1.33x, and the slowest took 1.60x as long as the fastest"),
        ({"slower": 0.0, "slower_min": None, "slow": 0.0, "slowdown_max": 1.2, "max_over_min": 1.2},
         "the slowest took 1.20x as long as the fastest"),
        ({"slower": 13.0, "slowdown_min": 1.3, "slowdown_max": 2.0, "slow": 0.0},
         "all have a slowdown, from 1.30x to 2.00x"),
        ({"slower": 2.5, "slower_min": 1.95, "slower_factor": 1.99, "slowdown_max": 2.0, "slow": 2.5},
         "2 or 3 of 13 have a slowdown of 1.99x"),
    ],
)  # fmt: skip
def test_who_is_slow(figures: dict[str, object], words: str) -> None:
    said = unequal_words(level(**figures))
    assert said == words.replace("1 of", "1 of").replace("3 of", "3 of").replace("4 of", "4 of")


def test_one_that_lost_less_by_another_cause_is_not_told_the_slowdown_of_two() -> None:
    host = SimulatedHost(cores=12, threads=1, noisy_neighbour=0.5, scheduler="frozen")
    found = explain(simulate(host, (1, 8, 12, 13, 15), 10, seed=0, size="medium"))
    (thirteen,) = [each for each in found.levels if each.level == 13]
    assert (thirteen.slower_min or 0) < 1.4 < 1.9 < (thirteen.slower_factor or 0)
    assert "at 13 sessions 3 of 13 have a slowdown, from 1." in found.verdict
    fifteen = found.levels[-1]
    assert (fifteen.slow, fifteen.slow_middle, fifteen.slower_middle) == (6.0, (6, 6), (6, 7))


@pytest.mark.parametrize(
    ("seen", "words"),
    [((2, 4), "2 to 4"), ((3, 3), "3"), ((3, 4), "3 or 4"), (None, "3"), ((0, 6), "usually at most 6")],
)
def test_of_rounds_with_two_and_with_four_none_has_three(seen: tuple[int, int] | None, words: str) -> None:
    """The median was said as what was seen: 3 of 5 in a slow group."""
    figures = {"slower": 3.0, "slower_min": 1.95, "slower_factor": 1.99, "slowdown_max": 2.0, "slow": 3.0}
    assert unequal_words(level(**figures, slower_middle=seen)) == f"{words} of 13 have a slowdown of 1.99x"
    grouped = level(**figures | {"slower": 13.0, "slowdown_min": 1.3}, slow_middle=seen)
    assert unequal_words(grouped).endswith(f", {words} of 13 in a slow group")


def test_a_count_of_which_half_of_the_rounds_have_none_is_said_as_its_most() -> None:
    """0 or 1 of 3 have a slowdown, it said."""
    figures = {"slower": 0.0, "slower_min": None, "slowdown_max": 1.3, "slow": 0.5, "slow_middle": (0, 1)}
    assert unequal_words(level(**figures)) == "usually at most 1 of 13 has a slowdown of 1.30x"
    figures |= {"slow": 1.0, "slow_middle": (0, 2)}
    assert unequal_words(level(**figures)) == "usually at most 2 of 13 have a slowdown of 1.30x"
    run = simulate(SimulatedHost(cores=4, threads=1, steal=0.1), (1, 2, 3, 4, 5), 6, seed=1)
    assert "at 3 sessions usually at most 1 of 3 has a slowdown of 1." in explain(run).verdict

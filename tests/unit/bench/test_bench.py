"""The frame of the benches: turns, figures, the account of a trace, and the page that is written from results."""

from functools import partial

import pytest

from bench.__main__ import BENCHES
from bench.pairs import Bar, interleaved, shown, significant
from bench.report import DOCUMENT, page


def test_contestants_take_turns_and_begin_in_another_place_each_round() -> None:
    order: list[str] = []
    found = interleaved({name: partial(order.append, name) for name in "abc"}, rounds=4)
    assert "".join(order) == "abcbcacababc"
    assert [len(results) for results in found.values()] == [4, 4, 4]


def test_a_bar_is_met_at_its_limit_and_says_when_nothing_was_measured() -> None:
    verdicts = [Bar("skew", measured, 1.0, "ms").verdict for measured in (1.0, 1.001, None)]
    assert verdicts == ["met", "not met", "not measured"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0660, "0.0660"), (0.00031234, "0.000312"), (1.0, "1.00"), (17.74, "17.7"), (1119.4, "1119")],
)
def test_figures_have_three_digits_that_mean_something(value: float, text: str) -> None:
    assert significant(value) == text


def test_a_figure_shows_its_median_and_its_extremes() -> None:
    assert shown([0.003, 0.001, 0.010], scale=1000) == "3.00 (1.00 to 10.0)"


def test_the_page_is_what_the_kept_results_say() -> None:
    assert DOCUMENT.read_text("utf-8") == page(BENCHES)

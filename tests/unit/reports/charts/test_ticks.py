"""The numbers at an axis: one unit and one number of decimals, none rounded."""

from collections.abc import Sequence

import pytest

from dbcpu.reports.charts.ticks import EvenTicks, SecondTicks


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.0, 0.0025, 0.01, 0.0125), ["0.0 ms", "2.5 ms", "10.0 ms", "12.5 ms"]),
        ((0.0, 0.1, 0.2), ["0 ms", "100 ms", "200 ms"]),
        ((0.5, 1.0, 1.5), ["0.5 s", "1.0 s", "1.5 s"]),
        ((0.005, 0.5, 5.0), ["5 ms", "500 ms", "5 s"]),
        ((), []),
    ],
)
def test_no_tick_of_a_time_is_rounded(values: Sequence[float], words: Sequence[str]) -> None:
    assert SecondTicks().format_ticks(values) == words


def test_ratios_have_as_many_decimals_as_any_of_them_needs() -> None:
    assert EvenTicks("x").format_ticks([1.0, 1.2000000000000002, 2.0]) == ["1.0x", "1.2x", "2.0x"]
    assert EvenTicks("x").format_ticks([1.0, 2.0, 4.0]) == ["1x", "2x", "4x"]

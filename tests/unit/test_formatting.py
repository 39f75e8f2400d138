"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbcpu.errors import UsageError
from dbcpu.formatting import (
    as_whole_number,
    bare,
    count,
    decimal_s,
    duration,
    listed,
    parse_cpu_list,
    percent,
    plural,
    ranges,
    rate,
    short_ranges,
    short_time,
)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([1, 2, 3, 8], "1-3,8"),
        (range(0, 512, 2), "0-510 by 2"),
        ([n * n for n in range(1, 60)], "1,4,9,16,25,36,49,64,81,100,121,144,169,196,225,256,289,324... (59)"),
    ],
)
def test_a_long_list_is_told_by_its_ends(numbers: list[int], text: str) -> None:
    assert short_ranges(numbers) == text
    assert len(text) < 70


def test_a_time_far_below_a_millisecond_is_no_zero() -> None:
    assert [short_time(each) for each in (4e-6, 0.000_999, 0.001, 0.0021)] == ["4 us", "999 us", "1.0 ms", "2.1 ms"]


def test_a_time_near_the_next_unit_has_one_form() -> None:
    assert {duration(each) for each in (89.6, 90.0, 90.2)} == {"1.5 min"}
    assert {duration(each) for each in (5398.0, 5400.0)} == {"1.5 h"}


def test_a_short_list_is_told_in_full() -> None:
    assert short_ranges([1, 3, 5]) == ranges([1, 3, 5]) == "1,3,5"


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("8", 8), ("0000000000000000008", 8), ("9223372036854775807", 2**63 - 1)],
)
def test_a_whole_number_is_read(text: str, number: int) -> None:
    assert as_whole_number(text) == number


@pytest.mark.parametrize(
    "text",
    ["", " 8", "8\n", "+8", "-8", "8.0", "1_000", "eight", "\N{FULLWIDTH DIGIT EIGHT}", "\N{SUPERSCRIPT TWO}",
     "\N{ARABIC-INDIC DIGIT ONE}", "9223372036854775808", "00000000000000000008", "1" * 5000],
)  # fmt: skip
def test_any_other_text_is_no_whole_number(text: str) -> None:
    assert as_whole_number(text) is None


def test_a_whole_number_beyond_its_limits_is_none() -> None:
    assert [as_whole_number(text, 2, 10) for text in ("1", "2", "10", "11")] == [None, 2, 10, None]


@pytest.mark.parametrize(
    ("value", "text"),
    [(2666198.0, "2666198"), (2.5, "2.5"), (0.1 + 0.2, "0.3"), (2.7e-7, "0.00000027")],
)
def test_no_number_has_an_exponent(value: float, text: str) -> None:
    assert bare(value) == text


def test_counts_and_small_rates_have_none_either() -> None:
    assert count(3e6) == "3000000"
    assert (count(0.5), count(3.0)) == ("0-1", "3")  # nobody saw half a session
    assert plural(2_000_000, "row") == "2000000 rows"
    assert rate(0.000_012) == "0.000012"


def test_nothing_has_no_sign() -> None:
    assert [percent(share) for share in (-0.0001, 0.0, -0.021, 0.96, None)] == ["0.0 %", "0.0 %", "-2.1 %", "96 %", "-"]


def test_times_of_a_column_have_two_digits_or_more() -> None:
    """0.008 and 0.011 are no ratio of 1.50, which was of 0.0077 and 0.0115."""
    assert [decimal_s(each) for each in (None, 0.0077, 0.0115, 0.1, 12.34567)] == [
        "-",
        "0.0077",
        "0.0115",
        "0.100",
        "12.346",
    ]


@given(st.frozensets(st.integers(0, 600), max_size=80))
def test_a_cpu_list_survives_writing_and_reading(cpus: frozenset[int]) -> None:
    assert parse_cpu_list(ranges(cpus)) == tuple(sorted(cpus))


def test_a_cpu_list_is_written_as_the_kernel_does() -> None:
    assert ranges([11, 0, 1, 2, 3, 8, 10]) == "0-3,8,10-11"


@pytest.mark.parametrize("text", ["x", "3-1", "1,,2", "-1", "0-99999999999", "²", "1-", "0x3"])
def test_a_wrong_cpu_list_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError, match="CPU list"):
        parse_cpu_list(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and 1 more"), ("abcdef", "a, b and 4 more")],
)
def test_of_many_names_the_first_are_listed_and_the_others_counted(names: str, text: str) -> None:
    assert listed([*names], most=2) == text

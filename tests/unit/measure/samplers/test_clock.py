"""Another machine's clock is placed on ours from its answers, however coarse it is."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbcpu.measure.samplers._clock import RemoteClock


def answer(clock: RemoteClock, at_s: float, offset_s: float, grain_s: float, before_s: float, after_s: float) -> float:
    """An answer given at ``at_s`` on our clock by one that is ``offset_s`` ahead; returns the error of its place."""
    theirs = at_s + offset_s
    stamp_s = theirs - theirs % grain_s if grain_s else theirs
    return clock.note(at_s - before_s, at_s + after_s, stamp_s, grain_s) - at_s


@given(
    offset_s=st.floats(-1e6, 1e6),
    trips=st.lists(st.tuples(st.floats(0.001, 0.3), st.floats(0, 0.05), st.floats(0, 0.05)), min_size=1, max_size=60),
)
def test_offset_and_moments_are_right_within_what_is_claimed(
    offset_s: float, trips: list[tuple[float, float, float]]
) -> None:
    clock, at_s = RemoteClock(), 1000.0
    for pause_s, before_s, after_s in trips:
        at_s += pause_s + before_s
        error_s = answer(clock, at_s, offset_s, 0.01, before_s, after_s)
        assert abs(error_s) <= (before_s + after_s) / 2 + 1e-6
        at_s += after_s
    told = clock.as_record("x")
    assert abs(told.offset_s - offset_s) <= told.uncertainty_s + 1e-6


def test_clock_of_ten_milliseconds_becomes_known_to_the_round_trip() -> None:
    clock, chance, at_s = RemoteClock(), random.Random(1), 50.0
    for _ in range(60):
        at_s += chance.uniform(0.0005, 0.004)
        answer(clock, at_s, 77.123456, 0.01, 0.0001, 0.0001)
    told = clock.as_record("sampler (ssh)")
    assert told.source == "sampler (ssh)"
    assert told.uncertainty_s < 0.002
    assert told.offset_s == pytest.approx(77.123456, abs=told.uncertainty_s)


def test_late_answer_is_placed_by_the_other_clock() -> None:
    clock, chance, at_s = RemoteClock(), random.Random(2), 50.0
    for _ in range(60):
        at_s += chance.uniform(0.0005, 0.004)
        answer(clock, at_s, -3.0, 0.01, 0.0001, 0.0001)
    error_s = answer(clock, at_s + 1.0, -3.0, 0.01, 0.001, 0.5)
    assert abs(error_s) < 0.01, "the middle of the round trip is a quarter of a second away"


def test_clock_that_is_set_is_followed() -> None:
    clock = RemoteClock()
    answer(clock, 10.0, 5.0, 0.0, 0.001, 0.001)
    answer(clock, 11.0, 65.0, 0.0, 0.001, 0.001)
    assert clock.as_record("x").offset_s == pytest.approx(65.0, abs=0.002)


def test_what_is_known_ages() -> None:
    clock = RemoteClock()
    answer(clock, 10.0, 5.0, 0.0, 0.0001, 0.0001)
    answer(clock, 5000.0, 5.2, 0.0, 0.0001, 0.0001)
    assert clock.as_record("x").offset_s == pytest.approx(5.2, abs=0.001), "40 parts in a million over an hour"

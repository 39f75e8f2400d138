"""The times of a call: its parts, and how many calls a percentile needs."""

import pytest

from dbcpu.analysis.experiments.pool import PARTS, call_times
from dbcpu.record.rounds import Call


def call(at: int, began_s: float | None, ended_s: float | None, answered_s: float | None) -> Call:
    return Call(at, 0.001, -0.3, -0.1, 0, began_s, ended_s, answered_s)


def test_the_parts_of_a_call_are_those_its_caller_had() -> None:
    found = {each.part: each for each in call_times([call(0, 1.9, 3.9, 3.95)])}
    assert tuple(found) == PARTS
    assert {part: round(each.max_s, 6) for part, each in found.items()} == {
        "connect": 0.001, "send": 0.2, "wait": 2.0, "work": 2.0, "receive": 0.05, "whole": 4.25,
    }  # fmt: skip


def test_calls_without_an_answer_have_no_times() -> None:
    assert call_times([call(0, 1.0, None, None), Call(0, 0.1, 0.0, 0.1)]) == ()
    assert call_times([call(0, 1.0, None, None), call(1, 1.0, 2.0, 2.1)])[0].calls == 1


@pytest.mark.parametrize(
    ("calls", "known"), [(19, (True, False, False)), (20, (True, True, False)), (100, (True,) * 3)]
)
def test_a_percentile_needs_enough_calls(calls: int, known: tuple[bool, ...]) -> None:
    work = call_times([call(at, 0.0, 1.0 + at, 2.0 + at) for at in range(calls)])[3]
    assert (work.part, work.calls, work.max_s) == ("work", calls, float(calls))
    assert tuple(value is not None for value in (work.p50_s, work.p95_s, work.p99_s)) == known

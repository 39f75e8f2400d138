"""The short form of the lab on sessions that differ by degrees; the long one is ``shell/lab degrees``."""

import pytest

from dbcpu.analysis.results.answer import Answer
from lab.degrees import SLOW, Case, answer


@pytest.mark.parametrize("slow", SLOW)
def test_sessions_each_a_little_slower_than_the_next_are_not_called_equal(slow: str) -> None:
    assert answer(Case(slow, 1.10, sessions=4, noise=0.01), [5, 1]) is not Answer.YES


def test_equal_sessions_are() -> None:
    assert answer(Case(SLOW[0], 1.0, sessions=4, noise=0.01), [5, 1]) is Answer.YES

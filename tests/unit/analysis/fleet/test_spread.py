"""Is an instance type a lottery? Yes, no, or undecided: and never by not having looked."""

from typing import Any

import pytest

from dbcpu.analysis.fleet.hosts import ALONE
from dbcpu.analysis.fleet.ranking import host_groups
from dbcpu.analysis.fleet.spread import MIN_HOSTS, Spread, effect_of, spread
from dbcpu.analysis.results.answer import Answer
from support.builders.fleets import RATE, fleet, host

SEEDS = range(60)


def _spread(seed: int, count: int, **given: Any) -> Spread:
    hosts = fleet(seed, count, **given)
    found = spread(hosts, ALONE, effect_of(hosts, ALONE))
    assert found is not None
    return found


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """95 % of 60: fewer than 51 would be had in 1 of 100 at 94 %."""
    held = 0
    for seed in SEEDS:
        found = _spread(seed, 30, spread=0.08, run_effect=0.03, runs=2)
        assert found.between_interval is not None
        held += found.between_interval.low <= 0.08 <= found.between_interval.high
    assert held >= 51


@pytest.mark.parametrize("nature,answer", ((0.15, Answer.YES), (0.01, Answer.NO), (0.05, Answer.UNDECIDED)))
def test_three_answers(nature: float, answer: Answer) -> None:
    answers = [_spread(seed, 30, spread=nature, run_effect=0.01, runs=2).answer for seed in range(20)]
    assert answers.count(answer) >= 15


def test_one_run_a_host_separates_no_hosts_from_hours() -> None:
    wide = _spread(1, 30, spread=0.15)
    assert (wide.answer, wide.between) == (Answer.UNDECIDED, None)
    assert "is the hour" in wide.why
    narrow = _spread(1, 30, spread=0.01)
    assert narrow.answer is Answer.NO  # hosts differ by no more than hosts and hours together


def test_lucky_hours_make_no_lottery() -> None:
    """The same hosts every time, and runs that differ by 10 %."""
    answers = [_spread(seed, 40, spread=0.0, run_effect=0.10, runs=2).answer for seed in range(20)]
    assert answers.count(Answer.YES) <= 1


def test_too_few_hosts_say_nothing() -> None:
    found = _spread(1, MIN_HOSTS - 1, spread=0.3)
    assert (found.answer, found.cv) == (Answer.UNDECIDED, None)
    assert "hosts" in found.why


def test_equal_hosts_have_no_spread() -> None:
    found = _spread(1, 10, spread=0.0, error=0.0)
    assert (found.cv, found.answer) == (0.0, Answer.NO)


def test_tags_group_hosts_but_the_one_that_sizing_reads() -> None:
    hosts = [
        host(f"h{at}", [RATE], tags={"zone": "ab"[at % 2], "busy": "48"[at // 4]}) for at in range(8)
    ]  # fmt: skip
    assert {each.key for each in host_groups(hosts)} == {"zone"}

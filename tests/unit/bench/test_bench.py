"""The frame of the benches: turns, figures, the account of a trace, and the page that is written from results."""

from functools import partial

import pytest

from bench.__main__ import BENCHES
from bench.pairs import Bar, interleaved, shown, significant
from bench.report import DOCUMENT, page
from bench.tracing import account

_SWITCH = "  {command}-1  [{cpu:03}] d..2.  {at:.6f}: sched_switch: prev_comm=a prev_pid={leaves} prev_prio=120"
_TO = " prev_state=R ==> next_comm=b c next_pid={enters} next_prio=120"


def _switch(at: float, cpu: int, leaves: int, enters: int) -> str:
    return (_SWITCH + _TO).format(command="some thing", cpu=cpu, at=at, leaves=leaves, enters=enters)


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


def test_a_trace_adds_up_what_each_process_ran_on_each_cpu() -> None:
    lines = [
        _switch(10.0, 0, leaves=0, enters=7),
        _switch(10.5, 0, leaves=7, enters=8),
        _switch(10.6, 1, leaves=9, enters=7),
        "  swapper-0 [001] d..3. 10.550000: sched_migrate_task: comm=x y pid=7 prio=120 orig_cpu=0 dest_cpu=1",
        "  swapper-0 [001] d..3. 10.560000: sched_migrate_task: comm=x pid=9 prio=120 orig_cpu=0 dest_cpu=1",
        _switch(10.8, 0, leaves=8, enters=0),
        "# a comment of the kernel's",
    ]
    traced = account(lines, watched={7, 8})
    assert traced.run_s[7] == pytest.approx({0: 0.5, 1: 0.2})  # on CPU 1 until the last event
    assert traced.run_s[8] == pytest.approx({0: 0.3})
    assert traced.migrations == {7: 1, 8: 0}


def test_the_page_is_what_the_kept_results_say() -> None:
    assert DOCUMENT.read_text("utf-8") == page(BENCHES)

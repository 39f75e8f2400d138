"""Throughput where some sessions end before others: exact where the scheduler is known, by hand-made rounds."""

import numpy as np
import pytest

from dbcpu.analysis.levels.throughput import (
    Rates,
    RoundWork,
    rate_sum,
    where_sessions_move,
    where_sharing_stays,
    while_all_ran,
)
from dbcpu.analysis.sessions.valid_sessions import Span
from dbcpu.analysis.statistics.cumulative import Floats

ROWS = 1_000_000
"""So that rates in Mrows/s are executions per second."""
CORES, VCPUS, THREAD = 2, 4, 0.6
"""A thread beside another on its core has this speed of a core."""


TOGETHER = (0.0, 1.0, 2.0, 2.0 + (2 * THREAD - 1), 2 * 2 * THREAD)
"""Rate sums of 0 to 4 sessions on such a host, where they always spread as far as they can."""


def once(*ends_s: float) -> RoundWork:
    return RoundWork.of([Span.of(((0.0, end_s),), 0.0, end_s) for end_s in ends_s])


def only(rates: Rates) -> float:
    """The one rate of the one round."""
    ((rate,),) = rates.values()
    return rate


def test_where_all_end_at_once_every_way_tells_the_same() -> None:
    work = {3: [once(2.0, 2.0, 2.0)]}
    rates = (while_all_ran(work, ROWS), where_sharing_stays(work, ROWS, 2), where_sessions_move(work, ROWS, TOGETHER))
    assert [only(each) for each in rates] == pytest.approx([1.5] * 3)


def test_who_moves_to_a_free_core_did_less_while_all_ran() -> None:
    """One session has a core, two share the other until the first ends: then each has a core of its own."""
    shared_s = 1.0 + (1 - THREAD)
    work = {3: [once(1.0, shared_s, shared_s)]}
    assert only(where_sessions_move(work, ROWS, TOGETHER)) == pytest.approx(TOGETHER[3])
    assert only(while_all_ran(work, ROWS)) > TOGETHER[3] + 0.1


def test_who_stays_on_its_shared_core_counts_by_time() -> None:
    work = {3: [once(1.0, 1 / THREAD, 1 / THREAD)]}
    assert only(where_sharing_stays(work, ROWS, VCPUS)) == pytest.approx(TOGETHER[3])
    assert only(where_sessions_move(work, ROWS, TOGETHER)) < TOGETHER[3] - 0.1


def test_a_queue_that_evens_out_lets_who_is_left_go_faster() -> None:
    """Three sessions on two CPUs in turn; two end, and the last has a CPU for itself."""
    ends_s = (1.5, 1.5, 1.5)
    late = (1.5, 1.5, 1.5 + 0.1)
    even, uneven = ({3: [once(*each)]} for each in (ends_s, late))
    assert only(where_sharing_stays(even, ROWS, 2)) == pytest.approx(2.0)
    # In 0.1 s alone it did what takes 0.15 s beside the others: it was at 1.5 / 1.65 of its work.
    assert only(where_sharing_stays(uneven, ROWS, 2)) == pytest.approx((2 + 1.5 / 1.65) / 1.5)
    assert only(while_all_ran(uneven, ROWS)) == pytest.approx((2 + 1.5 / 1.6) / 1.5)


def faster_alone(sessions: int) -> Floats:
    return np.asarray(1 / np.arange(sessions, 0.0, -1.0))


def test_executions_that_ended_before_the_first_session_count_as_they_are() -> None:
    """However fast the last one of a session goes once others have left."""
    steady = Span.of(((0.0, 1.0), (1.0, 2.0)), 0.0, 2.0)
    late = Span.of(((0.0, 1.0), (1.0, 2.0), (2.0, 2.5)), 0.0, 2.5)
    assert rate_sum(RoundWork.of([steady, late]), ROWS, faster_alone) == pytest.approx(2.0)


def test_sessions_that_never_ran_together_are_counted_one_by_one() -> None:
    apart = RoundWork.of([Span.of(((0.0, 1.0),), 0.0, 1.0), Span.of(((2.0, 4.0),), 2.0, 4.0)])
    assert rate_sum(apart, ROWS) == rate_sum(apart, ROWS, faster_alone) == pytest.approx(1.5)
    assert only(where_sessions_move({2: [apart]}, ROWS, (0.0, 1.0, 2.0))) == pytest.approx(4 / 3)

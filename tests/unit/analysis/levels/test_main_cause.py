"""What a level lost most to: time decides, not the number of sessions, and rounds vote."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.main_cause import counted_by_cause, lost_by_session, main_cause
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import SessionView
from support.builders.example import three_on_two

QUEUE, SHARED, STEAL, NONE = Cause.RUN_QUEUE, Cause.SHARED_CORE, Cause.STEAL, Cause.NONE
SLOWER = Cause.SLOWER_CPU


def views(*slowdowns: float, parts: tuple[tuple[str, float], ...] = ()) -> list[SessionView]:
    some = explain(three_on_two()).sessions[0]
    return [replace(some, slowdown=each, parts=parts, reference_s=1.0) for each in slowdowns]


def main(causes: list[Cause], *slowdowns: float, even: Answer = Answer.YES) -> str:
    return main_cause([lost_by_session(views(*slowdowns), causes, even)])


def test_one_session_that_lost_much_outweighs_two_that_lost_little() -> None:
    """0.5 of the time of a session alone, and twice 0.1."""
    assert main([QUEUE, SHARED, SHARED], 1.5, 1.1, 1.1) is QUEUE
    assert main([QUEUE, SHARED, SHARED], 1.15, 1.1, 1.1) is SHARED


@pytest.mark.parametrize("even", [Answer.YES, Answer.UNDECIDED])
def test_where_shares_are_equal_all_of_a_loss_counts(even: Answer) -> None:
    found = lost_by_session(views(2.0, 1.25), [QUEUE, SHARED], even)
    assert found == {QUEUE: pytest.approx(1.0), SHARED: pytest.approx(0.25)}


def test_where_shares_are_unequal_what_all_lost_alike_does_not_count() -> None:
    """All lost half of their time to steal; the queue made one slower than the others."""
    assert lost_by_session(views(1.5, 1.5, 1.9), [STEAL, STEAL, QUEUE], Answer.NO) == {QUEUE: pytest.approx(0.4)}
    assert main([STEAL, STEAL, QUEUE], 1.5, 1.5, 1.9, even=Answer.NO) is QUEUE
    assert main([STEAL, STEAL, QUEUE], 1.5, 1.5, 1.9) is STEAL


def test_small_differences_of_many_by_noise_are_no_reason_for_unequal_shares() -> None:
    """Fifteen that a turbo frequency slows alike, but for noise, and two that share a core on top."""
    alike = views(2.48, *[2.52] * 14, parts=((SLOWER, 1.5),))
    sharing = views(2.84, 2.84, parts=((SLOWER, 1.6), (SHARED, 0.24)))
    found = [replace(each, second_cause=SHARED) for each in sharing]
    assert main_cause([lost_by_session([*alike, *found], [SLOWER] * 17, Answer.NO)]) is SHARED


def test_one_bad_round_does_not_speak_for_the_others() -> None:
    rounds = [{STEAL: 18.0}, {QUEUE: 0.2}, {QUEUE: 0.3, STEAL: 0.2}]
    assert main_cause(rounds) is QUEUE


def test_without_a_loss_that_is_shown_more_than_half_of_the_rounds_have_to_agree_that_there_is_one() -> None:
    lost, quiet = {QUEUE: 0.2}, dict[Cause, float]()
    assert main_cause([lost, quiet]) is QUEUE
    assert main_cause([lost, quiet], is_lost=False) is NONE
    assert main_cause([lost, lost, quiet], is_lost=False) is QUEUE


def test_what_was_counted_of_the_fastest_makes_nobody_slower_than_that() -> None:
    """The one on the CPU with interrupts was the faster: the other one's core is slower."""
    fast, slow = views(1.0, 1.34)
    lost = [replace(fast, counted_cause=Cause.IRQ, counted_s=0.3), replace(slow, counted_cause=NONE, counted_s=0.0)]
    assert counted_by_cause(lost) == {Cause.IRQ: 0.3}
    assert counted_by_cause(lost, over_fastest=True) == {}

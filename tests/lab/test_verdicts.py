"""The short form of the lab on verdicts; the long one is ``shell/lab verdicts``."""

from dbcpu.analysis.results.answer import Outcome
from lab import verdicts


def test_no_part_of_a_result_contradicts_another() -> None:
    assert [each.contradictions for each in verdicts.runs(30, seed=5)] == [()] * 30


def test_equal_is_said_of_equal_sessions_alone() -> None:
    found = list(verdicts.decided(8, seed=5, most_noise=0.2))
    runs = ("first", "after_more", "by_default")
    first, *others = (verdicts.tallied(getattr(each, run) for each in found) for run in runs)
    assert first["yes"] > 0
    for counts in (first, *others):
        assert counts["false_yes"] == counts["contradicting"] == 0
    # An adaptive plan measures levels above the vCPUs once or twice: what then was counted may be chance at such noise.
    assert first["false_no"] == others[0]["false_no"] == 0


def test_the_rounds_that_a_result_asks_for_decide_it() -> None:
    """A noise of 4.2 %."""
    found = verdicts.one_decided((9100, 32, 0.05))
    assert (found.first[0].kind, found.after_more[0].kind) == (Outcome.UNKNOWN, Outcome.PARTLY)
    assert found.after_more[0].contradictions == ()

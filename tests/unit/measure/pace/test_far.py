"""The witness over ssh, by a far end whose CPU counter is written down: what it makes of what that counted."""

from collections.abc import Sequence
from typing import cast

from dbcpu.hosts.shell_host import ShellHost
from dbcpu.measure.pace.far import ANSWER, STEPS, FarWitness

STEP_NS = 500


class FarEnd:
    """Host and connection in one: a CPU on which each step takes as long as any other.

    ``awake_after``: works after which the process found the next one waiting, and was not counted before that.
    ``long``: a work that takes four times as long as others.
    """

    greeting: Sequence[str] = ("1", "70", "69")
    pid = 68

    def __init__(self, *awake_after: int, long: int = 0) -> None:
        self.awake_after, self._long = awake_after, long
        self._counted_ns = self._done_ns = 0
        self._told: list[str] = []

    def further(self, text: str) -> "FarEnd":
        assert "0=1" in text
        return self

    def serving(self, pid: int, parent: int) -> tuple[int, ...]:
        return (parent, pid)

    def ask(self, lines: Sequence[str]) -> list[str]:
        told, self._told = self._told, []
        for line in lines:
            steps, number = map(int, line.split())
            self._told.append(f"|0 {number} {self._counted_ns} {ANSWER if steps == STEPS else 7}")
            self._done_ns += steps * STEP_NS * (4 if number == self._long else 1)
            if number not in self.awake_after:
                self._counted_ns = self._done_ns
        return told

    def close(self) -> None: ...


def pieces_of(far_end: FarEnd) -> list[int]:
    """CPU time in ns of each of the pieces of an open witness: they are works 2, 4, 6 and so on."""
    with FarWitness(cast(ShellHost, far_end), [0], 2.0) as witness:
        return [each.ns for each in witness._pieces()]


def test_a_piece_takes_what_is_counted_between_it_and_the_next_work() -> None:
    assert pieces_of(FarEnd()) == [STEPS * STEP_NS] * 6


def test_a_piece_that_was_not_counted_before_the_next_work_is_none() -> None:
    """It took 0 ns, by the counter: such a record cannot be read."""
    assert pieces_of(FarEnd(4)) == [STEPS * STEP_NS] * 5


def test_a_piece_that_holds_the_work_before_it_is_none() -> None:
    assert pieces_of(FarEnd(5)) == [STEPS * STEP_NS] * 5


def test_one_piece_that_took_long_does_not_decide_the_rate() -> None:
    usual_ns = (STEPS + 150) * STEP_NS
    with FarWitness(cast(ShellHost, FarEnd(long=8)), [0], 2.0, 1000.0) as witness:
        assert 0.005 < witness.hz * usual_ns / 1e9 < 0.01

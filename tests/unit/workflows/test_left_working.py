"""What goes on after a run that was stopped is said with the reason of the stop."""

import signal

import pytest

from dbcpu.errors import Interrupted, MeasureError
from dbcpu.workflows.left_working import telling_what_is_left

LEFT = "1 session on the server heeded no cancel"


class Leaving:
    """A target one session of which goes on."""

    def still_working(self) -> str:
        return LEFT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_word_and_no_number(number: signal.Signals) -> None:
    with pytest.raises(Interrupted) as caught, telling_what_is_left(Leaving()):  # type: ignore[arg-type]
        raise KeyboardInterrupt(number)
    assert str(caught.value) == f"interrupted; {LEFT}"


def test_an_error_keeps_its_own_words() -> None:
    with pytest.raises(MeasureError) as caught, telling_what_is_left(Leaving()):  # type: ignore[arg-type]
        raise MeasureError("the disk is full")
    assert str(caught.value) == f"the disk is full; {LEFT}"

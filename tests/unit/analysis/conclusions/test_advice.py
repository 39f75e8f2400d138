"""What helps is put together from its pieces: causes are named, and what decides is said to decide once."""

import pytest

from dbcpu.analysis.conclusions.advice import Advice, advice_words, is_said

STOP = Advice("stop A")
STEAL = Advice("reserve B", "CPU steal")
MORE = Advice("measure C", decides=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), ""),
        ((STOP, STEAL, MORE), "stop A. Against CPU steal: reserve B. To decide: measure C"),
        ((STOP, MORE, Advice("go to D", decides=True)), "stop A. To decide: measure C. Go to D"),
        ((Advice("run fewer"), STOP), "run fewer. Stop A"),
        ((MORE, STEAL), "measure C. Against CPU steal: reserve B"),
    ],
)
def test_advice_is_one_text(given: tuple[Advice, ...], words: str) -> None:
    assert advice_words(given) == words


def test_what_a_longer_piece_says_is_said() -> None:
    assert is_said("stop A", (Advice("stop A, and B"),))
    assert not is_said("stop A, and B", (STOP,))

"""What helps is put together from its pieces: causes are named, and what decides is said to decide once."""

import re

import pytest

from dbcpu.analysis.conclusions.advice import Advice, advice_words, is_said, one_dedicated_host
from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.simulator import SimulatedHost, simulate

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


@pytest.mark.parametrize(
    "host",
    [
        SimulatedHost(cores=2, threads=2, hidden_smt=True, steal=0.05, toggle=1.4),
        SimulatedHost(cores=2, threads=2, hidden_smt=True, steal=0.15),
        SimulatedHost(cores=4, threads=1, steal=0.15, toggle=1.4),
        SimulatedHost(cores=4, threads=1, steal=0.15, noise=0.08),
    ],
    ids=["strangers", "hidden cores", "changing speed", "noise"],
)
def test_a_dedicated_host_is_advised_once_and_what_else_helps_is_kept(host: SimulatedHost) -> None:
    """Against CPU steal and again against slower CPUs."""
    remedy = headline(explain(simulate(host, (1, 2, 3, 4, 6), repeats=4, seed=3))).remedy
    assert remedy.count("use a dedicated host") == 1
    assert re.search(r": that dedicated host, (or )?a size with whole cores", remedy)


def test_the_first_dedicated_host_is_the_one() -> None:
    given = (Advice("use a dedicated host, or B"), STOP, Advice("use a dedicated host, or C", "slower CPU"))
    texts = [each.text for each in one_dedicated_host(given)]
    assert texts == ["use a dedicated host, or B", "stop A", "that dedicated host, or C"]

"""Few rounds without a slow session are no answer: what every second round has is missed by chance."""

from collections import Counter

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.calm_rounds import are_enough, calm_rounds, missed
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost, simulate


def test_five_rounds_speak_for_the_usual_one() -> None:
    assert [rounds for rounds in range(1, 8) if are_enough(rounds)] == [5, 6, 7]
    assert missed(2) == pytest.approx(0.25)


def test_rounds_of_more_sessions_count_for_fewer() -> None:
    levels = [(2, 3), (4, 3), (8, 2)]
    assert [calm_rounds(levels, at) for at in (2, 4, 8)] == [8, 5, 2]


def whole(repeats: int) -> Analysis:
    """A host of four whole cores."""
    return explain(simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4), repeats, seed=2, size="short"))


def test_the_largest_levels_of_few_rounds_are_undecided_and_five_decide() -> None:
    few = whole(2)
    assert {each.level: each.even for each in few.levels if each.level > 1} == {
        2: Answer.YES, 3: Answer.UNDECIDED, 4: Answer.UNDECIDED,
    }  # fmt: skip
    assert "at N=3-4 no session was slow, but in too few rounds" in few.verdict
    assert "2 rounds would miss it in 25 % of runs" in few.verdict
    assert few.more_rounds is not None
    assert few.more_rounds.rounds == 5
    assert whole(5).verdict.startswith("All sessions get equal CPU at full speed, at every level up to 4 sessions")


def test_hidden_siblings_are_not_missed_by_chance() -> None:
    """Two of three sessions share a core in 43 % of rounds: with two rounds a third of all runs saw none."""
    host = SimulatedHost(cores=4, threads=2, hidden_smt=True)
    answers = Counter(
        next(each.even for each in explain(simulate(host, (1, 2, 3), 2, seed=seed, size="short")).levels[2:])
        for seed in range(1000, 1020)
    )
    assert answers[Answer.YES] == 0

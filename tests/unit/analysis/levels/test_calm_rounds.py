"""Few rounds without a slow session are no answer: what every second round has is missed by chance."""

from collections import Counter

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.calm_rounds import are_enough, short_of_rounds
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.header import AA
from dbcpu.simulator import SimulatedHost, simulate


def test_five_rounds_speak_for_the_usual_one() -> None:
    assert [rounds for rounds in range(1, 8) if are_enough(rounds)] == [5, 6, 7]


def test_rounds_of_more_sessions_count_for_fewer() -> None:
    assert short_of_rounds([(2, 2), (4, 3), (8, 2)]) == {8: 2}
    assert short_of_rounds([(2, 2), (4, 2), (8, 2)]) == {4: 4, 8: 2}


def test_levels_at_which_all_are_slow_count_for_themselves() -> None:
    """Where all share cores, nobody sees whether two sessions would."""
    assert short_of_rounds([(2, 3)], slow=[(4, 3), (8, 5)]) == {2: 3, 4: 3}


def whole(repeats: int) -> Analysis:
    """A host of four whole cores."""
    return explain(simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4), repeats, seed=2, size="short"))


def test_the_largest_levels_of_few_rounds_are_undecided_and_five_decide() -> None:
    few = whole(2)
    assert {each.level: each.even for each in few.levels if each.level > 1} == {
        2: Answer.YES, 3: Answer.UNDECIDED, 4: Answer.UNDECIDED,
    }  # fmt: skip
    assert (
        "Inconclusive at N=3-4: no session was slow, but 2 rounds are too few to be sure (5 are needed)" in few.verdict
    )
    assert few.more_rounds is not None
    assert few.more_rounds.rounds == 5
    assert whole(5).verdict.startswith("All sessions get equal CPU at full speed, at every level up to 4 sessions")


def test_hidden_siblings_are_seldom_missed() -> None:
    """Two of three sessions share a core in 43 % of rounds: five rounds without any are to be had in 6 % of runs."""
    host = SimulatedHost(cores=4, threads=2, hidden_smt=True)
    answers = Counter(
        next(each.even for each in explain(simulate(host, (1, 2, 3), 5, seed=seed, size="short")).levels[2:])
        for seed in range(1000, 1030)
    )
    assert answers[Answer.UNDECIDED] + answers[Answer.NO] > 0
    assert answers[Answer.YES] <= 3


def test_six_rounds_are_lucky_where_fewer_sessions_have_slow_ones() -> None:
    """One CPU of eight serves interrupts: four sessions were called equal, and three and five were inconclusive."""
    host = SimulatedHost(cores=8, threads=1, irq=0.5)
    found = explain(simulate(host, (1, 2, 3, 4, 5), 6, seed=3, size="medium"))
    below, lucky = found.levels[2], found.levels[3]
    assert below.rounds_apart is not None
    assert lucky.rounds_apart is None
    assert lucky.even is Answer.UNDECIDED
    assert "At N=4 no session was slow, but 6 rounds are too few to be sure beside the slow ones" in found.verdict


def test_equal_shares_alone_are_held_to_it_too() -> None:
    """Whether sessions are at full speed may be undecided by the noise of a single session."""
    host = SimulatedHost(cores=4, threads=1, steal=0.03)
    found = [explain(simulate(host, (1, 2, 3), 2, seed=seed, size="short")).levels for seed in range(8)]
    assert not any(each.even is Answer.YES for levels in found for each in levels if each.level == 3)


def test_both_halves_of_an_aa_run_count() -> None:
    halves = simulate(SimulatedHost(cores=4, threads=1), (1, 4), 3, seed=2, size="short", variants=AA)
    assert [each.even for each in explain(halves).levels if each.level == 4] == [Answer.YES] * 2

"""What would decide is said once, and fits what the host is."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.open_questions import too_few_words, what_would_decide
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.results.host import TopologyCheck
from dbcpu.analysis.results.run import MoreRounds, RoundsApart
from dbcpu.simulator import SimulatedHost, simulate

NOISY = SimulatedHost(cores=4, threads=1, noise=0.06)
EVERY = (1, 2, 3, 4)


def test_a_result_with_two_open_questions_has_one_advice() -> None:
    """Levels up to the vCPUs are undecided, and so is whether shares above them are equal."""
    said = explain(simulate(NOISY, (1, 2, 3, 4, 8), repeats=3, seed=2)).verdict
    assert "Inconclusive at N=" in said
    assert "It is inconclusive whether shares are equal at N=8." in said
    assert len(re.findall(r"\bdecide\b", said)) == 1


def test_an_open_question_above_the_vcpus_alone_has_its_own_advice() -> None:
    said = explain(simulate(replace(NOISY, noise=0.03), (1, 2, 7), repeats=5, seed=2)).verdict
    assert "Inconclusive at N=" not in said
    assert re.search(r"It is inconclusive whether shares are equal at N=7; .*decide\.", said)


@pytest.mark.parametrize(
    ("levels", "more", "hides", "advice"),
    [
        (
            EVERY,
            MoreRounds(((1, 2), (2, 2)), 8, 4, 60.0),
            False,
            "4 more rounds (about 60 s; 8 of each level in all) would",
        ),
        (EVERY, None, False, "a quieter host or longer executions may decide"),
        (EVERY, None, True, "longer executions, or a run on whole cores (`ThreadsPerCore=1`), may decide"),
        ((1, 2), None, True, "all levels (`--sessions auto`) show whether CPUs share cores"),
    ],
    ids=["more rounds", "quieter", "whole cores", "all levels"],
)
def test_what_would_decide(levels: tuple[int, ...], more: MoreRounds | None, hides: bool, advice: str) -> None:
    run = simulate(NOISY, levels, repeats=3, seed=2)
    check = TopologyCheck("fewer_cores", 4, 4, 2.0, "the curve bends at 2 sessions") if hides else None
    assert what_would_decide(run_context(run), more, check, []).startswith(advice)


def test_where_rounds_differ_the_verdict_asks_for_what_the_finding_does() -> None:
    """It asked for longer executions beside a finding that asked for more rounds."""
    run = simulate(NOISY, EVERY, repeats=3, seed=2)
    apart = [replace(each, rounds_apart=RoundsApart(1, 1, 1.5, 1)) for each in explain(run).levels if each.level > 1]
    assert what_would_decide(run_context(run), None, None, apart) == "a quieter host or more rounds may decide"


@pytest.mark.parametrize(("rounds", "named"), [(5, True), (15, False)])
def test_one_number_of_rounds_is_named(rounds: int, named: bool) -> None:
    """Five were said to be needed beside fifteen that would decide."""
    found = explain(simulate(SimulatedHost(cores=4, threads=1), (1, 2), repeats=3, seed=1))
    few = [replace(found.levels[1], calm_rounds=3)]
    said = too_few_words(few, few, MoreRounds(((1, 2), (2, 2)), rounds, 4, 60.0))
    assert said.startswith("no session was slow, but 3 rounds are too few to be sure")
    assert ("(5 are needed)" in said) == named

"""Where sharing a core is shown to cost, noisy levels in which sessions shared cores are decided."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.simulator import SimulatedHost, simulate

LEVELS = tuple(range(1, 13))


def explained(seed: int, smt_yield: float = 0.3, hidden: bool = False) -> Analysis:
    host = SimulatedHost(
        name="noisy", cores=4, threads=2, scheduler="sticky", smt_yield=smt_yield, noise=0.10, hidden_smt=hidden
    )
    return explain(simulate(host, LEVELS, 3, seed, size="short"))


def level(analysis: Analysis, sessions: int) -> LevelView:
    return next(each for each in analysis.levels if each.level == sessions)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sessions_that_shared_cores_are_unequal_and_slow_in_spite_of_noise(seed: int) -> None:
    analysis = explained(seed)
    for sessions, sharing in ((5, 2), (6, 4), (7, 6)):
        found = level(analysis, sessions)
        assert (found.even, found.slow) == (Answer.NO, sharing)
    assert [level(analysis, sessions).full_speed for sessions in (7, 8)] == [Answer.NO, Answer.NO]
    assert "shared core" in analysis.verdict


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_levels_without_sharing_stay_undecided(seed: int) -> None:
    analysis = explained(seed)
    assert all(level(analysis, sessions).full_speed is not Answer.NO for sessions in (2, 3, 4))
    assert all(level(analysis, sessions).even is not Answer.NO for sessions in (2, 3, 4))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_second_threads_as_fast_as_cores_prove_nothing(seed: int) -> None:
    analysis = explained(seed, smt_yield=1.0)
    assert all(each.full_speed is not Answer.NO for each in analysis.levels if each.level <= 8)


def test_nothing_is_proven_where_siblings_are_hidden() -> None:
    shown, hidden = explained(2), explained(2, hidden=True)
    assert hidden.shared_core is None
    assert level(shown, 5).even is Answer.NO
    assert level(hidden, 5).even is Answer.UNDECIDED

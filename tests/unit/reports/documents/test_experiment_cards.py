"""The cards of an experiment have its answer, and not only the baseline."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Fact
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run import document
from support.builders.experiments import ALONE_S, pool, soak, together


def cards(run: RunRecord) -> dict[str, Fact]:
    return {each.name: each for each in document(run, explain(run)).front.tiles}


def test_the_cards_of_several_targets_name_the_one_that_is_slowed_most() -> None:
    run = together((ALONE_S, ALONE_S), (ALONE_S, 1.5 * ALONE_S))
    found = explain(run)
    first, *_ = document(run, found).front.tiles
    assert found.together is not None
    most = found.together.parties[1]
    assert (first.name, first.value) == ("largest slowdown", "1.50x")
    assert first.beside.startswith(most.name)


@pytest.mark.parametrize(("often_slow", "share"), [(0.9, "90 %"), (0.1, "10 %")])
def test_the_card_of_a_soak_is_of_the_slow_group_whichever_is_larger(often_slow: float, share: str) -> None:
    def at_two_speeds(_: int, __: int, chance: np.random.Generator) -> float:
        return float((3.0 if chance.random() < often_slow else 2.0) * chance.normal(1, 0.01))

    run = soak(at_two_speeds)
    slow = cards(run)["slow group"]
    found = explain(run)
    assert found.soak is not None
    assert found.soak.second is not None
    assert (found.soak.second.ratio > 1) == (often_slow < 0.5)
    assert abs(float(slow.value.split()[0]) - float(share.split()[0])) < 4
    assert slow.value in document(run, found).front.headline
    assert slow.beside == "of the executions, 1.50x as long as the fast"


def test_the_cards_of_a_soak_have_drift_and_the_slowest_segment() -> None:
    shown = cards(soak(lambda at, _, chance: float((2.0 + 0.05 * at) * chance.normal(1, 0.01))))
    assert shown["drift"].value.startswith("2")
    assert shown["drift"].beside == "from start to end"
    assert shown["slowest segment"].value.startswith("2.5")
    assert "slow group" not in shown


def test_the_cards_of_a_pool_name_the_fastest_and_its_time() -> None:
    shown = cards(pool({2: 10.0, 4: 5.0, 10: 8.0}))
    assert (shown["fastest pool"].value, shown["fastest pool"].beside) == ("4 sessions", "of those measured")
    assert (shown["time for all jobs"].value, shown["time for all jobs"].beside) == ("5.00 s", "20 jobs, in that pool")

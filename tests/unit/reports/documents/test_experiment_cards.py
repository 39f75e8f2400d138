"""The cards of an experiment have its answer, and not only the baseline."""

from dbcpu.analysis.explain import explain
from dbcpu.reports.documents.run import document
from support.builders.experiments import ALONE_S, together


def test_the_cards_of_several_targets_name_the_one_that_is_slowed_most() -> None:
    run = together((ALONE_S, ALONE_S), (ALONE_S, 1.5 * ALONE_S))
    found = explain(run)
    first, *_ = document(run, found).front.tiles
    assert found.together is not None
    most = found.together.parties[1]
    assert (first.name, first.value) == ("largest slowdown", "1.50x")
    assert first.beside.startswith(most.name)

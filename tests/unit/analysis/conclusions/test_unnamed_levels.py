"""A verdict names every level that the table decides, whatever is undecided below it."""

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.simulator import SimulatedHost, simulate

TWO_KINDS = SimulatedHost(cores=4, threads=2, efficiency_cores=2, efficiency_speed=0.6)
HIDDEN = SimulatedHost(cores=4, threads=2, hidden_smt=True)
LEVELS = (*range(1, 11), 16)


@pytest.mark.parametrize(("host", "levels", "seed", "said"), [
    (HIDDEN, LEVELS, 14, "; all are slower at N=8,16. Above the 8 vCPUs"),
    (SimulatedHost(cores=4, threads=1, irq=0.4), (1, 2, 3, 4, 5, 8), 14, "shares are unequal at N=4;"),
    (TWO_KINDS, (1, 2, 3, 4, 6), 1, "; all are slower, some more than others at N=6."),
    (SimulatedHost(cores=4, threads=2, quota_cpus=6), (*range(1, 9), 12), 81, "all are slower at N=8."),
])  # fmt: skip
def test_levels_that_no_other_clause_names_are_named(
    host: SimulatedHost, levels: tuple[int, ...], seed: int, said: str
) -> None:
    assert said in explain(simulate(host, levels, 6, seed)).verdict


def test_a_range_that_is_named_is_not_named_twice() -> None:
    found = explain(simulate(SimulatedHost(cores=8, threads=1, turbo_slope=0.5), (*range(1, 9), 16), 6, 1)).verdict
    assert "all are slower at N=" not in found.lower()


def test_unequal_shares_above_the_vcpus_are_said_of_the_levels_that_have_them() -> None:
    """Eight sessions on four vCPUs are inconclusive there."""
    host = SimulatedHost(cores=4, threads=1, noisy_neighbour=0.7)
    found = explain(simulate(host, (1, 2, 3, 4, 5, 8), 6, 21))
    assert [each.level for each in found.levels if each.even is Answer.UNDECIDED and each.level > 4] == [8]
    assert "Above the 4 vCPUs shares are unequal at N=5: " in found.verdict


def test_some_are_not_said_to_be_slower_where_even_the_fastest_is() -> None:
    """Six sessions on two fast cores with two threads and two slower ones: each has lost a third at least."""
    run = simulate(TWO_KINDS, (1, 6, 7), 6, 1)
    found = explain(run)
    assert "From 6 sessions on, all are slower, some more than others: at 6 sessions all have" in found.verdict
    assert headline(found).headline == "No: from 6 sessions on all are slower, some more than others"

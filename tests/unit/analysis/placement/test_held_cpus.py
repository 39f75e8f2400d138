"""On how many CPUs the sessions of targets can be at once."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.placement.held_cpus import held_groups, held_on
from dbcpu.record.header import TOGETHER
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.answer_terms import answer_terms
from dbcpu.simulator import SimulatedHost
from dbcpu.simulator.experiments import RunOptions, simulate_together

FIRST, LAST = (0, 1, 2, 3), (4, 5, 6, 7)


def beside(sessions: tuple[int, ...], cpus: tuple[tuple[int, ...], ...] = ()) -> RunRecord:
    host = SimulatedHost("h", sockets=2, cores=4, threads=1)
    return simulate_together(host, sessions, cpus, RunOptions(size="short", repeats=3, seed=1))


@pytest.mark.parametrize(
    ("sessions", "cpus", "first", "all_"),
    [
        ((6, 2), (), None, None),
        ((6, 2), (FIRST, LAST), 4, 6),
        ((2, 2), (FIRST, LAST), 4, None),
        ((8, 8), (FIRST, LAST), 4, None),
        ((4, 4), (FIRST, FIRST), 4, 4),
        ((3, 3), ((0, 1), (1, 2)), 2, 3),
        ((4, 1, 1), ((0, 1), (0, 1), (7,)), 2, 3),
    ],
)
def test_sessions_that_are_held_have_no_more_than_their_own_cpus(
    sessions: tuple[int, ...], cpus: tuple[tuple[int, ...], ...], first: int | None, all_: int | None
) -> None:
    record = beside(sessions, cpus)
    assert (held_on(record, "database-1"), held_on(record, TOGETHER)) == (first, all_)


def test_a_target_that_is_free_beside_one_that_is_held_has_all_cpus() -> None:
    record = beside((2, 4), (FIRST, LAST))
    parties = record.header.plan.parties
    plan = replace(record.header.plan, parties=(parties[0], replace(parties[1], cpus=())))
    record = replace(record, header=replace(record.header, plan=plan))
    assert (held_on(record, "database-1"), held_on(record, "database-2"), held_on(record, TOGETHER)) == (4, None, None)


def test_more_than_the_cpus_of_a_target_sustain_is_said_so() -> None:
    """186 Mrows/s on 4 CPUs that do 160 at most, with an efficiency of 78 % of 6, and no word of it."""
    analysis = explain(beside((6, 2), (FIRST, LAST)))
    terms = answer_terms(analysis)
    assert "Mrows/s at N=6 of database-1" in terms
    assert "is more than the CPUs that sessions were held on can sustain" in terms
    assert analysis.reference is not None
    of_first = next(each for each in analysis.levels if each.variant == "database-1" and each.level == 6)
    assert of_first.ideal_throughput == pytest.approx(4 * analysis.reference.mrows_per_s)
    assert of_first.ideal_slowdown == pytest.approx(1.5)
    assert of_first.efficiency is not None
    assert of_first.efficiency > 0.97
    assert "baseline-too-slow" not in {each.code for each in analysis.findings}
    together = next(each for each in analysis.levels if each.variant == TOGETHER)
    assert together.ideal_throughput == pytest.approx(6 * analysis.reference.mrows_per_s)


def test_who_ends_early_leaves_cpus_to_those_on_the_same_cpus_alone() -> None:
    """8 and 4 sessions on 4 CPUs each keep all 8 busy: the sum of rates is what the host sustains."""
    analysis = explain(beside((8, 4), (FIRST, LAST)))
    assert "can sustain" not in answer_terms(analysis)
    together = next(each for each in analysis.levels if each.variant == TOGETHER)
    assert together.lasting_throughput == pytest.approx(together.throughput, rel=0.01)


def test_sessions_in_groups_have_no_cpu_in_common_with_others() -> None:
    groups = held_groups(beside((3, 3, 2), ((0, 1), (1, 2), (4, 5, 6))))
    assert [(sorted(each.ordinals), each.cpus) for each in groups] == [([0, 1, 2, 3, 4, 5], 3), ([6, 7], 2)]
    (one,) = held_groups(beside((3, 3)))
    assert (len(one.ordinals), one.cpus) == (6, 6)

"""What all sessions of a level lose, and what makes them differ, are two things, and the verdict says both."""

import re

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.rounds_apart import rounds_differ
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import LevelView
from dbcpu.simulator import SimulatedHost, preset, simulate


def level_of(levels: tuple[LevelView, ...], sessions: int) -> LevelView:
    return next(each for each in levels if each.level == sessions)


def test_what_all_lose_most_to_comes_first_and_is_helped_first() -> None:
    host = SimulatedHost(cores=16, threads=2, noisy_neighbour=1.0, scheduler="smt_balancing")
    found = explain(simulate(host, (1, 8, 16, 17, 24, 32), 3, seed=1, size="medium"))
    full = level_of(found.levels, 32)
    assert full.main_cause == "shared_core"
    assert full.second_cause == "run_queue"
    said = re.search(r"t 32 sessions all have a slowdown, from [\d.]+x to [\d.]+x \(([^)]*)\)", found.verdict)
    assert said is not None
    assert said[1].startswith("shared core: ")
    assert said[1].endswith(", and unequal through run-queue wait and other processes")
    assert headline(found).remedy.startswith("run one session per core")


def test_above_the_vcpus_too() -> None:
    found = explain(simulate(preset("c4.4xlarge"), (1, 8, 16, 17, 18), 6, seed=1, size="medium"))
    assert level_of(found.levels, 17).main_cause == "shared_core"


def test_what_more_sessions_have_than_the_main_cause_is_told_and_helped() -> None:
    found = explain(simulate(SimulatedHost(cores=2, threads=2, irq=0.4), (1, 2, 3), 6, seed=1, size="medium"))
    three = level_of(found.levels, 3)
    assert (three.main_cause, three.second_cause) == ("irq", "shared_core")
    assert dict(three.causes)[Cause.SHARED_CORE] > dict(three.causes)[Cause.IRQ]
    assert "(interrupts, and shared core as well)" in found.verdict
    assert ". Against shared core: run one session per core" in headline(found).remedy


def test_a_slowdown_that_no_session_had_is_not_told() -> None:
    """In some rounds all sessions share cores that the host does not show, in others none does."""
    host = SimulatedHost(cores=4, threads=2, hidden_smt=True)
    found = explain(simulate(host, tuple(range(1, 11)), 10, seed=1, size="medium"))
    four = level_of(found.levels, 4)
    assert four.rounds_apart is not None
    assert rounds_differ(four)
    assert "at 4 sessions all have" not in found.verdict
    fastest = [each.slowdown or 0.0 for each in found.sessions if each.level == 4]
    assert four.slowdown_min is not None
    assert any(abs(each - four.slowdown_min) < 0.02 for each in fastest)


def test_where_two_things_cost_all_sessions_most_time_decides_though_the_slower_half_has_another() -> None:
    """Sharing costs all 1.5 times, remote memory half of them 1.1 times: shares are not shown to be unequal."""
    host = SimulatedHost(cores=8, threads=2, nodes=2, remote_slowdown=0.1, memory_node=0, scheduler="smt_balancing")
    found = explain(simulate(host, (1, 8, 16), 6, seed=0, size="medium"))
    assert level_of(found.levels, 16).main_cause == "shared_core"
    assert re.search(r"[aA]t 16 sessions [^(]*\(shared core", found.verdict)


def test_what_all_lose_is_named_beside_what_makes_them_differ_more() -> None:
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.3, hypervisor=None, scheduler="smt_balancing")
    found = explain(simulate(host, tuple(range(1, 9)), 6, seed=0, size="medium"))
    seven = level_of(found.levels, 7)
    assert (seven.main_cause, seven.unequal_by, seven.second_cause) == ("shared_core", "shared_core", "frequency")
    assert "and all lose to lower frequency as well)" in found.verdict


def test_interrupts_make_turns_unequal_above_the_vcpus_where_they_differ_more_than_the_queues() -> None:
    found = explain(simulate(SimulatedHost(cores=2, threads=2, irq=0.5), (1, 5), 6, seed=1, size="medium"))
    five = level_of(found.levels, 5)
    assert (five.main_cause, five.unequal_by, five.counted_cause) == ("shared_core", "irq", "run_queue")
    assert "and unequal through interrupts)" in found.verdict

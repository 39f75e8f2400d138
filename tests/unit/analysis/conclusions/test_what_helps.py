"""What helps is against every cause that the verdict names, each once, and nothing in it contradicts another."""

import re
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import short_ranges
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_together

BALANCING = "smt_balancing"
LEVELS = (1, 2, 3, 4, 5, 8)
UP_TO = {
    "a quota above the vCPUs": (
        SimulatedHost(cores=2, threads=2, smt_yield=0.0, quota_cpus=2.6, scheduler=BALANCING), range(1, 7),
        ("one session per core", "Against CPU quota: raise `cpu.max`"),
    ),
    "turbo of fewer sessions": (
        SimulatedHost(cores=4, threads=2, turbo_slope=0.3, hypervisor=None, scheduler=BALANCING), range(1, 9),
        ("one session per core", "Against lower frequency: plan with the times"),
    ),
    "interrupts that make them unequal": (
        SimulatedHost(cores=2, threads=4, smt_yield=0.5, irq=0.4, steal=0.1, scheduler=BALANCING), (*range(1, 11), 16),
        ("Against interrupts: move the interrupts|interrupts: move", "dedicated host"),
    ),
    "a quota that the last level waits for": (
        SimulatedHost(cores=4, threads=1, irq=0.3, quota_cpus=3, steal=0.05, scheduler=BALANCING), range(1, 7),
        ("interrupts", "raise the CPU quota|raise `cpu.max`"),
    ),
}  # fmt: skip


def made(host: SimulatedHost, levels: Sequence[int], seed: int = 0) -> Analysis:
    return explain(simulate(host, tuple(levels), 6, seed, size="medium"))


UNEVEN_AND_TURBO = (
    SimulatedHost(cores=8, threads=1, efficiency_cores=4, efficiency_speed=0.6, turbo_slope=0.3),
    SimulatedHost(cores=4, threads=2, hidden_smt=True, turbo_slope=0.3),
)
"""Cores of two kinds, and siblings that nothing shows: even the fastest session is slow."""


@pytest.mark.parametrize("host", UNEVEN_AND_TURBO)
@pytest.mark.parametrize("turbo", [True, False])
def test_turbo_beside_another_cause_is_named_and_has_its_remedy(host: SimulatedHost, turbo: bool) -> None:
    found = made(host if turbo else replace(host, turbo_slope=0.0), range(1, 9), seed=1)
    assert ("even the fastest session is slow: the turbo frequency falls" in found.verdict) == turbo
    assert headline(found).remedy.count("a turbo frequency that falls with the number") == turbo


def test_against_turbo_there_is_one_remedy_also_above_the_vcpus() -> None:
    """A second one asked for measurements at several times, for a lower frequency might be why."""
    remedy = headline(made(SimulatedHost(cores=8, threads=1, turbo_slope=0.3), (*range(1, 11), 16), seed=88)).remedy
    assert remedy.startswith("plan with the times")
    assert "frequency, may be why" not in remedy


@pytest.mark.parametrize(("host", "seed", "level"), [
    (SimulatedHost(cores=4, threads=2, noisy_neighbour=0.5, steal=0.1), 1, 8),
    (SimulatedHost(cores=4, threads=2, noisy_neighbour=0.5, scheduler=BALANCING), 2, 4),
])  # fmt: skip
def test_other_processes_are_named_by_verdict_and_advice_alike(host: SimulatedHost, seed: int, level: int) -> None:
    """A session on the neighbour's CPU is moved to that of another session, which then waits for a session.

    With steal that is the larger disturbance; without, only the advice had the other processes.
    """
    found = made(host, (*range(1, 11), 16), seed)
    at_level = next(part for part in re.split(r"\. |; |: at", found.verdict) if f"{level} sessions" in part[:14])
    assert ", while other processes used" in at_level
    assert "stop the other processes" in headline(found).remedy
    assert "top -H" not in headline(found).remedy


@pytest.mark.parametrize(("irq", "turbo", "seed"), [(0.2, 0.5, 1), (0.3, 0.3, 2)])
def test_what_the_fastest_lose_to_turbo_has_one_remedy_and_all_its_levels(irq: float, turbo: float, seed: int) -> None:
    """Interrupts bend the curve before the cores end, so that its turbo is less than what the fastest lose."""
    host = SimulatedHost(cores=4, threads=1, irq=irq, turbo_slope=turbo, scheduler=BALANCING)
    found = made(host, LEVELS, seed)
    uneven = [each.level for each in found.levels if each.even is Answer.NO and each.level <= 4]
    assert f"at N={short_ranges(uneven)} even the fastest session is slow" in found.verdict.replace("At N", "at N")
    assert "measure at several times" not in headline(found).remedy
    assert "Against a turbo frequency that falls: plan with the times" in headline(found).remedy


@pytest.mark.parametrize(("host", "levels", "seldom"), [
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.6), (1, 4, 5, 8), True),  # no curve fits these levels
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.6), (*range(1, 11), 16), True),
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.3), (*range(1, 11), 16), False),
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.6, hypervisor=None), (1, 4, 8), True),  # the clock was measured
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.4, hypervisor=None), (1, 4, 8), False),
])  # fmt: skip
def test_against_turbo_there_is_one_advice_by_how_far_it_falls(
    host: SimulatedHost, levels: tuple[int, ...], seldom: bool
) -> None:
    remedy = headline(made(host, levels, seed=1)).remedy
    assert remedy.count("turbo frequency alone seldom falls so far") == seldom
    assert remedy.count("with the number of busy cores is normal") == (not seldom)
    assert "measure at several times" not in remedy


@pytest.mark.parametrize(("host", "seed"), [
    (SimulatedHost(cores=4, threads=2, hidden_smt=True, steal=0.1), 4),
    (SimulatedHost(cores=4, threads=2, hidden_smt=True, noisy_neighbour=0.5), 4),
])  # fmt: skip
def test_against_turbo_nothing_helps_where_the_verdict_does_not_name_it(host: SimulatedHost, seed: int) -> None:
    """Siblings that nothing shows: slower CPU beside a wait for turns, or at a level without words of its own."""
    found = made(host, (*range(1, 11), 16), seed)
    assert "turbo" not in found.verdict
    assert "turbo" not in headline(found).remedy


def test_sessions_that_wait_for_turns_have_no_remedy_against_what_is_not_named() -> None:
    host = SimulatedHost(cores=4, threads=2, waits=0.5)
    found = explain(simulate(host, (*range(1, 11), 16), 3, 2, size="medium"))
    assert "sessions wait for a CPU at times" in found.verdict
    assert "shared core above the vCPUs" not in headline(found).remedy


def test_what_some_rounds_of_one_session_lost_to_has_its_remedy() -> None:
    found = made(SimulatedHost(cores=2, threads=1, irq=0.2, steal=0.1, noisy_neighbour=0.1), (1, 2, 3, 4), seed=72)
    assert "(some rounds lost time: CPU steal)" in found.verdict
    assert "Against CPU steal: use a dedicated host" in headline(found).remedy


@pytest.mark.parametrize("name", UP_TO)
def test_every_cause_of_the_verdict_has_its_remedy(name: str) -> None:
    host, levels, wanted = UP_TO[name]
    remedy = headline(made(host, levels)).remedy
    assert [each for each in wanted if not re.search(each, remedy)] == [], remedy


def test_fewer_sessions_are_advised_once() -> None:
    """One session per core leaves nobody waiting for a turn: no second number of sessions beside that."""
    found = made(SimulatedHost(cores=4, threads=2, scheduler=BALANCING), (1, 10))
    assert "unequal through run-queue wait" in found.verdict
    remedy = headline(found).remedy
    assert "run no more sessions than cores" in remedy
    assert "busy sessions" not in remedy


def test_a_remedy_stands_once() -> None:
    host = SimulatedHost(
        sockets=2, cores=4, threads=2, nodes=2, remote_slowdown=0.3, memory_node=0, scheduler=BALANCING
    )
    assert headline(made(host, (*range(1, 21), 32))).remedy.count("numactl --cpunodebind") == 1


def test_what_is_inconclusive_does_not_hide_what_helps_above_the_vcpus() -> None:
    host = SimulatedHost(
        cores=8, threads=1, efficiency_cores=4, efficiency_speed=0.9, nodes=2, remote_slowdown=0.3, irq=0.05,
        noise=0.02, scheduler=BALANCING,
    )  # fmt: skip
    found = made(host, (1, 2, 3, 8, 13), 7057)
    assert "Inconclusive at N=8" in found.verdict
    assert "Against run-queue wait: run no more than 8 busy sessions" in headline(found).remedy


def test_after_all_levels_nobody_is_asked_for_all_levels() -> None:
    host = SimulatedHost(cores=2, threads=2, smt_yield=-0.1, hidden_smt=True, irq=0.4, scheduler="frozen", noise=0.01)
    found = made(host, (1, 2, 3, 4, 5, 8), 7055)
    assert "slower CPU" in found.verdict
    assert "--sessions auto" not in headline(found).remedy


def test_beside_each_other_targets_have_what_helps_against_steal_too() -> None:
    record = simulate_together(
        SimulatedHost(cores=4, threads=2, steal=0.2, scheduler=BALANCING), (4, 4), (), RunOptions()
    )
    remedy = headline(explain(record)).remedy
    assert "one session per core" in remedy and "Against CPU steal: use a dedicated host" in remedy


def test_a_remedy_for_the_host_stands_before_more_rounds() -> None:
    found = made(SimulatedHost(cores=4, threads=1, toggle=1.8), range(1, 5), seed=1)
    remedy = headline(found).remedy
    assert "inconclusive" in found.verdict.lower()
    assert remedy.startswith("use a dedicated host")
    assert ". To decide: more rounds" in remedy


def test_other_tenants_are_not_blamed_first_where_the_host_shows_its_own_processes() -> None:
    found = made(SimulatedHost(cores=4, threads=1, toggle=1.8, noisy_neighbour=0.5), range(1, 5), seed=1)
    two_speeds = next(each for each in found.findings if each.code == "strangers-on-siblings")
    assert two_speeds.meaning.startswith("the reason may be other processes of this host")
    assert headline(found).remedy.startswith("stop the other processes")


def test_no_more_sessions_are_advised_than_a_quota_has_whole_cpus() -> None:
    found = made(SimulatedHost(cores=4, threads=1, quota_cpus=3.5), (1, 2, 3, 4, 5, 8), seed=1)
    advised = next(each for each in found.findings if each.code == "oversubscribed").remedy
    assert advised.startswith("run no more than 3 busy sessions")
    assert "a CPU for each" not in " ".join(each.seen for each in found.findings)


def test_a_session_far_from_where_it_began_may_be_far_from_its_memory() -> None:
    host = SimulatedHost(cores=8, threads=1, nodes=2, remote_slowdown=0.4, scheduler="sticky")
    found = explain(simulate(host, (1, 4, 8, 9), 6, 1, size="medium", executions=5))
    assert "slower CPU: sessions ran off the NUMA node where they began" in found.verdict
    assert "numactl --cpunodebind=N --membind=N" in headline(found).remedy
    slower = [each for each in found.sessions if each.level == 9 and each.cause == Cause.SLOWER_CPU]
    assert sum("on another NUMA node than where it began" in each.evidence for each in slower) > len(slower) / 2
    near = explain(simulate(replace(host, nodes=1), (1, 4, 8, 9), 6, 1, size="medium", executions=5))
    assert "NUMA" not in near.verdict


@pytest.mark.parametrize(("smt_yield", "quota"), [(0.3, 5.0), (-0.2, 6.0)])
def test_a_yield_under_a_quota_is_that_of_the_cores_that_sessions_shared(smt_yield: float, quota: float) -> None:
    """By the levels alone a quota would look like second threads that add nothing."""
    host = SimulatedHost(cores=4, threads=2, smt_yield=smt_yield, quota_cpus=quota, scheduler="smt_balancing")
    found = made(host, range(1, 9), seed=1).scaling
    assert found.smt_yield == pytest.approx(smt_yield, abs=0.05)


def test_a_quota_is_raised_before_rounds_are_added() -> None:
    host = SimulatedHost(cores=4, threads=1, quota_cpus=2, irq=0.3)
    remedy = headline(explain(simulate(host, tuple(range(1, 9)), 5, seed=1))).remedy
    assert remedy.startswith("raise `cpu.max`")
    assert remedy.index("Against interrupts") < remedy.index(". To decide: more rounds")


def test_cpus_that_change_speed_have_a_remedy_beside_that_of_a_loss() -> None:
    found = headline(made(SimulatedHost(cores=4, threads=1, toggle=1.3, scheduler=BALANCING), (1, 2, 4, 5, 8), seed=1))
    assert found.remedy.startswith("run no more than 4 busy sessions")
    assert "Against CPUs that change speed: use a dedicated host" in found.remedy


def test_other_processes_are_stopped_before_second_threads_are_left_out() -> None:
    host = SimulatedHost(cores=4, threads=2, noisy_neighbour=0.7, scheduler=BALANCING)
    found = headline(made(host, (1, 2, 4, 5, 8), seed=1))
    assert found.remedy.startswith("stop the other processes")
    assert "Against shared core: run one session per core" in found.remedy


def test_a_clock_that_falls_to_a_tenth_is_called_turbo() -> None:
    found = made(SimulatedHost(cores=4, threads=1, turbo_slope=0.9, scheduler=BALANCING), (1, 2, 3, 4, 5, 8), seed=1)
    assert found.scaling.turbo == pytest.approx(0.9, abs=0.02)
    assert "the more sessions, the slower each, as with a turbo frequency that falls" in found.verdict


def test_interrupts_beside_turns_are_named_with_their_remedy() -> None:
    """One CPU has less time in every round: that its session is the slowest was put down to the run queue alone."""
    found = made(SimulatedHost(cores=8, threads=2, irq=0.4, rebalance_s=1.0), (1, 17, 32), seed=22)
    assert "unequal through run-queue wait and interrupts" in found.verdict
    remedy = headline(found).remedy
    assert "Against interrupts: move interrupts to other CPUs" in remedy
    assert "Against run-queue wait: fewer sessions, too: then no session waits for a CPU" in remedy


def test_where_all_wait_in_turn_what_makes_them_unequal_is_the_cpu_with_interrupts() -> None:
    found = made(SimulatedHost(cores=4, threads=1, irq=0.4, scheduler=BALANCING), (1, 8), seed=22)
    assert "and unequal through interrupts" in found.verdict

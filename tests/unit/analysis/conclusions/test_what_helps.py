"""What helps is against every cause that the verdict names, each once, and nothing in it contradicts another."""

import re
from collections.abc import Sequence

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_together

BALANCING = "smt_balancing"
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

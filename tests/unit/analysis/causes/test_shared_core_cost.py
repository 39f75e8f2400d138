"""What sharing a core costs, where other things slow sessions as well: the simulator knows the truth."""

from typing import Any

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost, simulate

YIELD = 0.33
SPEED = (1 + YIELD) / 2
"""Of each of two busy threads of a core."""


def found(levels: tuple[int, ...], **host: Any) -> Analysis:
    return explain(simulate(SimulatedHost(**{"smt_yield": YIELD, **host}), levels, 6, seed=3, size="medium"))


@pytest.mark.parametrize(
    "host",
    [
        {"cores": 8, "efficiency_cores": 4, "noise": 0.03},
        {"cores": 4, "noisy_neighbour": 0.7},
        {"cores": 4, "sockets": 2, "nodes": 2, "remote_slowdown": 0.3, "memory_node": 0},
    ],
    ids=["slower cores", "a process beside", "far memory"],
)
def test_what_else_slows_sessions_is_no_part_of_it(host: dict[str, Any]) -> None:
    levels = tuple(range(1, SimulatedHost(**host).cpus + 1))
    shared = found(levels, **host).shared_core
    assert shared is not None
    (speed,) = [each for each in shared.speeds if each.threads == 2]
    assert speed.speed == pytest.approx(SPEED, abs=0.015)


def test_of_work_that_waits_neither_it_nor_the_yield_is_told() -> None:
    host = SimulatedHost(cores=2, threads=2, waits=0.6)
    analysis = explain(simulate(host, (1, 2, 3, 4, 6, 8, 10, 12), 3, seed=3, size="short"))
    assert analysis.shared_core is None
    assert analysis.scaling.smt_yield is None


def test_under_a_quota_the_yield_is_that_of_the_cores() -> None:
    """With six of eight threads at work two cores have one session each: no level shows what all threads do."""
    analysis = found((*range(1, 9), 12), cores=4, smt_yield=-0.1, quota_cpus=5.9)
    assert analysis.scaling.smt_yield == pytest.approx(-0.1, abs=0.02)
    assert "Without SMT throughput is higher" in headline(analysis).remedy


@pytest.mark.parametrize("seed", [2, 3, 6])
def test_sessions_that_a_quota_holds_back_ran_less_while_they_shared(seed: int) -> None:
    """Two end early, and the quota leaves the others more: they share for less of their CPU time than of time."""
    host = SimulatedHost(cores=4, threads=2, smt_yield=YIELD, irq=0.4, quota_cpus=3.0, scheduler="smt_balancing")
    shared = explain(simulate(host, (1, 2, 3, 4, 6), 6, seed=seed)).shared_core
    assert shared is not None
    (speed,) = shared.speeds
    assert speed.low < SPEED < speed.high

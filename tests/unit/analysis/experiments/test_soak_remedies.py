"""What helps after a soak is against what its sessions lost to, and that is what the verdict names."""

import re

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost
from dbcpu.simulator.experiments import RunOptions, simulate_soak


def soaked(host: SimulatedHost, sessions: int, seed: int) -> Analysis:
    return explain(simulate_soak(host, sessions, 120.0, RunOptions(seed=seed)))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_beside_a_neighbour_sessions_share_a_core_and_nobody_waits(seed: int) -> None:
    """The neighbour has the fourth core: two of four sessions share one, and without it there is a core for each."""
    found = soaked(SimulatedHost(cores=4, threads=2, noisy_neighbour=1.0, scheduler="smt_balancing"), 4, seed)
    level = next(each for each in found.levels if each.level == 4)
    assert level.main_cause == "shared_core"
    assert found.reference is not None and found.reference.spread < 0.05
    assert headline(found).remedy.startswith("stop the other processes")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cause_of_the_verdict_comes_first_and_what_one_alone_loses_behind_it(seed: int) -> None:
    found = soaked(SimulatedHost(cores=4, threads=2, steal=0.2, scheduler="smt_balancing"), 10, seed)
    assert re.search(r"\(slowdown of [^)]*, shared core; a single session loses 2\d % to CPU steal\)", found.verdict)
    first, second = headline(found).remedy.split(". Against ")
    assert "sessions than cores" in first
    assert second.startswith("CPU steal: use a dedicated host")

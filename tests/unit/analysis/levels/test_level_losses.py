"""Whether what was counted of a level is what one session alone loses, or what sessions lose beside each other."""

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.level_losses import is_counted_only, is_lost_alone_too
from dbcpu.formatting import times
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_soak


@pytest.mark.parametrize("level", [2, 3, 4])
def test_what_sessions_lose_beside_each_other_is_their_slowdown_though_one_alone_loses_half(level: int) -> None:
    """Four had lost 87 % as the kernel counted, and nothing was said of the four times as long that they took."""
    host = SimulatedHost(cores=2, threads=1, quota_cpus=0.5)
    found = explain(simulate(host, tuple(range(1, level + 1)), repeats=6, seed=1))
    alone, *_, last = found.first_levels
    assert (alone.counted_slowdown or 1.0) > 1.9, "else this tests nothing"
    assert not is_lost_alone_too(last)
    assert not is_counted_only(last)
    assert "Even a single session loses 4" in found.verdict
    slow = times(last.slowdown_median)
    assert f"at {level} sessions all are equally slow, with a slowdown of {slow} (CPU quota)" in found.verdict
    assert "as the kernel counted" not in found.verdict
    assert headline(found).headline == "No: even a single session does not get a whole CPU"


def test_what_all_lose_like_one_alone_is_said_as_it_was_counted() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=1, steal=0.4), (1, 2, 3, 4), repeats=6, seed=1))
    assert all(map(is_lost_alone_too, found.first_levels[1:]))
    assert all(map(is_counted_only, found.first_levels))


def test_a_soak_whose_sessions_lose_to_each_other_has_their_slowdown_and_what_one_alone_loses() -> None:
    host = SimulatedHost(cores=2, threads=1, quota_cpus=0.5)
    found = explain(simulate_soak(host, 3, 60.0, RunOptions(repeats=3, seed=1)))
    assert "(slowdown of the median session 3.0" in found.verdict
    assert "x, CPU quota; a single session loses 5" in found.verdict

"""What all lose alike leaves a shared core to explain only what those on it lose beyond the others."""

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.simulator import SimulatedHost, simulate


def test_beside_a_turbo_that_slows_all_what_some_lose_over_the_others_is_their_shared_core() -> None:
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.9)
    shared, full = explain(simulate(host, (1, 7, 8), repeats=3, seed=4, size="short")).levels[1:]
    assert shared.even is Answer.NO
    assert (shared.main_cause, shared.second_cause) == (Cause.SHARED_CORE, Cause.SLOWER_CPU)
    assert shared.unequal_by is Cause.SHARED_CORE
    # Each of its sessions loses more to the frequency: that which makes them differ is counted, too, and comes first.
    assert shared.causes == ((Cause.SHARED_CORE, 18), (Cause.SLOWER_CPU, 21))
    assert full.full_speed is Answer.NO
    # All share a core there: what sharing adds shows beside the level at which one did not.
    assert (full.main_cause, full.second_cause) == (Cause.SLOWER_CPU, Cause.SHARED_CORE)


def test_where_all_share_a_core_what_one_that_shares_none_loses_is_no_cost_of_sharing() -> None:
    """A shared core could explain all of it, and turbo takes more."""
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.5, scheduler="smt_balancing")
    found = explain(simulate(host, tuple(range(1, 9)), repeats=6, seed=4))
    full = found.levels[-1]
    assert (full.main_cause, full.second_cause) == (Cause.SLOWER_CPU, Cause.SHARED_CORE)
    falling = "slower CPU: the more sessions, the slower each, as with a turbo frequency that falls, and shared core"
    assert f"with a slowdown of 3.00x ({falling} as well)" in found.verdict


def test_where_the_clock_is_seen_what_some_lose_over_the_others_is_their_shared_core_too() -> None:
    """The frequency alone would account for more than 60 % of what they lose."""
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.6, hypervisor=None)
    found = explain(simulate(host, (1, 4, 7, 8), repeats=3, seed=6))
    shared, full = found.levels[2:]
    assert (shared.main_cause, shared.second_cause) == (Cause.FREQUENCY, Cause.SHARED_CORE)
    assert shared.unequal_by is Cause.SHARED_CORE
    assert (full.main_cause, full.second_cause) == (Cause.FREQUENCY, Cause.SHARED_CORE)
    assert "6 of 7 in a slow group (lower frequency, and unequal through shared core)" in found.verdict

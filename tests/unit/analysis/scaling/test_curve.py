"""Throughput in a few numbers: knees, yield, effective cores; from records, and from simulated hosts of every shape."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.hosts.topology import allowed_cores, usable_vcpus
from dbcpu.record.plan import auto_levels
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos


def measured(simulated: SimulatedHost, seed: int = 1, repeats: int = 2) -> Analysis:
    info = simulated.info()
    levels = auto_levels(usable_vcpus(info)[0], allowed_cores(info))
    return explain(simulate(simulated, levels, repeats, seed, size="short", seconds=1.5, hz=10))


def test_yield_of_smt_and_effective_cores_on_one_core_with_two_threads() -> None:
    both = round_of([session(i, 1.5 * SOLO_S, cpu=i) for i in range(2)])
    scaling = explain(record([*solos(), both], host(cores=1, threads=2))).scaling
    assert scaling.smt_yield == pytest.approx(2 / 1.5 - 1)
    assert scaling.effective_cores == pytest.approx(2 / 1.5)
    assert scaling.knees == (1.0,)


def test_without_siblings_there_is_no_yield() -> None:
    both = round_of([session(i) for i in range(2)])
    scaling = explain(record([*solos(), both])).scaling
    assert scaling.smt_yield is None
    assert scaling.effective_cores == pytest.approx(2.0)


def test_too_few_levels_tell_nothing_of_the_host() -> None:
    both = round_of([session(i) for i in range(2)])
    scaling = explain(record([*solos(), both], host(cores=8), vcpus=8)).scaling
    assert (scaling.smt_yield, scaling.effective_cores, scaling.knees, scaling.fit_error) == (None, None, (), None)


def test_a_curve_of_no_known_form_claims_no_knee() -> None:
    """Each level at random: no lines describe it."""
    chance = np.random.default_rng(3)
    rounds = solos()
    for level in range(2, 9):
        slow = SOLO_S * float(chance.uniform(1, 4))
        rounds.append(round_of([session(i, slow, cpu=i) for i in range(level)]))
    scaling = explain(record(rounds, host(cores=8), vcpus=8)).scaling
    assert (scaling.knees, scaling.curve) == ((), ())


# --- hosts whose parameters the analysis does not know -------------------------------------------


@pytest.mark.parametrize("scheduler", ["sticky", "rotating", "smt_balancing"])
@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.slow
def test_eight_cores_with_two_threads_are_recovered(scheduler: str, seed: int) -> None:
    chance = np.random.default_rng(seed)
    smt_yield = float(chance.uniform(0.15, 0.6))
    simulated = SimulatedHost(
        scheduler=scheduler, smt_yield=smt_yield, rebalance_s=0.05, noise=float(chance.uniform(0.005, 0.03))
    )
    told = measured(simulated, seed).scaling
    assert told.knees == pytest.approx((8, 16), rel=0.05)
    assert told.smt_yield == pytest.approx(smt_yield, abs=0.03)
    assert told.effective_cores == pytest.approx(8 * (1 + smt_yield), rel=0.03)
    assert told.smt_yield_interval is not None
    assert told.smt_yield is not None
    assert told.smt_yield_interval.low <= told.smt_yield <= told.smt_yield_interval.high


@pytest.mark.slow
@pytest.mark.parametrize("seed", [21, 22])
@pytest.mark.slow
def test_forty_cores_with_turbo_are_recovered(seed: int) -> None:
    chance = np.random.default_rng(seed)
    turbo, smt_yield = float(chance.uniform(0.1, 0.25)), float(chance.uniform(0.2, 0.5))
    told = measured(replace(preset("2x20x2"), turbo_slope=turbo, smt_yield=smt_yield), seed)
    assert told.scaling.knees == pytest.approx((40, 80), rel=0.08)
    assert told.scaling.turbo == pytest.approx(turbo, abs=0.04)
    assert told.scaling.effective_cores == pytest.approx(40 * (1 + smt_yield) * (1 - turbo), rel=0.04)
    assert told.topology is not None
    assert told.topology.verdict == "agrees"


@pytest.mark.slow
def test_eight_threads_per_core_are_recovered() -> None:
    simulated = replace(preset("smt8"), smt_yield=0.4)
    told = measured(simulated).scaling
    whole = 1 + sum(0.4 * 0.6**more for more in range(7))
    assert told.knees == pytest.approx((8,), rel=0.05)
    assert told.further == pytest.approx(0.4, abs=0.05)
    assert told.smt_yield == pytest.approx(whole - 1, rel=0.05)
    assert told.effective_cores == pytest.approx(8 * whole, rel=0.05)


@pytest.mark.parametrize(("name", "cores"), [("graviton", 64), ("c4.4xlarge-smt-off", 8), ("this-vm", 2)])
@pytest.mark.slow
def test_without_siblings_the_curve_bends_once(name: str, cores: int) -> None:
    told = measured(preset(name)).scaling
    assert told.knees == pytest.approx((cores,), rel=0.03)
    assert told.smt_yield is None
    assert told.effective_cores == pytest.approx(cores, rel=0.03)


@pytest.mark.parametrize(("quota", "claimed"), [(5.0, False), (6.0, False), (7.0, True)])
def test_where_cores_and_quota_bend_a_curve_no_one_knee_is_claimed_for_both(quota: float, claimed: bool) -> None:
    """Linear up to 4.7 was said, 95 % CI 4.5 to 4.8, of 4 cores: more throughput than any level showed."""
    host = SimulatedHost(cores=4, threads=2, quota_cpus=quota, scheduler="smt_balancing")
    found = explain(simulate(host, tuple(range(1, 9)), repeats=6, seed=0)).scaling
    assert bool(found.knees) == claimed
    assert not claimed or abs(found.knees[0] - host.cores) < 0.2
    assert found.effective_cores is not None


def test_a_quota_bends_the_curve_where_it_ends() -> None:
    told = measured(replace(preset("quota-4"), quota_cpus=3.0))
    assert told.scaling.knees == pytest.approx((3,), rel=0.05)
    assert told.topology is not None
    assert (told.topology.verdict, told.topology.cores_told) == ("unclear", None)
    assert "quota" in told.topology.why


# --- the seed's picture, as the analysis says it -------------------------------------------------


@pytest.mark.parametrize(("smt_yield", "slowdown"), [(0.33, 1.5), (0.0, 2.0)], ids=["SQL", "shell loop"])
def test_the_published_picture(smt_yield: float, slowdown: float) -> None:
    simulated = replace(preset("c4.4xlarge"), smt_yield=smt_yield)
    told = explain(simulate(simulated, tuple(range(1, 18)), repeats=5, seed=3, size="seed", hz=1))
    levels = {each.level: each for each in told.levels}
    assert told.verdict.startswith("Up to 8 sessions all get equal CPU at full speed")
    assert f"at 9 sessions 2 of 9 have a slowdown of {slowdown:.2f}x (shared core" in told.verdict
    for level in range(2, 9):
        assert levels[level].max_over_min == pytest.approx(1.0, abs=0.05)
    for level in range(9, 16):
        assert levels[level].slow == levels[level].slow_expected == 2 * (level - 8)
        assert levels[level].stickiness == pytest.approx(1.0, abs=0.1)
    assert levels[9].makespan_throughput is not None
    assert levels[9].makespan_throughput < 0.8 * (levels[8].makespan_throughput or 0)  # the jigsaw
    assert told.scaling.makespan_share is not None
    assert told.scaling.makespan_share < 0.8
    assert told.capacity is not None
    assert (told.capacity.even_up_to, told.capacity.even_again) == (8, 16)
    assert {"uneven-sessions", "shared-cores", "sticky-placement"} <= {each.code for each in told.findings}


def test_with_smt_off_nothing_is_shared_and_nothing_sticks() -> None:
    told = explain(simulate(preset("c4.4xlarge-smt-off"), tuple(range(1, 17)), repeats=2, seed=3, size="seed", hz=1))
    assert told.scaling.knees == pytest.approx((8,), rel=0.05)
    assert all((each.max_over_min or 1) < 1.25 for each in told.levels)
    assert not {"shared-cores", "sticky-placement", "uneven-sessions"} & {each.code for each in told.findings}


@pytest.mark.parametrize("scheduler", ["sticky", "smt_balancing"])
def test_one_execution_each_tells_the_host_whatever_becomes_of_who_is_left(scheduler: str) -> None:
    """By time alone knee 2 lies at 10.6 and at 8.2."""
    simulated = SimulatedHost(cores=5, scheduler=scheduler, smt_yield=0.25, noise=0.03)
    levels = (1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 20)
    told = explain(simulate(simulated, levels, repeats=5, seed=3, size="medium", executions=1, hz=5)).scaling
    assert told.knees == pytest.approx((5, 10), rel=0.03)
    assert told.effective_cores == pytest.approx(5 * 1.25, rel=0.02)


def test_a_yield_by_the_cores_that_two_groups_of_times_show_has_no_interval_of_another_figure() -> None:
    """Of a managed database: the curve's own interval is of the gain from knee to knee, and left the yield out."""
    record = simulate(preset("c4.4xlarge"), (1, 2, 4, 8, 9, 10, 12, 14, 16, 20, 24), repeats=5, seed=2)
    managed = explain(replace(record, header=replace(record.header, host=None)))
    assert managed.topology is not None
    assert managed.topology.two_speeds
    assert managed.scaling.smt_yield == pytest.approx(0.33, abs=0.02)
    assert managed.scaling.smt_yield_interval is None
    shown = explain(record).scaling
    assert shown.smt_yield is not None
    assert shown.smt_yield_interval is not None
    assert shown.smt_yield_interval.low <= shown.smt_yield <= shown.smt_yield_interval.high


@pytest.mark.parametrize(
    ("host", "levels"),
    [
        (SimulatedHost(cores=8, hidden_smt=True, noise=0.01), (1, 2, 3, 16)),
        (SimulatedHost(cores=2, hidden_smt=True), (1, 2, 4, 8)),
        (SimulatedHost(cores=12, hidden_smt=True), (1, 2, 24, 48)),
        (SimulatedHost(cores=8, threads=1, turbo_steps=((2, 3.5), (4, 3.1), (8, 2.6))), (1, 2, 8, 16)),
    ],
)
def test_lines_that_cross_far_from_any_level_are_no_knee(host: SimulatedHost, levels: tuple[int, ...]) -> None:
    """Where they cross is the cores and what the second threads add, or the turbo's loss, in one number."""
    found = explain(simulate(host, levels, repeats=6, seed=7))
    assert found.scaling.knees == ()
    # Two groups of sessions may show the cores: then they are those that there are.
    assert found.topology is None or found.topology.like_cores in (None, host.cores)


@pytest.mark.parametrize("seed", [1, 4, 11])
def test_the_smallest_host_with_siblings_has_its_curve_with_one_execution_each(seed: int) -> None:
    """Of three sessions on two cores the one that was alone ends first, and the others then move apart."""
    host = SimulatedHost(cores=2, threads=2)
    found = explain(simulate(host, (1, 2, 3, 4, 5, 8), 6, seed=seed, size="medium")).scaling
    assert found.knees == pytest.approx((2.0, 4.0), abs=0.1)
    assert found.smt_yield == pytest.approx(1 / 3, abs=0.02)

"""Hosts that are unlike their twins are found, others rarely are, and an hour's luck does not make a slow host."""

import math
from statistics import mean

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.fleet.hosts import ALONE, FleetHost
from dbcpu.analysis.fleet.twins import FALSE_DISCOVERIES, MIN_TWINS, benjamini_hochberg, twins
from dbcpu.analysis.results.cause import Cause
from support.builders.fleets import RATE, fleet, host

SEEDS = range(40)


def test_benjamini_and_hochbergs_own_example() -> None:
    """Their paper, section 3.3: of 15 p-values the first four are discoveries at 5 %."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
         0.7590, 1.0]  # fmt: skip
    order = [7, 0, 14, 3, 9, 2, 12, 5, 1, 11, 6, 13, 4, 10, 8]
    found = benjamini_hochberg([p[at] for at in order], 0.05)
    assert {at for at, named in zip(order, found, strict=True) if named} == {0, 1, 2, 3}
    assert benjamini_hochberg([], 0.05) == []


@pytest.mark.parametrize("count", (6, 10, 44, 200))
def test_twins_are_rarely_called_unlike(count: int) -> None:
    """Without any odd host every discovery is false: in at most 5 % of the fleets there is one."""
    alarms = [bool(twins(fleet(seed, count)).unlike) for seed in SEEDS]
    # 40 fleets at 5 %: more than 6 with one would be had in 1 of 100.
    assert sum(alarms) <= 6


@pytest.mark.parametrize("count,slow", ((44, 1), (44, 6), (200, 10)))
def test_slow_hosts_are_found_and_false_ones_are_few(count: int, slow: int) -> None:
    planted = dict.fromkeys(range(slow), 1.15)
    found = [{each.host for each in twins(fleet(seed, count, slow=planted)).unlike} for seed in SEEDS]
    names = {f"db-{at}" for at in planted}
    false = [len(each - names) / max(1, len(each)) for each in found]
    assert mean(len(each & names) / slow for each in found) > 0.9
    assert mean(false) <= 2 * FALSE_DISCOVERIES  # its standard error over 40 fleets is about 2 %


def test_several_odd_hosts_do_not_hide_each_other() -> None:
    """A fifth of ten hosts at 0.8: the scatter of all would hide both."""
    found = twins(fleet(3, 10, spread=0.01, slow={0: 1.25, 1: 1.25})).unlike
    assert {each.host for each in found} == {"db-0", "db-1"}


def test_one_odd_host_of_six_is_found() -> None:
    """The scatter of five is known badly: against mean and standard deviation it is enough all the same."""
    found = [{each.host for each in twins(fleet(seed, 6, slow={2: 1.25})).unlike} for seed in SEEDS]
    assert sum(each == {"db-2"} for each in found) >= 34


def test_the_answer_has_ratio_rank_interval_and_twins() -> None:
    found = twins(fleet(1, 44, slow={17: 1.13})).unlike
    assert [each.host for each in found] == ["db-17"]
    one = found[0]
    assert (one.metric, one.rank, one.twins) == (ALONE, 44, 43)
    assert one.interval.low < one.ratio < one.interval.high
    assert one.ratio == pytest.approx(1 / 1.13, abs=0.06)


def test_a_fast_host_is_unlike_too() -> None:
    found = twins(fleet(2, 44, slow={3: 0.8})).unlike
    assert [(each.host, each.slower, each.rank) for each in found] == [("db-3", False, 1)]


def test_a_run_that_is_known_badly_accuses_nobody() -> None:
    """The same distance is a discovery with a sure run, and none where its own rounds scatter by as much."""
    hosts = fleet(5, 44, spread=0.01)
    rate = RATE * 0.9
    assert twins([*hosts, host("odd", [rate], error=0.005)]).unlike
    assert not twins([*hosts, host("odd", [rate], error=0.1)]).unlike


def test_a_host_far_out_that_is_known_badly_is_undecided_and_not_alike() -> None:
    hosts = fleet(5, 44, spread=0.01)
    badly = host("odd", [RATE * 0.85], error=0.1)
    assert twins([*hosts, badly]).undecided == ("odd",)
    assert twins([*hosts, host("odd", [RATE * 0.85], error=0.005)]).undecided == ()
    assert twins([*hosts, replace(badly, name="as the others", runs=hosts[0].runs)]).undecided == ()


@pytest.mark.parametrize("count", (6, 44))
def test_among_twins_hardly_one_is_undecided(count: int) -> None:
    found = [twins(fleet(seed, count, error=0.03)).undecided for seed in SEEDS]
    assert sum(map(bool, found)) <= 6  # as for false names


def test_an_hour_of_bad_luck_among_steady_twins_is_none_of_the_host() -> None:
    """Two runs per host show that runs differ by 8 %: a host 10 % slower in one of them is not named."""
    rng = np.random.default_rng(7)
    hosts = [
        host(f"db-{at}", [RATE * math.exp(0.08 * side * abs(rng.standard_normal())) for side in (-1, 1)])
        for at in range(20)
    ]
    odd = host("odd", [RATE * 0.88])
    assert not twins([*hosts, odd]).unlike
    assert twins([*fleet(7, 20, spread=0.01, runs=2), odd]).unlike


def test_a_single_run_is_less_sure_of_its_host_than_two() -> None:
    one = twins(fleet(9, 30, run_effect=0.03)).compared
    two = twins(fleet(9, 30, run_effect=0.03, runs=4)).compared
    width = [mean(math.log(each.interval.high / each.interval.low) for each in side) for side in (one, two)]
    assert width[1] < width[0]


def test_a_difference_that_matters_to_nobody_is_not_named() -> None:
    hosts = fleet(1, 100, spread=1e-4, error=1e-4)
    assert not twins([*hosts, host("odd", [RATE * 0.985], error=1e-4)]).unlike
    assert twins([*hosts, host("odd", [RATE * 0.975], error=1e-4)]).unlike


def test_other_hardware_software_or_work_is_no_twin() -> None:
    hosts = fleet(4, 12)
    same = hosts[0]
    others = [
        replace(same, name="a", cpu_model="EPYC"), replace(same, name="b", vcpus=8),
        replace(same, name="c", hypervisor="xen"), replace(same, name="d", version="16.1"),
        replace(same, name="e", database="oracle"), replace(same, name="f", work=("Mrows/s", "cartesian", "tiny", "a")),
    ]  # fmt: skip
    found = twins([*hosts, *others])
    assert {each.host for each in found.compared} == {each.name for each in hosts}
    assert {each.hosts for each in found.too_few} == {(each.name,) for each in others}


def test_too_few_twins_are_said_to_be_too_few() -> None:
    found = twins(fleet(1, MIN_TWINS))
    assert not found.compared
    assert [len(each.hosts) for each in found.too_few] == [MIN_TWINS]
    assert len(twins(fleet(1, MIN_TWINS + 1)).compared) == MIN_TWINS + 1


def test_what_could_have_been_seen_shrinks_with_the_twins() -> None:
    few, many = (twins(fleet(1, count)).detectable[ALONE] for count in (8, 100))
    assert 0.04 < many < few


def test_the_cause_is_what_the_run_lost_more_to_than_its_twins() -> None:
    hosts = [replace(each, settings={"kernel": "6.6"}) for each in fleet(1, 20, spread=0.01)]
    losses = {"steal": 0.09, "run-queue wait": 0.02, "other processes": 0.004}
    odd = host("odd", [RATE / 1.15], losses=losses, settings={"kernel": "4.4"})
    one = twins([*hosts, odd]).unlike[0]
    assert one.causes == (("steal", 0.09, 0.0), ("run-queue wait", 0.02, 0.0))
    assert one.differs == ("kernel 4.4 (twins: 6.6)",)


def test_what_most_twins_lose_most_to_explains_none_of_them() -> None:
    """One with less turbo, of twins that all share cores, is not slower than they are by sharing."""
    hosts = [_lost_most_to(each, Cause.SHARED_CORE) for each in fleet(1, 20, spread=0.01)]
    slow = host("odd", [RATE / 1.15])
    same, other = (twins([*hosts, _lost_most_to(slow, cause)]).unlike[0] for cause in (Cause.SHARED_CORE, Cause.IRQ))
    assert (same.run_cause, other.run_cause) == ("", "irq")


def _lost_most_to(one: FleetHost, cause: Cause) -> FleetHost:
    return replace(one, runs=tuple(replace(each, cause=cause) for each in one.runs))


def test_a_quota_is_a_setting_and_makes_no_other_kind_of_host() -> None:
    hosts = [replace(each, shown=16, settings={"quota": "none"}) for each in fleet(1, 20, spread=0.01)]
    limited = replace(host("odd", [RATE / 1.15], vcpus=15, settings={"quota": "15 CPUs"}), shown=16)
    found = twins([*hosts, limited])
    assert [each.host for each in found.unlike] == ["odd"]
    assert found.unlike[0].differs == ("quota 15 CPUs (twins: none)",)


def test_what_all_twins_lose_is_no_cause() -> None:
    losses = {"steal": 0.09}
    hosts = [host(f"db-{at}", [RATE * (1 + 0.004 * at)], losses=losses) for at in range(10)]
    one = next(
        each for each in twins([*hosts, host("odd", [RATE * 0.7], losses=losses)]).compared if each.host == "odd"
    )
    assert one.causes == ()

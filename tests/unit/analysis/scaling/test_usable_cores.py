"""Usable cores against the truth of the simulator: what sessions of many executions do together."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.host import Capacity
from dbcpu.reports.documents.run_scaling import scaling_words
from dbcpu.simulator import SimulatedHost, simulate


def capacity(levels: tuple[int, ...], repeats: int, executions: int, **host: Any) -> Capacity:
    record = simulate(SimulatedHost(**host), levels, repeats, seed=7, size="medium", executions=executions)
    room = explain(record).capacity
    assert room is not None
    return room


@pytest.mark.parametrize(
    ("levels", "host"),
    [
        ((1, 2, 3, 4), {"cores": 2, "threads": 2, "irq": 0.4}),
        ((1, 6, 10, 12, 22, 25), {"cores": 12, "threads": 2, "irq": 0.1, "scheduler": "frozen"}),
        ((1, 8, 12, 13, 15), {"cores": 12, "threads": 1, "noisy_neighbour": 0.5, "scheduler": "frozen"}),
        ((1, 17), {"cores": 16, "threads": 1}),
    ],
    ids=["interrupts", "interrupts of many", "a process on one CPU", "one session too many"],
)
def test_a_session_that_stays_slow_does_not_make_the_other_cpus_idle(
    levels: tuple[int, ...], host: dict[str, Any]
) -> None:
    all_busy = host["cores"] * host["threads"]
    many = explain(simulate(SimulatedHost(**host), (1, all_busy), 1, seed=1, size="short", executions=15))
    assert many.reference is not None
    truth = (many.levels[-1].throughput or 0.0) / many.reference.mrows_per_s
    assert capacity(levels, 6, 1, **host).usable_cores == pytest.approx(truth, rel=0.06)


def test_peak_throughput_is_that_of_the_usable_cores() -> None:
    host = SimulatedHost(cores=16, threads=2, noisy_neighbour=1.0, scheduler="sticky")
    found = explain(simulate(host, (1, 8, 16, 17, 24, 32), 3, seed=1, size="medium"))
    assert found.capacity is not None
    assert found.reference is not None
    peak = (found.capacity.peak_throughput or 0.0) / found.reference.mrows_per_s
    assert peak == pytest.approx(found.capacity.usable_cores, rel=0.03)


def test_where_second_threads_cost_throughput_no_level_beyond_the_cores_does_more() -> None:
    """Four cores do 4.0; six sessions look like 4.5, for who ends early leaves a core to those who shared one."""
    host = {"cores": 4, "threads": 2, "smt_yield": -0.1, "quota_cpus": 5.9, "scheduler": "smt_balancing"}
    found = capacity((*range(1, 9), 12), 3, 1, **host)
    assert found.usable_cores == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize(("speed", "smt_yield"), [(0.6, 0.33), (0.9, 0.33), (0.5, -0.1)])
def test_second_threads_of_some_cores_add_what_these_are_of_all(speed: float, smt_yield: float) -> None:
    """Four full cores with two threads each, four slower ones with one: the host's truth is known."""
    host = SimulatedHost(
        cores=8, threads=2, efficiency_cores=4, efficiency_speed=speed, smt_yield=smt_yield, scheduler="smt_balancing"
    )
    found = explain(simulate(host, tuple(range(1, 16)), 6, seed=1, size="medium")).scaling
    all_cores = 4 + 4 * speed
    assert found.smt_yield == pytest.approx(4 * smt_yield / all_cores, abs=0.015)
    assert found.effective_cores == pytest.approx(all_cores + 4 * max(0.0, smt_yield), rel=0.05)


@pytest.mark.parametrize(("levels", "cores"), [((1, 2, 4, 5, 16), 4), ((1, 4, 8, 9, 32), 8)])
def test_an_even_level_with_every_thread_at_work_counts_whatever_the_curve_ends_at(
    levels: tuple[int, ...], cores: int
) -> None:
    """4.3 and 8.3 were said, beside a peak throughput of 6.6 and 13.2 single sessions."""
    found = explain(simulate(SimulatedHost(cores=cores, threads=4), levels, 6, seed=1, size="medium"))
    assert found.capacity is not None
    assert found.reference is not None
    peak = (found.capacity.peak_throughput or 0.0) / found.reference.mrows_per_s
    assert found.capacity.usable_cores == pytest.approx(peak, rel=0.02)
    assert found.capacity.usable_cores == pytest.approx(1.65 * cores, rel=0.03)


@pytest.mark.parametrize(
    ("levels", "truth", "host"),
    [
        ((1, 3, 5, 6), 4.0, {"cores": 4, "threads": 1, "scheduler": "frozen"}),
        ((1, 2, 3, 4, 5, 6, 7, 8), 4.0, {"cores": 4, "threads": 2, "smt_yield": -0.2, "scheduler": "smt_balancing"}),
        ((*range(1, 17), 32), 8.0, {"cores": 8, "threads": 2, "smt_yield": -0.1, "hidden_smt": True}),
    ],
    ids=["frozen", "second threads that cost", "the same, not shown"],
)
def test_usable_cores_are_what_a_level_shows_to_last(
    levels: tuple[int, ...], truth: float, host: dict[str, Any]
) -> None:
    """3.0 were said beside a throughput of 3.9; 180 Mrows/s where four cores do 160; 7.3 where ten sessions do 7.8."""
    found = explain(simulate(SimulatedHost(**host), levels, 6, seed=1, size="medium"))
    assert found.capacity is not None
    assert found.reference is not None
    peak = (found.capacity.peak_throughput or 0.0) / found.reference.mrows_per_s
    assert peak == pytest.approx(truth, rel=0.04)
    assert found.capacity.usable_cores == pytest.approx(truth, rel=0.04)
    assert found.topology is None or found.topology.cores_told in (None, pytest.approx(truth, rel=0.05))


def test_no_yield_of_two_threads_limits_what_all_four_do_evenly() -> None:
    """Not sampled, the curve ends at two sessions per core: 6.5 were said beside a throughput of 11.9."""
    host = SimulatedHost(cores=6, threads=4, smt_yield=0.5, scheduler="sticky")
    record = simulate(host, (1, 2, 6, 7, 24, 25, 48), 6, seed=1, size="short")
    blind = [
        replace(each, cpu_timeline=(), timeline_s=(), not_sampled="the host is remote", sessions=tuple(
            replace(one, cpu_s=None, run_delay_s=None, residency=(), migrations=None) for one in each.sessions))
        for each in record.rounds
    ]  # fmt: skip
    found = explain(replace(record, rounds=tuple(blind)))
    assert found.capacity is not None
    assert found.reference is not None
    peak = (found.capacity.peak_throughput or 0.0) / found.reference.mrows_per_s
    assert peak > 11
    assert found.capacity.usable_cores == pytest.approx(peak, rel=0.04)


def test_work_that_waits_leaves_cpus_idle_and_the_answer_open() -> None:
    """With twice as many sessions as vCPUs that each want half of one, some vCPUs are idle at any time."""
    host = SimulatedHost(cores=4, threads=1, waits=0.5, scheduler="smt_balancing")
    few, many = (explain(simulate(host, (1, 2, 4, most), 4, 1)).capacity for most in (8, 16))
    assert few is not None and few.usable_cores_interval is not None
    assert few.usable_cores_at_least
    assert few.usable_cores_interval.low < 3.9 < few.usable_cores_interval.high == 4.0
    assert many is not None and not many.usable_cores_at_least
    assert many.usable_cores == pytest.approx(4.0, abs=0.1)


def test_cores_whose_memory_is_far_count_by_what_they_do() -> None:
    """Half of the cores at 0.7 of the speed, and a third more by second threads: who ends early adds nothing to it."""
    host = SimulatedHost(
        sockets=2, cores=4, threads=2, nodes=2, remote_slowdown=0.3, memory_node=0, scheduler="smt_balancing"
    )
    found = explain(simulate(host, (1, 2, 4, 8, 9, 12, 14, 16), 4, 1)).capacity
    assert found is not None
    assert found.usable_cores == pytest.approx((4 + 4 * 0.7) * 1.33, rel=0.02)


def test_a_quota_lets_so_many_threads_work_at_once() -> None:
    """Of 4 cores with 2 threads a quota of 6 leaves two cores both of theirs."""
    host = SimulatedHost(cores=4, threads=2, quota_cpus=6, scheduler="smt_balancing")
    analysis = explain(simulate(host, (1, 2, 3, 4, 5, 6, 7, 8, 12), 4, 1, size="medium"))
    found, wanted = analysis.capacity, 2 + 2 * 1.33
    assert found is not None and found.peak_throughput is not None
    assert found.usable_cores == pytest.approx(wanted, rel=0.02)
    assert found.peak_throughput == pytest.approx(wanted * host.mrows_per_s, rel=0.02)
    # A quota, a queue and shared cores are all of the loss, though none of them is most of it.
    assert not any(each.cause is Cause.UNEXPLAINED for each in analysis.sessions)


def test_under_a_quota_a_session_on_a_slow_cpu_does_not_make_the_other_cpus_idle() -> None:
    """2.3 usable cores were quoted of a quota of 3, which four sessions on four CPUs use up beside interrupts."""
    host = SimulatedHost(cores=4, threads=1, irq=0.5, steal=0.1, quota_cpus=3)
    room = explain(simulate(host, (1, 2, 3, 4, 6), 6, 2, size="medium")).capacity
    assert room is not None
    assert room.usable_cores == pytest.approx(2.9, rel=0.04)


def test_what_second_threads_add_is_not_held_against_the_cpus_of_a_quota() -> None:
    """A third of a core was said to be as much as a core, for 5 CPUs on 4 cores are a quarter of a thread more each."""
    record = simulate(SimulatedHost(cores=4, threads=2, quota_cpus=5), (*range(1, 8), 10), 3, seed=9, size="medium")
    words = scaling_words(record, explain(record))
    assert "SMT adds 3" in words
    assert "as much as a core" not in words


def test_no_turbo_slows_sessions_that_the_table_shows_at_full_speed() -> None:
    """Interrupts of some rounds bent the curve: a knee at 6.5, and a slowdown of 1.23x of all on the way there."""
    host = SimulatedHost(cores=4, threads=2, irq=0.5, scheduler="smt_balancing")
    record = simulate(host, (*range(1, 11), 16), 3, 4, size="medium")
    found = explain(record)
    assert max(each.slowdown_median or 0.0 for each in found.levels[:4]) < 1.02
    assert found.scaling.turbo is None
    assert "beyond the 4 cores" not in scaling_words(record, found)
    # The curve without turbo fits, and knees and yield are known by it.
    assert found.scaling.fit_error is not None
    within = found.scaling.knee_intervals[0]
    assert within.low < 4 < within.high
    assert found.scaling.smt_yield == pytest.approx(1 / 3, abs=0.05)


def test_cores_of_two_kinds_bend_the_curve_where_a_kind_ends_and_nowhere_else() -> None:
    host = SimulatedHost(cores=8, threads=1, efficiency_cores=7, efficiency_speed=0.3, scheduler="smt_balancing")
    record = simulate(host, (*range(1, 11), 16), 6, 1, size="medium")
    found = explain(record)
    assert found.scaling.knees == ()
    assert "cores of two kinds" in scaling_words(record, found)


@pytest.mark.parametrize(("host", "levels", "between", "truth"), [
    ({"cores": 16, "turbo_slope": 0.9}, (1, 16, 17), (2, 15), 4.7),
    ({"cores": 8, "turbo_slope": 0.9}, (1, 2, 4, 8), (5, 7), 2.5),
    ({"cores": 16, "turbo_slope": 0.6}, (1, 16, 17), (2, 15), 6.76),
    ({"cores": 16, "threads": 2, "turbo_slope": 0.8}, (1, 16, 17, 32), (2, 15), 5.2),  # most seen with all threads
    ({"cores": 16, "threads": 2, "turbo_slope": 0.75}, (1, 16, 17, 32), (2, 15), 5.5),  # 4 % more than with all threads
    ({"cores": 4, "threads": 2, "turbo_slope": 0.81, "smt_yield": 0.47}, (1, 4, 5, 8), (2, 3), 1.46),  # falls
    ({"cores": 16, "turbo_slope": 0.9}, tuple(range(1, 18)), None, 4.7),
    ({"cores": 16, "turbo_slope": 0.4}, (1, 16, 17), None, 9.6),  # each session adds something up to the 16th
    ({"cores": 8, "threads": 2}, (1, 8, 9, 16), None, 10.6),
    ({"cores": 16, "quota_cpus": 4}, (1, 16, 17), None, 4.0),
    ({"cores": 3, "threads": 4, "quota_cpus": 7.1, "smt_yield": 0.3}, (1, 3, 4, 8), (5, 7), 4.08),  # 8 are stopped
    ({"cores": 4, "threads": 2, "quota_cpus": 6.2, "smt_yield": 0.3}, (1, 4, 5, 7), (6, 6), 4.6),
    ({"cores": 4, "threads": 3, "quota_cpus": 10, "smt_yield": 0.2}, (1, 4, 5, 10), None, 5.04),
    ({"cores": 8, "threads": 2, "quota_cpus": 6.2}, (1, 4, 16), (5, 6), 6.0),  # 16 run at once, then none
    ({"cores": 4, "threads": 2, "quota_cpus": 6}, (1, 4, 8), (5, 6), 4.67),
    ({"cores": 4, "threads": 2, "quota_cpus": 6}, (1, 4, 6, 8), None, 4.67),  # it falls to 8, and 7 are stopped
])  # fmt: skip
def test_where_more_may_be_done_between_the_levels_measured_usable_cores_are_at_least_so_many(
    host: dict[str, Any], levels: tuple[int, ...], between: tuple[int, int] | None, truth: float
) -> None:
    """1.7 cores were quoted of a host that does 4.7 with 9 sessions; 2 to 15 were not measured."""
    found = explain(simulate(SimulatedHost(**{"threads": 1, **host}), levels, 3, seed=7, size="short"))
    room = found.capacity
    assert room is not None and room.usable_cores is not None and room.usable_cores_interval is not None
    assert (found.scaling.more_between, room.usable_cores_at_least) == (between, between is not None)
    assert room.usable_cores == pytest.approx(truth, rel=0.04) or between
    assert room.usable_cores_interval.low / 1.03 < truth < room.usable_cores_interval.high * 1.03


def test_what_early_ends_add_is_no_throughput_though_steal_makes_one_session_per_core_unequal() -> None:
    """149 Mrows/s were the peak at 6 sessions, of four cores that do 128: steal differed, and nothing bounded these."""
    host = SimulatedHost(cores=4, threads=2, smt_yield=-0.2, steal=0.2, scheduler="smt_balancing")
    room = explain(simulate(host, (1, 4, 5, 6, 8), 6, seed=57, size="medium")).capacity
    assert room is not None
    assert room.peak_throughput == pytest.approx(4 * 40 * 0.8, rel=0.03)
    assert room.usable_cores == pytest.approx(4 * 0.8, rel=0.05)


@pytest.mark.parametrize("scheduler", ["sticky", "smt_balancing"])
def test_where_no_curve_shows_what_early_ends_leave_to_others_the_interval_holds_both(scheduler: str) -> None:
    """5.1 to 5.2 cores were quoted of a host that does 4.9: sessions moved to cores that others had left."""
    host = {"cores": 4, "threads": 3, "smt_yield": 0.2, "quota_cpus": 9, "scheduler": scheduler}
    found = capacity((1, 4, 5, 9), 3, 1, **host).usable_cores_interval
    assert found is not None
    assert found.low <= 4.92 <= found.high

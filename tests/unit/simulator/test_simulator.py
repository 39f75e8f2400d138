"""The simulator obeys the laws of CPU time, and shows the published picture from raw data."""

import math
import re
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import UnknownName, UsageError
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import (
    SCHEDULERS,
    ClockTrace,
    Clockwork,
    SimulatedHost,
    SimulatedWork,
    listing,
    preset,
    presets,
    simulate,
    simulate_now,
    simulate_round,
)

ROWS = 40_000_000
"""One second of work at the default 40 Mrows/s."""

hosts = st.builds(
    SimulatedHost,
    sockets=st.integers(1, 2),
    cores=st.integers(1, 4),
    threads=st.integers(1, 4),
    scheduler=st.sampled_from(sorted(SCHEDULERS)),
    smt_yield=st.floats(-0.3, 1),
    smt_off=st.booleans(),
    hidden_smt=st.booleans(),
    efficiency_speed=st.floats(0.3, 1),
    steal=st.sampled_from([0.0, 0.1, 0.5]),
    irq=st.sampled_from([0.0, 0.3]),
    quota_cpus=st.sampled_from([None, 0.5, 1.7]),
    turbo_slope=st.sampled_from([0.0, 0.3]),
    turbo_steps=st.sampled_from([(), ((1, 3.5), (2, 3.3), (4, 2.9))]),
    all_slow=st.sampled_from([0.0, 0.2]),
    noisy_neighbour=st.sampled_from([0.0, 0.6]),
    rebalance_s=st.floats(0.01, 0.5),
    noise=st.just(0.0),
)
seeds = st.integers(0, 2**32)


def trace(
    host: SimulatedHost, sessions: int, seed: int = 1, executions: int = 1, for_s: float | None = None
) -> ClockTrace:
    return Clockwork(host, sessions, 1.0, np.random.default_rng(seed), executions, for_s).run()


def one_round(host: SimulatedHost, sessions: int, seed: int = 1, executions: int = 1, hz: float = 20.0) -> Round:
    work = SimulatedWork(ROWS, executions)
    return simulate_round(host, RoundSpec(sessions, 0, "baseline", 0), work, np.random.default_rng(seed), hz)


def elapsed(made: Round) -> list[float]:
    return sorted(sum(e.elapsed_s for e in session.executions) for session in made.sessions)


# --- laws ---------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(hosts, st.integers(1, 12), seeds, st.integers(1, 3))
@pytest.mark.slow
def test_every_session_does_all_of_its_work_in_the_time_there_is(
    host: SimulatedHost, sessions: int, seed: int, executions: int
) -> None:
    done = trace(host, sessions, seed, executions)
    assert done.work_s[-1] == pytest.approx(np.full(sessions, float(executions)))
    assert [len(each) for each in done.executions] == [executions] * sessions
    for each in done.executions:
        assert all(before[1] == after[0] for before, after in pairwise(each))
    _assert_elapsed_is_run_and_delay_and_what_was_lost(done)
    _assert_no_cpu_does_more_than_time_allows(host, done)


def _assert_elapsed_is_run_and_delay_and_what_was_lost(done: ClockTrace) -> None:
    ended = np.array([each[-1][1] for each in done.executions])
    assert done.run_s[-1] + done.delay_s[-1] + done.lost_s[-1] == pytest.approx(ended)
    for total in (done.run_s, done.delay_s, done.lost_s, done.work_s):
        assert (np.diff(total, axis=0) >= -1e-12).all()


def _assert_no_cpu_does_more_than_time_allows(host: SimulatedHost, done: ClockTrace) -> None:
    lasted = np.diff(done.times_s)[:, None]
    assert (np.diff(done.busy_s + done.steal_s + done.irq_s, axis=0) <= lasted + 1e-9).all()
    assert done.busy_s[-1].sum() == pytest.approx(done.run_s[-1].sum() + done.foreign_s[-1])
    assert done.steal_s[-1].sum() + done.irq_s[-1].sum() >= done.lost_s[-1].sum() - 1e-9
    if host.quota_cpus is not None:
        whole = host.quota_cpus * host.quota_period_s * done.periods
        assert done.run_s[-1].sum() <= whole + 1e-6


@settings(max_examples=30)
@given(
    st.builds(
        SimulatedHost,
        cores=st.integers(1, 4),
        threads=st.integers(1, 4),
        scheduler=st.sampled_from(sorted(SCHEDULERS)),
        smt_yield=st.floats(0, 1),
        hidden_smt=st.booleans(),
        noise=st.just(0.0),
    ),
    st.integers(1, 12),
    seeds,
)
def test_work_is_speed_times_time_by_who_is_where(host: SimulatedHost, sessions: int, seed: int) -> None:
    """Reckoned anew, one session at a time, from the placements alone."""
    done = trace(host, sessions, seed)
    work = [0.0] * sessions
    for event, lasted in enumerate(np.diff(done.times_s)):
        runnable = [i for i in range(sessions) if done.runnable[event, i]]
        on_cpu = Counter(int(done.cpu[event, i]) for i in runnable)
        busy_threads = Counter(int(host.core_of[cpu]) for cpu in on_cpu)
        for i in runnable:
            cpu = int(done.cpu[event, i])
            threads = busy_threads[int(host.core_of[cpu])]
            core_speed = 1 + sum(host.smt_yield * 0.6**extra for extra in range(threads - 1))
            work[i] += float(lasted) / on_cpu[cpu] * core_speed / threads
    assert done.work_s[-1] == pytest.approx(np.array(work))


@settings(max_examples=40)
@given(hosts, st.integers(1, 10), seeds, st.sampled_from([2.0, 20.0, 100.0]))
@pytest.mark.slow
def test_a_round_agrees_with_itself(host: SimulatedHost, sessions: int, seed: int, hz: float) -> None:
    made = one_round(host, sessions, seed, hz=hz)
    assert made.gate.skew_s >= 0
    for session in made.sessions:
        assert session.cpu_s is not None
        assert session.run_delay_s is not None
        assert session.migrations is not None
        spent = sum(e.elapsed_s for e in session.executions)
        gap = spent - session.cpu_s - session.run_delay_s
        assert gap >= 0
        assert host.steal or host.irq or gap < 0.002
        stretches = session.residency
        assert all(a.to_s == b.from_s for a, b in pairwise(stretches))
        assert all((a.cpu, a.state) != (b.cpu, b.state) for a, b in pairwise(stretches))
        assert stretches[0].from_s < 0 < spent <= stretches[-1].to_s
        assert sum(s.cpu_s or 0 for s in stretches) == pytest.approx(session.cpu_s)
        assert sum(s.run_delay_s or 0 for s in stretches) == pytest.approx(session.run_delay_s, abs=1e-9)
        assert session.migrations_seen == sum(a.cpu != b.cpu for a, b in pairwise(stretches))
        assert session.migrations_seen <= session.migrations
        assert {s.cpu for s in stretches} <= set(session.allowed_cpus)
    lasted = np.diff(made.timeline_s)
    for row in made.cpu_timeline:
        assert (np.add(row.busy_s, row.steal_s) <= lasted + 0.021).all()  # two counters, whole ticks
        assert np.greater_equal(row.busy_s, row.softirq_s).all() or host.irq


@settings(max_examples=25)
@given(hosts, st.integers(1, 6), seeds)
def test_fixed_time_begins_nothing_after_its_end(host: SimulatedHost, sessions: int, seed: int) -> None:
    done = trace(host, sessions, seed, for_s=2.5)
    for each in done.executions:
        assert all(begin < 2.5 for begin, _ in each)
        assert each[-1][1] >= 2.5


# --- what the schedulers and the disturbances do ------------------------------------------------


def test_a_frozen_scheduler_never_moves_anything() -> None:
    host = SimulatedHost(cores=2, scheduler="frozen", noisy_neighbour=0.5)
    assert trace(host, 9).moves.sum() == 0


def test_sticky_moves_waiting_sessions_and_never_those_on_shared_cores() -> None:
    host = SimulatedHost(cores=4, scheduler="sticky", rebalance_s=0.05)
    assert all(trace(host, sessions).moves.sum() == 0 for sessions in range(1, 9))
    assert trace(host, 9).moves.sum() > 0


def test_rotation_shares_the_shared_core_fairly() -> None:
    sticky, rotating = (
        elapsed(one_round(SimulatedHost(scheduler=name, rebalance_s=0.02), 9)) for name in ("sticky", "rotating")
    )
    assert sticky[-1] / sticky[0] > 1.4
    assert rotating[-1] / rotating[0] < 1.1


def test_a_newer_scheduler_uses_a_core_that_falls_idle() -> None:
    sticky, newer = (elapsed(one_round(SimulatedHost(scheduler=name), 9)) for name in ("sticky", "smt_balancing"))
    assert newer[-1] < sticky[-1] - 0.1
    assert newer[:7] == pytest.approx(sticky[:7], rel=0.001)


def test_hidden_siblings_lead_to_shared_cores_while_others_are_idle() -> None:
    hidden = SimulatedHost(hidden_smt=True)
    assert any(elapsed(one_round(hidden, 8, seed))[-1] > 1.4 for seed in range(5))
    assert all(elapsed(one_round(SimulatedHost(), 8, seed))[-1] < 1.1 for seed in range(5))
    assert {cpu.siblings for cpu in hidden.info().topology.cpus} == {(cpu,) for cpu in range(16)}
    assert hidden.info().topology.smt_control == "notsupported"


def test_a_quota_shows_as_delay_and_in_the_groups_counters() -> None:
    made = one_round(SimulatedHost(threads=1, quota_cpus=4.0), 8)
    (group,) = made.cgroups
    assert elapsed(made) == pytest.approx([2.0] * 8, rel=0.05)
    assert group.throttled_s == pytest.approx(sum(s.run_delay_s or 0 for s in made.sessions), rel=0.01)
    assert 0 < group.throttled_periods <= group.periods
    assert one_round(SimulatedHost(threads=1, quota_cpus=4.0), 4).cgroups[0].throttled_s == 0


def test_steal_is_in_the_gap_and_on_the_cpu() -> None:
    made = one_round(SimulatedHost(cores=4, threads=1, steal=0.2), 4, executions=10)
    gaps = [sum(e.elapsed_s for e in s.executions) - (s.cpu_s or 0) - (s.run_delay_s or 0) for s in made.sessions]
    stolen = sum(sum(row.steal_s) for row in made.cpu_timeline)
    assert sum(gaps) == pytest.approx(stolen, rel=0.05)
    assert sum(s.run_delay_s or 0 for s in made.sessions) == 0
    assert np.mean(elapsed(made)) == pytest.approx(10 / 0.8, rel=0.1)


def test_a_full_host_feels_a_noisy_neighbour() -> None:
    quiet, noisy = (one_round(SimulatedHost(cores=2, threads=1, noisy_neighbour=duty), 2) for duty in (0.0, 0.7))
    assert elapsed(noisy)[-1] > elapsed(quiet)[-1] * 1.1
    assert quiet.foreign == ()
    (neighbour,) = noisy.foreign
    busy = sum(sum(row.busy_s) for row in noisy.cpu_timeline)
    assert busy == pytest.approx(neighbour.cpu_s + sum(s.cpu_s or 0 for s in noisy.sessions), abs=0.05)


def test_turbo_lowers_speed_and_the_measured_frequency_alike() -> None:
    host = SimulatedHost(threads=1, turbo_slope=0.3, hypervisor=None)
    alone, full = one_round(host, 1, executions=3), one_round(host, 8, executions=3)
    assert elapsed(full)[0] / elapsed(alone)[0] == pytest.approx(1 / 0.7, rel=0.05)
    assert full.cpu_timeline[0].mhz[1] == pytest.approx(0.7 * host.nominal_mhz, rel=0.02)
    assert one_round(SimulatedHost(turbo_slope=0.3), 2).cpu_timeline[0].mhz == ()


def test_all_slow_leaves_no_spread() -> None:
    times = elapsed(one_round(SimulatedHost(threads=1, all_slow=0.5), 4))
    assert times == pytest.approx([2.0] * 4, rel=0.05)


# --- the published picture ----------------------------------------------------------------------


def run(name: str, **changes: Any) -> RunRecord:
    return simulate(replace(preset(name), **changes), tuple(range(1, 18)), repeats=2, seed=3, size="seed")


def rounds_of(record: RunRecord, level: int) -> list[Round]:
    return [made for made in record.rounds if made.level == level]


def makespan_throughput(made: Round) -> float:
    return made.level * 40 / max(elapsed(made))


@pytest.mark.parametrize(("smt_yield", "slow"), [(0.33, 1.5), (0.0, 2.0)])
def test_up_to_one_session_per_core_all_are_equal_and_the_next_makes_exactly_two_slow(
    smt_yield: float, slow: float
) -> None:
    record = run("c4.4xlarge", smt_yield=smt_yield)
    alone = elapsed(rounds_of(record, 1)[0])[0]
    assert alone == pytest.approx(40, rel=0.03)  # as published for n = 200
    for level in range(1, 9):
        for made in rounds_of(record, level):
            assert elapsed(made)[-1] / alone < 1.05
    for level in range(9, 17):
        for made in rounds_of(record, level):
            slowdowns = [time / alone for time in elapsed(made)]
            expected = [1.0] * (16 - level) + [slow] * (2 * (level - 8))
            assert slowdowns == pytest.approx(expected, rel=0.05)
            shared = [s for s in made.sessions if s.executions[0].elapsed_s / alone > 1.25]
            by_core = Counter(s.residency[0].cpu % 8 for s in shared)
            assert set(by_core.values()) <= {2}
            assert all(s.run_delay_s == 0 and s.migrations == 0 for s in made.sessions)


def test_throughput_by_makespan_is_a_jigsaw() -> None:
    record = run("c4.4xlarge")
    at = {level: makespan_throughput(rounds_of(record, level)[0]) for level in (7, 8, 9, 16)}
    assert at[7] < at[8]
    assert at[9] < 0.8 * at[8]
    assert at[16] > 1.25 * at[8]


def test_with_smt_off_nothing_is_uneven_for_long_sql() -> None:
    record = run("c4.4xlarge-smt-off")
    assert [cpu.online for cpu in preset("c4.4xlarge-smt-off").info().topology.cpus] == [True] * 8 + [False] * 8
    for level in range(1, 17):
        for made in rounds_of(record, level):
            times = elapsed(made)
            assert times[-1] / times[0] < 1.25
            assert times[-1] == pytest.approx(40 * max(1.0, level / 8), rel=0.2)


def test_for_short_sql_smt_off_mends_little() -> None:
    """Rebalancing comes every second or so: too late for a statement of a second."""
    host = preset("c4.4xlarge-smt-off")
    spreads = [elapsed(one_round(host, 12, seed)) for seed in range(5)]
    assert max(times[-1] / times[0] for times in spreads) > 1.4


# --- runs ---------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run_and_another_one_does_not() -> None:
    first, again, other = (simulate(preset("this-vm"), (1, 3), 2, seed) for seed in (1, 1, 2))
    assert first == again
    assert first.rounds != other.rounds


@pytest.mark.parametrize("name", presets())
def test_each_preset_gives_plain_finite_values(name: str) -> None:
    host = preset(name)
    count = len(host.online)
    record = simulate(host, (1, count + 1), repeats=1, seed=5, size="short")
    assert record.header.plan.rounds == len(record.rounds)
    assert [made.order for made in record.rounds] == list(range(len(record.rounds)))
    _assert_plain(record)
    assert name in listing()


def _assert_plain(value: object) -> None:
    """Only what JSON can hold: no NumPy scalar, no NaN."""
    if isinstance(value, Struct):
        for name in value.__struct_fields__:
            _assert_plain(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            _assert_plain(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            assert type(key) is str
            _assert_plain(each)
    else:
        assert value is None or type(value) in (bool, int, float, str), type(value)
        assert not isinstance(value, float) or math.isfinite(value)


def test_seconds_choose_the_number_of_executions() -> None:
    record = simulate(SimulatedHost(), (1,), repeats=1, size="short", seconds=2)
    assert {len(s.executions) for made in record.rounds for s in made.sessions} == {13}  # 50^4 rows at 40 Mrows/s


def test_a_run_of_now_has_a_name_of_its_own() -> None:
    one, two = (simulate_now("this-vm", "1-2", size="tiny", repeats=1) for _ in range(2))
    assert one.header.run_id != two.header.run_id
    assert one.rounds[0].sessions == two.rounds[0].sessions


@pytest.mark.parametrize(
    "wrong",
    [{"sockets": 0}, {"threads": 9}, {"steal": 2.0}, {"scheduler": "lottery"}, {"quota_cpus": 0.0}, {"noisy_cpu": 16},
     {"cores": 10_000}, {"nodes": 9}, {"mrows_per_s": 0.0}, {"name": "two words"}, {"smt_yield": float("nan")},
     {"held": (99,)}, {"held": (-1,)}, {"held": (8,), "smt_off": True}, {"nominal_mhz": -1.0}, {"steal_above": -5},
     {"mrows_per_s": math.inf}, {"nominal_mhz": math.inf}, {"rebalance_s": math.inf}],
)  # fmt: skip
def test_an_impossible_host_is_refused_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="such a host cannot be simulated"):
        SimulatedHost(**wrong)


@pytest.mark.parametrize("wrong", [{"levels": ()}, {"levels": (0,)}, {"hz": 0.0}, {"size": "huge"}, {"repeats": 0}])
def test_an_impossible_run_is_refused_in_words(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        simulate(SimulatedHost(), **({"levels": (1,)} | wrong))


def test_unknown_presets_and_two_amounts_are_refused() -> None:
    with pytest.raises(UnknownName, match="graviton"):
        simulate_now("c5")
    with pytest.raises(UsageError, match="contradict each other"):
        simulate_now("this-vm", executions=2, for_s=3.0)


# --- the truth that tests hold an analysis against ------------------------------------------------


@settings(max_examples=30)
@given(hosts, st.integers(1, 12), seeds)
@pytest.mark.slow
def test_the_true_losses_add_up_to_the_time_beyond_the_work(host: SimulatedHost, sessions: int, seed: int) -> None:
    done = trace(host, sessions, seed)
    ended = np.array([each[-1][1] for each in done.executions])
    assert sum(done.truth.values()) + done.work_s[-1] == pytest.approx(ended)
    assert all((lost >= -1e-12).all() for lost in done.truth.values())


def test_memory_bound_to_one_node_slows_those_who_run_on_the_other() -> None:
    host = SimulatedHost(sockets=2, cores=2, threads=1, nodes=2, memory_node=0, remote_slowdown=0.4, noise=0.0)
    made = one_round(host, 4)
    assert {session.memory_nodes for session in made.sessions} == {(0,)}
    assert elapsed(made) == pytest.approx([1.0, 1.0, 1 / 0.6, 1 / 0.6], rel=0.01)


# --- variants


def test_sessions_that_are_held_on_some_cpus_never_run_elsewhere() -> None:
    host = SimulatedHost("two", sockets=2, cores=4, threads=2, nodes=2, scheduler="rotating", noise=0.02)
    run = simulate(host, (1, 6, 20), repeats=2, seed=1, variants=("baseline", "node:1", "ncpus:3", "cpus:0,8"))
    cpus = {"node:1": {4, 5, 6, 7, 12, 13, 14, 15}, "ncpus:3": {0, 1, 2}, "cpus:0,8": {0, 8}}
    for each in run.rounds:
        if each.variant != "baseline":
            assert {s.cpu for one in each.sessions for s in one.residency} <= cpus[each.variant]
            assert {one.allowed_cpus for one in each.sessions} == {tuple(sorted(cpus[each.variant]))}
    assert {one.memory_nodes for r in run.rounds if r.variant == "node:1" for one in r.sessions} == {(1,)}


def test_one_per_core_does_to_sessions_what_smt_off_does() -> None:
    """Both make sixteen sessions on eight cores take turns; placement is all that differs from SMT off."""
    run = simulate(preset("c4.4xlarge"), (1, 16), repeats=3, seed=2, variants=("baseline", "smt_off", "one_per_core"))
    seconds = {
        variant: median(
            one.executions[0].elapsed_s
            for each in run.rounds
            if each.variant == variant and each.level == 16
            for one in each.sessions
        )
        for variant in ("smt_off", "one_per_core")
    }
    assert seconds["one_per_core"] == pytest.approx(seconds["smt_off"], rel=0.05)


def test_bound_to_the_node_of_its_memory_the_box_of_the_numa_article_does_more() -> None:
    """Box A: four nodes, ten threads, memory on one; the article has 6.2 times as much bound to node 0."""
    box = SimulatedHost("box-a", sockets=4, cores=10, threads=2, nodes=4, remote_slowdown=0.6, memory_node=0)
    run = simulate(box, (1, 10), repeats=2, seed=1, variants=("baseline", "node:0"))
    spread, bound = (
        max(one.executions[0].elapsed_s for each in run.rounds if each.variant == v and each.level == 10
            for one in each.sessions)
        for v in ("baseline", "node:0")
    )  # fmt: skip
    assert spread / bound == pytest.approx(2.5, rel=0.05)


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("spread", "no variant of a simulated host is called 'spread'"),
        ("node", "no variant of a simulated host is called 'node'"),
        ("one_per_core:1", "is called 'one_per_core:1'"),
        ("node:1", "node:1 is none of the memory nodes of c4.4xlarge: 0 to 0"),
        ("ncpus:000000001" + "9" * 5000, "ncpus:000000001" + "9" * 31 + " is no number from 1 to 16"),
        ("ncpus:0000000019", "ncpus:0000000019 is no number from 1 to 16"),
        ("ncpus:17", "ncpus:17 is no number from 1 to 16"),
        ("cpus:16", "has the CPUs 0 to 15"),
    ],
)
def test_a_variant_that_cannot_be_simulated_is_refused(variant: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        simulate(preset("c4.4xlarge"), (1,), variants=("baseline", variant))

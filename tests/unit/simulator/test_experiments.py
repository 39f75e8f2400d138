"""Simulated soaks, pools and several databases: what was put in comes out of the usual analysis."""

import itertools

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.errors import UnknownName, UsageError
from dbcpu.simulator import Experiment, SimulatedHost, simulate_now
from dbcpu.simulator.experiments import RunOptions, segment, simulate_pool, simulate_soak, simulate_together
from dbcpu.simulator.rounds import SimulatedWork, traced

SMALL = SimulatedHost("small", cores=4, threads=2, noise=0.002)
GIVEN = RunOptions(size="short", repeats=3, seed=2)


def test_in_a_soak_two_of_five_stay_on_a_shared_core() -> None:
    record = simulate_soak(SMALL, 5, 24.0, GIVEN)
    assert (record.header.plan.experiment, record.header.plan.segment_s) == ("soak", 2.4)
    assert [each.anchor for each in record.rounds] == [True, *[False] * 10, True]
    found = explain(record)
    assert found.soak is not None
    assert found.soak.second is not None
    assert len(found.soak.second.sessions) == 2
    assert found.soak.second.ratio == pytest.approx(1.5, rel=0.03)


def test_segments_share_out_what_happened_and_lose_nothing() -> None:
    whole = traced(SMALL, 9, SimulatedWork(6_250_000, None, 8.0), np.random.default_rng(3))
    edges = [0.0, 1.3, 4.0, float(whole.times_s[-1])]
    parts = [segment(whole, from_s, to_s) for from_s, to_s in itertools.pairwise(edges)]
    for name in ("run_s", "delay_s", "work_s", "busy_s"):
        shares = sum(getattr(part, name)[-1] for part in parts)
        assert shares == pytest.approx(getattr(whole, name)[-1])
    assert sum(len(each) for part in parts for each in part.executions) == sum(map(len, whole.executions))
    assert all(len(part.cpu) == len(part.times_s) - 1 for part in parts)


def test_jobs_that_wait_hold_the_sessions_of_a_small_pool() -> None:
    record = simulate_pool(SMALL, 40, (2, 40), GIVEN, blocking=10, block_s=1.0)
    for each in record.rounds:
        if not each.anchor:
            assert sum(len(one.executions) for one in each.sessions) == 30
            assert sum(len(one.blocked) for one in each.sessions) == 10
    found = explain(record)
    assert found.pool is not None
    two, all_at_once = found.pool.sizes
    assert two.total_s == pytest.approx((30 * 0.15625 + 10) / 2, rel=0.1)
    assert all_at_once.total_s < 2.0
    assert (two.done_s or 0) > 3 * (all_at_once.done_s or 0)
    assert all_at_once.enough.value == "yes"


def test_calls_wait_for_a_session_where_there_are_few_and_take_longer_where_there_are_many() -> None:
    record = simulate_pool(SMALL, 100, (4, 100), GIVEN, connections=50)
    assert record.header.plan.connections == 50
    pools = [each for each in record.rounds if not each.anchor]
    assert all({call.connection for call in each.calls} == set(range(50)) for each in pools)
    assert all(call.sent_s < call.arrived_s <= 0 <= (call.began_s or 0.0) for each in pools for call in each.calls)
    found = explain(record)
    assert found.pool is not None
    few, many = ({each.part: each.p50_s or 0.0 for each in size.calls} for size in found.pool.sizes)
    assert few["wait"] > 10 * few["work"]
    assert many["wait"] < 0.01 * many["work"]
    assert many["work"] > 10 * few["work"]
    assert few["whole"] < many["whole"]


@pytest.mark.parametrize(("connections", "active"), [(4, 4), (6, 4), (1, 1), (5, 2)])
def test_callers_that_wait_have_one_call_under_way_each(connections: int, active: int) -> None:
    record = simulate_pool(SMALL, 40, (active,), GIVEN, 10, 0.2, connections, one_at_a_time=True)
    assert (record.header.plan.connections, record.header.plan.one_at_a_time) == (connections, True)
    for each in record.rounds:
        if each.anchor:
            assert not each.calls
            continue
        assert sum(len(one.executions) for one in each.sessions) == 30
        assert sum(len(one.blocked) for one in each.sessions) == 10
        assert len(each.calls) == 40
        assert sum(call.arrived_s <= 0 for call in each.calls) == connections
        jobs = [one for session in each.sessions for one in (*session.executions, *session.blocked)]
        assert sorted(one.start_s for one in jobs) == [call.began_s for call in each.calls]
        for call in each.calls:
            assert call.sent_s < call.arrived_s <= (call.began_s or 0.0)
        for connection in range(connections):
            own = [call for call in each.calls if call.connection == connection]
            assert own
            for before, after in itertools.pairwise(own):
                assert (before.answered_s or 0.0) <= after.sent_s
    found = explain(record)
    assert found.pool is not None
    assert found.pool.one_at_a_time


def test_calls_one_at_a_time_wait_for_fewer_others_than_calls_all_at_once() -> None:
    found = [
        explain(simulate_pool(SMALL, 60, (4,), GIVEN, connections=6, one_at_a_time=each)) for each in (True, False)
    ]
    waits = [{time.part: time.p50_s or 0.0 for time in each.pool.sizes[0].calls}["wait"] for each in found if each.pool]
    assert waits[0] < 0.2 * waits[1]


def test_databases_with_cpus_of_their_own_do_not_slow_each_other_and_others_do() -> None:
    apart = explain(simulate_together(SMALL, (2, 2), [(0, 1), (2, 3)], GIVEN))
    assert apart.together is not None
    assert apart.together.apart
    assert [party.loss for party in apart.together.parties] == [pytest.approx(1.0, abs=0.03)] * 2
    assert [party.cpus_seen for party in apart.together.parties] == [(0, 1), (2, 3)]
    shared = explain(simulate_together(SMALL, (4, 8), [], GIVEN))
    assert shared.together is not None
    assert all(party.told for party in shared.together.parties)


def test_a_workload_by_name_makes_the_host_do_what_that_work_does() -> None:
    found = explain(simulate_now("c4.4xlarge", "1,9", size="short", repeats=2, workload="increment"))
    assert found.levels[-1].max_over_min == pytest.approx(2.0, rel=0.03)
    run = simulate_now("c4.4xlarge", "1,9", size="short", repeats=2, workload="mixed")
    assert run.header.plan.workload.name == "mixed"
    assert all(session.voluntary_switches for each in run.rounds for session in each.sessions)


def test_interleaved_memory_is_between_local_and_remote() -> None:
    box = {"sockets": 2, "cores": 4, "threads": 1, "nodes": 2, "remote_slowdown": 0.2}
    run = simulate_now(
        None, "1,4", variants="node:0,memory:interleave", changes=box, size="short", repeats=2, label="box"
    )
    alone = {each.variant: each.median_s for each in explain(run).levels if each.level == 1}
    assert alone["memory:interleave"] == pytest.approx((alone["node:0"] or 0) / 0.9, rel=0.02)
    with pytest.raises(UsageError, match="memory:7 is neither interleave nor a memory node"):
        simulate_now(None, "1", variants="memory:7", changes=box)
    with pytest.raises(UsageError, match=r"memory:0{9}9{31} is neither interleave nor a memory node"):
        simulate_now(None, "1", variants="memory:" + "0" * 9 + "9" * 5000, changes=box)


@pytest.mark.parametrize(
    ("wanted", "given", "why"),
    [
        ({"soak_s": 10.0, "pool": 5}, {}, "--soak and --pool cannot be combined"),
        ({"blocking": 5}, {}, "^--blocking goes with --pool; give that, too"),
        ({"soak_s": 10.0, "connections": 5}, {}, "--connections goes with --pool, not with --soak"),
        ({"one_at_a_time": True}, {}, "^--one-at-a-time goes with --pool; give that, too"),
        ({"cpus": ("0-3",)}, {}, "^--cpus goes with --together; hold all sessions by --variants cpus:0-3"),
        ({"soak_s": 10.0, "one_at_a_time": True}, {}, "--one-at-a-time goes with --pool, not with --soak"),
        ({"pool": 20, "one_at_a_time": True}, {}, "--one-at-a-time needs --connections; give their number"),
        (
            {"pool": 20, "connections": 3, "one_at_a_time": True},
            {"sessions": "2,4"},
            "--sessions 4 is more than the 3 connections",
        ),
        ({"pool": 20, "connections": 21}, {}, "--connections 21 is more than the 20 jobs"),
        ({"pool": 20, "cpus": ("0",)}, {}, "--cpus goes with --together, not with --pool"),
        ({"pool": 20}, {"for_s": 2.0}, "--pool does not go with --variants"),
        ({"pool": 20}, {"sessions": "30"}, "20 jobs are not between 30"),
        ({"pool": 20, "blocking": 20}, {}, "leaves none of the 20 jobs to compute"),
        ({"soak_s": 10.0}, {"sessions": "1-4"}, "--soak has one number of sessions"),
        ({"together": "4"}, {}, "the sessions of two databases or more"),
        ({"together": "4:x"}, {}, "is not the sessions of each database"),
        ({"together": "1:1", "cpus": ("0", "99")}, {}, "no CPU 99"),
        ({"together": "1:1"}, {"sessions": "4"}, "leave --sessions out"),
    ],
)
def test_what_does_not_go_together_is_said(wanted: dict[str, object], given: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        simulate_now("this-vm", experiment=Experiment(**wanted), **given)  # type: ignore[arg-type]


def test_an_unknown_workload_names_those_there_are() -> None:
    with pytest.raises(UnknownName, match="workload of a simulated host"):
        simulate_now("this-vm", workload="hashing")

"""Simulated CPUs that are slow by turns, and the pieces of the witness that sees it."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.record.rounds import RunRecord, Witness
from dbcpu.simulator import Clockwork, SimulatedHost, simulate
from dbcpu.simulator.host import WORKLOAD_EXPONENT
from dbcpu.simulator.witness import PIECE_NS

HOST = SimulatedHost(cores=2, threads=1, toggle=1.8, noise=0.0)


def witnesses(record: RunRecord) -> list[Witness]:
    return [each.witness for each in record.rounds if each.witness]


def test_pieces_take_two_times_for_the_share_of_time_that_was_asked_for() -> None:
    record = simulate(replace(HOST, pace_hz=20.0), (1, 2), repeats=10, size="long", seed=4)
    for beside in (False, True):
        ns = np.array(
            [
                ns
                for witness in witnesses(record)
                for cpu in witness.cpus
                for at_us, ns in zip(cpu.at_us, cpu.ns, strict=True)
                if (at_us > 0) is beside
            ]
        )
        slow = ns > 1.4 * PIECE_NS
        assert slow.mean() == pytest.approx(HOST.toggle_slow, abs=0.08)
        assert np.median(ns[slow]) / np.median(ns[~slow]) == pytest.approx(1.8, rel=0.02)


def test_sessions_lose_to_slow_states_what_the_truth_says() -> None:
    clockwork = Clockwork(HOST, 2, 5.0, np.random.default_rng(5))
    trace = clockwork.run()
    lost_s = [trace.executions[at][0][1] - 5.0 for at in range(2)]
    assert lost_s == pytest.approx(trace.truth["pace"].tolist())
    speed = HOST.toggle_slow * 1.8**-WORKLOAD_EXPONENT + 1 - HOST.toggle_slow
    assert all(5.0 * (1 / speed - 1) * 0.6 < lost < 5.0 * (1 / speed - 1) * 1.5 for lost in lost_s)


def test_hidden_siblings_slow_the_witness_as_they_slow_the_sessions() -> None:
    host = SimulatedHost(cores=1, threads=2, hidden_smt=True, pace_hz=20.0)
    by_level: dict[int, list[int]] = {1: [], 2: []}
    for each in simulate(host, (1, 2), repeats=2, seed=6).rounds:
        assert each.witness
        cpus = {stay.cpu for session in each.sessions for stay in session.residency if stay.state == "R"}
        by_level[each.level] += [
            ns
            for cpu in each.witness.cpus
            if cpu.cpu in cpus
            for at_us, ns in zip(cpu.at_us, cpu.ns, strict=True)
            if at_us > 10_000
        ]
    alone, both = (float(np.median(by_level[level])) for level in (1, 2))
    assert both / alone == pytest.approx((1.33 / 2) ** (-1 / WORKLOAD_EXPONENT), rel=0.03)


def test_a_host_of_one_speed_has_no_witness_unless_asked() -> None:
    plain = simulate(SimulatedHost(cores=2), (1,), repeats=1)
    asked = simulate(SimulatedHost(cores=2, pace_hz=5.0), (1,), repeats=1)
    assert witnesses(plain) == []
    assert {each.hz for each in witnesses(asked)} == {5.0}
    assert [each.sessions for each in plain.rounds] == [each.sessions for each in asked.rounds], "all else is the same"

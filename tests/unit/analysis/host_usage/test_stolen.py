"""Steal of a CPU is shared by its sessions in proportion to their CPU time."""

import pytest

from dbcpu.analysis.host_usage.host_time import stolen_s
from support.builders.record import round_of, session


def test_a_session_that_ran_twice_as_long_lost_twice_as_much() -> None:
    members = [session(0, 2.0, 1.0, cpu=0), session(1, 1.0, 2.0, cpu=0)]
    shared = round_of(members, busy_s={0: 3.0}, steal_s={0: 0.6})
    found = stolen_s(shared, [(0.0, 3.0), (0.0, 3.0)])
    assert found.sum() == pytest.approx(0.6, rel=0.1)
    assert found[0] == pytest.approx(2 * found[1], rel=0.15)


def test_who_was_alone_on_a_cpu_lost_all_of_its_steal_and_nobody_elses() -> None:
    members = [session(0, 2.0, cpu=0), session(1, 2.0, cpu=1)]
    apart = round_of(members, busy_s={0: 2.0, 1: 2.0}, steal_s={0: 0.5, 1: 0.0})
    assert stolen_s(apart, [(0.0, 2.0), (0.0, 2.0)]).tolist() == pytest.approx([0.5, 0.0], rel=0.1)

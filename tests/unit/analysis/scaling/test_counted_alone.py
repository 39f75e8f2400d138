"""Usable cores are whole CPUs: what others take of the CPU of a single session is taken off, also below 1.10x."""

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.reports.documents.quoted import quotable
from dbcpu.simulator import SimulatedHost, simulate


def test_steal_that_leaves_it_open_whether_one_session_is_slow_is_taken_off_too() -> None:
    record = simulate(SimulatedHost(cores=4, threads=1, steal=0.1), (1, 2, 3, 4), repeats=6, seed=27)
    found = explain(record)
    assert found.levels[0].full_speed is Answer.UNDECIDED
    assert found.capacity is not None and found.capacity.usable_cores is not None
    assert 3.4 < found.capacity.usable_cores < 3.8
    assert "a whole one would do 1.0" in quotable(record, found)

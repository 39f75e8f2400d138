"""Which part of what was counted belongs to a session's executions."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.causes.session_columns import watched_run
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.sessions.valid_sessions import Span, timed, timed_round
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders import experiments as build


def counted(experiment: str, *, anchor: bool = False) -> RunRecord:
    """Three executions, 4.2 s in all, ended in a segment of 6.4 s in which the session ran 1.48 s and waited 4.92 s."""
    member = replace(build.session(0, [1.4] * 3), cpu_s=1.48, run_delay_s=4.92)
    return build.record([build.round_of(0, [member], 6.4, anchor=anchor)], experiment=experiment)


def test_of_a_segment_as_much_is_counted_as_its_executions_lasted() -> None:
    run = counted("soak")
    (one,) = timed(run)
    assert one.session.cpu_s == pytest.approx(1.48 * 4.2 / 6.4)
    assert one.session.run_delay_s == pytest.approx(4.92 * 4.2 / 6.4)
    assert timed_round(run, 0) == (one,)


@pytest.mark.parametrize("run", [counted("sweep"), counted("soak", anchor=True)], ids=["sweep", "single session"])
def test_rounds_that_begin_and_end_with_their_sessions_are_as_counted(run: RunRecord) -> None:
    (one,) = timed(run)
    assert (one.session.cpu_s, one.session.run_delay_s) == (1.48, 4.92)


def test_nothing_runs_for_longer_than_it_lasts() -> None:
    member = replace(build.session(0, [3.5, 3.5]), cpu_s=7.2, run_delay_s=None)
    run = build.record([build.round_of(0, [member], 6.4)], experiment="soak")
    assert timed(run)[0].session.cpu_s == pytest.approx(7.0)


def test_a_span_without_a_loss_is_shorter_by_it_and_what_was_blocked_stays_no_part_of_it() -> None:
    span = Span.of(((1.0, 3.0), (4.0, 6.0)), 1.0, 6.0, idle_s=1.0)
    shorter = span.shortened(0.4)
    assert shorter.elapsed_s == pytest.approx(span.elapsed_s - 0.4)
    assert shorter.executions[1] == pytest.approx((3.7, 5.5))


def test_memory_nodes_have_the_kernels_numbers_whatever_those_are() -> None:
    """POWER has nodes 0 and 8, which dbcpu counts as 0 and 1."""
    host = SimulatedHost(cores=8, threads=1, nodes=2, remote_slowdown=0.3, memory_node=1)
    run = simulate(host, levels=(1, 8), repeats=3, seed=2)
    assert run.header.host is not None
    eight = replace(run.header.host, facts={**run.header.host.facts, "kernel_nodes": "0=0 1=8"})
    rounds = tuple(
        replace(each, sessions=tuple(replace(one, memory_nodes=(8,)) for one in each.sessions)) for each in run.rounds
    )
    other = RunRecord(replace(run.header, host=eight), rounds)
    assert {each.remote for each in timed(run)} == {False, True}
    assert [each.remote for each in timed(other)] == [each.remote for each in timed(run)]
    seen, expected = watched_run(run_context(other)), watched_run(run_context(run))
    assert seen is not None
    assert expected is not None
    assert seen.evidence.remote_s.tolist() == pytest.approx(expected.evidence.remote_s.tolist())

"""What one session takes alone."""

from math import log
from statistics import stdev

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import Clock, Execution
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import ROWS, record, round_of, session, solos, unsampled


def test_medians_per_execution_over_all_solo_sessions_anchors_included() -> None:
    rounds = [
        round_of([session(0, run_s=value, executions=2)], anchor=anchor)
        for value, anchor in ((3.6, False), (3.8, True), (3.4, True))
    ]
    ref = explain(record(rounds)).reference
    assert ref is not None
    assert [ref.sessions, ref.elapsed_s, ref.cpu_s] == pytest.approx([3, 1.8, 1.8])
    assert ref.mrows_per_s == pytest.approx(ROWS / 1.8 / 1e6)
    assert ref.spread == pytest.approx(stdev(log(value) for value in (1.8, 1.9, 1.7)))
    assert ref.tolerance == pytest.approx(3 * 1.4826 * 0.1 / 1.8), "one far out has a cause, and hides no other"


def test_of_three_the_one_far_out_is_noise_and_of_four_an_outlier() -> None:
    rounds = [round_of([session(0, run_s=value)], order=order) for order, value in enumerate((1.8, 1.82, 4.1, 1.81))]
    three, four = explain(record(rounds[:3])).reference, explain(record(rounds)).reference
    assert three is not None and four is not None
    assert three.spread == pytest.approx(stdev(map(log, (1.8, 1.82, 4.1))))
    assert four.spread < 0.02


def test_a_quiet_reference_tolerates_ten_percent() -> None:
    ref = explain(record(solos())).reference
    assert ref is not None
    assert ref.tolerance == pytest.approx(0.10)


def test_failed_and_wrong_solo_sessions_are_left_out_and_marked() -> None:
    wrong = round_of([session(0, 0.5, answer_ok=False)])
    dead = round_of([session(0, 0.2, answer_ok=None, error="terminated")])
    lost = round_of([session(0, 0.2)], error="the server was lost")
    analysis = explain(record([*solos(), wrong, dead, lost]))
    assert analysis.reference is not None
    assert [analysis.reference.sessions, analysis.reference.elapsed_s] == pytest.approx([3, 1.8])
    assert [each.why for each in analysis.sessions if not each.valid] == [
        "wrong answer",
        "terminated",
        "the round failed: the server was lost",
    ]


def test_no_solo_round_means_no_slowdown_and_a_finding() -> None:
    analysis = explain(record([round_of([session(0), session(1, 2.5)])]))
    assert analysis.reference is None
    assert [each.slowdown for each in analysis.sessions] == [None, None]
    assert [each.cause for each in analysis.sessions] == ["unexplained", "unexplained"]
    assert "no-solo-round" in [each.code for each in analysis.findings]
    assert "spread" in analysis.verdict


def test_server_stamps_are_used_where_every_execution_has_one() -> None:
    stamped = replace(session(0), executions=(Execution(0.0, 2.5, 0.1, 1.8),))
    ref = explain(record([round_of([stamped])])).reference
    assert ref is not None
    assert ref.elapsed_s == pytest.approx(1.9)
    bare = replace(session(0), executions=(Execution(0.0, 2.5),))
    ref = explain(record([round_of([stamped]), round_of([bare])])).reference
    assert ref is not None
    assert ref.elapsed_s == pytest.approx(2.5)


def test_a_badly_known_server_clock_is_used_for_durations_only() -> None:
    stamped = replace(session(0), executions=(Execution(0.0, 2.5, 0.4, 1.8),))
    far = Clock("server", 12.0, 0.05)
    ref = explain(record([round_of([stamped], clocks=(far,))])).reference
    assert ref is not None
    assert ref.elapsed_s == pytest.approx(1.8)


def test_times_that_run_backwards_are_no_measurement() -> None:
    odd = replace(session(0), executions=(Execution(1.0, 0.0),))
    analysis = explain(record([*solos(server_stamps=False), round_of([odd])]))
    assert analysis.sessions[-1].why == "its times run backwards"


def test_a_reference_without_the_host_has_no_cpu_time() -> None:
    ref = explain(record([round_of([unsampled(session(0))], not_sampled="remote")])).reference
    assert ref is not None
    assert (ref.cpu_s, ref.queue_s) == (None, None)


def test_memory_on_another_node_is_a_cause_and_no_noise() -> None:
    host = SimulatedHost(cores=8, threads=1, nodes=2, remote_slowdown=0.2, memory_node=0)
    found = explain(simulate(host, levels=(1, 2, 4, 8), repeats=6, seed=2))
    assert found.reference is not None
    assert found.reference.spread < 0.03
    assert {each.code for each in found.findings} & {"noisy-reference", "unsteady-cpu"} == set()
    (all_cores,) = [each for each in found.levels if each.level == 8]
    assert (all_cores.even, all_cores.main_cause) == (Answer.NO, Cause.REMOTE_MEMORY)
    (alone,) = [each for each in found.levels if each.level == 1]
    assert alone.full_speed is not Answer.YES or (alone.slowdown_median or 1.0) <= 1.1


def test_interrupts_that_one_session_alone_meets_by_chance_hide_no_turbo() -> None:
    """They were taken for noise of medians: at 1.18x it was inconclusive whether four sessions are at full speed."""
    host = SimulatedHost(cores=4, threads=1, turbo_slope=0.15, irq=0.5)
    found = explain(simulate(host, levels=(1, 2, 3, 4, 5), repeats=6, seed=2, size="medium"))
    lost = found.levels[0].rounds_apart
    assert lost is not None
    assert lost.cause is Cause.IRQ
    assert found.levels[3].slowdown_median == pytest.approx(1 / 0.85, rel=0.02)
    assert found.levels[3].full_speed is Answer.NO

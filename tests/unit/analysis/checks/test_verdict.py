"""The one sentence, for runs of every kind."""

from dataclasses import replace

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record import RunRecord
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import SOLO_S, host, record, round_of, session, solos, unsampled


def even() -> RunRecord:
    return record([*solos(), round_of([session(0), session(1, 1.85)])])


def replace_status(run: RunRecord, status: str) -> RunRecord:
    return replace(run, header=replace(run.header, status=status))


def test_two_cpus_and_three_sessions() -> None:
    assert explain(three_on_two()).verdict == (
        "Up to 2 sessions every session gets the same CPU (max/min at most 1.01); from 3 on sessions slow down: "
        "at 3 sessions 2 of 3 have a slowdown of 2.02x (run-queue wait: more sessions than the 2 vCPUs)."
    )


def test_a_shared_core() -> None:
    said = explain(nine_on_eight()).verdict
    assert "Up to 8 sessions" in said
    assert "2 of 9 have a slowdown of 1.51x" in said
    assert "shared core" in said


def test_everybody_gets_the_same() -> None:
    said = explain(even()).verdict
    assert said == "Every session gets the same CPU at all levels up to 2 sessions (max/min at most 1.03)."


def test_where_solo_sessions_differ_like_a_shared_core_equality_is_not_claimed() -> None:
    alone = [round_of([session(0, run_s)], repeat=i, order=i) for i, run_s in enumerate((1.0, 1.8, 3.1))]
    said = explain(record([*alone, round_of([session(0), session(1, 1.85)])])).verdict
    assert said.startswith("Inconclusive: no difference shown up to 2 sessions, but slowdowns below ")
    assert "every session gets the same" not in said.lower()


def test_steal_that_hides_losses_is_said() -> None:
    """Or the reader looks for a busy process on a host whose hypervisor gave the time to others."""

    def said(share: float) -> str:
        rounds = [
            round_of([session(0, 1.0, gap_s=gap_s)], order=i, busy_s={0: 1.0}, steal_s={0: share * (1.0 + gap_s)})
            for i, gap_s in enumerate((0.1, 0.8, 2.1))
        ]
        return explain(record([*rounds, round_of([session(0), session(1)], order=3)])).verdict

    assert said(0.0).startswith("Inconclusive: no difference shown")
    assert "hypervisor" not in said(0.0)
    assert "noise of single-session times, with 30 % CPU steal (" in said(0.3)


def test_all_equally_slow_are_not_called_equal() -> None:
    slow = round_of([session(i, SOLO_S * 1.5, cpu=i) for i in range(2)])
    said = explain(record([*solos(), slow])).verdict
    assert said.startswith("Slowdown from the first level: at 2 sessions all 2 have a slowdown of 1.50x")


def test_queueing_though_there_are_cpus_enough_is_said() -> None:
    pinned = round_of([session(0, SOLO_S, SOLO_S, cpu=0), session(1, SOLO_S, SOLO_S, cpu=0)])
    assert "though there were enough" in explain(record([*solos(), pinned], host(cores=4), vcpus=4)).verdict


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (record(solos()), "A single session reaches 22.76 Mrows/s (1.80 s); measure more"),
        (record([round_of([], level=4, error="17 of 32 connected")], status="failed"), "Nothing was measured: 17 of"),
        (record([round_of([session(0), session(1, 2.7)])]), "Without a valid single-session baseline only the spread"),
        (replace_status(even(), "interrupted"), "Interrupted after 4 of 4 rounds: Every session"),
        (record([], status="interrupted", planned=9), "Nothing was measured: no round was finished."),
    ],
    ids=["solo only", "failed", "no solo", "interrupted", "interrupted at once"],
)
def test_runs_that_are_not_whole(run: RunRecord, expected: str) -> None:
    assert explain(run).verdict.startswith(expected)


def test_without_sampling_the_cause_is_not_claimed() -> None:
    blind = round_of([unsampled(session(0, 3.6)), unsampled(session(1, 3.6))], not_sampled="the host is remote")
    assert "cause unknown, not sampled: the host is remote" in explain(record([*solos(), blind])).verdict

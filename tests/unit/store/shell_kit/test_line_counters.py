"""Counters of the kernel in the lines: who else used a CPU is known from them, and unknown without."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.errors import RecordFormatError
from dbcpu.record.rounds import UNLISTED, RunRecord
from dbcpu.store.shell_kit import line_file

HEAD = """dbcpu-lines 2
cpu id=0 core=0 socket=0 siblings=0
cpu id=1 core=1 socket=0 siblings=1
workload name=increment size=tiny n=20000 rows=20000 answer=20000 executions=1
sql :
run started=2026-01-02T03:04:00 host=box release=6.1 cpus=2 version=sh kind=shell workers=increment ticks_per_s=100
"""
BASE_S = 1767323050
TICKS = (900, 10, 50, 5000, 0, 0, 0, 7)


def a_round(
    order: int, sessions: list[tuple[int, float, float]], length_s: float, busy_s: dict[int, float] | None
) -> str:
    """``sessions``: CPU, CPU time and time on the run queue of each. ``busy_s``: by CPU; None without counters."""
    begin_s = BASE_S + 100 * order
    lines = [f"round order={order} level={len(sessions)} repeat=0 released={begin_s}"]
    for share in (0.0, 0.5, 1.0):
        at_s = begin_s + share * length_s
        for cpu, busy in (busy_s or {}).items():
            busy_ticks = round(busy * share * 100)
            passed = [busy_ticks, 0, 0, round(length_s * share * 100) - busy_ticks, 0, 0, 0, 0]
            counted = ",".join(str(base + more) for base, more in zip(TICKS, passed, strict=True))
            lines.append(f"ticks order={order} at={at_s} cpu={cpu} of={counted}")
        for ordinal, (cpu, cpu_s, delay_s) in enumerate(sessions):
            run_ns, delay_ns = round(cpu_s * share * 1e9), round(delay_s * share * 1e9)
            lines.append(
                f"seen order={order} ordinal={ordinal} at={at_s} cpu={cpu} state=R run_ns={run_ns} delay_ns={delay_ns}"
            )
    for ordinal, (_, cpu_s, delay_s) in enumerate(sessions):
        lines.append(f"session order={order} ordinal={ordinal} pid={100 + ordinal} cpu_s={cpu_s} delay_s={delay_s}")
        lines.append(f"execution order={order} ordinal={ordinal} start={begin_s} end={begin_s + length_s} answer=20000")
    return "\n".join(lines) + "\n"


def run(*rounds: str) -> RunRecord:
    return line_file.from_text(HEAD + "".join(rounds) + "end status=complete\n", "lines")


QUIET = [a_round(order, [(0, 2.0, 0.0)], 2.0, {0: 2.0, 1: 0.0}) for order in range(3)]


def test_the_timeline_holds_what_passed_between_readings() -> None:
    first = run(a_round(0, [(0, 2.0, 1.0)], 3.0, {0: 3.0, 1: 0.5})).rounds[0]
    assert first.timeline_s == (0.0, 1.5, 3.0)
    assert [(each.cpu, round(sum(each.busy_s), 6)) for each in first.cpu_timeline] == [(0, 3.0), (1, 0.5)]
    (others,) = first.foreign
    assert (others.pid, others.cpus) == (UNLISTED, (0, 1))
    assert others.cpu_s == pytest.approx(1.5)


def test_a_lone_session_behind_other_processes_is_behind_other_processes() -> None:
    analysis = explain(run(*QUIET, a_round(3, [(0, 2.0, 2.0)], 4.0, {0: 4.0, 1: 4.0})))
    slow = analysis.sessions[-1]
    assert (slow.cause, slow.avoidable_s) == ("competitor", 0.0)
    assert "2.00 s of CPU time there" in slow.evidence
    loaded = next(each for each in analysis.findings if each.code == "foreign-load")
    assert "75 % of all vCPUs" in loaded.seen
    assert "which processes was not recorded" in loaded.seen


@pytest.mark.parametrize("counted", [True, False])
def test_two_on_one_cpu_are_misplaced_only_where_the_other_is_known_to_be_idle(counted: bool) -> None:
    crowded = a_round(3, [(0, 2.0, 2.0), (0, 2.0, 2.0)], 4.0, {0: 4.0, 1: 0.0} if counted else None)
    analysis = explain(run(*QUIET, crowded))
    both = [each for each in analysis.sessions if each.order == 3]
    assert [each.cause for each in both] == ["run_queue", "run_queue"]
    assert all(("was idle" in each.evidence) is counted for each in both)
    assert any(each.code == "misplaced" for each in analysis.findings) is counted


def test_a_busy_cpu_is_no_idle_place() -> None:
    crowded = a_round(3, [(0, 2.0, 2.0), (0, 2.0, 2.0)], 4.0, {0: 4.0, 1: 4.0})
    assert all(each.code != "misplaced" for each in explain(run(*QUIET, crowded)).findings)


def test_without_counters_a_lone_wait_is_no_other_session() -> None:
    slow = explain(run(*QUIET, a_round(3, [(0, 2.0, 2.0)], 4.0, None))).sessions[-1]
    assert slow.cause == "unexplained"
    assert "what other processes used was not recorded" in slow.evidence


def test_time_after_the_last_look_is_the_sessions_own() -> None:
    """The last look comes before the end; what the session used since is its own count's rest."""
    lines = a_round(0, [(0, 2.0, 0.0)], 2.0, {0: 2.0, 1: 0.0})
    late = f"seen order=0 ordinal=0 at={BASE_S + 2.0} "
    cut = "".join(line + "\n" for line in lines.splitlines() if not line.startswith(late))
    first = run(cut).rounds[0]
    assert first.sessions[0].residency[-1].to_s == pytest.approx(2.0)
    assert first.foreign == ()


def test_a_reading_that_was_cut_short_is_left_out() -> None:
    lines = a_round(0, [(0, 2.0, 0.0)], 2.0, {0: 2.0, 1: 0.0})
    cut = lines.replace(f"ticks order=0 at={BASE_S + 1.0} cpu=1", "process pid=1")
    assert run(cut).rounds[0].timeline_s == (0.0, 2.0)


@pytest.mark.parametrize(("of", "why"), [("1,2,3", "has 3 counts"), ("1,2,3,4,5,6,7,x", "whole number")])
def test_damaged_counters_are_refused_by_their_line(of: str, why: str) -> None:
    with pytest.raises(RecordFormatError, match=why):
        run(f"round order=0 level=1 repeat=0 released={BASE_S}\nticks order=0 at={BASE_S} cpu=0 of={of}\n")

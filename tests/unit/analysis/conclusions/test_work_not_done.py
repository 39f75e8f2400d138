"""A right answer is no proof of work: rows per second, CPU time and the plan have to allow it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.analysis.sessions.execution_times import ExecutionTimes
from dbcpu.analysis.sessions.plausible_work import PLANS, other_plan, too_fast
from dbcpu.analysis.sessions.undone_sessions import undone_in_rounds
from dbcpu.measure import workloads
from dbcpu.record.header import IMPORTED
from dbcpu.record.rounds import Execution, Round, RunRecord, Session
from dbcpu.simulator.presets import presets
from dbcpu.simulator.runs import simulate
from dbcpu.store.record_file import read
from support.builders import experiments as build
from support.builders.record import ROWS, SOLO_S, record, round_of, session, solos, unsampled, workload
from support.paths import ROOT

EXAMPLES = sorted((ROOT / "reports" / "examples").rglob("*.json.gz"))
INSTANT_S = 0.000_25


def undone_sessions(run: RunRecord) -> dict[tuple[int, int], str]:
    return undone_in_rounds(run, run.rounds, ExecutionTimes.of(run.rounds))


def instant(ordinal: int) -> Session:
    """n^4 without counting."""
    return session(ordinal, INSTANT_S)


def pairs(*of: Session) -> list[Round]:
    return [round_of(of, repeat=at) for at in range(3)]


def run_of(*of: Session) -> RunRecord:
    return record([*(round_of([replace(of[0], ordinal=0)], repeat=at) for at in range(3)), *pairs(*of)])


def timed_as(one: Session, elapsed_s: Sequence[float], cpu_s: float | None) -> Session:
    starts = [sum(elapsed_s[:at]) for at in range(len(elapsed_s))]
    executions = tuple(Execution(at, took, at, took) for at, took in zip(starts, elapsed_s, strict=True))
    return replace(one, executions=executions, cpu_s=cpu_s)


def test_answers_without_work_are_no_all_clear() -> None:
    """Every session answers at once: equal, at full speed, and worth nothing."""
    found = explain(run_of(instant(0), instant(1)))
    finding = next(each for each in found.findings if each.code == "work-not-done")
    assert "9 of 9 sessions at N=1-2" in finding.seen
    assert "are more than a CPU can count (1,000 Mrows/s)" in finding.seen
    assert found.verdict.startswith("No answer: 9 of 9 sessions")
    first = headline(found)
    assert (first.kind, first.headline) == (Outcome.UNKNOWN, "No answer: the work was not done")
    assert first.remedy == finding.remedy


def test_one_session_that_did_not_work_takes_the_all_clear_away() -> None:
    lazy = record([*solos(), *pairs(session(0), session(1)), round_of([session(0), instant(1)], repeat=3)])
    found = explain(lazy)
    assert [each.valid for each in found.sessions].count(False) == 1
    assert Answer.YES not in {answer for each in found.levels for answer in (each.even, each.full_speed)}
    assert found.verdict.startswith("No answer: 1 of 11 sessions at N=2")


def test_cpu_time_has_to_rise_with_the_work() -> None:
    """Slow, right, and computed by another process or by none: the time passed without CPU."""
    elsewhere = timed_as(session(0), [SOLO_S] * 4, 0.001)
    assert "of CPU time" in undone_sessions(run_of(elsewhere, session(1)))[0, 0]
    by_the_database = replace(elsewhere, cpu_s=None, db={"db_cpu_s": 0.001})
    assert "of CPU time" in undone_sessions(run_of(by_the_database, session(1)))[0, 0]
    assert undone_sessions(run_of(replace(elsewhere, cpu_s=None), session(1))) == {}, "no counter, no claim"


def test_one_execution_that_needed_more_cpu_time_than_all_others() -> None:
    small = workload(rows=160_000)
    cached = timed_as(session(0), [0.8] + [0.002] * 9, 0.82)
    run = record([*solos(run_s=0.8), round_of([cached, session(1)])], work=small)
    assert undone_sessions(run)[3, 0] == "of 10 executions one needed 800 ms of CPU time and most 2.0 ms"


def test_an_execution_that_waited_is_not_one_that_worked_more() -> None:
    """A busy host keeps single executions waiting for many times their length."""
    small = workload(rows=160_000)
    waited = timed_as(session(0), [0.8] + [0.004] * 9, 0.04)
    assert undone_sessions(record([round_of([waited, session(1)])], work=small)) == {}


def test_far_less_cpu_time_than_alone() -> None:
    small = workload(rows=160_000)
    lazy = timed_as(session(0), [0.01] * 20, 0.02)
    run = record([*solos(run_s=0.8), round_of([lazy, session(1)])], work=small)
    assert undone_sessions(run)[3, 0] == "it took 1.0 ms of CPU time for each execution, a session alone 800 ms"


@pytest.mark.parametrize(("kind", "name"), PLANS)
def test_a_plan_with_fewer_joins_is_not_the_workloads(kind: str, name: str) -> None:
    pattern, wanted = PLANS[kind, name]
    operators = [letter.join(("SCAN ", "")) for letter in "abcd"] if kind == "sqlite" else [pattern] * wanted
    assert other_plan(kind, name, " > ".join(operators)) == ""
    assert "instead of" in other_plan(kind, name, " > ".join(operators[1:]))
    assert other_plan(kind, name, None) == "", "an unknown plan says nothing"


JOINED = "SELECT STATEMENT > SORT AGGREGATE > MERGE JOIN CARTESIAN > MERGE JOIN CARTESIAN > MERGE JOIN CARTESIAN"


@pytest.mark.parametrize("operator", ["HASH GROUP BY", "SORT UNIQUE", "RESULT CACHE", "MAT_VIEW"])
def test_a_plan_with_all_joins_that_counts_less_than_all_rows(operator: str) -> None:
    """Group-by placement keeps each join, and joins a few rows: ten times as fast is below what a CPU can do."""
    assert other_plan("oracle", "cartesian", f"{JOINED} > VIEW > COUNT > BUFFER SORT") == ""
    why = other_plan("oracle", "cartesian", f"{JOINED} > VIEW > {operator} NOSORT > COUNT")
    assert why == f"the plan has {operator}, so that not every row is counted"


@pytest.mark.parametrize(("blocks", "done"), [(100.0, False), (1e6, True), (None, True)])
def test_work_that_reads_blocks_has_read_them(blocks: float | None, done: bool) -> None:
    """A merge join would sort the table's rows once, and read each block once: the rows are counted all the same."""
    db = {} if blocks is None else {"logical_reads": blocks}
    reads = replace(session(0), db=db)
    work = replace(workload(rows=3_000_000, plan_shape=None), name="logical_io")
    found = undone_sessions(record([*solos(), round_of([reads])], work=work))
    assert found.get((3, 0), "") == ("" if done else "100 blocks were read for 3.00 Mrows")


def test_sessions_under_another_plan_do_not_count() -> None:
    run = record([*solos(), *pairs(session(0), session(1))], work=workload(plan_shape="Aggregate > Nested Loop"))
    found = explain(run)
    assert not any(each.valid for each in found.sessions)
    assert "the plan has Nested Loop 1 times instead of 3" in found.verdict


def test_answers_that_came_together_were_not_computed_together() -> None:
    """Without stamps of the server a late driver sees two answers at once."""
    late = replace(
        session(0, executions=2, server_stamps=False),
        executions=(Execution(0.0, 2 * SOLO_S), Execution(2 * SOLO_S, 0.000_01)),
        cpu_s=2 * SOLO_S,
    )
    assert undone_sessions(record([*solos(), round_of([late, session(1)])])) == {}


def test_what_others_measured_is_not_judged() -> None:
    run = run_of(unsampled(instant(0)), unsampled(instant(1)))
    plan = replace(run.header.plan, sampler=IMPORTED)
    assert undone_sessions(replace(run, header=replace(run.header, plan=plan))) == {}


def test_the_bound_is_for_rows_and_engines_that_take_one_by_one() -> None:
    assert too_fast("oracle", "cartesian", ROWS, INSTANT_S)
    assert not too_fast("vectors", "cartesian", ROWS, INSTANT_S)
    assert not too_fast("shell", "gzip_pipe", 2_147_483_648, 1.0), "its rows are bytes"
    assert not too_fast("sqlite", "cartesian", 160_000, 0.0), "the clock does not know so short a time"


@pytest.mark.parametrize("name", sorted(presets()))
def test_simulated_hosts_do_their_work(name: str) -> None:
    assert undone_sessions(simulate(presets()[name], (1, 2), repeats=1, size="short", seconds=0.5)) == {}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_committed_examples_did_their_work(path: Path) -> None:
    assert undone_sessions(read(path)) == {}


@pytest.mark.parametrize("kind", ["oracle", "postgresql", "sqlite"])
def test_every_workload_that_joins_has_a_plan_to_be_held_against(kind: str) -> None:
    joining = {name for name in workloads.names(kind) if name != "arithmetic"}
    # A block of PL/SQL has no plan.
    assert {name for known, name in PLANS if known == kind} == joining - ({"mixed"} if kind == "oracle" else set())


def test_a_soak_without_work_answers_nothing() -> None:
    found = explain(build.soak(lambda segment, ordinal, chance: ROWS / 2e9, segments=3))
    assert found.experiment is not None
    assert (found.experiment.headline, found.experiment.tone) == ("No answer: the work was not done", Outcome.UNKNOWN)
    assert found.verdict.startswith("No answer: ")
    assert found.soak is not None
    assert found.soak.executions == 0


def test_each_party_is_held_against_its_own_work() -> None:
    """The second one's plan is not its workload's; the first one did its work."""
    run = build.together([1.0, 2.0], [1.01, 2.02])
    first, second = run.header.plan.parties
    plan = replace(
        run.header.plan, parties=(first, replace(second, workload=workload(plan_shape="Aggregate > Nested Loop")))
    )
    found = undone_sessions(replace(run, header=replace(run.header, plan=plan)))
    rounds = {each.order: each for each in run.rounds}
    assert {rounds[order].variant for order, _ in found} == {second.target, "together"}
    beside = {ordinal for order, ordinal in found if rounds[order].variant == "together"}
    assert beside == set(range(first.sessions, first.sessions + second.sessions))

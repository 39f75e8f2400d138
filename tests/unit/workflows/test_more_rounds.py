"""Rounds are added to a stored run: which ones, by which options, and never to a run of anything else."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.errors import UsageError
from dbcpu.hosts.driver_process import this_process
from dbcpu.record.header import Database
from dbcpu.record.plan import rounds as planned_rounds
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store import record_file
from dbcpu.workflows.more_rounds import Asked, addition, check_more_possible, choices_of
from dbcpu.workflows.same_run import EarlierRun
from support.builders.record import record as built
from support.builders.record import round_of, session, solos
from support.builders.spoilt import spoilt

EXAMPLES = Path(__file__).parents[3] / "reports" / "examples"
NOISY = SimulatedHost(name="noisy", cores=2, threads=1, noise=0.05)


def measured(repeats: int = 3, seed: int = 1) -> RunRecord:
    return simulate(NOISY, (1, 2), repeats, seed, size="short")


def undecided() -> RunRecord:
    return next(record for seed in range(20) if _is_open(record := measured(seed=seed)))


def _is_open(record: RunRecord) -> bool:
    return explain(record).more_rounds is not None


def interrupted(record: RunRecord, after: int) -> RunRecord:
    return RunRecord(replace(record.header, status="interrupted"), record.rounds[:after])


def test_undecided_levels_get_what_would_decide_and_a_single_session_with_them() -> None:
    record = undecided()
    found = addition(record, Asked())
    levels = [each.level for each in found.specs]
    assert set(levels) == {1, 2}
    assert levels.count(1) == levels.count(2)
    assert [each.order for each in found.specs] == list(range(len(record.rounds), len(record.rounds) + len(levels)))
    assert next(each.repeat for each in found.specs if each.level == 2) == 3
    assert all(each.anchor for each in found.specs if each.level == 1), "the plan's own solo rounds were all measured"


def waiting_alone() -> RunRecord:
    """Whether one session alone gets a whole CPU is the only open question: in some rounds it waits."""
    alone = [round_of([session(0, queue_s=0.8 * (at % 2))], repeat=at, order=20 + at) for at in range(4)]
    pairs = [round_of([session(i) for i in range(2)], repeat=at, order=30 + at) for at in range(8)]
    return built([*solos(3), *alone, *pairs])


def unequal_turns() -> RunRecord:
    """Of the only level with an open question, three sessions on two vCPUs, it is open whether shares are equal."""
    return record_file.read(EXAMPLES / "embedded-2-vcpus" / "record.json.gz")


@pytest.mark.parametrize("made", [waiting_alone, unequal_turns])
def test_the_command_of_the_verdict_adds_what_is_added_without_options(made: Callable[[], RunRecord]) -> None:
    """It was given as what may decide, and without options it was not known how many rounds would."""
    record = made()
    header = replace(record.header, driver=this_process())
    record = RunRecord(header, record.rounds)
    (sessions, rounds), *more = re.findall(
        rf"`dbcpu more {header.run_id} --sessions (\S+) --rounds (\d+)`", explain(record).verdict
    )
    assert not more
    assert addition(record, Asked()) == addition(record, Asked(int(rounds), sessions))


def test_levels_and_rounds_may_be_named() -> None:
    found = addition(measured(), Asked(rounds=2, sessions="2"))
    assert [each.level for each in found.specs] == [1, 2, 1, 2]


def test_a_decided_run_gets_none_unasked() -> None:
    quiet = simulate(replace(NOISY, noise=0.0), (1, 2), 5, 1, size="short")
    with pytest.raises(UsageError, match=r"nothing is inconclusive in run .*--sessions 2 --rounds 6"):
        addition(quiet, Asked())


def test_a_level_without_a_whole_round_is_open() -> None:
    """Nothing was said to be inconclusive in a run whose headline is "no whole round at N=2"."""
    lost = spoilt(simulate(replace(NOISY, noise=0.0), (1, 2), 5, 1, size="short"), "error", 2)
    with pytest.raises(UsageError, match=r"not known how many rounds would decide run .*--sessions 2 --rounds 6"):
        addition(lost, Asked())


def test_a_level_that_was_not_measured_is_refused() -> None:
    with pytest.raises(UsageError, match="has no level 3, only 1-2"):
        addition(measured(), Asked(sessions="2,3"))


@pytest.mark.parametrize(("repeats", "more"), [(3, 6), (6, 10), (20, 40)])
def test_a_run_of_variants_gets_the_command_that_measures_more_of_all(repeats: int, more: int) -> None:
    header = measured(repeats).header
    made = replace(header.plan, target="sqlite", variants=("baseline", "policy:batch"))
    header = replace(header, plan=made, driver=this_process(), database=Database("sqlite", "3.40"))
    command = rf"`dbcpu vary sqlite --variants baseline,policy:batch --sessions 1-2 .*--repeats {more}`$"
    with pytest.raises(UsageError, match=rf"several variants, .*; measure all again with more: {command}"):
        check_more_possible(header)


def test_an_interrupted_run_goes_on_with_its_own_plan() -> None:
    record = measured()
    plan = record.header.plan
    whole = planned_rounds(plan.levels, plan.repeats, plan.seed, plan.variants)
    assert addition(interrupted(record, 2), Asked()).specs == whole[2:]


def test_a_run_that_was_interrupted_in_its_first_round_gets_all_of_its_plan() -> None:
    record = interrupted(measured(), 0)
    plan = record.header.plan
    assert addition(record, Asked()).specs == planned_rounds(plan.levels, plan.repeats, plan.seed, plan.variants)
    assert choices_of(record, None).pace is None, "whether it had a witness is not known"
    fresh = replace(record.header, started_at="2026-11-24T10:00:00+00:00")
    assert EarlierRun(record).joined(fresh, 6).notes[-1].startswith("added: all rounds, from 2026-11-24T10")


def test_an_interrupted_adaptive_run_asks_its_planner_with_all_rounds() -> None:
    record = interrupted(measured(), 1)
    adaptive = RunRecord(replace(record.header, plan=replace(record.header.plan, rounds=None)), record.rounds)
    found = addition(adaptive, Asked())
    assert found.planner is not None
    following = found.planner(adaptive.header)(())
    assert following is not None
    assert following.order == 1, "the rounds that there are count"


def test_the_options_are_those_of_the_run() -> None:
    record = measured()
    found, plan = choices_of(record, "ssh:db1"), record.header.plan
    assert (found.sessions, found.repeats, found.seed) == ("1-2", 3, plan.seed)
    assert (found.workload, found.size, found.executions) == (plan.workload.name, "short", plan.executions)
    assert (found.pace, found.host) == (0.0, "ssh:db1")


def test_the_same_host_and_database_are_accepted() -> None:
    header = measured().header
    EarlierRun(RunRecord(header, ())).refuse_other(
        header.host, header.database, header.plan.workload, header.plan.vcpus
    )


def test_every_difference_is_named() -> None:
    header = measured().header
    host = header.host
    assert host is not None
    other_host = replace(host, kernel="9.9", limits=replace(host.limits, quota_cpus=1.5))
    database = Database("simulated", "2", {"work_mem": "8MB"}, driver="simulator", driver_on_host=False)
    work = replace(header.plan.workload, sql_hash="abc")
    with pytest.raises(UsageError) as caught:
        EarlierRun(RunRecord(header, ())).refuse_other(other_host, database, work, 4)
    for named in ("kernel", "quota", "the database was simulated", "SQL", "work_mem was unknown and is 8MB", "vCPUs"):
        assert named in str(caught.value)
    assert f"dbcpu compare {header.run_id} last" in str(caught.value)


def test_other_cores_are_another_host() -> None:
    header = measured().header
    other = simulate(replace(NOISY, threads=2), (1,), 1, 1, size="short").header
    earlier = EarlierRun(RunRecord(header, ()))
    with pytest.raises(UsageError, match="the CPUs of the host, their cores or which of them are online"):
        earlier.refuse_other(other.host, header.database, header.plan.workload, header.plan.vcpus)


def test_a_host_that_was_read_and_is_not_is_refused() -> None:
    header = measured().header
    with pytest.raises(UsageError, match="the host was read and is not read"):
        EarlierRun(RunRecord(header, ())).refuse_other(None, header.database, header.plan.workload, header.plan.vcpus)


def test_the_header_stays_the_runs_own_and_says_when_rounds_were_added() -> None:
    record = measured()
    now = replace(record.header, run_id="new", notes=("foreign-load: busy",), started_at="2026-01-02T03:04:05+00:00")
    header = EarlierRun(record).joined(now, 6)
    assert (header.run_id, header.status, header.started_at) == (
        record.header.run_id,
        "running",
        record.header.started_at,
    )
    assert header.plan.rounds == len(record.rounds) + 6
    assert "foreign-load: busy" in header.notes
    assert f"after the first {len(record.rounds)}, from 2026-01-02T03:04:05+00:00" in header.notes[-1]

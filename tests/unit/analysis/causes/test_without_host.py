"""With nothing seen of the host: what groups, curve and counters point to, said with lower confidence."""

from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.assurances import assurances
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import LevelView
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import HostCounters, Round, RunRecord, Session, Wait
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.record import SOLO_S, record, round_of, session, solos, unsampled
from support.builders.record import host as shown_host

REASON = "the database is managed"


def blind(run: RunRecord) -> RunRecord:
    """The same run, of which only what a client sees is left."""

    def only_times(each: Round) -> Round:
        sessions = tuple(unsampled(one) for one in each.sessions)
        return replace(
            each, sessions=sessions, not_sampled=REASON, cpu_timeline=(), timeline_s=(), cgroups=(), foreign=()
        )

    header = replace(run.header, host=None)
    return replace(run, header=header, rounds=tuple(only_times(each) for each in run.rounds))


def level(run: RunRecord, number: int) -> LevelView:
    return next(each for each in explain(blind(run)).levels if each.level == number)


def sweep(host: SimulatedHost, seed: int = 1) -> RunRecord:
    return simulate(host, auto_levels(len(host.online)), 2, seed, size="short", seconds=1.5, hz=5)


def test_pairs_on_cores_are_told_by_their_number_and_distance() -> None:
    told = explain(blind(sweep(preset("c4.4xlarge"))))
    assert "at 9 sessions 2 of 9 have a slowdown of 1.50x (probably shared core, with lower confidence" in told.verdict
    assert f"he host was not sampled: {REASON}" in told.verdict
    assert told.topology is not None
    assert told.topology.verdict == "told"
    assert told.topology.cores_told == pytest.approx(8, rel=0.05)


def test_sessions_that_take_turns_on_cores_are_told_by_the_curve() -> None:
    found = level(sweep(SimulatedHost(scheduler="rotating", rebalance_s=0.02)), 14)
    assert found.likely_cause == "shared_core"
    assert "knee at 8" in found.likely_why


def only_times(cores: int, slowdowns: dict[int, float]) -> RunRecord:
    """A host whose siblings are shown, two per core, and nothing else but times: all sessions of a level alike."""
    rounds = solos()
    for sessions, slowdown in slowdowns.items():
        slow = [unsampled(session(i, slowdown * SOLO_S)) for i in range(sessions)]
        rounds += [round_of(slow, not_sampled=REASON) for _ in range(3)]
    return record(rounds, shown_host(cores, 2), vcpus=2 * cores)


def likely_causes(run: RunRecord) -> dict[int, str | None]:
    return {each.level: each.likely_cause for each in explain(run).levels}


@pytest.mark.parametrize(("slowdown", "expected"), [(1.5, "shared_core"), (2.0, "shared_core"), (3.0, None)])
def test_two_sessions_on_one_core_that_is_shown_share_it_without_a_curve(slowdown: float, expected: str | None) -> None:
    assert likely_causes(only_times(1, {2: slowdown}))[2] == expected


def test_sessions_that_have_cores_of_their_own_share_none_however_the_curve_bends() -> None:
    """As on a server whose second threads cost throughput, and which loses a fifth of its speed to turbo."""
    found = likely_causes(only_times(10, {2: 1.0, 4: 1.1, 6: 1.2, 8: 1.25, 10: 1.27, 12: 1.55, 16: 2.1, 20: 2.19}))
    assert [found[level] for level in (6, 8, 10)] == [None] * 3
    assert [found[level] for level in (12, 16, 20)] == ["shared_core"] * 3


def test_more_sessions_than_vcpus_wait_in_turn() -> None:
    assert level(sweep(preset("this-vm")), 4).likely_cause == "run_queue"


def test_equal_and_fast_sessions_need_no_cause() -> None:
    assert level(sweep(preset("c4.4xlarge")), 8).likely_cause is None


def test_no_session_is_given_a_cause_that_nothing_shows() -> None:
    told = explain(blind(sweep(preset("this-vm"))))
    assert {each.cause for each in told.sessions} == {"none", "unexplained"}


def counted(one: Session, cpu_s: float, wait: tuple[str, float] | None = None) -> Session:
    waits = (Wait(wait[0], 1, wait[1]),) if wait else ()
    return replace(unsampled(one), db={"db_cpu_s": cpu_s}, waits=waits)


@pytest.mark.parametrize(
    ("cpu_s", "wait", "expected"),
    [
        (SOLO_S, ("resmgr:cpu quantum", SOLO_S), "resource_manager"),
        (SOLO_S, ("cursor: pin S", SOLO_S), "wait"),
        (SOLO_S, None, "run_queue"),
        (2 * SOLO_S, None, "slower_cpu"),
    ],
)
def test_database_counters_tell_cpu_time_from_waiting(
    cpu_s: float, wait: tuple[str, float] | None, expected: str
) -> None:
    alone = [replace(each, sessions=(counted(each.sessions[0], SOLO_S),)) for each in solos()]
    slow = round_of([counted(session(i, 2 * SOLO_S), cpu_s, wait) for i in range(2)], not_sampled=REASON)
    run = record([*alone, slow], vcpus=4)
    (found,) = [each for each in explain(replace(run, header=replace(run.header, host=None))).levels if each.level == 2]
    assert found.likely_cause == expected


def test_where_nothing_points_to_a_cause_none_is_made_up() -> None:
    slow = round_of([unsampled(session(i, 2 * SOLO_S)) for i in range(2)], not_sampled=REASON)
    run = record([*solos(), slow], vcpus=4)
    told = explain(replace(run, header=replace(run.header, host=None)))
    assert f"(cause unknown); the host was not sampled: {REASON}" in told.verdict


# --- the host's CPU counters, where the database has them

HOST_CPUS = 4


def with_host(round_: Round, busy: float, **changed: float | None) -> Round:
    """Counters of a host with 4 CPUs, as if it was busy for this share of the round."""
    sessions = round_.sessions
    window_s = max(each.start_s + each.elapsed_s for one in sessions for each in one.executions)
    there_s = window_s * HOST_CPUS
    given = HostCounters("V$OSSTAT", window_s, HOST_CPUS, busy * there_s, (1 - busy) * there_s)
    return replace(round_, not_sampled=REASON, host_counters=replace(given, **changed))


def seen_by_sql(busy: float, cpu_s: float, sessions: int = 2, vcpus: int = 4, **changed: float | None) -> RunRecord:
    """Two rounds of sessions at half speed with this CPU time, after single sessions on an otherwise idle host."""
    alone = [with_host(replace(each, sessions=(counted(each.sessions[0], SOLO_S),)), 0.25) for each in solos()]
    slow = round_of([counted(session(i, 2 * SOLO_S), cpu_s) for i in range(sessions)])
    run = record([*alone, *(with_host(slow, busy, **changed) for _ in range(2))], vcpus=vcpus)
    return replace(run, header=replace(run.header, host=None))


def last_level(run: RunRecord) -> LevelView:
    return explain(run).levels[-1]


def test_a_busy_host_with_few_others_raises_the_confidence_of_queueing() -> None:
    told = explain(seen_by_sql(1.0, SOLO_S, sessions=8))
    assert told.levels[-1].likely_by == "V$OSSTAT"
    assert told.levels[-1].likely_why.endswith("the host's CPUs were 100 % busy, 0.0 % by other processes by V$OSSTAT")
    (seen,) = [each.seen for each in told.findings if each.code == "not-sampled"]
    assert seen == f"5 of 5 rounds not sampled: {REASON}; host's CPU counters: by V$OSSTAT"


def test_time_off_the_cpu_on_a_host_that_others_keep_busy_is_theirs() -> None:
    run = seen_by_sql(1.0, SOLO_S)
    found = explain(run)
    assert (found.levels[-1].likely_cause, found.levels[-1].likely_by) == ("competitor", "V$OSSTAT")
    (seen,) = [each.seen for each in found.findings if each.code == "foreign-load"]
    assert seen.startswith("other processes used up to 75 % of the host's CPUs (in 2 of 5 rounds): by V$OSSTAT")
    (quiet,) = [each for each in assurances(run, found) if each.name == "no other load on the host"]
    assert quiet.seen == "others used at most 75 % of the host's CPUs by V$OSSTAT in 5 of 5 rounds"


def test_time_off_the_cpu_on_an_idle_host_keeps_its_lower_confidence() -> None:
    told = explain(seen_by_sql(0.25, SOLO_S))
    assert (told.levels[-1].likely_cause, told.levels[-1].likely_by) == ("run_queue", None)
    assert "with lower confidence" in told.verdict
    assert "the host's CPUs were 25 % busy, 0.0 % by other processes" in told.verdict


def test_the_operating_systems_own_count_of_waiting_is_evidence_on_an_idle_host() -> None:
    """Two sessions on one CPU, the others idle: as many seconds in the run queues as the sessions lost."""
    assert last_level(seen_by_sql(0.25, SOLO_S, queue_s=2 * SOLO_S)).likely_by == "V$OSSTAT"
    assert last_level(seen_by_sql(0.25, SOLO_S, queue_s=0.1)).likely_by is None


def of_rds(run: RunRecord) -> RunRecord:
    """A guest of KVM or Xen, which report steal."""
    database = replace(run.header.database, parameters={"managed_service": "Amazon RDS"})
    return replace(run, header=replace(run.header, database=database))


@pytest.mark.parametrize(("busy", "expected"), [(0.5, "V$OSSTAT"), (0.9, None)])
def test_slower_cpus_are_believed_where_others_are_no_reason(busy: float, expected: str | None) -> None:
    told = explain(of_rds(seen_by_sql(busy, 2 * SOLO_S)))
    assert (told.levels[-1].likely_cause, told.levels[-1].likely_by) == ("slower_cpu", expected)
    assert ("with lower confidence" in told.verdict) == (expected is None)
    assert "by other processes by V$OSSTAT" in told.verdict


def test_slower_cpus_are_not_believed_where_steal_may_look_like_cpu_time() -> None:
    """On VMware and Hyper-V stolen time counts as busy time and as DB CPU; no host says that it is not one of them."""
    told = explain(seen_by_sql(0.5, 2 * SOLO_S))
    assert (told.levels[-1].likely_cause, told.levels[-1].likely_by) == ("slower_cpu", None)
    assert "with lower confidence" in told.verdict
    assert "and whether the host reports steal is not known" in told.verdict


@pytest.mark.parametrize(
    "unknown",
    [{"busy_s": None}, {"idle_s": None}, {"busy_s": 0.0, "idle_s": 0.0}, {"cpus": None}, {"cpus": 16}, {"cpus": 1}],
)
def test_counters_that_do_not_cover_the_round_say_nothing(unknown: dict[str, Any]) -> None:
    found = explain(seen_by_sql(1.0, SOLO_S, **unknown))
    assert (found.levels[-1].likely_cause, found.levels[-1].likely_by) == ("run_queue", None)
    assert "busy" not in found.levels[-1].likely_why
    assert "foreign-load" not in {each.code for each in found.findings}
    (seen,) = [each.seen for each in found.findings if each.code == "not-sampled"]
    assert seen.endswith("host's CPU counters: by V$OSSTAT (usable in 3 of 5 rounds)")


def uncounted(round_: Round) -> Round:
    return replace(round_, sessions=tuple(replace(each, db={}) for each in round_.sessions))


def test_others_are_unknown_where_a_sessions_own_cpu_time_is() -> None:
    run = seen_by_sql(1.0, SOLO_S)
    assert "foreign-load" in {each.code for each in explain(run).findings}
    run = replace(run, rounds=tuple(uncounted(each) for each in run.rounds))
    assert "foreign-load" not in {each.code for each in explain(run).findings}


def on(run: RunRecord, platform: str) -> RunRecord:
    database = replace(run.header.database, parameters={**run.header.database.parameters, "platform": platform})
    return replace(run, header=replace(run.header, database=database))


def test_on_aix_nothing_is_concluded_from_scaled_cpu_time() -> None:
    """A shared core shows there as time off the CPU, and busy time less DB CPU would name neighbours."""
    run = seen_by_sql(1.0, SOLO_S)
    linux, aix = explain(on(run, "x86_64/Linux 2.4.xx")), explain(on(run, "IBM AIX64/RS6000 V4 - 19.0.0"))
    assert linux.levels[-1].likely_cause is not None
    assert "foreign-load" in {each.code for each in linux.findings}
    assert aix.levels[-1].likely_cause is None
    assert {"foreign-load", "scaled-cpu-time"} & {each.code for each in aix.findings} == {"scaled-cpu-time"}


@pytest.mark.parametrize("platform", ["SVR4-be-64bit-8.1.0", "unknown"])
def test_where_it_may_be_aix_nothing_is_concluded_either(platform: str) -> None:
    found = explain(on(seen_by_sql(1.0, SOLO_S), platform))
    assert found.levels[-1].likely_cause is None
    assert {"foreign-load", "platform-unknown"} & {each.code for each in found.findings} == {"platform-unknown"}


def test_what_dbcpu_and_sessions_that_go_on_used_is_not_other_load() -> None:
    window_s = 2 * SOLO_S
    assert "foreign-load" in {each.code for each in explain(seen_by_sql(0.6, SOLO_S)).findings}
    used_s = 0.35 * window_s * HOST_CPUS
    for run in (seen_by_sql(0.6, SOLO_S, kit_cpu_s=used_s), seen_by_sql(0.6, SOLO_S, unsettled_s=used_s)):
        assert "foreign-load" not in {each.code for each in explain(run).findings}


def test_the_instances_waits_for_the_resource_manager_are_reported_without_a_sessions_own() -> None:
    (seen,) = [
        each.seen for each in explain(seen_by_sql(0.5, SOLO_S, managed_s=1.5)).findings
        if each.code == "resource-manager-waits"
    ]  # fmt: skip
    assert "of this run or others, waited up to 1.50 s for the resource manager by V$OSSTAT, at N=2" in seen

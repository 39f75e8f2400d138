"""Soaks, pools and several targets at once on real servers, from the request to the stored run."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.config.request import Request
from dbcpu.errors import MeasureError, UsageError
from dbcpu.measure.experiments.base import ExperimentShape, GroupMember
from dbcpu.measure.experiments.pool import PoolShape
from dbcpu.measure.experiments.soak import SoakShape
from dbcpu.measure.experiments.together import TogetherShape
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.database import open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.measure_run import Choices, Watcher
from support.busy import fail_unless_busy
from support.doubles.oracle.double import OracleDouble
from support.driving import Drive, children, command_line, until
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

EMBEDDED = Request("embedded", "embedded")
Measure = Callable[..., RunRecord]


class AtRound(Watcher):
    """Does ``then`` when the round of that order is begun, beside the run."""

    def __init__(self, order: int, then: Callable[[], object]) -> None:
        self._order, self._then = order, then
        self.thread: threading.Thread | None = None

    def begun(self, spec: RoundSpec) -> None:
        if spec.order == self._order and self.thread is None:
            self.thread = threading.Thread(target=self._then)
            self.thread.start()


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measure]:
    """Run an experiment and give the stored run. Sessions mostly sleep where the test does not say otherwise."""
    place = Path(tempfile.mkdtemp(prefix="dbcpu-test-"))
    place.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("DBCPU_SETTLE_S", "0")

    def run(
        experiment: ExperimentShape | None,
        request: Request = EMBEDDED,
        watcher: Watcher | None = None,
        **chosen: object,
    ) -> RunRecord:
        choices = Choices(**{"size": "tiny", "workload": "calm", **chosen})  # type: ignore[arg-type]
        with open_store(str(tmp_path / "runs.db")) as store:
            run_id = measure_run.run(request, choices, store, watcher or Watcher(), forced=True, experiment=experiment)
            return store.load(run_id)

    yield run
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of half a second, which is long for size tiny."""
    for name in ("MIN_SEGMENT_S", "RETRY_S"):
        monkeypatch.setattr(f"dbcpu.measure.experiments.soak.{name}", 0.5)


def looped(for_s: float, *sizes: str) -> SoakShape:
    return SoakShape(for_s, sizes or ("tiny",))


def loaded(record: RunRecord) -> list[Round]:
    return [each for each in record.rounds if not each.anchor]


def pids(done: Round) -> list[int | None]:
    return [session.server.pid for session in done.sessions]


def box(server: DebianServer) -> Request:
    return Request("box", "postgresql", server.url.replace(f":{server.password}@", "@"), server.password)


def test_sessions_of_a_soak_go_from_segment_to_segment_without_a_break(measure: Measure) -> None:
    record = measure(looped(6.0), sessions="3", for_s=6.0)
    assert record.header.status == "complete"
    assert (record.header.plan.experiment, record.header.plan.segment_s) == ("soak", 2.0)
    segments = loaded(record)
    assert len(segments) >= 2  # opening the sessions is part of the time
    assert [each.anchor for each in (record.rounds[0], record.rounds[-1])] == [True, True]
    assert len({tuple(pids(each)) for each in segments}) == 1
    late = []
    for earlier, later in pairwise(segments):
        for before, after in zip(earlier.sessions, later.sessions, strict=True):
            if not after.executions:
                continue
            end_s = earlier.released_monotonic_s + before.executions[-1].start_s + before.executions[-1].elapsed_s
            start_s = later.released_monotonic_s + after.executions[0].start_s
            assert start_s >= end_s - 1e-6
            late += [after.executions[0]] * (after.executions[0].start_s > 0)
    for sessions in zip(*(each.sessions for each in segments), strict=True):
        # Who ended its last segment before the slowest had ended the one before has nothing more, and never again.
        has = [bool(session.executions) for session in sessions]
        assert has[0] and has == sorted(has, reverse=True)
    for each in segments:
        assert all(session.answer_ok and session.cpu_s for session in each.sessions if session.executions)
        assert each.server_use is None
    if late:
        fail_unless_busy(f"they did not go on before the driver turned to the next segment: {late}")
    analysis = explain(record)
    assert analysis.soak is not None
    assert analysis.soak.executions == sum(len(s.executions) for each in segments for s in each.sessions)


def test_ctrl_c_keeps_what_is_finished(drive: Drive) -> None:
    driver = drive("soak", "--sessions", "2", "--for", "20s", "--workload", "calm", "--size", "tiny", "--yes")
    driver.said("round 4 of")
    driver.send(signal.SIGINT)
    code, _, err = driver.finish()
    assert code == 130, err
    record = drive.last()
    assert record.header.status == "interrupted"
    segments = loaded(record)
    assert len(segments) >= 2
    # Of the last one perhaps not every session has done something.
    assert all(session.executions for each in segments[:-1] for session in each.sessions)
    assert not any(session.error for each in segments for session in each.sessions)
    assert [each.error for each in segments] == [None] * len(segments)
    until(lambda: not drive.embedded(), "the embedded server is gone")


def test_a_restart_of_the_database_is_a_gap_and_the_soak_goes_on(
    measure: Measure, debian_server: DebianServer, brief: None
) -> None:
    over = threading.Event()

    def restart() -> None:
        debian_server.stop()
        debian_server.start()
        over.wait()  # the server ends with the thread that started it

    watcher = AtRound(2, restart)
    try:
        record = measure(looped(14.0), box(debian_server), watcher, sessions="2", for_s=14.0)
    finally:
        over.set()
        if watcher.thread is not None:
            watcher.thread.join()
            debian_server.stop()
            debian_server.start()
    segments = loaded(record)
    broken = [each for each in segments if each.error]
    assert broken
    assert "sessions ended: " in (broken[0].error or "")
    after = segments[segments.index(broken[-1]) + 1 :]
    assert after
    assert not {pid for each in after for pid in pids(each)} & set(pids(broken[0]))
    # On a slow machine an execution may be longer than a segment: not every segment has the end of one.
    assert any(all(session.executions for session in each.sessions) for each in after)
    told = explain(record)
    assert told.soak is not None
    assert len(told.soak.gaps) == len(broken)
    assert "gap" in told.verdict


def test_a_session_that_is_ended_by_somebody_costs_its_segment_only(
    measure: Measure, debian_server: DebianServer, brief: None
) -> None:
    def end_one() -> None:
        # Between two executions, or before the first, none is active.
        ending = (
            "select pg_terminate_backend(pid) from pg_stat_activity where query like '%generate_series%' "
            "and state = 'active' and pid <> pg_backend_pid() limit 1"
        )
        with debian_server.asking() as ask:
            until(lambda: ask(ending), "an active session")

    record = measure(looped(8.0), box(debian_server), AtRound(2, end_one), sessions="2", for_s=8.0)
    segments = loaded(record)
    (broken,) = [each for each in segments if each.error]
    assert (broken.error or "").startswith("1 of 2 sessions ended: ")
    assert not segments[-1].error
    assert not set(pids(segments[-1])) & set(pids(broken))


def test_a_database_that_stays_away_ends_the_soak_and_what_was_measured_is_kept(
    measure: Measure, debian_server: DebianServer, brief: None
) -> None:
    try:
        with pytest.raises(MeasureError, match=r"did not come back before the end of the soak.* stored, see"):
            measure(looped(10.0), box(debian_server), AtRound(2, debian_server.stop), sessions="2", for_s=10.0)
    finally:
        debian_server.start()


def test_sizes_take_turns(measure: Measure, brief: None) -> None:
    record = measure(looped(3.0, "tiny", "short"), sessions="2", for_s=3.0)
    assert [each.size for each in (record.header.plan.workload, *record.header.plan.sizes)] == ["tiny", "short"]
    turns = [each.variant for each in loaded(record)]
    assert turns.count("tiny") == turns.count("short") == 3
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    analysis = explain(record)
    assert analysis.soak is not None
    tiny, short = analysis.soak.sizes
    assert tiny.median_s < short.median_s


def test_a_pool_shares_out_exactly_the_work_there_is(measure: Measure) -> None:
    record = measure(PoolShape(24), sessions="2,6", repeats=2)
    pools = loaded(record)
    assert sorted(each.level for each in pools) == [2, 2, 6, 6]
    for each in pools:
        assert sum(len(session.executions) for session in each.sessions) == 24
        assert all(session.executions for session in each.sessions)
    use = {each.level: each.server_use for each in pools}
    two, six = use[2], use[6]
    assert two is not None
    assert six is not None
    assert six.processes == two.processes + 4
    assert six.rss_bytes > two.rss_bytes > 0
    assert two.sockets is not None
    assert six.sockets is not None
    assert six.sockets >= two.sockets + 4
    assert explain(record).pool is not None


def test_a_pool_of_processes_of_their_own_is_shared_out_too(measure: Measure) -> None:
    record = measure(PoolShape(9), Request("sqlite", "sqlite"), workload=None, sessions="3", repeats=1)
    (done,) = loaded(record)
    assert sum(len(session.executions) for session in done.sessions) == 9


@pytest.mark.parametrize(("kind", "workload"), [("embedded", "calm"), ("sqlite", None)])
def test_jobs_that_only_wait_hold_their_sessions_and_are_no_work(
    measure: Measure, kind: str, workload: str | None
) -> None:
    record = measure(PoolShape(12, 6, 0.05), Request(kind, kind), workload=workload, sessions="2,12", repeats=1)
    assert (record.header.plan.blocking, record.header.plan.block_s) == (6, 0.05)
    for each in loaded(record):
        blocked = [one for session in each.sessions for one in session.blocked]
        assert sum(len(session.executions) for session in each.sessions) == 6
        assert len(blocked) == 6
        assert all(one.elapsed_s >= 0.05 and (one.server_elapsed_s or 0.0) >= 0.05 for one in blocked)
    assert not any(session.blocked for each in record.rounds if each.anchor for session in each.sessions)
    found = explain(record)
    assert found.pool is not None
    assert [each.active for each in found.pool.sizes] == [2, 12]
    assert not {"failed-session", "wrong-answer"} & {each.code for each in found.findings}


@pytest.mark.parametrize(("kind", "workload"), [("embedded", "calm"), ("sqlite", None)])
def test_jobs_that_come_as_calls_are_timed_from_the_caller_and_back(
    measure: Measure, kind: str, workload: str | None
) -> None:
    shape = PoolShape(24, 6, 0.05, connections=5)
    record = measure(shape, Request(kind, kind), workload=workload, sessions="2,8", repeats=1)
    assert record.header.plan.connections == 5
    for each in loaded(record):
        assert len(each.calls) == 24
        assert {call.connection for call in each.calls} == set(range(5))
        jobs = [one for session in each.sessions for one in (*session.executions, *session.blocked)]
        assert sorted(one.start_s for one in jobs) == sorted(call.began_s or 0.0 for call in each.calls)
        for call in each.calls:
            assert call.sent_s <= call.arrived_s <= 0.0
            assert call.began_s is not None
            assert call.ended_s is not None
            assert call.answered_s is not None
            assert call.began_s < call.ended_s <= call.answered_s
    assert not any(each.calls for each in record.rounds if each.anchor)
    found = explain(record)
    assert found.pool is not None
    assert [[time.calls for time in size.calls] for size in found.pool.sizes] == [[24] * 6] * 2


def in_turn(done: Round, connections: int) -> None:
    """Over no connection was a call sent before the one before it was answered, and each was answered once."""
    for connection in range(connections):
        own = [call for call in done.calls if call.connection == connection]
        assert own
        for before, after in pairwise(own):
            assert before.answered_s is not None
            assert before.answered_s <= after.sent_s


@pytest.mark.parametrize(("kind", "workload"), [("embedded", "calm"), ("sqlite", None), ("shell", None)])
def test_callers_that_wait_have_one_call_under_way_and_all_calls_are_answered_once(
    measure: Measure, kind: str, workload: str | None
) -> None:
    blocking = 0 if kind == "shell" else 6
    shape = PoolShape(24, blocking, 0.05, connections=4, one_at_a_time=True)
    record = measure(shape, Request(kind, kind), workload=workload, sessions="2,4", repeats=1)
    assert (record.header.plan.connections, record.header.plan.one_at_a_time) == (4, True)
    for each in loaded(record):
        in_turn(each, 4)
        assert len(each.calls) == 24
        assert sum(call.arrived_s <= 0.0 for call in each.calls) == 4, "at the release each caller has called once"
        jobs = [one for session in each.sessions for one in (*session.executions, *session.blocked)]
        assert sorted(one.start_s for one in jobs) == sorted(call.began_s or 0.0 for call in each.calls)
        assert all(session.answer_ok and not session.error for session in each.sessions if session.executions)
        for call in each.calls:
            assert call.began_s is not None
            assert call.answered_s is not None
            assert call.sent_s <= call.arrived_s
            assert call.arrived_s <= call.began_s or call.arrived_s <= 0.0
    found = explain(record)
    assert found.pool is not None
    assert [[time.calls for time in size.calls] for size in found.pool.sizes] == [[24] * 6] * 2


def test_sessions_of_a_driver_that_blocks_wait_for_calls_too(drive: Drive) -> None:
    with OracleDouble() as double:
        words = ("--blocking", "6", "--block-for", "50ms", "--connections", "4", "--one-at-a-time", "--active", "2,4")
        code, _, err = drive("pool", double.url, "--work", "24", *words, "--repeats", "1", "-s", "tiny", "-y").finish()
        assert code == 0, err
        pools = loaded(drive.last())
        assert len(pools) == 2
        for each in pools:
            in_turn(each, 4)
            assert len(each.calls) == 24
            assert not any(session.error for session in each.sessions)
            assert len([one for session in each.sessions for one in session.blocked]) == 6
        stopped = drive("pool", double.url, "--work", "4000", "--blocking", "3999", *words[2:], "-s", "tiny", "-y")
        stopped.said("round 2 of").send(signal.SIGINT)
        code, _, err = stopped.finish()
    assert code == 130, err
    assert [each.anchor for each in drive.last().rounds] == [True]


def test_a_caller_whose_session_ended_calls_again_and_the_others_do_the_rest(
    measure: Measure, debian_server: DebianServer
) -> None:
    def end_one() -> None:
        ending = (
            "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(0.2)%' "
            "and state = 'active' and pid <> pg_backend_pid() limit 1"
        )
        with debian_server.asking() as ask:
            until(lambda: ask(ending), "an active session")

    shape = PoolShape(40, 20, 0.2, connections=3, one_at_a_time=True)
    watcher = AtRound(1, end_one)
    record = measure(shape, box(debian_server), watcher, sessions="3", repeats=1)
    (done,) = loaded(record)
    assert len([session for session in done.sessions if session.error]) == 1
    assert len(done.calls) == 40
    assert [call.answered_s is None for call in done.calls].count(True) == 1
    assert {call.connection for call in done.calls} == {0, 1, 2}


WAITING = ("pool", "--work", "4000", "--connections", "3", "--one-at-a-time", "--active", "1,3", "--repeats", "1",
           "--workload", "calm", "--size", "tiny", "--yes")  # fmt: skip


def test_ctrl_c_ends_a_pool_whose_callers_wait_and_keeps_its_rounds(drive: Drive) -> None:
    driver = drive(*WAITING, DBCPU_SETTLE_S="0")
    driver.said("round 2 of")
    driver.until(drive.working, "a session at work")
    callers = [pid for pid in children(driver.process.pid) if "_callers.py" in command_line(pid)]
    assert len(callers) == 1
    driver.send(signal.SIGINT)
    code, _, err = driver.finish()
    assert code == 130, err
    record = drive.last()
    assert (record.header.status, [each.anchor for each in record.rounds]) == ("interrupted", [True])
    until(lambda: not drive.embedded() and not command_line(callers[0]), "the server and the callers are gone")


def test_callers_that_die_end_a_pool_with_a_sentence_and_keep_its_rounds(drive: Drive) -> None:
    driver = drive(*WAITING, DBCPU_SETTLE_S="0")
    driver.said("round 2 of")
    driver.until(drive.working, "a session at work")
    (callers,) = [pid for pid in children(driver.process.pid) if "_callers.py" in command_line(pid)]
    os.kill(callers, signal.SIGKILL)
    code, _, err = driver.finish()
    assert code == 3, err
    assert "the callers of the pool did not get through: their process ended unexpectedly; run again" in err
    record = drive.last()
    assert (record.header.status, [each.anchor for each in record.rounds]) == ("failed", [True])
    until(lambda: not drive.embedded(), "the server is gone")


def test_two_servers_at_once_each_held_on_its_own_cpus(measure: Measure) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    group = (GroupMember("one", EMBEDDED, 1, (cpus[0],)), GroupMember("two", EMBEDDED, 2, (cpus[1],)))
    record = measure(TogetherShape(group), Request("one and two", "together"), workload=None, executions=10, repeats=2)
    assert [party.target for party in record.header.plan.parties] == ["one", "two"]
    both = [each for each in record.rounds if each.variant == "together"]
    assert len(both) == 2
    for each in both:
        assert [session.allowed_cpus for session in each.sessions] == [(cpus[0],), (cpus[1],), (cpus[1],)]
        assert all(session.answer_ok and session.server.verified for session in each.sessions)
    analysis = explain(record)
    assert analysis.together is not None
    assert analysis.together.apart
    assert [party.cpus_seen for party in analysis.together.parties] == [(cpus[0],), (cpus[1],)]
    assert "Together, each on its own CPUs" in analysis.verdict


def test_different_databases_run_their_own_text_of_the_workload(measure: Measure) -> None:
    group = (GroupMember("pg", EMBEDDED, 1), GroupMember("lite", Request("lite", "sqlite"), 1))
    record = measure(TogetherShape(group), Request("pg and lite", "together"), workload=None, executions=3, repeats=1)
    one, two = record.header.plan.parties
    assert (one.database.kind, two.database.kind) == ("postgresql", "sqlite")
    assert one.workload.sql != two.workload.sql
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)


def test_cpus_that_there_are_not_are_refused_before_anything_runs(measure: Measure) -> None:
    group = (GroupMember("one", EMBEDDED, 1, (0,)), GroupMember("two", EMBEDDED, 1, (4000,)))
    with pytest.raises(UsageError, match="--cpus names CPUs that may not be used here: 4000"):
        measure(TogetherShape(group), Request("one and two", "together"))


def test_bursts_with_sleeps_wait_as_often_as_they_should(measure: Measure) -> None:
    record = measure(None, workload="mixed", sessions="1", executions=20, repeats=1)
    for each in record.rounds:
        (session,) = each.sessions
        assert session.answer_ok
        # Three bursts an execution, and after each the process gives its CPU away.
        assert (session.voluntary_switches or 0) >= 60

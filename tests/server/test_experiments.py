"""Soaks, pools and several targets at once on real servers, through the program itself."""

import os
import signal
from itertools import pairwise

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record import Round, RunRecord
from driving import Drive, until
from serve_postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SOAK = ("--size", "tiny", "--yes")


def soaked(record: RunRecord) -> list[Round]:
    return [each for each in record.rounds if not each.anchor]


def pids(done: Round) -> list[int | None]:
    return [session.server.pid for session in done.sessions]


def passwordless(drive: Drive, server: DebianServer) -> str:
    """A configured target: the password stands in a file, as it should."""
    secret = drive.folder / "secret"
    secret.write_text(server.password)
    secret.chmod(0o600)
    url = server.url.replace(f":{server.password}@", "@")
    (drive.folder / "dbcpu.toml").write_text(f'[targets.box]\nurl = "{url}"\npassword_file = "{secret}"\n')
    return "box"


def test_sessions_of_a_soak_go_from_segment_to_segment_without_a_break(drive: Drive) -> None:
    code, out, err = drive("soak", "--sessions", "3", "--for", "6s", *SOAK).finish()
    assert code == 0, err
    assert "3 sessions in a loop for" in out
    record = drive.last()
    assert record.header.status == "complete"
    assert (record.header.plan.experiment, record.header.plan.segment_s) == ("soak", 2.0)
    segments = soaked(record)
    assert len(segments) == 3
    assert [each.anchor for each in (record.rounds[0], record.rounds[-1])] == [True, True]
    assert len({tuple(pids(each)) for each in segments}) == 1
    for earlier, later in pairwise(segments):
        for before, after in zip(earlier.sessions, later.sessions, strict=True):
            end_s = earlier.released_monotonic_s + before.executions[-1].start_s + before.executions[-1].elapsed_s
            start_s = later.released_monotonic_s + after.executions[0].start_s
            # It went on before the segment was put away: it did not wait for the driver to do that.
            assert start_s >= end_s - 1e-6
            assert after.executions[0].start_s < 0.05
    for each in segments:
        assert all(session.answer_ok and session.cpu_s for session in each.sessions)
        assert each.server_use is None
    analysis = explain(record)
    assert analysis.soak is not None
    assert analysis.soak.executions == sum(len(s.executions) for each in segments for s in each.sessions)
    assert (drive.folder / "reports" / record.header.run_id / "soak.svg").is_file()


def test_ctrl_c_keeps_the_segment_that_it_cuts_short(drive: Drive) -> None:
    driver = drive("soak", "--sessions", "2", "--for", "10m", *SOAK)
    driver.said("round 2 of")
    until(lambda: drive.working() == 2, "two working sessions")
    driver.send(signal.SIGINT)
    code, _, err = driver.finish()
    assert code == 130, err
    record = drive.last()
    assert record.header.status == "interrupted"
    (cut,) = soaked(record)
    assert all(session.executions and not session.error for session in cut.sessions)
    assert cut.error is None
    until(lambda: not drive.embedded(), "the embedded server is gone")


def test_a_restart_of_the_database_is_a_gap_and_the_soak_goes_on(drive: Drive, debian_server: DebianServer) -> None:
    driver = drive("soak", passwordless(drive, debian_server), "--sessions", "2", "--for", "20s", *SOAK)
    driver.said("round 3 of")
    debian_server.stop()
    debian_server.start()
    code, out, err = driver.finish()
    assert code == 0, err
    record = drive.last()
    segments = soaked(record)
    (broken,) = [each for each in segments if each.error]
    assert "sessions ended: " in (broken.error or "")
    after = segments[segments.index(broken) + 1 :]
    assert after
    assert not {pid for each in after for pid in pids(each)} & set(pids(broken))
    assert all(session.executions for each in after for session in each.sessions)
    assert "1 gap of" in out


def test_a_session_that_is_ended_by_somebody_costs_its_segment_only(drive: Drive, debian_server: DebianServer) -> None:
    driver = drive("soak", passwordless(drive, debian_server), "--sessions", "2", "--for", "16s", *SOAK)
    driver.said("round 3 of")
    debian_server.ask("select pg_terminate_backend(pid) from pg_stat_activity where query like '%generate_series%' "
                      "and pid <> pg_backend_pid() limit 1")  # fmt: skip
    code, _, err = driver.finish()
    assert code == 0, err
    segments = soaked(drive.last())
    broken = [each for each in segments if each.error]
    assert len(broken) == 1
    assert (broken[0].error or "").startswith("1 of 2 sessions ended: ")
    assert not segments[-1].error


def test_sizes_take_turns(drive: Drive) -> None:
    code, out, err = drive("soak", "--sessions", "2", "--for", "12s", "--sizes", "tiny,short", "--yes").finish()
    assert code == 0, err
    record = drive.last()
    assert [each.size for each in (record.header.plan.workload, *record.header.plan.sizes)] == ["tiny", "short"]
    turns = [each.variant for each in soaked(record)]
    assert turns.count("tiny") == turns.count("short") == 3
    assert all(session.answer_ok for each in record.rounds for session in each.sessions)
    analysis = explain(record)
    assert analysis.soak is not None
    tiny, short = analysis.soak.sizes
    assert tiny.median_s < short.median_s
    assert "Short and long SQL in turns" in out


def test_a_pool_shares_out_exactly_the_work_there_is(drive: Drive) -> None:
    arguments = ("--work", "24", "--active", "2,6", "--size", "tiny", "--repeats", "2", "--yes")
    code, out, err = drive("pool", *arguments).finish()
    assert code == 0, err
    record = drive.last()
    pools = soaked(record)
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
    assert "active session" in out
    assert "enough" in out


def test_two_servers_at_once_each_held_on_its_own_cpus(drive: Drive) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    arguments = ("--sessions", "1:2", "--cpus", str(cpus[0]), "--cpus", str(cpus[1]), "--repeats", "2")
    code, out, err = drive(
        "run", "embedded", "embedded", "--together", *arguments, "--size", "tiny", "--executions", "10", "--yes"
    ).finish()
    assert code == 0, err
    record = drive.last()
    assert [party.target for party in record.header.plan.parties] == ["embedded-1", "embedded-2"]
    together = [each for each in record.rounds if each.variant == "together"]
    assert len(together) == 2
    for each in together:
        assert [session.allowed_cpus for session in each.sessions] == [(cpus[0],), (cpus[1],), (cpus[1],)]
        assert all(session.answer_ok and session.server.verified for session in each.sessions)
    analysis = explain(record)
    assert analysis.together is not None
    assert analysis.together.apart
    assert [party.cpus_seen for party in analysis.together.parties] == [(cpus[0],), (cpus[1],)]
    assert "Beside each other, each on CPUs of its own" in out
    until(lambda: not drive.embedded(), "both servers are gone")


def test_cpus_that_there_are_not_are_refused_before_anything_runs(drive: Drive) -> None:
    code, _, err = drive("run", "embedded", "embedded", "--together", "--cpus", "0", "--cpus", "4000", "--yes").finish()
    assert code == 2
    assert "--cpus names CPUs that may not be used here: 4000" in err
    assert drive.runs() == []


def test_bursts_with_sleeps_wait_as_often_as_they_should(drive: Drive) -> None:
    arguments = ("--workload", "mixed", "--size", "tiny", "--sessions", "1", "--executions", "20", "--yes")
    code, _, err = drive("run", *arguments).finish()
    assert code == 0, err
    for each in drive.last().rounds:
        (session,) = each.sessions
        assert session.answer_ok
        # Three bursts an execution, and after each the process gives its CPU away.
        assert (session.voluntary_switches or 0) >= 60

"""However and whenever a run is stopped: no session goes on burning CPU, and what was finished is kept."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support.driving import Drive, Driver, children, command_line, until
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

GONE_S = 60.0
"""2 s are promised where nothing else runs; a busy machine takes longer, which is nobody's fault."""
FOUR = ("--sessions", "4", "--size", "short", "--repeats", "9", "--yes")
"""More rounds of four sessions than any test waits for: whoever misses one on a busy machine stops the next."""
BUSY = (*FOUR, "--executions", "3")
"""From the second round on four sessions that compute for a second or two."""
CALM = (*FOUR, "--executions", "8", "--workload", "calm")
"""The same, and the four sessions mostly sleep."""
MANY = ("--sessions", "1-3", "--size", "tiny", "--executions", "20", "--repeats", "50", "--yes")
STEPS = ("--sessions", "1,2", "--size", "short", "--executions", "6", "--yes", "--workload", "calm", "--repeats")


def wait_for(drive: Drive, driver: Driver, stage: str) -> None:
    """Until the run is in that stage for sure."""
    match stage:
        case "starting":
            driver.said("starting embedded")
        case "initdb":
            until(drive.embedded, "initdb")
        case "server":
            until(lambda: list(drive.place.glob("dbcpu-*/server.json")), "the server")
        case "baseline":
            driver.said("measuring the single-session baseline")
        case "connecting":
            driver.said("round 1 of")
        case "running":
            driver.said("round 2 of")
            until(lambda: drive.working() == 4, "four working sessions")
        case "between rounds":
            driver.said("round 3 of")


STAGES = ("starting", "initdb", "server", "baseline", "connecting", "running", "between rounds")
BEFORE_IT_BEGAN = STAGES[:3]
every_stage = pytest.mark.parametrize("stage", STAGES)


def start(drive: Drive, stage: str, *, busy: bool = False) -> Driver:
    as_shells_do = stage in ("starting", "initdb")  # with a true initdb
    work = MANY if stage == "between rounds" else BUSY if as_shells_do or busy else CALM
    driver = drive("run", *work, exec_it=as_shells_do)
    wait_for(drive, driver, stage)
    return driver


def assert_nothing_is_left(drive: Drive) -> None:
    until(lambda: not drive.embedded(), "the embedded server is gone", GONE_S)
    until(lambda: not list(drive.place.iterdir()), "its folder is gone", GONE_S)


def reached(stage: str, err: str) -> str:
    """The stage in which it was stopped, or a later one: a busy machine may have kept the test from that."""
    return "baseline" if stage in BEFORE_IT_BEGAN and "measuring the single-session baseline" in err else stage


def assert_shown_as(drive: Drive, stage: str, status: str) -> None:
    """By ``dbcpu list``; a run that had not begun is not shown at all."""
    code, out, _ = drive("list", "--json").finish()
    runs = json.loads(out) if code == 0 else []
    if stage in BEFORE_IT_BEGAN:
        assert runs == []
    elif runs or stage != "baseline":
        (run,) = runs
        assert run["status"] == status
        assert run["rounds"] >= {"running": 1, "between rounds": 2}.get(stage, 0)
        assert len(drive.last().rounds) == run["rounds"]


@every_stage
def test_killed_driver_leaves_nothing_behind(drive: Drive, stage: str) -> None:
    _, _, err = start(drive, stage).send(signal.SIGKILL).finish()
    assert_nothing_is_left(drive)
    assert_shown_as(drive, reached(stage, err), "interrupted")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_shared_memory_of_initdb_is_left(drive: Drive, how: signal.Signals) -> None:
    """Its server dies of any signal without tidying up: PostgreSQL's bootstrap mode has no handler."""
    driver = start(drive, "initdb")
    until(lambda: list(drive.place.glob("dbcpu-*/data/global/pg_control")), "initdb's server works")
    segments, names = set[str](), set[str]()

    def seen() -> bool:  # initdb starts one server after the other, and there is none between them
        for kept, found in zip((segments, names), drive.shared_memory(), strict=True):
            kept |= found
        return bool(segments)

    until(seen, "its shared memory")
    driver.send(how)
    driver.process.wait()
    assert_nothing_is_left(drive)
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert segments
    assert segments.isdisjoint(line.split()[1] for line in lines)
    assert [name for name in names if Path(name).exists()] == []


@every_stage
def test_ctrl_c_stops_at_any_moment(drive: Drive, stage: str) -> None:
    code, _, err = start(drive, stage).send(signal.SIGINT).finish()
    assert code == 130, err
    stage = reached(stage, err)
    said = "interrupted before the first round; nothing was stored" if stage in BEFORE_IT_BEGAN else "interrupted"
    assert said in err.splitlines()[-1]
    assert drive.embedded() == []
    assert list(drive.place.iterdir()) == []
    assert_shown_as(drive, stage, "interrupted")


@pytest.mark.parametrize("stage", ["initdb", "running"])
@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_ctrl_c_twice_is_one_stop(drive: Drive, stage: str, pause_s: float) -> None:
    driver = start(drive, stage).send(signal.SIGINT)
    time.sleep(pause_s)
    code, _, err = driver.send(signal.SIGINT).finish()
    assert code == 130, err
    assert_nothing_is_left(drive)
    assert_shown_as(drive, reached(stage, err), "interrupted")


def test_ctrl_c_again_while_the_clean_up_hangs_leaves_at_once(drive: Drive) -> None:
    driver = start(drive, "running")
    (postmaster,) = [pid for pid in drive.embedded() if "postgres -D" in command_line(pid)]
    os.kill(postmaster, signal.SIGSTOP)  # it does not hear that it shall end
    driver.send(signal.SIGINT)
    for _ in range(200):  # a crowded machine takes long to begin its clean-up
        with suppress(subprocess.TimeoutExpired):
            driver.process.wait(1.2)  # a signal that follows at once counts as the same
            break
        driver.send(signal.SIGINT)
    code, _, err = driver.finish()
    assert code == 130, err
    assert "interrupted again; the guard process cleans up in the background" in err
    assert_nothing_is_left(drive)
    assert_shown_as(drive, "running", "interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["SIGTERM", "SIGHUP"])
def test_other_signals_leave_nothing_behind(drive: Drive, number: signal.Signals) -> None:
    driver = start(drive, "running", busy=True).send(number)
    code, _, err = driver.finish()
    assert code == 130, err
    assert "dbcpu show" in err.splitlines()[-1] or "no round was finished" in err
    assert_nothing_is_left(drive)
    assert_shown_as(drive, "running", "interrupted")


def test_server_of_a_driver_that_died_with_its_guard_is_cleaned_up_by_the_next_run(drive: Drive) -> None:
    driver = start(drive, "running", busy=True)
    (guard,) = [pid for pid in children(driver.process.pid) if "cleanup_guard.py" in command_line(pid)]
    os.kill(guard, signal.SIGKILL)
    driver.send(signal.SIGKILL)
    driver.process.wait()
    until(lambda: drive.working() == 0, "the sessions notice that nobody listens", GONE_S)
    assert drive.embedded(), "the server itself is still there"
    (left,) = drive.place.iterdir()
    quick = ("--sessions", "1", "--size", "tiny", "--executions", "5", "--repeats", "1")
    code, _, err = drive("run", *quick, "--yes").finish()
    assert code == 0, err
    assert not left.exists()
    assert_nothing_is_left(drive)
    assert [run.status for run in drive.runs()] == ["complete", "interrupted"]


# --- a server that stays


WORKING = (
    "select pid from pg_stat_activity where application_name = 'dbcpu' and state = 'active'"
    " and query like '%%pg_sleep(0.001 * 300)%%' and clock_timestamp() - query_start > interval '50 ms'"
)
"""Process ids of the sessions that execute the size ``short``; a warm-up has another text."""
END_ONE_OF_TWO = (
    "select pid, pg_terminate_backend(pid)"
    f" from (select min(pid) as pid from ({WORKING}) as working having count(*) = 2) as victim"
)
"""In one statement: between two a busy machine may pass the end of the round."""


def await_active(driver: Driver, server: DebianServer, many: int) -> None:
    """Until so many sessions of dbcpu have executed one statement for longer than any preparation takes."""
    counted = f"select count(*) from ({WORKING}) as working"
    with server.asking() as ask:
        driver.until(lambda: ask(counted) == [(many,)], f"{many} active sessions")


def await_none(server: DebianServer) -> None:
    """Until dbcpu has no session."""
    counted = "select count(*) from pg_stat_activity where application_name like 'dbcpu%%'"
    with server.asking() as ask:
        until(lambda: ask(counted) == [(0,)], "its sessions are gone", GONE_S)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["SIGKILL", "SIGINT"])
def test_no_session_of_a_stopped_driver_stays_on_the_server(
    drive: Drive, debian_server: DebianServer, number: signal.Signals
) -> None:
    driver = drive("run", debian_server.url, *CALM)
    driver.said("round 2 of")
    await_active(driver, debian_server, 4)
    driver.send(number)
    driver.process.wait()
    await_none(debian_server)
    assert drive.runs()[0].status == "interrupted"


def test_crash_of_the_server_keeps_the_rounds_before(drive: Drive, debian_server: DebianServer) -> None:
    driver = drive("run", debian_server.url, *STEPS, "9").said("round 2 of")
    await_active(driver, debian_server, 2)
    debian_server.crash()
    try:
        code, _, err = driver.finish()
    finally:
        debian_server.start()
    assert code == 3, err
    record = drive.last()
    assert record.header.status == "failed"
    assert f"dbcpu show {record.header.run_id}" in err.splitlines()[-1]
    assert record.rounds[0].error is None
    assert record.rounds[0].sessions[0].answer_ok
    code, out, err = drive("show", "last").finish()
    assert code == 0, err
    assert "failed" in out


def test_one_killed_session_is_marked_and_the_run_goes_on(drive: Drive, debian_server: DebianServer) -> None:
    driver = drive("run", debian_server.url, *STEPS, "1").said("round 2 of")
    ended: list[int] = []

    with debian_server.asking() as ask:

        def ended_one() -> bool:
            ended.extend(row[0] for row in ask(END_ONE_OF_TWO))
            return bool(ended)

        driver.until(ended_one, "two active sessions")
    (victim,) = ended
    code, _, err = driver.finish()
    assert code == 0, err
    record = drive.last()
    assert (record.header.status, len(record.rounds)) == ("complete", 3)
    (pair,) = [each for each in record.rounds if each.level == 2]
    assert pair.error is None
    marked = {session.server.pid: session.error for session in pair.sessions}
    assert "terminating connection" in (marked.pop(victim) or "")
    assert list(marked.values()) == [None]
    assert all(session.error is None for each in record.rounds if each is not pair for session in each.sessions)

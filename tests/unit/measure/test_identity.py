"""Only a process that proves to be a session's own is believed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.hosts.proc import Process, boot_time_s, look
from dbcpu.measure import identity
from dbcpu.targets.base import ServerClaim
from support.doubles.proc_folder import TICKS, FakeProc

BOOT_S = 1_000_000.0
CLAIM = ServerClaim(pid=42, started_at_s=BOOT_S + 50.0, command="postgres")
GENUINE = Process("postgres postgres: dbcpu", start_ticks=5000, cpu_s=1.0)


def after(cpu_s: float, start_ticks: int = 5000) -> Process:
    return Process(GENUINE.command, start_ticks, cpu_s)


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path / "host with space")


@pytest.mark.parametrize("command", ["postgres", "a (b) c", ") S 1 (", "x\ty"])
def test_any_command_name_is_read(proc: FakeProc, command: str) -> None:
    proc.process(42, command=command, start_ticks=77, schedstat=(2_500_000_000, 0))
    found = look(proc.host, 42, None, TICKS)
    assert found is not None
    assert found.command.startswith(command)
    assert (found.start_ticks, found.cpu_s) == (77, 2.5)


@pytest.mark.parametrize("schedstat", ["", "0 0 0\n", None])
def test_ticks_are_used_where_schedstat_says_nothing(proc: FakeProc, schedstat: str | None) -> None:
    proc.process(42, spent_ticks=250, schedstat=None)
    if schedstat is not None:
        proc.write("42/schedstat", schedstat)
    found = look(proc.host, 42, None, TICKS)
    assert found is not None
    assert found.cpu_s == 2.5


def test_thread_is_read_in_its_own_folder(proc: FakeProc) -> None:
    proc.process(42, schedstat=(9_000_000_000, 0))
    proc.process(42, tid=43, command="worker", schedstat=(1_000_000_000, 0))
    found = look(proc.host, 42, 43, TICKS)
    assert found is not None
    assert (found.command.split()[0], found.cpu_s) == ("worker", 1.0)


@pytest.mark.parametrize(("state", "runnable"), [("R", True), ("S", False), ("D", True)])
def test_what_waits_for_a_cpu_is_runnable(proc: FakeProc, state: str, runnable: bool) -> None:
    proc.process(42, state=state)
    found = look(proc.host, 42, None, TICKS)
    assert found is not None
    assert found.runnable is runnable


def test_process_that_is_not_there_is_none(proc: FakeProc) -> None:
    assert look(proc.host, 42, None, TICKS) is None


def test_boot_time_is_that_of_proc_stat_or_unknown(proc: FakeProc) -> None:
    assert boot_time_s(proc.host) == BOOT_S
    proc.write("stat", "cpu 1 2 3\n")
    assert boot_time_s(proc.host) is None
    (proc.root / "proc" / "stat").unlink()
    assert boot_time_s(proc.host) is None


@pytest.mark.parametrize(
    ("claim", "process", "why"),
    [
        (ServerClaim(None), GENUINE, "does not report the process"),
        (ServerClaim(None, why_not="a pooler is in between"), GENUINE, "a pooler is in between"),
        (ServerClaim(42, local=False), GENUINE, "runs on another machine"),
        (CLAIM, None, "there is no process 42 here"),
        (CLAIM, Process("kworker/0:1", 5000, 0.0), r"is 'kworker/0:1', not 'postgres': another pid namespace"),
        (CLAIM, Process("postgres", 6000, 0.0), "and the session started 10 s apart"),
        (CLAIM, Process("postgres", 4000, 0.0), "and the session started 10 s apart"),
        (replace(CLAIM, may_be_older=True), Process("postgres", 6000, 0.0), "here started 10 s after the session"),
        (replace(CLAIM, may_be_older=True), Process("kworker/0:1", 4000, 0.0), "is 'kworker/0:1', not 'postgres'"),
    ],
)
def test_wrong_process_is_refused_in_words(claim: ServerClaim, process: Process | None, why: str) -> None:
    assert why in identity.refuse(claim, process, BOOT_S, TICKS)


@pytest.mark.parametrize(
    ("claim", "boot_s"),
    [
        (CLAIM, BOOT_S),
        (CLAIM, BOOT_S + 4.0),  # btime is in whole seconds, and the stamp comes after the fork
        (CLAIM, None),
        (ServerClaim(42, command="postgres"), BOOT_S),
        (replace(CLAIM, may_be_older=True, started_at_s=BOOT_S + 9999.0), BOOT_S),
        (ServerClaim(42), None),
    ],
)
def test_right_process_is_not_refused(claim: ServerClaim, boot_s: float | None) -> None:
    assert identity.refuse(claim, GENUINE, boot_s, TICKS) == ""


def test_process_that_works_with_its_session_is_verified() -> None:
    server = identity.judge(CLAIM, (GENUINE, GENUINE), after(1.004), "")
    assert server.verified
    assert (server.pid, server.start_ticks) == (42, 5000)
    assert "4.0 ms" in server.how


@pytest.mark.parametrize(
    ("idle", "warmed", "why"),
    [
        ((GENUINE, after(1.5)), after(1.51), "was busy while its session was idle"),
        ((GENUINE, replace(GENUINE, runnable=True)), after(1.004), "was busy while its session was idle"),
        ((GENUINE, GENUINE), GENUINE, "used no CPU during its session's warm-up"),
        ((GENUINE, GENUINE), after(1.004, start_ticks=5001), "was replaced during the check"),
        ((GENUINE, GENUINE), None, "was gone during the check"),
        ((GENUINE, None), after(1.004), "was gone during the check"),
        ((None, None), None, "was gone during the check"),
    ],
)
def test_process_that_behaves_otherwise_is_another(
    idle: tuple[Process | None, Process | None], warmed: Process | None, why: str
) -> None:
    server = identity.judge(CLAIM, idle, warmed, "")
    assert not server.verified
    assert why in server.how


def test_an_older_process_is_verified_by_its_work_alone() -> None:
    claim = replace(CLAIM, may_be_older=True)
    server = identity.judge(claim, (GENUINE, GENUINE), after(1.004), "")
    assert (server.verified, "not younger than its session" in server.how) == (True, True)
    assert not identity.judge(claim, (GENUINE, GENUINE), GENUINE, "").verified


def test_refusal_stands_whatever_the_process_does() -> None:
    server = identity.judge(CLAIM, (GENUINE, GENUINE), after(1.004), "another machine")
    assert (server.verified, server.how, server.start_ticks) == (False, "another machine", None)


# --- numbers that a container gave

CONTAINED = ServerClaim(pid=71, started_at_s=BOOT_S + 50.0, command="oracle")


def oracle(proc: FakeProc, pid: int, *nspid: int, tid: int | None = None, start_ticks: int = 5000) -> None:
    line = "oracleFREE (LOCAL=NO)"
    proc.process(pid, tid=tid, command=f"oracle_{pid}", line=line, start_ticks=start_ticks, nspid=nspid)


def test_a_containers_number_leads_to_this_hosts_process(proc: FakeProc) -> None:
    oracle(proc, 4242, 71)
    oracle(proc, 4243, 72)
    (found,) = identity.on_host([CONTAINED], proc.host, TICKS, "here")
    assert (found.pid, found.tid, found.inner_pid) == (4242, None, 71)
    genuine, later = Process("oracle_71", 5000, 1.0), Process("oracle_71", 5000, 1.004)
    server = identity.judge(found, (genuine, genuine), later, "")
    assert (server.pid, server.verified) == (4242, True)
    assert server.how.startswith("process 71 of a container: command, start time")


def test_the_innermost_number_counts_in_nested_namespaces(proc: FakeProc) -> None:
    oracle(proc, 4242, 900, 71)
    oracle(proc, 4243, 71, 12)
    assert identity.on_host([CONTAINED], proc.host, TICKS, "here")[0].pid == 4242


def test_an_innocent_process_with_the_number_here_is_passed_over(proc: FakeProc) -> None:
    proc.process(71, command="kworker/0:1", line="")
    oracle(proc, 4242, 71)
    assert identity.on_host([CONTAINED], proc.host, TICKS, "here")[0].pid == 4242


def test_of_two_containers_that_with_the_start_time_is_taken(proc: FakeProc) -> None:
    oracle(proc, 4242, 71, start_ticks=900)
    oracle(proc, 5252, 71)
    assert identity.on_host([CONTAINED], proc.host, TICKS, "here")[0].pid == 5252


def test_two_that_fit_alike_are_both_left_alone(proc: FakeProc) -> None:
    oracle(proc, 4242, 71)
    oracle(proc, 5252, 71)
    (found,) = identity.on_host([CONTAINED], proc.host, TICKS, "here")
    assert found == CONTAINED
    assert "there is no process 71 here" in identity.refuse(found, None, BOOT_S, TICKS)


def test_a_thread_of_a_container_is_found_by_its_own_number(proc: FakeProc) -> None:
    oracle(proc, 4242, 71)
    oracle(proc, 4242, 71, tid=4242)
    oracle(proc, 4242, 75, tid=4250)
    claim = ServerClaim(pid=71, tid=75, started_at_s=BOOT_S + 50.0, command="oracle")
    (found,) = identity.on_host([claim], proc.host, TICKS, "here")
    assert (found.pid, found.tid) == (4242, 4250)
    (none,) = identity.on_host([ServerClaim(71, 99, command="oracle")], proc.host, TICKS, "here")
    assert none.inner_pid is None


@pytest.mark.parametrize("claim", [ServerClaim(None), ServerClaim(71, local=False), CLAIM])
def test_what_needs_no_translation_stays_as_it_is(proc: FakeProc, claim: ServerClaim) -> None:
    proc.process(42)
    oracle(proc, 4242, 71)
    assert identity.on_host([claim], proc.host, TICKS, "here") == (claim,)


@pytest.mark.parametrize(
    ("command", "or_command", "refused"),
    [("ora_u005_orcl ora_u005_ORCL", "ora_u", False), ("ora_u005_orcl ora_u005_ORCL", "", True),
     ("oracle_42_orcl", "ora_u", False), ("python", "ora_u", True), ("python", "", True)],
)  # fmt: skip
def test_a_process_may_have_one_of_two_names(command: str, or_command: str, refused: bool) -> None:
    claim = replace(CLAIM, command="oracle", or_command=or_command)
    assert bool(identity.refuse(claim, replace(GENUINE, command=command), BOOT_S, TICKS)) is refused

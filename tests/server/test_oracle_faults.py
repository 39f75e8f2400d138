"""What the Oracle target makes of a server that is not as it should be: every fault of the test double."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dbcpu.config.targets import resolve
from dbcpu.errors import ConnectError, GateError, ServerError, UsageError
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.measure.gate import SessionGate
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.targets.base import SessionOutcome, Work, load_target
from dbcpu.targets.oracle import privileges
from dbcpu.targets.oracle.address import Address
from dbcpu.targets.oracle.driver import THREAD, Dialer
from dbcpu.targets.oracle.target import OracleTarget
from dbcpu.workflows.doctor import diagnose
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance

TICKS = os.sysconf("SC_CLK_TCK")
NOT_ASKED = ("V_$DATABASE", "V_$PDBS", "V_$INSTANCE")
"""The first where the platform is not clear, the second from 21c on, the third where DBMS_UTILITY does not say it."""
TINY = workloads.load("oracle", "cartesian").work("tiny")
# Sessions warm up with the smallest size for as long as it takes: a fault at the n-th execution needs another one,
# and has to leave the smallest alone.
SHORT = workloads.load("oracle", "cartesian").work("short")
SEED = workloads.load("oracle", "cartesian").work("seed")
DEAF: dict[str, Any] = {"endless": True, "ignores_break": True, "least_n": SEED.n}
"""A statement of that size waits for ever."""


def open_target(double: OracleDouble, options: str = "") -> OracleTarget:
    url = double.url + (f"&{options}" if options else "")
    target = load_target("oracle").open_target(resolve(url, lambda _: None), Guard())
    assert isinstance(target, OracleTarget)
    return target


def outcomes(
    double: OracleDouble, level: int, executions: int = 2, timeout_s: float = 600.0, work: Work = TINY
) -> list[SessionOutcome]:
    with open_target(double) as target, SessionGate(target, target.host(), TICKS) as gate:
        gate.gather(level, work)
        gate.release(executions, None, timeout_s)
        # The double counts sessions in the order in which they were prepared, which is not that of their ordinals.
        return sorted(
            gate.outcomes(), key=lambda outcome: (outcome.error is not None, outcome.db.get("physical_reads", 0))
        )


def doctor(double: OracleDouble) -> dict[str, Finding]:
    return {finding.code: finding for finding in diagnose(resolve(double.url, lambda _: None))}


# --- connecting


# The driver leaves its socket to the garbage collector when a connection is closed before the logon.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_slow_connects_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thin mode undecided the driver opens one connection after the other: then there never are nine at once."""
    monkeypatch.setattr("dbcpu.measure.gate.CONNECT_TIMEOUT_S", 600.0)
    with (
        OracleDouble(faults=Faults(silent=True, from_connection=1)) as double,
        open_target(double) as target,
        SessionGate(target, None, TICKS) as gate,
    ):

        def end_all_when_they_are_nine() -> None:
            wait_for(lambda: len(double.pids()) == 9)
            for pid in double.pids()[1:]:
                os.kill(pid, signal.SIGKILL)

        ending = threading.Thread(target=end_all_when_they_are_nine)
        ending.start()
        with pytest.raises(GateError, match="0 of 8 sessions connected"):
            gate.gather(8, TINY)
        ending.join()
    gc.collect()


def test_the_time_that_connecting_takes_is_measured() -> None:
    delay_s = 0.3
    with (
        OracleDouble(faults=Faults(connect_delay_s=delay_s, from_connection=1)) as double,
        open_target(double) as target,
        SessionGate(target, None, TICKS) as gate,
    ):
        gate.gather(1, TINY)
        assert gate.members[0].connect_s >= delay_s


# The driver leaves its socket to the garbage collector when a connection is closed before the logon.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_listener_that_accepts_and_says_nothing_is_given_up() -> None:
    told = r"did not open a session within 0\.3 s, though something accepts connections there"
    with (
        OracleDouble(faults=Faults(silent=True, from_connection=1)) as double,
        open_target(double) as target,
        pytest.raises(ConnectError, match=told),
    ):
        target.connect(0, 0.3)
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()
    gc.collect()


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (12514, "lsnrctl services"),
        (12505, "after the last /"),
        (12516, "parameter processes"),
        (12520, "dedicated server"),
    ],
)
def test_a_refusal_is_explained(code: int, remedy: str) -> None:
    with OracleDouble(faults=Faults(refuse=code)) as double, pytest.raises(ConnectError, match=remedy) as caught:
        open_target(double).__enter__()
    assert "CONNECTION_ID" not in str(caught.value)


def test_not_all_sessions_connected_releases_none() -> None:
    with (
        OracleDouble(faults=Faults(refuse=12516, from_connection=3)) as double,
        open_target(double) as target,
        SessionGate(target, None, TICKS) as gate,
        pytest.raises(GateError, match=r"2 of 4 sessions connected: .*processes"),
    ):
        gate.gather(4, TINY)


def test_a_wrong_password_is_told_and_not_shown() -> None:
    with OracleDouble() as double:
        wrong = double.url.replace(quote(double.password), "not-the-password")
        with pytest.raises(ConnectError, match=r"ORA-01017.*check user and password") as caught:
            load_target("oracle").open_target(resolve(wrong, lambda _: None), Guard()).__enter__()
    assert "not-the-password" not in str(caught.value)


def test_an_old_verifier_and_a_missing_alias_say_what_to_do() -> None:
    with OracleDouble(verifier="10g") as double, pytest.raises(ConnectError, match="thick=1"):
        open_target(double).__enter__()
    request = resolve("oracle+oracledb://scott:tiger@nowhere?config_dir=/nonexistent", lambda _: None)
    with pytest.raises(UsageError, match=r"the Oracle address nowhere is not understood: .*tnsnames"):
        load_target("oracle").open_target(request, Guard())


def test_retries_and_pooled_servers_of_a_connect_string_are_overruled() -> None:
    dialer = Dialer(Address("scott", "db1/orcl:pooled?retry_count=9&retry_delay=5"), "tiger", "tag")
    assert "(SERVER=dedicated)" in dialer._params.get_connect_string()
    assert "RETRY" not in dialer._params.get_connect_string()
    dialer.pin("orcl2")
    assert "(INSTANCE_NAME=orcl2)" in dialer._params.get_connect_string()


@pytest.mark.parametrize(
    ("address", "minutes"),
    [
        (Address("scott", "db1/orcl"), 1),
        (Address("scott", "db1/orcl?expire_time=7"), 7),
        (Address("scott", options={"host": "db1", "service_name": "orcl", "expire_time": 3}), 3),
    ],
)
def test_long_executions_are_kept_alive_unless_the_address_says_how(address: Address, minutes: int) -> None:
    assert f"(EXPIRE_TIME={minutes})" in Dialer(address, "tiger", "tag")._params.get_connect_string()


# --- identity


@pytest.mark.parametrize(("server", "told"), [("SHARED", "a shared server"), ("POOLED", "a pooled server")])
def test_a_server_that_is_not_dedicated_is_refused(server: str, told: str) -> None:
    with OracleDouble(faults=Faults(server=server)) as double:
        assert doctor(double)["not-dedicated"].level == Level.PROBLEM
        with (
            open_target(double) as target,
            SessionGate(target, None, TICKS) as gate,
            pytest.raises(ServerError, match=f"served by {told}.*: sessions would queue for a few processes"),
        ):
            gate.gather(2, TINY)


def test_sessions_that_claim_the_same_process_are_not_sampled() -> None:
    with (
        OracleDouble(faults=Faults(shared_spid=True)) as double,
        open_target(double) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(2, TINY)
        assert [member.server.verified for member in gate.members] == [False, False]


def test_threads_of_one_process_are_told_apart() -> None:
    with OracleDouble(faults=Faults(threaded=True)) as double:
        assert "threaded-execution" in doctor(double)
        with open_target(double) as target, SessionGate(target, target.host(), TICKS) as gate:
            gate.gather(2, TINY)
            assert all(member.server.verified for member in gate.members)
            assert all(member.server.tid not in (None, member.server.pid) for member in gate.members)


def test_an_older_server_without_stid_is_identified_by_its_process() -> None:
    columns = ("v$process.stid", "v$process.execution_type")
    with (
        OracleDouble("12c", faults=Faults(missing_columns=columns)) as double,
        open_target(double) as target,
        SessionGate(target, target.host(), TICKS) as gate,
    ):
        gate.gather(1, TINY)
        assert gate.members[0].server.verified
        assert gate.members[0].server.tid is None


def test_without_any_grant_the_run_goes_on_unsampled_and_doctor_says_what_to_grant() -> None:
    with OracleDouble(faults=Faults(ungranted=("all", "public"))) as double:
        told = doctor(double)["oracle-privileges"]
        assert told.level == Level.WARNING
        # Whether it is a cluster is asked only of one that says so, and DBMS_UTILITY says it without V$INSTANCE.
        wanted = [each for each in privileges.every() if not each.startswith("GV_$") and each not in NOT_ASKED]
        grants = " ".join(f"grant read on sys.{each.lower()} to dbcpu;" for each in wanted)
        assert told.remedy == f"`{grants}`"
        with open_target(double) as target, SessionGate(target, target.host(), TICKS) as gate:
            gate.gather(2, TINY)
            gate.release(2, None, 60.0)
            for member, outcome in zip(gate.members, gate.outcomes(), strict=True):
                assert (outcome.error, outcome.answer_ok) == (None, True)
                assert not member.server.verified
                assert "not granted" in member.server.how
                assert outcome.db["sid"] > 0
                assert "db_cpu_s" not in outcome.db
            assert (target.connections_free(), target.vcpus(), target.explain(TINY)) == (None, None, None)


def test_with_every_grant_doctor_has_nothing_to_ask_for() -> None:
    with OracleDouble() as double:
        assert "oracle-privileges" not in doctor(double)


def test_on_rds_the_grants_have_their_own_form() -> None:
    with OracleDouble(faults=Faults(ungranted=("v$session",)), instance=Instance(rds=True)) as double:
        found = doctor(double)
    assert "rds" in found
    assert "grant_sys_object('V_$SESSION', 'DBCPU', 'SELECT')" in found["oracle-privileges"].remedy


@pytest.mark.parametrize(("ungranted", "words"), [
    ((), "the next dbcpu command on this machine ends them"),
    (("rdsadmin_util", "alter system"), "with EXECUTE on RDSADMIN.RDSADMIN_UTIL it ends them itself"),
])  # fmt: skip
def test_on_rds_who_may_not_execute_the_package_ends_no_session(ungranted: tuple[str, ...], words: str) -> None:
    with OracleDouble(faults=Faults(ungranted=ungranted), instance=Instance(rds=True)) as double:
        assert words in doctor(double)["after-a-kill"].meaning


@pytest.mark.parametrize(
    ("instance", "codes"),
    [
        (Instance(plan="DEFAULT_PLAN", cpu_managed=True), {"resource-manager"}),
        (Instance(plan="DEFAULT_PLAN", cpu_managed=True, instance_caging=True), {"instance-caging"}),
        (Instance(window="MONDAY_WINDOW"), {"maintenance-window"}),
        (Instance(edition="Free", osstat={"NUM_CPUS": 16}), {"edition-cap"}),
        (Instance(instances=2), {"cluster"}),
        (Instance(cloud_service="OLTP", service="x_high"), {"autonomous-parallel"}),
        (Instance(foreign_sessions=(("SCOTT", "sqlplus"),)), {"instance-busy"}),
    ],
)
def test_doctor_finds_what_spoils_a_measurement(instance: Instance, codes: set[str]) -> None:
    with OracleDouble(instance=instance) as double:
        assert codes <= set(doctor(double))


def test_all_sessions_of_a_cluster_go_to_one_instance() -> None:
    with OracleDouble(instance=Instance(instances=2)) as double, open_target(double) as target:
        assert target._dialer.pinned
        assert target.describe().parameters["instances"] == "2"


# --- work


def test_an_error_keeps_what_ran_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.targets.oracle.target.BATCH_S", 600.0)  # all in one call, however slow the machine is
    with OracleDouble(faults=Faults(error=1652, at_execution=3, least_n=SHORT.n, sessions=(1,))) as double:
        fine, failed = outcomes(double, 2, executions=4, work=SHORT)
    assert (fine.error, len(fine.executions)) == (None, 4)
    assert failed.error is not None
    assert failed.error.startswith("ORA-01652")
    assert len(failed.executions) == 2
    first, second = failed.executions
    assert second.start_s == pytest.approx(first.start_s + first.elapsed_s)
    # Not to the end of the call, which is half an execution later.
    first_end_s, second_end_s = ((one.server_start_s or 0) + (one.server_elapsed_s or 0) for one in (first, second))
    assert 0 < second.elapsed_s <= second_end_s - first_end_s + 1e-3


def test_a_killed_server_process_is_told() -> None:
    with OracleDouble(faults=Faults(kill=True, at_execution=2, least_n=SHORT.n, sessions=(0,))) as double:
        fine, killed = outcomes(double, 2, executions=3, work=SHORT)
    assert killed.error is not None
    assert "DPY-4011" in killed.error
    assert (fine.error, len(fine.executions)) == (None, 3)


def test_a_wrong_count_is_told() -> None:
    with OracleDouble(faults=Faults(wrong_count=True, sessions=(0,))) as double:
        fine, wrong = outcomes(double, 2)
    assert (wrong.answer_ok, fine.answer_ok) == (False, True)
    assert wrong.error == "the answer was 160001, not 160000: the work was not done"


def test_a_session_that_ignores_its_cancel_does_not_hold_up_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.measure.gate.CANCEL_S", 1.5)
    with (
        OracleDouble(faults=Faults(**DEAF, ungranted=("alter system",))) as double,
        open_target(double) as target,
        SessionGate(target, None, TICKS) as gate,
    ):
        gate.gather(1, SEED)
        gate.release(1, None, 0.2)
        (outcome,) = gate.outcomes()
    assert outcome.error == "no answer within 0.2 s; cancelled"


def test_a_statement_that_ignores_breaks_is_cancelled_from_another_session() -> None:
    with (
        OracleDouble("19c", faults=Faults(ignores_break=True)) as double,
        open_target(double) as target,
        SessionGate(target, None, TICKS) as gate,
    ):
        gate.gather(1, SEED)
        gate.release(1, None, 0.2)
        wait_for(lambda: [entry["status"] for entry in double.sessions() if entry["index"] == 0] == ["INACTIVE"])
        (outcome,) = gate.outcomes()
    assert outcome.error == "no answer within 0.2 s; cancelled"


@pytest.mark.parametrize("rds", [False, True])
def test_a_session_that_heeds_nothing_is_ended_when_it_is_given_up(rds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """12.1 knows no ALTER SYSTEM CANCEL SQL."""
    monkeypatch.setattr("dbcpu.measure.gate.CANCEL_S", 1.5)
    with (
        OracleDouble("12c", faults=Faults(**DEAF), instance=Instance(rds=rds)) as double,
        open_target(double) as target,
    ):
        with SessionGate(target, None, TICKS) as gate:
            gate.gather(1, SEED)
            gate.release(1, None, 0.2)
        wait_for(lambda: len(double.sessions()) == 1)


def test_io_waits_and_plans_are_in_the_counters() -> None:
    faults = Faults(extra_io=50, resource_manager_wait_s=0.05, odd_plan=True, sessions=(1,))
    with OracleDouble(faults=faults) as double:
        both = outcomes(double, 2, executions=2)
    assert all(outcome.db["physical_reads"] >= 100 and outcome.db["plans"] == 2 for outcome in both)
    held = [wait for outcome in both for wait in outcome.waits if wait.event == "resmgr:cpu quantum"]
    assert held
    assert all((wait.count, wait.waited_s >= 0.1) == (2, True) for wait in held)


# --- what a killed run leaves


DRIVER = """
import sys, time
from dbcpu.config.targets import resolve
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.measure import workloads
from dbcpu.targets.base import load_target
with load_target("oracle").open_target(resolve(sys.argv[1], lambda _: None), Guard()) as target:
    session = target.connect(0, 20.0)
    session.prepare(workloads.load("oracle", "cartesian").work("seed"))
    sys.stdout.write("started\\n")
    sys.stdout.flush()
    session.start(1, None)
"""


def test_what_a_killed_driver_left_is_found_and_ended() -> None:
    with OracleDouble() as double:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, double.url], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        with driver:
            assert driver.stdout.readline() == "started\n"
            wait_for(lambda: _works(double))
            driver.send_signal(signal.SIGKILL)
        assert double.sessions(), "the server process goes on without its client"
        told = doctor(double)
        assert "leftovers-ended" in told
        wait_for(lambda: not double.sessions())


@pytest.mark.parametrize("ungranted", [(), ("alter system",), ("gv$session",)])
def test_what_a_killed_driver_left_on_another_instance_is_found(ungranted: tuple[str, ...]) -> None:
    """The driver's sessions are on the second instance, doctor's control session is on the first."""
    with OracleDouble(instance=Instance(instances=2), faults=Faults(ungranted=ungranted)) as double:
        there = f"{double.url}&instance_name=DOUBLE2"
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, there], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        with driver:
            assert driver.stdout.readline() == "started\n"
            wait_for(lambda: _works(double))
            driver.send_signal(signal.SIGKILL)
        wait_for(lambda: len(double.sessions()) == 1)
        (entry,) = double.sessions()
        assert entry["instance"] == 2
        with open_target(double, "instance_name=DOUBLE1") as target:
            told = {each.code: each for each in target.findings()}
        if "gv$session" in ungranted:
            assert not {"leftovers", "leftovers-ended"} & set(told)
            assert "sessions of killed runs on other instances" in told["oracle-privileges"].meaning
        elif ungranted:
            assert f"'{entry['sid']},{entry['serial']},@2' immediate;" in told["leftovers"].remedy
        else:
            assert "leftovers-ended" in told
            wait_for(lambda: not double.sessions())


def test_leftovers_that_may_not_be_ended_are_listed_with_the_statement() -> None:
    with OracleDouble(faults=Faults(ungranted=("alter system",))) as double:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, double.url], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        with driver:
            assert driver.stdout.readline() == "started\n"
            wait_for(lambda: _works(double))
            driver.send_signal(signal.SIGKILL)
        wait_for(lambda: len(double.sessions()) == 1)
        (entry,) = double.sessions()
        told = doctor(double)["leftovers"]
        assert (
            told.remedy
            == f"end these sessions: `alter system kill session '{entry['sid']},{entry['serial']}' immediate;`"
        )


def test_another_run_that_is_alive_is_left_alone() -> None:
    with OracleDouble() as double:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, double.url], stdout=subprocess.PIPE, text=True)
        assert driver.stdout is not None
        with driver:
            assert driver.stdout.readline() == "started\n"
            assert "other-run" in doctor(double)
            assert double.sessions()
            driver.send_signal(signal.SIGKILL)


def _works(double: OracleDouble) -> bool:
    """Whether a driver's session executes, and has used more CPU than what comes before that takes."""

    def cpu_ticks(pid: int) -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    working = [each for each in double.sessions() if each["status"] == "ACTIVE" and each.get("module") == "dbcpu"]
    return any(cpu_ticks(each["pid"]) > 0.2 * TICKS for each in working)


def wait_for(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come to pass"
        time.sleep(0.01)

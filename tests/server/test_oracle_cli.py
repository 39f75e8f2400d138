"""dbcpu on an Oracle target as its users start it: reports of doctor, what they get wrong, and how a run is stopped."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugins.call import Call
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import SECRETS, Drive, until

pytestmark = pytest.mark.slow

PASSWORD, WRONG = SECRETS
TICKS = os.sysconf("SC_CLK_TCK")
LONG = ("--sessions", "1", "--size", "seed", "--executions", "1", "--repeats", "1", "--yes")
"""One execution takes more than a minute."""


@pytest.fixture
def double() -> Iterator[OracleDouble]:
    with OracleDouble(password=PASSWORD) as running:
        yield running


def codes(out: str) -> dict[str, dict[str, str]]:
    return {finding["code"]: finding for finding in json.loads(out)}


def test_doctor_reports_on_a_database_that_grants_all(call: Call) -> None:
    instance = Instance(plan="DEFAULT_PLAN", cpu_managed=True, osstat={"NUM_CPUS": 2, "NUM_CPU_CORES": 1})
    with OracleDouble(password=PASSWORD, instance=instance) as double:
        code, out, err = call("doctor", double.url, "--json")
    assert code == 0, err
    found = codes(out)
    assert "oracle-privileges" not in found
    assert "Oracle Database 19c Enterprise Edition" in found["oracle"]["seen"]
    assert "service doublepdb, container DOUBLEPDB" in found["oracle"]["seen"]
    assert found["oracle"]["seen"].endswith("dedicated servers")
    assert found["oracle"]["meaning"] == "it may use 2 CPUs, limited by v$osstat NUM_CPUS (1 core)"
    assert "DEFAULT_PLAN" in found["resource-manager"]["seen"]
    assert "ends them" in found["after-a-kill"]["meaning"]
    assert "procfs" in found["sampled"]["seen"]


def test_doctor_reports_on_a_database_that_grants_nothing(call: Call) -> None:
    with OracleDouble(password=PASSWORD, faults=Faults(ungranted=("all",))) as double:
        code, out, err = call("doctor", double.url)
    assert code == 0, err
    assert "kind of server unknown (no privilege)" in out
    assert "the number of CPUs that it may use is unknown" in out
    assert "grant read on sys.v_$process to dbcpu;" in out
    assert "not-sampled: server processes are not sampled: the database does not report them" in out
    assert "info     sampled: " not in out
    assert "lists them with the statements" in out


def test_a_run_is_shown_kept_and_reported(drive: Drive, double: OracleDouble) -> None:
    given = ("--sessions", "1,2", "--size", "tiny", "--executions", "10", "--repeats", "1", "--yes")
    code, out, err = drive("run", double.url, *given, "--report", "markdown").finish()
    assert code in (0, 1), err
    record = drive.last()
    assert record.header.run_id in out
    (report,) = (drive.folder / "reports" / record.header.run_id).iterdir()
    assert PASSWORD not in report.read_text()
    assert (record.header.status, record.header.database.kind) == ("complete", "oracle")
    assert all(session.answer_ok and session.server.verified for each in record.rounds for session in each.sessions)
    assert PASSWORD not in out


@pytest.fixture(scope="module")
def refusing() -> Iterator[OracleDouble]:
    with OracleDouble(password=PASSWORD) as running:
        yield running


@pytest.mark.parametrize(
    ("change", "arguments", "code", "sentence"),
    [
        (("doublepdb", "elsewhere"), (), 3, "the listener does not know this service"),
        (("127.0.0.1", "host.invalid"), (), 3, "no such host: check its name"),
        (("service_name=doublepdb", "service_name=doublepdb&pool_size=4"), (), 2, "pool_size, which is not known"),
        (("?service_name=doublepdb", ""), (), 2, "add ?service_name=SERVICE after 127.0.0.1:"),
        (("?service_name=doublepdb", "?dsn=127.0.0.1/x"), (), 2, "dsn= and a host, service or SID beside it"),
        (("dbcpu:", "dbcpu%5Bnobody%5D:"), (), 3, "grant connect through"),
        (("", ""), ("--workload", "emp"), 2, "emp_join"),
        (("", ""), ("--size", "huge"), 2, "tiny"),
        (("", ""), ("--sessions", "0"), 2, "--sessions"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    call: Call, refusing: OracleDouble, change: tuple[str, str], arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    url = refusing.url.replace(*change) if change[0] else refusing.url
    given, out, err = call("run", url, *(arguments or ("--sessions", "1")), "--yes")
    assert (given, out, sentence in err) == (code, "", True), err
    said = [line for line in err.splitlines() if line.startswith("dbcpu: ") and "password in the URL" not in line]
    assert len(said) == 1, "one sentence, and no traceback"


@pytest.mark.parametrize("number", [1035, 12526, 12529, 12547, 12564])
def test_a_listener_that_refuses_is_explained(call: Call, refusing: OracleDouble, number: int) -> None:
    refusing.change(Faults(refuse=number))
    try:
        code, _, err = call("doctor", refusing.url)
    finally:
        refusing.change(Faults())
    assert code == 3
    assert re.search(rf"Similar to ORA-{number}\); \w", err), "what to do follows"


def test_a_refused_logon_is_one_sentence_and_exit_code(drive: Drive, refusing: OracleDouble) -> None:
    """As a user starts it, once: the exit code of the process, and its standard error."""
    code, out, err = drive("run", refusing.url.replace(PASSWORD, WRONG), "--sessions", "1", "--yes").finish()
    assert (code, out) == (3, "")
    assert "ORA-01017" in err
    assert "check user and password" in err


def test_a_closed_port_is_told(call: Call) -> None:
    with OracleDouble() as gone:
        url = gone.url
    code, _, err = call("doctor", url)
    assert code == 3
    assert "no listener answers" in err


def computing(double: OracleDouble) -> list[int]:
    """Server processes that have worked for a fifth of a second or more, and not merely warmed up."""
    return [entry["pid"] for entry in double.sessions() if entry["index"] is not None and _cpu_s(entry["pid"]) > 0.2]


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_cancels_on_the_server(drive: Drive, double: OracleDouble, number: signal.Signals) -> None:
    driver = drive("run", double.url, *LONG).said("round 1 of")
    until(lambda: len(computing(double)) == 1, "a working session")
    driver.send(number)
    code, _, err = driver.finish()
    assert code == 130 if number == signal.SIGINT else code in (130, 143), err
    until(lambda: not double.sessions(), "no session is left")
    assert drive.runs()[0].status == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_baseline_that_heeds_no_break_is_ended_and_the_driver_survives_it(
    drive: Drive, number: signal.Signals
) -> None:
    """Its session is killed while a thread waits for its answer: the driver must not be closing it meanwhile."""
    with OracleDouble(password=PASSWORD, faults=Faults(endless=True, ignores_break=True)) as double:
        driver = drive("run", double.url, *LONG).said("measuring the single-session baseline")
        until(lambda: any(each["index"] is not None and each["status"] == "ACTIVE" for each in double.sessions()),
              "the warm-up is under way")  # fmt: skip
        driver.send(number)
        code, _, err = driver.finish()
        until(lambda: not double.sessions(), "no session is left")
    assert code == 130 if number == signal.SIGINT else code in (130, 143), err
    assert "interrupted before the first round" in err


def test_ctrl_c_names_the_session_that_goes_on(drive: Drive) -> None:
    """It heeds no break, and this user may not end it: nobody else would say so."""
    deaf = Faults(endless=True, least_n=200, ignores_break=True, ungranted=("alter system",))
    with OracleDouble(password=PASSWORD, faults=deaf) as double:
        driver = drive("run", double.url, *LONG).said("round 1 of")

        def deaf_call() -> bool:
            """Longer than its warm-up lasts."""
            at_work = [each for each in double.sessions() if each["index"] is not None and each["status"] == "ACTIVE"]
            return any(time.time() - each["call_s"] > 3 for each in at_work)

        until(deaf_call, "the statement that heeds no break")
        driver.send(signal.SIGINT)
        code, _, err = driver.finish()
        until(lambda: len(double.sessions()) == 1, "the control session has logged off")
        (left,) = double.sessions()
    assert code == 130, err
    assert "interrupted; no round was finished, and the run is kept without one: dbcpu more " in err
    assert "; 1 session on the server heeded no cancel" in err
    assert f"alter system kill session '{left['sid']},{left['serial']}' immediate;" in err
    assert PASSWORD not in err.replace(double.url, "")


def test_what_kill_9_leaves_is_ended_by_the_next_command(drive: Drive, double: OracleDouble) -> None:
    driver = drive("run", double.url, *LONG).said("round 1 of")
    until(lambda: len(computing(double)) == 1, "a working session")
    driver.send(signal.SIGKILL)
    driver.process.wait()
    left = computing(double)
    assert left, "a server that computes goes on without its client"
    before_s, spent_s = time.monotonic(), _cpu_s(left[0])
    until(lambda: _cpu_s(left[0]) > spent_s or time.monotonic() > before_s + 10, "it computes")
    code, out, err = drive("doctor", double.url, "--json").finish()
    assert code == 0, err
    assert "ended by dbcpu" in codes(out)["leftovers-ended"]["seen"]
    until(lambda: not double.sessions(), "no session is left")
    assert drive.runs()[0].status == "interrupted"

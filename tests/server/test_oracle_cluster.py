"""dbcpu on a cluster of Oracle as its users start it: one instance is measured, changed, put back, and named.

On the double each instance has parameters and SIDs of its own, and sessions go round: what acts on the instance that a
connection happens to come to acts on the wrong one here.
"""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from plugins.call import Call
from plugins.oracle_double import Connect
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import SECRETS, Drive, until

pytestmark = pytest.mark.slow

PASSWORD = SECRETS[0]
CLUSTER = Instance(instances=2)
NO_GV = ("gv$instance", "gv$session")
UNKNOWN = (*NO_GV, "v$instance", "dbms_utility")
NOTHING = ("all", "public")
SMALL = ("--host", "none", "--sessions", "2", "--size", "tiny", "--executions", "4", "--repeats", "1", "--yes")
CAGE = ("--host", "none", "--variants", "baseline,cage:1", "--sessions", "2", "--size", "tiny", "--repeats", "1")


@pytest.fixture(autouse=True)
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "journals"
    monkeypatch.setenv("DBCPU_JOURNAL", str(folder))
    return folder


def cluster(*ungranted: str, instance: Instance = CLUSTER, **faults: Any) -> OracleDouble:
    made = Faults(ungranted=ungranted, **faults)
    return OracleDouble(password=PASSWORD, instance=instance, faults=made)


def altered(double: OracleDouble) -> list[tuple[str, str, str]]:
    """Parameter, value and the instance that was changed, in order."""
    return [(note["name"], note["value"], note["instance"]) for note in double.journal("altered")]


def come_next_to(instance: int, double: OracleDouble, connect: Connect) -> None:
    """The next session that asks for no instance comes to this one: they take turns."""
    while True:
        known = {entry["number"] for entry in double.sessions()}
        connect(double)
        if {entry["instance"] for entry in double.sessions() if entry["number"] not in known} != {instance}:
            return


def left_caged(drive: Drive, double: OracleDouble) -> int:
    """A run that was killed under its cage: the number of the instance that it left so."""
    some_seconds = ("--executions", "20", "--workload", "calm")
    driver = drive("vary", double.url, *CAGE, *some_seconds, "--yes")
    driver.until(lambda: [each for each in altered(double) if each[0] == "cpu_count"], "the cage is set")
    driver.send(signal.SIGKILL)
    assert driver.finish()[0] == -9
    until(lambda: not any(entry["status"] == "ACTIVE" for entry in double.sessions()), "its sessions are gone")
    return int(altered(double)[-1][2].removeprefix("double"))


def test_what_was_caged_on_one_instance_is_put_back_there_from_wherever(
    drive: Drive, journals: Path, oracle_connect: Connect
) -> None:
    # The other instance has its own CPU_COUNT, and is not to get the one of the caged instance.
    with cluster(
        *NO_GV, instance=Instance(instances=2, container="", parameters_of={"2": {"cpu_count": "7"}})
    ) as double:
        come_next_to(1, double, oracle_connect)
        caged = left_caged(drive, double)
        assert caged == 1
        before = altered(double)
        come_next_to(2, double, oracle_connect)
        code, out, _ = drive("restore", double.url).finish()
        assert code == 0
        assert "put back: cpu_count of instance DOUBLE1 is 0 again" in out
        assert altered(double)[len(before) :] == [
            ("cpu_count", "0", "double1"),
            ("resource_manager_plan", "''", "double1"),
        ]
        assert not list(journals.iterdir())


def test_an_instance_that_is_down_keeps_its_journal_and_the_next_command_puts_it_back(
    drive: Drive, journals: Path
) -> None:
    with cluster(instance=Instance(instances=2, container="CDB$ROOT", plan="DAY", cpu_managed=True)) as double:
        caged = left_caged(drive, double)
        before = altered(double)
        double.change(Faults(down=(caged,)))
        for arguments in (("restore",), ("restore", "--dry-run")):
            code, out, _ = drive(*arguments, double.url).finish()
            assert code == 3
            assert f"instance DOUBLE{caged} is not reached" in out
            assert f"alter system set cpu_count = 0 scope = memory sid = 'DOUBLE{caged}'" in out
        _, _, err = drive("run", double.url, *SMALL).finish()
        assert f"cpu_count of instance DOUBLE{caged} could not be put back" in err, "and the other one is measured"
        assert altered(double) == before
        (journal,) = journals.glob("*.journal")
        double.change(Faults())
        code, _, err = drive("run", double.url, *SMALL).finish()
        assert f"put back: cpu_count of instance DOUBLE{caged} is 0 again" in err
        assert altered(double)[-1] == ("cpu_count", "0", f"double{caged}")
        assert not journal.exists()


@pytest.mark.parametrize("ungranted", [(), NO_GV, (*NO_GV, "v$instance")])
def test_a_cage_changes_the_measured_instance_alone_and_says_so(drive: Drive, ungranted: tuple[str, ...]) -> None:
    with cluster(*ungranted, instance=Instance(instances=2, container="")) as double:
        code, _, err = drive("vary", double.url, *CAGE, "--executions", "4", "--yes").finish()
        assert code in (0, 1), err
        assert len({instance for _, _, instance in altered(double)}) == 1
        measured = drive.last().header.database.parameters["instance_name"]
        assert altered(double)[0][2] == measured.lower()
    assert f"the database is a cluster: only instance {measured} is changed, the others keep theirs" in err


def test_a_cage_is_refused_where_nobody_says_whether_it_is_a_cluster(drive: Drive) -> None:
    with cluster(*UNKNOWN, instance=Instance(instances=2, container="")) as double:
        code, _, err = drive("vary", double.url, *CAGE, "--yes").finish()
        assert (code, altered(double)) == (2, [])
    assert "variant cage:1 is not possible here: whether this database is a cluster is not known" in err


@pytest.mark.parametrize("ungranted", [NO_GV, (*NO_GV, "v$instance"), NOTHING])
def test_sessions_stay_on_one_instance_without_any_grant(drive: Drive, ungranted: tuple[str, ...]) -> None:
    with cluster(*ungranted) as double:
        code, _, err = drive("run", double.url, *SMALL).finish()
    assert code in (0, 1), err
    record = drive.last()
    assert len({session.db["instance_number"] for each in record.rounds for session in each.sessions}) == 1


def test_over_several_instances_there_is_no_verdict(drive: Drive, call: Call) -> None:
    with cluster(*NOTHING, "dbms_utility") as double:
        _, out, err = call("doctor", double.url)
        assert "cluster-unknown: whether the database is a cluster is not known" in out, err
        code, out, err = drive("run", double.url, *SMALL, "--fail-on", "problem").finish()
    assert code == 1, err
    assert "No answer: sessions ran on instances 1-2 of a cluster" in out
    assert "usable core" not in out
    assert "equal shares" not in out


def test_on_autonomous_database_no_instance_is_requested_by_name(drive: Drive) -> None:
    gateway = Instance(instances=2, cloud_service="OLTP", service="x_tp", hides_instances=True)
    with cluster(instance=gateway) as double:
        code, out, err = drive("run", double.url, *SMALL, "--fail-on", "never").finish()
    assert code == 0, err
    assert "No answer: sessions ran on instances 1-2 of a cluster" in out


@pytest.mark.parametrize("code", [12850, 12801, 12805])
def test_views_of_the_cluster_that_fail_end_nothing(drive: Drive, call: Call, code: int) -> None:
    with cluster(cluster_views_fail=code) as double:
        ended, out, err = call("doctor", double.url, "--json")
        assert ended == 0, err
        (seen,) = [each["seen"] for each in json.loads(out) if each["code"] == "cluster"]
        assert seen.startswith(
            f"a cluster; GV$ views did not answer (ORA-{code}), so the number of instances is not known"
        )
        ended, _, err = drive("run", double.url, *SMALL).finish()
    assert ended in (0, 1), err
    record = drive.last()
    assert len({session.db["instance_number"] for each in record.rounds for session in each.sessions}) == 1


STUCK = ("--host", "none", "--sessions", "1", "--size", "short", "--repeats", "1", "--yes")
DEAF: dict[str, Any] = {"endless": True, "ignores_break": True, "least_n": 50}


def stuck(double: OracleDouble) -> list[dict[str, Any]]:
    """Sessions of the run in a call that is longer than a warm-up."""
    at_work = [each for each in double.sessions() if each["index"] is not None and each["status"] == "ACTIVE"]
    return [each for each in at_work if time.time() - each["call_s"] > 3]


@pytest.mark.parametrize("ungranted", [NO_GV, UNKNOWN])
def test_a_session_that_heeds_nothing_is_ended_on_its_own_instance(
    drive: Drive, ungranted: tuple[str, ...], oracle_connect: Connect
) -> None:
    """Its SID and SERIAL# are also those of a session on the instance that a plain statement would reach."""
    with cluster(*ungranted, **DEAF) as double:
        strangers = [oracle_connect(double) for _ in range(4)]
        driver = drive("run", double.url, *STUCK)
        driver.until(lambda: stuck(double), "the statement that heeds no break")
        (deaf,), own = stuck(double), [each for each in double.sessions() if each.get("module") == "dbcpu"]
        (control,) = [each for each in own if each["index"] is None]
        assert (control["instance"] != deaf["instance"]) is (ungranted == UNKNOWN), "held on one, or in turns"
        driver.send(signal.SIGINT)
        code, _, err = driver.finish()
        assert code == 130, err
        assert "heeded no cancel" not in err
        for stranger in strangers:
            stranger.ping()
        until(lambda: len(double.sessions()) == len(strangers), "no session of the run is left")


def test_the_statement_that_is_printed_names_the_instance(drive: Drive) -> None:
    with cluster("alter system", **DEAF) as double:
        driver = drive("run", double.url, *STUCK)
        driver.until(lambda: stuck(double), "the statement that heeds no break")
        (left,) = stuck(double)
        driver.send(signal.SIGINT)
        _, _, err = driver.finish()
    assert "since this user may not end sessions" in err
    assert f"alter system kill session '{left['sid']},{left['serial']},@{left['instance']}' immediate;" in err

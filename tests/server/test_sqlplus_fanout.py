"""shell/sqlplus-fanout under several shells, with a stand-in for sqlplus and the test double for Oracle."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.measure import workloads
from dbcpu.record.header import UNSET
from dbcpu.record.rounds import Session
from dbcpu.store.shell_kit import line_file
from dbcpu.targets.oracle import statements
from dbcpu.targets.oracle.settings import SETTINGS
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults
from support.doubles.oracle.profiles import Instance
from support.driving import LOOK_EVERY_S, Drive
from support.fork_server import ForkServer
from support.paths import ROOT
from support.terminal import CTRL_C, Terminal

SCRIPT = ROOT / "shell" / "sqlplus-fanout"
SHELLS = ("sh", "dash", "busybox sh")
LIMIT_S = 120


@pytest.fixture(scope="module")
def double() -> Iterator[OracleDouble]:
    with OracleDouble() as running:
        yield running


@pytest.fixture(scope="module")
def sqlplus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    """Each of its processes would load python-oracledb, three times as long as it then works."""
    with ForkServer("support.doubles.sqlplus", tmp_path_factory.mktemp("sqlplus")) as server:
        yield server


class Fanout:
    """The script with its surroundings: ``sqlplus`` in PATH, a password file, a folder for its own files."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder = folder
        self.password = folder / "password"
        self.environment: Mapping[str, str] = {}
        (folder / "bin").mkdir()
        (folder / "tmp").mkdir()
        sqlplus = folder / "bin" / "sqlplus"
        sqlplus.write_text(f"#!/bin/sh\n{command}\n")
        sqlplus.chmod(0o755)

    def start(
        self, double: OracleDouble, *arguments: str, shell: str = "sh", mode: int = 0o600, password: str = ""
    ) -> "subprocess.Popen[str]":
        self.password.write_text((password or double.password) + "\n")
        self.password.chmod(mode)
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen(
            [*shell.split(), str(SCRIPT), *arguments, "-p", str(self.password), f"{double.user}@{double.dsn}"],
            env={**os.environ, **self.environment, "PATH": path, "TMPDIR": str(self.folder / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, double: OracleDouble, *arguments: str, shell: str = "sh", mode: int = 0o600) -> tuple[int, str, str]:
        with self.start(double, *arguments, shell=shell, mode=mode) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        assert double.password not in out + err
        assert list((self.folder / "tmp").iterdir()) == [], "it left files behind"
        return process.returncode, out, err


@pytest.fixture
def fanout(tmp_path: Path, sqlplus: ForkServer) -> Fanout:
    return Fanout(tmp_path, sqlplus.command)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_run_becomes_a_record(shell: str, fanout: Fanout, double: OracleDouble) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"this machine has no {shell.split()[0]}")
    code, out, err = fanout.run(double, "-n", "1,3", "-r", "1", "-s", "short", "-e", "2", "-l", "a b", shell=shell)
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    work = workloads.load("oracle", "cartesian").work("short")
    assert (record.header.status, record.header.label) == ("complete", "a b")
    assert record.header.plan.workload.sql == work.sql
    assert (record.header.plan.workload.plan_shape or "").startswith(
        "SELECT STATEMENT > SORT AGGREGATE > MERGE JOIN CARTESIAN > MERGE JOIN CARTESIAN > MERGE JOIN CARTESIAN > VIEW"
    )
    assert "the shape of the plan" not in record.header.database.not_checked
    assert [each.level for each in record.rounds] == [1, 3]
    for each in record.rounds:
        for session in each.sessions:
            assert (session.answer_ok, session.error, len(session.executions)) == (True, None, 2)
            assert session.connect_s is not None
            assert session.connect_s > 0
            assert session.server.verified
            assert 0 < session.db["db_cpu_s"] <= session.db["db_time_s"] * 1.05
    # The first look comes within a tenth of a second, an execution takes three.
    assert any(session.residency for each in record.rounds for session in each.sessions)
    assert len({session.server.pid for session in record.rounds[1].sessions}) == 3


@pytest.mark.parametrize("name", ["arithmetic", "mixed"])
def test_a_block_is_measured_too(fanout: Fanout, double: OracleDouble, name: str) -> None:
    code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny", "-w", name)
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert record.header.plan.workload.sql == workloads.load("oracle", name).work("tiny").sql
    assert record.header.plan.workload.plan_shape is None
    assert record.rounds[0].sessions[0].answer_ok


SVR4 = "SVR4-be-64bit-8.1.0"
"""What PORT_STRING is on more than one system."""


@pytest.mark.parametrize(
    ("profile", "instance", "ungranted", "platform", "finding"),
    [
        ("19c", Instance(platform=SVR4, platform_name="AIX-Based Systems (64-bit)"), (), "AIX", "scaled-cpu-time"),
        ("12c", Instance(platform=SVR4, product_system="IBM/AIX RISC System/6000"), ("all",), "AIX", "scaled-cpu-time"),
        ("19c", Instance(platform=SVR4), ("all",), SVR4, "platform-unknown"),
        ("19c", Instance(), ("all", "dbms_utility"), "unknown", "platform-unknown"),
        ("19c", Instance(), (), "Linux_x86_64-bit", None),
    ],
    ids=["by its name", "by TNS for", "by neither", "by nothing", "Linux"],
)
def test_a_server_elsewhere_names_its_system(
    profile: str, instance: Instance, ungranted: tuple[str, ...], platform: str, finding: str | None, fanout: Fanout
) -> None:
    """Where it names none, it may be AIX: nothing is concluded from DB CPU."""
    elsewhere = replace(instance, host_name="aix1.example.com")
    with OracleDouble(profile, faults=Faults(ungranted=ungranted), instance=elsewhere) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    assert (" spid=" in out, " reported=" in out) == (False, "all" not in ungranted)
    record = line_file.from_text(out, "stdout")
    assert record.header.database.parameters["platform"] == platform
    codes = {each.code for each in explain(record).findings}
    assert codes & {"scaled-cpu-time", "platform-unknown"} == ({finding} if finding else set())


@pytest.mark.parametrize("name", ["cartesian", "arithmetic"])
def test_a_failed_execution_has_no_answer(name: str, fanout: Fanout) -> None:
    """sqlplus repeats the line that failed, which is none; what ran before it counts."""
    with OracleDouble(faults=Faults(error=2393, at_execution=2)) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny", "-e", "3", "-w", name)
    assert code == 0, err
    (session,) = line_file.from_text(out, "stdout").rounds[0].sessions
    assert (session.answer_ok, len(session.executions)) == (True, 2)
    assert session.error is not None
    assert session.error.startswith("ORA-02393")


def test_without_grants_nothing_is_sampled_and_the_run_goes_on(fanout: Fanout) -> None:
    with OracleDouble(faults=Faults(ungranted=("all",))) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    sessions = record.rounds[0].sessions
    assert [(session.answer_ok, session.server.verified) for session in sessions] == [(True, False)] * 2
    assert [session.db for session in sessions] == [{}, {}]
    (left,) = [each for each in explain(record).findings if each.code == "not-checked"]
    for what in ("the shape of the plan", "DB time and DB CPU", "wait events", "physical I/O"):
        assert what in left.seen
    assert "grant select on sys.v_$sql_plan to USER" in left.remedy


def test_not_all_connected_is_told(fanout: Fanout) -> None:
    with OracleDouble(faults=Faults(refuse=12516, from_connection=2)) as double:
        code, out, err = fanout.run(double, "-n", "3", "-r", "1", "-s", "tiny")
    assert (code, out) == (3, "")
    assert re.search(r"1 of 3 sessions connected: .*12516", err)


def test_a_server_on_another_host_lends_this_hosts_cpus_to_no_result(fanout: Fanout) -> None:
    """Neither topology nor vCPUs, and so no licences; nor is a process sampled that has the number by chance."""
    with OracleDouble(instance=Instance(host_name="db1.example.com")) as double:
        code, out, err = fanout.run(double, "-r", "1", "-s", "tiny")
        assert (code, out) == (2, "")
        assert "the server runs on db1.example.com" in err
        assert "give the levels: -n 1,2,4" in err
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    header = record.header
    assert (header.host, header.plan.vcpus, header.plan.vcpus_source) == (None, None, "unknown")
    assert header.database.parameters["server_host"] == "db1.example.com"
    assert any("the topology of the server's host is unknown" in note for note in header.notes)
    assert [session.server.verified for session in record.rounds[0].sessions] == [False, False]
    assert [session.residency for session in record.rounds[0].sessions] == [(), ()]


def test_sessions_of_several_instances_are_refused(fanout: Fanout) -> None:
    with OracleDouble(instance=Instance(instances=2)) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert (code, out) == (3, "")
    assert re.search(r"sessions came to instances \d and \d", err)


@pytest.mark.parametrize("server", ["SHARED", "POOLED"])
def test_shared_and_pooled_servers_are_refused(fanout: Fanout, server: str) -> None:
    with OracleDouble(faults=Faults(server=server)) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert (code, out) == (3, "")
    assert f"served by a {server} server" in err


def test_sessions_of_one_process_have_no_placement(fanout: Fanout) -> None:
    """Threads have the number of their process in common: where that runs is where none of them may be."""
    with OracleDouble(faults=Faults(one_process=True)) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "short")
    assert code == 0, err
    (measured,) = line_file.from_text(out, "stdout").rounds
    assert [len(session.residency) for session in measured.sessions] == [0, 0]


def test_a_stale_password_is_tried_once(fanout: Fanout, double: OracleDouble) -> None:
    with OracleDouble(password="another one") as other:
        fanout.environment = {}
        with fanout.start(other, "-n", "5", "-r", "1", "-s", "tiny", password="stale") as process:
            _, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 3
        assert "0 of 1 sessions connected: ORA-01017" in err
        assert len(other.journal("logon denied")) == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_a_password_file_from_windows_has_no_carriage_return_in_its_password(
    shell: str, fanout: Fanout, double: OracleDouble
) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"this machine has no {shell.split()[0]}")
    arguments = ("-n", "1", "-r", "1", "-s", "tiny")
    with fanout.start(double, *arguments, shell=shell, password=f"{double.password}\r") as process:
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err


def test_a_sqlplus_that_does_not_begin_says_why(double: OracleDouble, tmp_path: Path) -> None:
    missing = "sqlplus: error while loading shared libraries: libsqlplus.so: cannot open shared object file"
    code, out, err = Fanout(tmp_path, f"echo '{missing}' >&2; exit 127").run(double, "-n", "1", "-r", "1")
    assert (code, out) == (3, "")
    assert f"0 of 1 sessions connected: {missing}" in err


def test_settings_that_do_not_hold_are_recorded(fanout: Fanout) -> None:
    faults = Faults(refused_settings=("result_cache_mode", "parallel query"), ignored_settings=("cursor_sharing",))
    instance = Instance(parameters={"cursor_sharing": "FORCE", "result_cache_mode": "FORCE"})
    with OracleDouble(faults=faults, instance=instance) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert record.header.database.parameters[UNSET] == (
        "parallel_query (ENABLED, refused with ORA-01031); result_cache_mode (FORCE, refused with ORA-01031); "
        "cursor_sharing (FORCE, set without effect)"
    )
    assert "setting-refused" in {each.code for each in explain(record).findings}


def test_another_plan_is_no_all_clear(fanout: Fanout) -> None:
    """Hints are ignored: the view of each row source is generated again and again."""
    with OracleDouble(faults=Faults(nested_loops=True)) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    verdict = explain(line_file.from_text(out, "stdout")).verdict
    assert verdict.startswith("No answer: ")
    assert "the plan has MERGE JOIN CARTESIAN 0 times instead of 3" in verdict


def test_settings_that_hold_are_no_finding(fanout: Fanout) -> None:
    with OracleDouble(instance=Instance(parameters={"optimizer_capture_sql_plan_baselines": "TRUE"})) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    assert UNSET not in line_file.from_text(out, "stdout").header.database.parameters


def test_before_18c_the_version_has_no_release_update(fanout: Fanout) -> None:
    with OracleDouble("12c") as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    header = line_file.from_text(out, "stdout").header
    assert header.database.version == "12.1.0.2.0"
    assert UNSET not in header.database.parameters, "12.1 does not know optimizer_ignore_hints, which is no refusal"


def test_an_interrupt_ends_everything_here_and_says_what_the_server_goes_on_with(fanout: Fanout, drive: Drive) -> None:
    tmp = fanout.folder / "tmp"
    with OracleDouble(faults=Faults(endless=True, least_n=21)) as double:
        process = fanout.start(double, "-n", "2", "-r", "1", "-s", "short")
        with process:
            try:
                while len([each for each in double.sessions() if each["index"] is not None]) < 2:
                    assert process.poll() is None
                    time.sleep(LOOK_EVERY_S)
                tags = {each["client_identifier"] for each in double.sessions() if each.get("module") == "dbcpu"}
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()  # where it failed, its sessions would be waited for
        assert process.returncode == 130
        assert out.splitlines()[-1] == "end status=interrupted"
        assert list(tmp.iterdir()) == []
        (tag,) = tags
        assert tag.startswith(f"{os.uname().nodename}/{process.pid}/")
        assert f"client identifier {tag})" in err
        assert len(double.sessions()) == 2, "a server that computes does not notice that its client is gone"
        # Without a host no session is warmed up, which this server would never answer.
        code, out, err = drive("doctor", double.url, "--host", "none").finish()
        assert code == 0, err
        assert "leftovers-ended: 2 sessions of a killed run" in out
        deadline_s = time.monotonic() + LIMIT_S
        while double.sessions():
            assert time.monotonic() < deadline_s
            time.sleep(LOOK_EVERY_S)


PROFILES = {
    "pages": "set pagesize 9999",
    "headings": "set heading on pagesize 50 newpage 2 feedback on numwidth 10",
    "times": "set timing on\nselect 1 from dual;",
    "html": "set markup html on",
    "csv": "set markup csv on",
    "case": "set sqlcase upper",
}


@pytest.mark.parametrize(("where", "profile"), [*(("site", profile) for profile in PROFILES), ("user", "pages")])
def test_login_scripts_change_nothing(profile: str, where: str, fanout: Fanout, double: OracleDouble) -> None:
    """They are run at the start and again after CONNECT."""
    site = fanout.folder / "sqlplus" / "admin" / "glogin.sql"
    site.parent.mkdir(parents=True)
    (site if where == "site" else fanout.folder / "login.sql").write_text(PROFILES[profile] + "\n")
    fanout.environment = {"ORACLE_HOME": str(fanout.folder), "SQLPATH": str(fanout.folder)}
    code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert record.header.database.version == "19.3.0.0.0"
    check_complete(record.rounds[0].sessions)


@pytest.mark.parametrize("action", ["exit", "exit sql.sqlcode rollback"])
def test_a_login_script_that_ends_at_errors_does_not_end_a_session_without_grants(action: str, fanout: Fanout) -> None:
    site = fanout.folder / "sqlplus" / "admin" / "glogin.sql"
    site.parent.mkdir(parents=True)
    site.write_text(f"whenever sqlerror {action}\nwhenever oserror exit\n")
    fanout.environment = {"ORACLE_HOME": str(fanout.folder)}
    with OracleDouble(faults=Faults(ungranted=("all",))) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert code == 0, err
    sessions = line_file.from_text(out, "stdout").rounds[0].sessions
    assert [(session.answer_ok, session.error) for session in sessions] == [(True, None)] * 2


def test_without_a_b2sum_the_tag_names_no_place(fanout: Fanout) -> None:
    none = fanout.folder / "bin" / "b2sum"
    none.write_text("#!/bin/sh\nexit 127\n")
    none.chmod(0o755)
    deaf = Faults(endless=True, least_n=21)
    with OracleDouble(faults=deaf) as double, fanout.start(double, "-n", "1", "-r", "1", "-s", "short") as process:
        try:
            tags: set[str] = set()
            while not tags:
                assert process.poll() is None
                time.sleep(LOOK_EVERY_S)
                tags = {each["client_identifier"] for each in double.sessions() if each.get("module") == "dbcpu"}
        finally:
            process.terminate()
    assert [tag.rpartition("/")[2] for tag in tags] == ["0"]


def test_no_script_asks_a_shell_for_a_number_of_another_base() -> None:
    """ksh88, which is sh on AIX, reads none: 0xff is an error there, and 16#ff is one elsewhere."""
    asked = re.compile(r"\$\(\([^()]*(?:\b0[xX]|\b\d+#)")
    scripts = [file for file in SCRIPT.parent.iterdir() if file.is_file()]
    assert [file.name for file in scripts if asked.search(file.read_text("utf-8"))] == []


def test_another_language(fanout: Fanout) -> None:
    fanout.environment = {"NLS_LANG": "GERMAN_GERMANY.AL32UTF8"}
    faults = Faults(refused_settings=("nls_numeric_characters",))
    with OracleDouble(faults=faults, instance=Instance(decimal_comma=True)) as double:
        code, out, err = fanout.run(double, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    check_complete(line_file.from_text(out, "stdout").rounds[0].sessions)


def test_a_password_that_is_about_to_expire(fanout: Fanout) -> None:
    """sqlplus prints an error and is connected; the second session takes longer than the first look."""
    with OracleDouble(faults=Faults(logon_warning=28002, connect_delay_s=3, from_connection=2)) as double:
        code, out, err = fanout.run(double, "-n", "2", "-r", "1", "-s", "tiny")
    assert code == 0, err
    check_complete(line_file.from_text(out, "stdout").rounds[0].sessions)


def check_complete(sessions: Sequence[Session]) -> None:
    """All that a fanout reports is there."""
    for session in sessions:
        assert (session.answer_ok, session.error, len(session.executions)) == (True, None, 1)
        assert session.connect_s
        assert session.server.verified
        assert session.db["db_cpu_s"] > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-n", "x"), "the levels are not understood"),
        (("-s", "huge"), "has no size 'huge'; it has: tiny=20"),
        (("-s", "x=//;w pwned\ns/y"), "is not the name of a size"),
        (("-w", "logical_io"), "which only dbcpu run makes and drops"),
        (("-w", "other"), "there is no workload 'other'"),
        (("-r", "0"), "is not a number of rounds"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str, fanout: Fanout, double: OracleDouble) -> None:
    code, out, err = fanout.run(double, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


def test_a_password_file_that_others_can_read_is_refused(fanout: Fanout, double: OracleDouble) -> None:
    code, _, err = fanout.run(double, "-n", "1", mode=0o644)
    assert code == 2
    assert "can be read by others; chmod 600" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="this machine's user may not give files to another user")
def test_a_password_file_of_another_user_is_refused(fanout: Fanout, double: OracleDouble) -> None:
    fanout.password.touch()
    os.chown(fanout.password, 65534, 65534)
    code, _, err = fanout.run(double, "-n", "1")
    assert code == 2
    assert f"{fanout.password} belongs to another user" in err


@pytest.mark.parametrize("shell", SHELLS)
def test_ctrl_c_at_the_password_prompt_gives_the_terminal_back(shell: str, fanout: Fanout) -> None:
    path = f"{fanout.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = [*shell.split(), str(SCRIPT), "-n", "1", "scott@db"]
    with Terminal(command, {**os.environ, "PATH": path, "TMPDIR": str(fanout.folder / "tmp")}) as terminal:
        terminal.await_text("password for scott@db: ")
        terminal.await_echo(False)
        terminal.press(CTRL_C)
        assert terminal.await_end() == 130
        assert terminal.echo
    assert list((fanout.folder / "tmp").iterdir()) == []


def test_a_password_on_the_command_line_is_refused(fanout: Fanout) -> None:
    path = f"{fanout.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", SCRIPT, "-n", "1", "scott/tiger@db"], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 2
    assert "a password on the command line is seen by everybody" in done.stderr
    assert "tiger" not in done.stderr


def test_a_connect_string_of_two_lines_is_refused(fanout: Fanout) -> None:
    """sqlplus would take the second for a command."""
    path = f"{fanout.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", SCRIPT, "-n", "1", "/@db\nhost touch made"], capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 2
    assert "CONNECT has a control character in it" in done.stderr


def test_the_script_sends_nothing_but_the_catalogue() -> None:
    script = " ".join(
        SCRIPT.read_text("utf-8").replace("\\$", "$").replace("/$$/$began/$where", "/:pid/:start/:where").split()
    )
    names = [each.statement for each in SETTINGS]
    for name in (
        *names,
        "clock",
        "session_state",
        "platform",
        "platform_name",
        *(n for n in statements.names() if n.startswith("fanout_")),
    ):
        assert " ".join(statements.text(name).split()) in script, name

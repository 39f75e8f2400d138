"""shell/psql-fanout under several shells, against a real server."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from dbcpu.analysis.explain import explain
from dbcpu.measure import workloads
from dbcpu.store.shell_kit import line_file
from support.paths import ROOT
from support.servers.namespaces import skip_without_pid_namespace
from support.servers.postgresql import connect

SCRIPT = ROOT / "shell" / "psql-fanout"
SHELLS = ("dash", "bash", "busybox sh")
LIMIT_S = 120

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql; apt-get install postgresql-client"),
]


@pytest.fixture
def surroundings(postgres_url: str, tmp_path: Path) -> Mapping[str, str]:
    """Environment with a .pgpass, so that no password is on a command line."""
    url = make_url(postgres_url)
    secret = tmp_path / "pgpass"
    secret.write_text(f"{url.host}:{url.port}:*:{url.username}:{url.password}\n")
    secret.chmod(0o600)
    (tmp_path / "tmp").mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PG")},
        "PGPASSFILE": str(secret), "PGHOST": str(url.host), "PGPORT": str(url.port), "PGUSER": str(url.username),
        "PGDATABASE": "postgres", "TMPDIR": str(tmp_path / "tmp"),
    }  # fmt: skip


def start(surroundings: Mapping[str, str], *arguments: str, shell: str = "sh") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*shell.split(), str(SCRIPT), *arguments], env=surroundings, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(surroundings: Mapping[str, str], *arguments: str, shell: str = "sh") -> tuple[int, str, str]:
    with start(surroundings, *arguments, shell=shell) as process:
        out, err = process.communicate(timeout=LIMIT_S)
    assert list(Path(surroundings["TMPDIR"]).iterdir()) == [], "it left files behind"
    return process.returncode, out, err


def read(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_run_becomes_a_record(shell: str, surroundings: Mapping[str, str]) -> None:
    if not shutil.which(shell.split()[0]):
        pytest.skip(f"{shell.split()[0]} is not installed")
    code, out, err = run(surroundings, "-n", "1,3", "-r", "1", "-s", "tiny", "-e", "2", "-l", "a b", shell=shell)
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    work = workloads.load("postgresql", "cartesian").work("tiny")
    assert (record.header.status, record.header.label, record.header.database.kind) == ("complete", "a b", "postgresql")
    assert record.header.plan.workload.sql == work.sql
    assert [each.level for each in record.rounds] == [1, 3]
    for each in record.rounds:
        for session in each.sessions:
            assert (session.answer_ok, session.error, len(session.executions)) == (True, None, 2)
            assert session.connect_s is not None
            assert session.connect_s > 0
            assert session.server.verified
            assert session.cpu_s is not None
            assert session.cpu_s > 0
    assert len({session.server.pid for session in record.rounds[1].sessions}) == 3
    assert explain(record).verdict
    assert re.search(r"3 sessions: .* max/min", err)


@pytest.mark.parametrize("name", ["arithmetic", "logical_io"])
def test_a_workload_that_makes_something_of_its_own_is_measured(name: str, surroundings: Mapping[str, str]) -> None:
    code, out, err = run(surroundings, "-n", "2", "-r", "1", "-s", "tiny", "-e", "2", "-w", name)
    assert code == 0, err
    (round_,) = line_file.from_text(out, "stdout").rounds
    assert [(each.answer_ok, each.error, len(each.executions)) for each in round_.sessions] == [(True, None, 2)] * 2


def test_no_function_of_another_user_is_called(surroundings: Mapping[str, str], postgres_database: str) -> None:
    with connect(postgres_database) as connection:
        connection.execute("create function public.pg_backend_pid() returns integer language sql as 'select 1'")
    options = {"PGDATABASE": str(make_url(postgres_database).database), "PGOPTIONS": "-c search_path=public,pg_catalog"}
    code, out, err = run({**surroundings, **options}, "-n", "1", "-r", "1", "-s", "tiny")
    assert code == 0, err
    (session,) = line_file.from_text(out, "stdout").rounds[0].sessions
    assert session.server.pid != 1
    assert session.server.verified


def test_a_failed_statement_is_told(surroundings: Mapping[str, str]) -> None:
    options = {**surroundings, "PGOPTIONS": "-c statement_timeout=1ms"}
    code, out, err = run(options, "-n", "1", "-r", "1", "-s", "medium", "-w", "arithmetic")
    assert code in (0, 3), err
    assert "statement timeout" in out + err


def test_a_server_that_refuses_is_told(surroundings: Mapping[str, str]) -> None:
    code, out, err = run({**surroundings, "PGUSER": "nobody"}, "-n", "2", "-r", "1", "-s", "tiny")
    assert (code, out) == (3, "")
    assert "the first session was refused: psql: error" in err


def test_a_server_on_another_host_lends_this_hosts_cpus_to_no_result(surroundings: Mapping[str, str]) -> None:
    """Its process numbers mean nothing here: played by a pid namespace of the script's own."""
    skip_without_pid_namespace()
    isolated = "unshare --pid --fork --mount-proc sh"
    code, out, err = run(surroundings, "-r", "1", "-s", "tiny", shell=isolated)
    assert (code, out) == (2, ""), err
    assert "give the levels: -n 1,2,4" in err
    code, out, err = run(surroundings, "-n", "1", "-r", "1", "-s", "tiny", shell=isolated)
    assert code == 0, err
    record = line_file.from_text(out, "stdout")
    assert (record.header.host, record.header.plan.vcpus) == (None, None)
    assert not record.rounds[0].sessions[0].server.verified


def test_samples_of_the_servers_host_say_where_the_sessions_of_another_host_ran(
    surroundings: Mapping[str, str], tmp_path: Path
) -> None:
    """The script sees no process of the server; it writes the number that the server tells."""
    skip_without_pid_namespace()
    samples, isolated = tmp_path / "samples", "unshare --pid --fork --mount-proc sh"
    sampling = [str(SCRIPT.with_name("sample-psr")), "-i", "0.05", "-p", "postgres:", "-o", str(samples)]
    with subprocess.Popen(sampling, env=surroundings) as sampler:
        try:
            while not (samples.exists() and "seen " in read(samples)):
                assert sampler.poll() is None
            code, out, err = run(surroundings, "-n", "2", "-r", "2", "-s", "short", shell=isolated)
        finally:
            sampler.terminate()
    assert code == 0, err
    record = line_file.from_text(out, "stdout", [(read(samples), "samples")])
    assert record.header.host is not None
    sessions = [session for each in record.rounds for session in each.sessions]
    assert [(session.server.verified, bool(session.residency)) for session in sessions] == [(True, True)] * 4


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_statement_on_the_server(how: signal.Signals, surroundings: Mapping[str, str]) -> None:
    process = start(surroundings, "-n", "2", "-r", "1", "-s", "seed")
    tmp = Path(surroundings["TMPDIR"])
    with process:
        while not any("\nround " in read(file) for file in tmp.glob("*/lines")):
            assert process.poll() is None
        process.send_signal(how)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + how
    assert out.splitlines()[-1] == "end status=interrupted"
    assert list(tmp.iterdir()) == []
    count = "select count(*) from pg_stat_activity where application_name = 'psql' and pid <> pg_backend_pid()"
    left = ""
    while left != "0":
        left = subprocess.run(
            ["psql", "-XqAt", "-c", count], env=surroundings, capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-n", "x"), "the numbers of sessions are not understood"),
        (("-s", "huge"), "has no size 'huge'; it has: tiny=20"),
        (("-w", "other"), "other.sql is neither in"),
        (("-r", "0"), "is not a number of rounds"),
        (("postgresql://u:secret@h/d",), "a password on the command line is seen by everybody"),
        (("host=h password = secret",), "a password on the command line is seen by everybody"),
        (("postgresql://u@h/d?PASSWORD=secret",), "a password on the command line is seen by everybody"),
        (("postgresql://u@h/d?pass%77ord=secret",), "a parameter of CONNECT has a % in its name"),
        (("postgresql://u@h/d?sslmode=prefer&%70assword=secret",), "a parameter of CONNECT has a % in its name"),
        (("postgresql://u@h/d?oauth_client_secret=secret",), "a password on the command line is seen by everybody"),
        (("-w", "a b"), "there is no workload 'a b'"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], sentence: str, surroundings: Mapping[str, str]) -> None:
    code, out, err = run(surroundings, *arguments)
    assert code in (2, 3)
    assert out == ""
    assert sentence in err
    assert "secret" not in err

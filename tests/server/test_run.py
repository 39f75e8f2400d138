"""``dbcpu run`` as a whole, on real servers."""

import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.cli import main
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers import trace
from dbcpu.store import record_file
from support.driving import Drive
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SMALL = ("--size", "tiny", "--executions", "5", "--repeats", "1", "--yes")


def test_embedded_server_is_measured_and_gone_afterwards(drive: Drive) -> None:
    """The folder of temporary files has a space in its name; as root, the server runs as somebody else."""
    driver = drive("run", "--sessions", "1-2", *SMALL, "--report", "html", exec_it=True)
    code, out, err = driver.finish()
    assert code == 0, err
    record = drive.last()
    assert record.header.status == "complete"
    assert (record.header.database.version.split(".")[0], len(record.rounds)) == ("18", 3)
    for each in record.rounds:
        assert each.error is None
        assert each.not_sampled is None, "our own server on our own machine can be sampled"
        assert each.gate.verified == each.level == len(each.sessions)
        for session in each.sessions:
            assert (session.error, session.answer_ok, len(session.executions)) == (None, True, 5)
            assert session.cpu_s is not None
            assert session.cpu_s > 0
            assert session.residency
    assert record.header.run_id in out
    assert [file.name for file in (drive.folder / "reports" / record.header.run_id).iterdir()] == ["report.html"]
    assert drive.embedded() == []
    assert list(drive.place.iterdir()) == []


def test_levels_that_are_not_given_are_chosen_round_by_round(drive: Drive) -> None:
    """The first command of the README, on a smaller amount of work."""
    code, _, err = drive("run", *SMALL).finish()
    assert code == 0, err
    assert {1, 2} <= {each.level for each in drive.last().rounds}


def test_two_runs_at_once_share_one_store_and_nothing_else(drive: Drive) -> None:
    both = [drive("run", "--sessions", "1", *SMALL, "--label", name) for name in ("one", "two")]
    assert [driver.finish()[0] for driver in both] == [0, 0]
    code, out, _ = drive("list", "--json").finish()
    assert code == 0
    assert {(run["label"], run["status"]) for run in json.loads(out)} == {("one", "complete"), ("two", "complete")}
    assert drive.embedded() == []
    assert list(drive.place.iterdir()) == []


def test_json_on_standard_output_is_the_record_and_nothing_else(drive: Drive, debian_server: DebianServer) -> None:
    """A server of another version, over TCP, with a password in the environment's file."""
    code, out, err = drive("run", passwordless(drive, debian_server), "--sessions", "1", *SMALL, "--json", "-").finish()
    assert code == 0, err
    (drive.folder / "out.json").write_text(out)
    record = record_file.read(str(drive.folder / "out.json"))
    assert record == drive.last()
    assert record.header.database.version.split(".")[0] == debian_server.version
    assert all(each.gate.verified == each.level for each in record.rounds)


@pytest.mark.skipif(trace.unavailable(LocalHost()) is not None, reason="this machine's user may take no trace")
def test_the_kernels_trace_of_a_run_is_kept(drive: Drive, debian_server: DebianServer) -> None:
    url = passwordless(drive, debian_server)
    code, _, err = drive("run", url, "--sessions", "1,2", *SMALL, "--sampler", "trace").finish()
    if "--sampler trace is not possible: " in err:
        pytest.skip(f"this machine's kernel gives no trace: {err}")
    assert code == 0, err
    record = drive.last()
    assert record.header.plan.sampler == "trace"
    for each in record.rounds:
        assert each.trace is not None
        assert each.trace.events > 0
        if not each.trace.why:
            assert all(session.migrations_seen == session.migrations for session in each.sessions)
            assert all(session.residency for session in each.sessions)


def test_fail_on_turns_findings_into_an_exit_code(drive: Drive, debian_server: DebianServer) -> None:
    """A single repeat is worth a remark, always."""
    url = passwordless(drive, debian_server)
    code, out, _ = drive("run", url, "--sessions", "1", *SMALL, "--fail-on", "info").finish()
    assert (code, "quick-run" in out) == (1, True)


def test_fixed_time(drive: Drive, debian_server: DebianServer) -> None:
    url = passwordless(drive, debian_server)
    code, _, err = drive(
        "run", url, "--sessions", "2", "--size", "tiny", "--repeats", "1", "--for", "300ms", "-y"
    ).finish()
    assert code == 0, err
    record = drive.last()
    assert (record.header.plan.executions, record.header.plan.for_s) == (None, 0.3)
    for session in record.rounds[-1].sessions:
        last = session.executions[-1]
        assert session.error is None
        assert last.start_s + last.elapsed_s >= 0.3, "until then it works"


def test_unconfirmed_run_on_somebody_elses_server_measures_nothing(drive: Drive, debian_server: DebianServer) -> None:
    url = passwordless(drive, debian_server)
    code, out, err = drive("run", url, "--sessions", "1", "--size", "tiny").finish()
    assert out == ""
    # Where other work keeps the machine busy, that is said first.
    busy = code == 3 and "measure anyway with --yes" in err
    assert busy or (code == 2 and "confirmation needed; give --yes" in err)
    assert not drive.store.exists() or drive("list", "--json").finish()[1].strip() == "[]"


# --- libpq's environment, as psql honours it


def test_target_postgresql_is_where_psql_would_go(drive: Drive, debian_server: DebianServer) -> None:
    passwords = drive.folder / "passwords"
    passwords.write_text(f"127.0.0.1:{debian_server.port}:*:tester:{debian_server.password}\n")
    passwords.chmod(0o600)
    code, _, err = drive(
        "run", "postgresql", "--sessions", "1", *SMALL,
        PGHOST="127.0.0.1", PGPORT=str(debian_server.port), PGUSER="tester", PGDATABASE="postgres",
        PGPASSFILE=str(passwords),
    ).finish()  # fmt: skip
    assert code == 0, err
    record = drive.last()
    assert record.header.plan.target == "postgresql"
    assert record.header.database.version.split(".")[0] == debian_server.version


def test_service_file_is_honoured(drive: Drive, debian_server: DebianServer) -> None:
    services = drive.folder / "services"
    services.write_text(
        f"[bench]\nhost={debian_server.folder}\nport={debian_server.port}\nuser=tester\ndbname=postgres\n"
        f"password={debian_server.password}\n"
    )
    code, out, err = drive("doctor", "postgresql", PGSERVICEFILE=str(services), PGSERVICE="bench").finish()
    assert code == 0, err
    assert "sampled" in out
    assert debian_server.password not in out


# --- servers that cannot be reached


def passwordless(drive: Drive, server: DebianServer) -> str:
    """A URL without the password, which stands in a file of the user's configuration."""
    secret = drive.folder / "secret"
    secret.write_text(server.password)
    secret.chmod(0o600)
    (drive.folder / "dbcpu.toml").write_text(
        f'[targets.bench]\nurl = "postgresql://tester@127.0.0.1:{server.port}/postgres"\npassword_file = "secret"\n'
    )
    return "bench"


def test_wrong_password_is_told_and_never_shown(drive: Drive, debian_server: DebianServer) -> None:
    url = debian_server.url.replace(debian_server.password, "wr0ng-password")
    code, out, err = drive("run", url, "--sessions", "1", *SMALL).finish()
    assert (code, out) == (3, "")
    assert "password authentication failed" in err
    assert "wr0ng-password" not in err


@pytest.mark.parametrize("kind", ["closed", "silent", "unknown"])
def test_server_that_cannot_be_reached_is_told(drive: Drive, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if kind == "closed":
            listener.close()
        host = "no-such-host.invalid" if kind == "unknown" else "127.0.0.1"
        code, out, err = drive(
            "run", f"postgresql://x@{host}:{port}/x?connect_timeout=1", "--sessions", "1", *SMALL
        ).finish()
    expected = {
        "closed": "Connection refused; is PostgreSQL running there",
        "silent": "accepted no session within 1 s; is it reachable and not paused?",
        "unknown": "is the host's name right?",
    }
    assert (code, out) == (3, "")
    assert expected[kind] in err
    assert not drive.store.exists() or drive("list", "--json").finish()[1].strip() == "[]"


# --- too few connections


def test_too_few_connections_are_told_before_anything_runs(drive: Drive, debian_server: DebianServer) -> None:
    code, _, err = drive("run", passwordless(drive, debian_server), "--sessions", "150", *SMALL).finish()
    assert code == 2
    assert "of 150 sessions can connect: the server has no more free connections; lower --sessions to " in err


@pytest.fixture
def narrow(drive: Drive, debian_server: DebianServer) -> Iterator[str]:
    """A target whose role may have three connections, one of them the run's own."""
    debian_server.ask("create role narrow login connection limit 3 password 's3cret-of-the-tests'")
    (drive.folder / "dbcpu.toml").write_text(
        f'[targets.narrow]\nurl = "postgresql://narrow@127.0.0.1:{debian_server.port}/postgres"\n'
        'password_env = "NARROW"\n'
    )
    yield "narrow"
    drive.close()
    debian_server.ask("drop role narrow")


def test_the_limit_of_a_role_is_told_before_anything_runs(
    drive: Drive, debian_server: DebianServer, narrow: str
) -> None:
    code, _, err = drive("run", narrow, "--sessions", "1,5", *SMALL, NARROW=debian_server.password).finish()
    assert code == 2
    assert "2 of 5 sessions can connect" in err
    assert "CONNECTION LIMIT of role or database" in err


def test_connections_that_run_out_at_the_gate_are_counted(
    drive: Drive, debian_server: DebianServer, narrow: str
) -> None:
    debian_server.ask("alter role narrow connection limit -1")
    options = ("--sessions", "5", "--size", "tiny", "--executions", "1", "--repeats", "500", "--yes")
    driver = drive("run", narrow, *options, NARROW=debian_server.password).said("round 2 of")
    debian_server.ask("alter role narrow connection limit 3")
    code, _, err = driver.finish()
    assert code == 3
    # Server processes of the round before may still count, and sessions may connect before the limit is there.
    assert re.search(r"\b[0-4] of 5 sessions connected: ", err), err
    assert "use fewer sessions or raise its CONNECTION LIMIT" in err
    record = drive.last()
    assert record.header.status == "failed"
    assert record.rounds, "the rounds before are kept"


# --- stores that cannot be written, files that cannot be read


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of commands in this process: what is refused while it is read needs no process of its own."""
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_store_that_cannot_be_made_is_told_before_anything_is_measured(drive: Drive) -> None:
    code, out, err = drive("run", *SMALL, "--store", "/proc/runs.db").finish()
    assert (code, out) == (3, "")
    assert "starting embedded" not in err
    assert "/proc/runs.db" in err


def test_disk_that_fills_up_during_the_run_keeps_the_rounds_before(drive: Drive, debian_server: DebianServer) -> None:
    """A limit on the size of files stands in for the full disk: it hits the store alone."""
    target = passwordless(drive, debian_server)
    assert drive("run", target, "--sessions", "1", *SMALL, "--label", "first").finish()[0] == 0
    room = os.stat(drive.store).st_size + 5000  # noqa: PTH116
    driver = drive(
        "run", target, "--workload", "calm", "--sessions", "1,8", "--size", "tiny", "--executions", "20",
        "--repeats", "2", "--yes", limit_bytes=room,
    )  # fmt: skip
    code, _, err = driver.finish()
    assert code == 3, err
    assert "what was stored before is still there" in err
    code, out, _ = drive("list", "--json").finish()
    assert code == 0
    newest, first = json.loads(out)
    assert first["label"] == "first"
    assert newest["status"] in ("failed", "interrupted")
    assert drive("show", "last").finish()[0] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "is damaged: it is not JSON"), ('{"schema": 99}', "newer"), ("[1]", "is not a run"), ("{}", "is not a run")],
)
def test_file_that_is_no_readable_record_is_told(
    here: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    (here / "bad.json").write_text(content)
    code = main(["show", "bad.json"])
    out, err = capsys.readouterr()
    assert (code, out) == (3, "")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("oracle9://x/y",), "oracle9"),
        (("--sessions", "0"), "is not a range within 1 to 10000"),
        (("--sessions", "3-1"), "is not a range within 1 to 10000"),
        (("--sessions", "99999999999999999999"), "is no number or range"),
        (("--repeats", "-1"), "--repeats"),
        (("--executions", "0"), "--executions"),
        (("--for", "0s"), "--for"),
        (("--hz", "nan"), "--hz"),
        (("--vcpus", "0"), "--vcpus"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_absurd_requests_start_nothing(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code = main(["run", *arguments, "--yes"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in err
    assert "starting embedded" not in err


def test_an_absurd_request_ends_the_process_with_the_code_of_wrong_usage(drive: Drive) -> None:
    code, out, err = drive("run", "nothing", "--yes").finish()
    assert (code, out) == (2, "")
    assert "no target is called 'nothing'; there are: a URL such as postgresql://HOST/DB, embedded" in err
    assert "starting embedded" not in err

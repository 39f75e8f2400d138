"""``dbcpu run --dry-run``: levels, rounds and time, and nothing is connected to."""

import socket

import pytest

from dbcpu.cli import main
from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.record import plan
from dbcpu.workflows.foresee import foresee
from dbcpu.workflows.measure_run import Choices


@pytest.fixture(autouse=True)
def no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a dry run connects to nothing")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_target_elsewhere_is_planned_from_the_options_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "postgresql://u@nowhere.invalid/d", "--dry-run", "--sessions", "1-4", "--repeats", "6"]) == 0
    out, _ = capsys.readouterr()
    assert f"levels 1-4, {len(plan.rounds((1, 2, 3, 4), 6, 0, ('',)))} rounds" in out
    assert out.endswith("nothing was connected to, started or stored\n")


def test_levels_that_depend_on_unknown_vcpus_are_asked_for() -> None:
    far = resolve("postgresql://u@nowhere.invalid/d")
    with pytest.raises(UsageError, match=r"a dry run does not connect; give --vcpus N, or the levels: --sessions 1-8"):
        foresee(far, Choices())
    assert "levels 1-10,16, 34 rounds or fewer" in foresee(far, Choices(vcpus=8))[0]


def test_an_execution_that_outlasts_the_usual_round_is_estimated_from_its_rows() -> None:
    far = resolve("postgresql://u@nowhere.invalid/d")
    quick, slow = (foresee(far, Choices(sessions="1,2", size=size))[1] for size in ("tiny", "seed"))
    assert "assumed" not in quick
    assert "at an assumed 20 million rows a second" in slow


def test_what_cannot_be_foreseen_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sqlite", "sqlite", "--together", "--dry-run"]) == 2
    assert "--together has no --dry-run; leave one of them out" in capsys.readouterr().err
    assert main(["run", "sqlite", "sqlite"]) == 2
    assert "2 targets need --together; add it, or give one target" in capsys.readouterr().err
    assert main(["run", "--cpus", "0"]) == 2
    assert "--cpus needs --together and a target for each" in capsys.readouterr().err
    assert main(["run", "sqlite", "--dry-run", "--size", "huge"]) == 2


@pytest.mark.parametrize("route", ["foo:bar", "ssh:-oProxyCommand=x", "k8s:"])
def test_a_route_that_no_run_takes_is_refused(capsys: pytest.CaptureFixture[str], route: str) -> None:
    assert main(["run", "sqlite", "--host", route, "--dry-run", "--sessions", "1"]) == 2
    assert capsys.readouterr().out == ""


def test_memory_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.workflows.foresee.MEMORY_SHARE", 0.0)
    assert "the run would be refused" in foresee(resolve("embedded"), Choices(sessions="1"))[-2]


def test_a_pool_says_its_jobs_and_how_they_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pool", "postgresql://u@nowhere.invalid/d", "--work", "60", "--connections", "10", "--one-at-a-time"]
    assert main([*words, "--active", "2,10", "--repeats", "3", "--dry-run"]) == 0
    out, _ = capsys.readouterr()
    assert "pools of 2,10 active sessions, 8 rounds\n" in out
    assert "60 jobs shared by the sessions of a round; they come as calls over 10 TCP connections, one call at a" in out
    assert out.endswith("nothing was connected to, started or stored\n")
    assert main([*words, "--dry-run"]) == 2
    assert "--active auto depends on the vCPUs of " in capsys.readouterr().err


def test_counts_that_this_host_contradicts_are_refused_as_in_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "sqlite", "--sessions", "1"]
    for command in ([*run, "--dry-run"], [*run, "--yes"], ["pool", "sqlite", "--active", "1", "--dry-run"]):
        assert main([*command, "--vcpus", "9999"]) == 2
        output = capsys.readouterr().err
        assert "and --vcpus says 9999" in output
        assert "baseline" not in output, "nothing is measured before"
        assert main([*command, "--cores", "9999"]) == 2
        assert "and 9999 are given" in capsys.readouterr().err

"""dbcpu check and dbcpu delete --like on a store with a history."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.history.limits import Violation
from dbcpu.analysis.history.strangers import may_all_be_strangers, strangers
from dbcpu.cli import main
from dbcpu.record.figures import Figure, RunFigures
from dbcpu.record.rounds import Foreign, KitCost, Round, RunRecord
from dbcpu.store.database import open_store
from dbcpu.store.record_file import write_record
from support.builders.comparison import noisy_run
from support.builders.experiments import ALONE_S, pool, soak, together


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Eight nights of one target, the last one slow, and one run of another target."""
    monkeypatch.chdir(tmp_path)
    url = str(tmp_path / "runs.db")
    with open_store(url) as opened:
        for day in range(1, 9):
            speed = 0.7 if day == 8 else 1.0
            started = f"2026-11-{day:02}T04:30:00+00:00"
            opened.save(
                noisy_run(day, speed, repeats=2, levels=(1, 2), started_at=started, target="box", label="nightly")
            )
        opened.save(noisy_run(20, repeats=2, levels=(1, 2), started_at="2026-11-09T04:30:00+00:00", target="other"))
    return url


def test_a_slow_night_is_told_in_lines_and_exits_with_one(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--last", "--target", "box", "--store", store]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("box run-8: single-session throughput is ")
    assert lines[1].startswith("box run-8: throughput at N=2 is ")
    assert lines[2:] == ["box run-8: on db1; Inconclusive at N=2"]


@pytest.mark.parametrize(
    ("share", "code"),
    [(0.0, 1), (0.3, 4), (0.01, 1)],
    ids=["alone", "strangers", "few of them"],
)
def test_a_busy_host_is_told_apart_from_a_worse_one(
    store: str, capsys: pytest.CaptureFixture[str], share: float, code: int
) -> None:
    night = noisy_run(30, 0.7, repeats=2, levels=(1, 2), started_at="2026-11-08T05:30:00+00:00", target="box")
    with open_store(store) as opened:
        opened.save(replace(night, rounds=tuple(beside(each, share * 4) for each in night.rounds)))
        opened.delete("run-8")
    assert main(["check", "run-30", "--store", store]) == code
    lines = capsys.readouterr().out.splitlines()
    said = [line for line in lines if "the host was busy with strangers" in line]
    assert len(said) == (code == 4)
    named = "other processes used 30 % of all vCPUs, most of it backup (pid 1: "
    assert all(named in line for line in said), "a mail that does not name them sends its reader to look"
    assert main(["check", "run-7", "--store", store]) == 0


def test_strangers_do_not_excuse_what_has_lasted_nor_an_interrupted_run() -> None:
    slow = Violation("throughput", 2, 1.0, 2.0, "slower")
    assert may_all_be_strangers([slow])
    assert not may_all_be_strangers([slow, replace(slow, lasting=True)])
    assert not may_all_be_strangers([Violation("status", 0, 0.0, 0.0, "the run is interrupted")])


def test_steal_above_a_limit_of_ones_own_is_a_busy_host() -> None:
    night = RunFigures([Figure("steal_share", value=0.04)])
    assert strangers(night) == strangers(night, 0.10) == ""
    assert strangers(night, 0.02) == "4.0 % of the CPU time was stolen"


def test_a_complete_run_without_rounds_is_beyond_the_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = str(tmp_path / "nothing.json")
    write_record(nothing, replace(noisy_run(1), rounds=()))
    assert main(["check", nothing]) == 1
    assert "the run is complete with 0 rounds" in capsys.readouterr().out


def beside(each: Round, cpus: float) -> Round:
    """With another process that uses so many CPUs."""
    cost = KitCost(window_s=10.0, driver_cpu_s=0.0)
    return replace(each, cost=cost, foreign=(Foreign(1, "backup", 10.0 * cpus),))


def test_the_target_of_a_foreign_record_cannot_fake_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "night.json"
    write_record(file, noisy_run(1, repeats=2, levels=(1, 2), target="box\x1b[2J\nok run-9: fine"))
    assert main(["check", str(file), "--connect-s", "0.001"]) == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert all(line.startswith("box [2J ok run-9: fine run-1: ") for line in out.splitlines())


def test_a_usual_night_and_the_only_run_of_a_target_are_silent(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "run-7", "--store", store]) == 0
    assert main(["check", "--last", "--store", store]) == 0
    assert capsys.readouterr().out == ""


def test_fewer_vcpus_than_at_the_run_before_are_told_once(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With them no earlier run is comparable, and the check was silent of a host that had lost half of its CPUs."""
    for day in (10, 11):
        less = noisy_run(
            day, repeats=2, levels=(1, 2), started_at=f"2026-11-{day}T04:30:00+00:00", target="box", cores=1
        )
        with open_store(store) as opened:
            opened.save(less)
        told = main(["check", "--last", "--target", "box", "--store", store])
        said = capsys.readouterr().out
        assert (told, "and 4 at run-8, so that these runs are not compared" in said) == (
            (1, True) if day == 10 else (0, False)
        )
    more = noisy_run(12, repeats=2, levels=(1, 2), started_at="2026-11-12T04:30:00+00:00", target="box", cores=8)
    with open_store(store) as opened:
        opened.save(more)
    assert main(["check", "--last", "--target", "box", "--store", store]) == 0


def test_limits_of_the_command_line_win_and_zero_switches_off(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "run-7", "--connect-s", "0.001", "--store", store]) == 1
    assert "above the limit of 1.0 ms" in capsys.readouterr().out
    (tmp_path / "dbcpu.toml").write_text("[check]\nconnect_s = 0.001\n")
    assert main(["check", "run-7", "--store", store]) == 1
    assert main(["check", "run-7", "--connect-s", "0", "--store", store]) == 0


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--throughput-drop", "10", "is 10, and a share is below 1"),
        ("--max-over-min", "0.9", "is 0.9, which every run is beyond; give a ratio from 1 on"),
    ],
)
def test_a_limit_that_no_run_or_every_run_is_beyond_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], option: str, value: str, said: str
) -> None:
    assert main(["check", "--last", "--target", "box", "--store", store, option, value]) == 2
    assert f"{option} {said}" in " ".join(capsys.readouterr().err.split())


def test_a_file_is_held_against_fixed_limits_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "run.json")
    write_record(file, noisy_run(1, connect_s=3.0))
    assert main(["check", file, "--json"]) == 1
    assert '"metric": "connect_s"' in capsys.readouterr().out.replace('":"', '": "')


@pytest.mark.parametrize("arguments", [[], ["run-1", "--last"], ["run-1", "--target", "box"]])
def test_a_run_or_the_last_one_has_to_be_named(
    arguments: list[str], store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments, "--store", store]) == 2
    assert "either a RUN, or --last" in capsys.readouterr().err


def test_an_unknown_target_is_said(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--last", "--target", "bx", "--store", store]) == 2
    assert "no run of target 'bx' is kept (did you mean 'box'?); targets with runs: box" in capsys.readouterr().err


def test_old_runs_like_one_are_deleted_and_nothing_else(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["delete", "--like", "run-8", "--keep", "5", "--older-than", "1s", "--yes", "--store", store]
    assert main(given) == 0
    with open_store(store) as opened:
        assert {run.run_id for run in opened.list()} == {"run-4", "run-5", "run-6", "run-7", "run-8", "run-20"}
    assert main(given) == 0
    assert main(["delete", "--store", store]) == 2
    assert main(["delete", "run-4", "--like", "run-8", "--yes", "--store", store]) == 2


def test_runs_that_started_at_the_same_moment_are_one_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As imported and simulated ones do: the run_id decides which is the newest."""
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        for name in ("b", "a", "c"):
            opened.save(noisy_run(ord(name), run_id=name))
        assert len({each.started_at for each in opened.list()}) == 1
    assert main(["list", "--history", "--store", place]) == 0
    assert "History of 1 target" in (said := capsys.readouterr().out)
    assert "3 runs" in said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (soak(lambda *_: ALONE_S, segments=2, sessions=1), "dbcpu: of a soak no limit is about drift, "),
        (pool({1: 10.0, 2: 5.0}), "dbcpu: of a pool no limit is about max/min, "),
        (together([2.0, 2.0], [2.1, 2.1]), "dbcpu: of several targets together only the first is checked, alone; "),
        (noisy_run(1, levels=(1, 2)), ""),
    ],
    ids=["soak", "pool", "together", "sweep"],
)
def test_of_what_is_no_sweep_is_said_what_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], made: RunRecord, said: str
) -> None:
    """Silence about a soak was read as a soak without drift."""
    url, run_id = str(tmp_path / "runs.db"), made.header.run_id
    with open_store(url) as opened:
        opened.save(made)
    assert main(["check", "--last", "--store", url]) in (0, 1)
    told = capsys.readouterr()
    assert told.err.startswith(said) and told.err.endswith(f": see dbcpu show {run_id}\n" if said else "")
    assert "no limit" not in told.out
    assert main(["check", "--last", "--json", "--store", url]) in (0, 1)
    assert f"dbcpu: {json.loads(capsys.readouterr().out)['not_checked']}\n" == (told.err or "dbcpu: \n")

"""``dbcpu export``: which runs go where, and what is refused with a sentence (the files: unit/reports)."""

import csv
import gzip
import json
import os
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from dbcpu.cli import group, main
from dbcpu.record.rounds import RunRecord
from dbcpu.store import codec, record_file
from dbcpu.store.database import open_store
from plugins import runs
from support.builders.example import three_on_two

TABLES = ("calls", "executions", "levels", "residency", "runs", "sessions")
FIRST = runs.record("20250102-a", label="old box")
SECOND = runs.record("20250103-b", started_at="2025-01-03T00:00:00Z", target="prod")
THIRD = replace(three_on_two(), header=replace(three_on_two().header, started_at="2025-01-01T00:00:00Z"))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three runs, named by the environment; the working folder is beside it."""
    path = tmp_path / "runs.db"
    monkeypatch.setenv("DBCPU_STORE", str(path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with open_store() as opened:
        for each in (FIRST, SECOND, THIRD):
            opened.save(each)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["export", *arguments], catch_exceptions=False)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said to a command that ends with 2."""
    assert main(["export", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def run_ids(folder: str) -> list[str]:
    with Path(folder, "runs.csv").open(encoding="utf-8", newline="") as file:
        return [row["run_id"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_runs_are_written_as_six_tables(form: str) -> None:
    result = run("20250102", "last", f"--{form}", "data")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "2 runs in the tables of data; docs/data.md explains the columns\n"
    assert sorted(path.name for path in Path("data").iterdir()) == [f"{name}.{form}" for name in TABLES]


def test_both_forms_are_written_at_once() -> None:
    result = run("last", "--csv", "data", "--parquet", "packed")
    assert result.stderr == "1 run in the tables of packed and data; docs/data.md explains the columns\n"
    assert {path.name for folder in ("data", "packed") for path in Path(folder).iterdir()} == {
        f"{name}.{form}" for name in TABLES for form in ("csv", "parquet")
    }


def test_the_runs_are_those_that_are_named_files_too() -> None:
    record_file.write_record("other.json.gz", runs.record("elsewhere"))
    run("other.json.gz", "20250103", "--csv", "data")
    assert run_ids("data") == ["elsewhere", "20250103-b"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--all",), ["20250103-b", "20250102-a", THIRD.header.run_id]),
        (("--target", "prod"), ["20250103-b"]),
        (("--host", "db1"), [THIRD.header.run_id]),
        (("--target", "embedded", "--all"), ["20250102-a", THIRD.header.run_id]),
        (("--all", "--limit", "2"), ["20250103-b", "20250102-a"]),
        (("--target", "embedded", "--limit", "1"), ["20250102-a"]),
        (("--all", "--limit", "0"), ["20250103-b", "20250102-a", THIRD.header.run_id]),
    ],
)
def test_the_runs_are_selected_as_list_does_newest_first(options: tuple[str, ...], expected: list[str]) -> None:
    run(*options, "--csv", "data")
    assert run_ids("data") == expected


def test_a_record_file_needs_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBCPU_STORE", "/missing/runs.db")
    record_file.write_record("other.json", THIRD)
    assert run("other.json", "--csv", "data").exit_code == 0
    assert run("other.json", "x.trace.json").exit_code == 0


def damage(store: Path, run_id: str) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("update round set body = x'00' where run_id = ?", (run_id,))
    connection.close()


def test_of_those_selected_one_that_cannot_be_read_is_named_and_left_out(store: Path) -> None:
    damage(store, "20250103-b")
    result = run("--all", "--csv", "data")
    assert result.exit_code == 0
    assert result.stderr.startswith("dbcpu: run 20250103-b is left out: round 0 of run 20250103-b")
    assert run_ids("data") == ["20250102-a", THIRD.header.run_id]


def test_one_that_is_named_and_cannot_be_read_ends_it_all(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(store, "20250103-b")
    assert main(["export", "20250102", "20250103", "--csv", "data"]) == 3
    assert "is damaged: it does not uncompress" in capsys.readouterr().err
    assert not Path("data").exists()


def test_where_none_can_be_read_nothing_is_written(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(store, "20250103-b")
    assert main(["export", "--target", "prod", "--csv", "data"]) == 3
    assert "no run could be read, so nothing was written" in capsys.readouterr().err
    assert not Path("data").exists()


def test_standard_output_is_no_folder(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "last", "--csv", "-"]) == 2
    assert "a folder was expected, and - is standard output" in capsys.readouterr().err
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "give a RUN and a FILE, or RUNs and --parquet DIR or --csv DIR"),
        (("last",), "give a RUN and a FILE"),
        (("a", "b", "c.json"), "give a RUN and a FILE"),
        (("--csv", "data"), "give either RUNs, or --all, --target or --host"),
        (("last", "--all", "--csv", "data"), "give either RUNs, or --all"),
        (("--all",), "--all, --target and --host select runs for --parquet DIR or --csv DIR"),
        (("last", "run.json", "--limit", "2"), "--all, --target and --host select runs"),
        (("last", "--csv", "data", "--limit", "2"), "give either RUNs, or --all"),
        (("last", "--csv", "data", "--limit", "0"), "give either RUNs, or --all"),
        (("--csv", "data", "--limit", "2"), "give either RUNs, or --all"),
        (("--target", "none", "--csv", "data"), "no run of target 'none' is kept; targets with runs: embedded, prod"),
        (("last", "20250103-b", "--csv", "data"), "run 20250103-b was given twice"),
        (("nothing", "--csv", "data"), "begins with 'nothing'"),
        (("last", "--csv", "data", "--round", "2"), "--round chooses what a trace shows; tables hold every round"),
        (
            ("last", "b.pftrace", "--csv", "q"),
            "b.pftrace is a trace, and --csv q asks for tables: dbcpu export writes one",
        ),
        (
            ("last", "b.json", "--csv", "q"),
            "b.json is the record of a run (no such file is there to read), and --csv q",
        ),
        (("last", "run.json", "--round", "2"), "--round chooses what a trace shows, and run.json is none"),
        (("last", "x.trace.json", "--round", "7"), "--round 7: N=7 was not measured; there are: 1-2"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *arguments)
    assert sentence in said
    assert not [path for path in Path().rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["x.trace.json", "x.trace.json.gz", "x.pftrace"])
def test_a_trace_is_written_and_it_is_said_where_to_open_it(name: str) -> None:
    result = run("last", name)
    assert (result.exit_code, result.stdout) == (0, "")
    assert (
        result.stderr
        == f"open {name} in https://ui.perfetto.dev: the page reads it in the browser, and it stays here\n"
    )
    content = Path(name).read_bytes()
    if name.endswith(".gz"):
        content = gzip.decompress(content)
    if "json" in name:
        assert json.loads(content)["otherData"]["run_id"] == "20250103-b"
    else:
        assert b"sessions of run 20250103-b" in content


@pytest.mark.parametrize("name", ["x.trace.json", "x.pftrace", "x.json"])
def test_a_file_is_replaced_only_by_force(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(name).write_text("precious")
    assert f"{name} exists already; give another name, or --force to replace it" in refused(capsys, "last", name)
    assert Path(name).read_text() == "precious"
    assert run("last", name, "--force").exit_code == 0
    assert Path(name).read_bytes() != b"precious"


def test_tables_are_replaced_only_by_force(capsys: pytest.CaptureFixture[str]) -> None:
    run("last", "--csv", "data")
    assert "data/runs.csv exists already; give another folder, or --force" in refused(
        capsys, "20250102", "--csv", "data"
    )
    assert run_ids("data") == ["20250103-b"]
    run("20250102", "--csv", "data", "--force")
    assert run_ids("data") == ["20250102-a"]


def rounds_of(file: str) -> list[str]:
    """The names of the rounds in a trace."""
    events = json.loads(Path(file).read_text())["traceEvents"]
    return [each["name"] for each in events if "order" in each.get("args", {})]


def test_a_round_is_chosen_by_its_number() -> None:
    run(THIRD.header.run_id, "all.trace.json")
    run(THIRD.header.run_id, "one.trace.json", "--round", "3:2")
    rounds = {file: rounds_of(file) for file in ("all.trace.json", "one.trace.json")}
    assert len(rounds["all.trace.json"]) == len(THIRD.rounds)
    assert rounds["one.trace.json"] == ["N = 3, round 2, baseline"]


SECRET = "very-secret-host"


def test_names_are_replaced_alike_in_all_runs_of_one_export(store: Path) -> None:
    names = [SECRET, "other-host", SECRET]
    for number, name in enumerate(names):
        host = replace(runs.full_record().header.host, hostname=name)  # type: ignore[type-var]
        header = replace(runs.full_record().header, run_id=f"r{number}", host=host)
        record_file.write_record(f"{number}.json", RunRecord(header, runs.full_record().rounds))
    run("0.json", "1.json", "2.json", "--csv", "data", "--anonymise")
    texts = "".join(Path("data", f"{name}.csv").read_text("utf-8") for name in TABLES)
    assert SECRET not in texts
    assert "other-host" not in texts
    with Path("data/runs.csv").open(encoding="utf-8", newline="") as file:
        hosts = [row["host"] for row in csv.DictReader(file)]
    assert hosts[0] == hosts[2] != hosts[1]


@pytest.mark.parametrize("name", ["x.trace.json", "x.pftrace"])
def test_an_anonymised_trace_names_nothing(name: str) -> None:
    whole = runs.full_record()
    record = RunRecord(replace(whole.header, label=SECRET), (replace(whole.rounds[0], error=SECRET),))
    record_file.write_record("whole.json", record)
    run("whole.json", name)
    assert SECRET.encode() in Path(name).read_bytes()
    run("whole.json", name, "--anonymise", "--force")
    assert SECRET.encode() not in Path(name).read_bytes()


def test_a_folder_behind_a_link_of_another_user_is_not_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine's user cannot give a link to another")
    Path("theirs").mkdir()
    Path("link").symlink_to("theirs")
    os.lchown("link", 65534, 65534)
    assert main(["export", "last", "--csv", "link/data"]) != 0
    assert "is a link of" in capsys.readouterr().err
    assert list(Path("theirs").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("closed/run.json",), "closed/run.json cannot be written: nothing may be written in closed"),
        (("closed/x.pftrace",), "closed/x.pftrace cannot be written: nothing may be written in closed"),
        (("--csv", "closed/data"), "'closed/data' cannot be written: nothing may be written in closed"),
    ],
)
def test_a_folder_that_may_not_be_looked_at_is_wrong_usage(
    owner_rights: None, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("closed").mkdir()
    Path("closed").chmod(0)
    assert main(["export", "last", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none/run.json", "none/x.pftrace"])
def test_a_folder_that_is_not_there_is_wrong_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As for `dbcpu run --json`."""
    assert main(["export", "last", name]) == 2
    assert f"{name} cannot be written: there is no folder none; give another place" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["/proc/run.json", "/proc/x.pftrace"])
def test_a_folder_of_the_kernel_is_wrong_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "last", name]) == 2
    said = f"{name} cannot be written: no file can be made in /proc, which the kernel shows; give another place"
    assert said in capsys.readouterr().err


def test_the_record_is_written_as_before() -> None:
    assert codec.from_data(json.loads(run("last", "-").stdout), "stdout") == SECOND
    assert run("last", "a.json.gz").output == ""
    assert record_file.read("a.json.gz") == SECOND

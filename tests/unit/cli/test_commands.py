"""The commands that look after kept runs."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dbcpu import registry
from dbcpu.cli import group, main
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import Pictures, load_format
from dbcpu.store import codec, record_file, schema
from dbcpu.store.database import open_store
from plugins import runs
from support.forms import FORMS

RUN = runs.record("20250102-a", label="old box")
OTHER = runs.record("20250103-b", started_at="2025-01-03T00:00:00Z", target="prod\x1b[31m", levels=(1, 2))


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of two runs, named by the environment."""
    path = tmp_path / "runs.db"
    monkeypatch.setenv("DBCPU_STORE", str(path))
    with open_store() as store:
        store.save(RUN)
        store.save(OTHER)
    return path


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(group, arguments, input=typed, catch_exceptions=False)


def test_list_shows_the_newest_first_and_steers_no_terminal() -> None:
    lines = run("list").stdout.splitlines()
    assert lines[0].split()[:3] == ["run", "started", "(UTC)"]
    assert lines[1].split() == ["20250103-b", "2025-01-03", "00:00:00", "complete", "prod?[31m", "cartesian", "short",
                                "1-2", "2"]  # fmt: skip
    assert lines[2].endswith("1-3,8   2       old box")
    assert lines[1].index("1-2") == lines[2].index("1-3,8") == lines[0].index("levels")


def test_list_as_json_and_of_one_target() -> None:
    (only,) = json.loads(run("list", "--json", "--target", "embedded").stdout)
    assert (only["run_id"], only["levels"], only["rounds"]) == ("20250102-a", "1-3,8", 2)


def test_list_writes_an_index_page_of_the_runs_that_it_prints(tmp_path: Path) -> None:
    plain = run("list")
    listed = run("list", "--out", str(tmp_path / "index"))
    assert listed.stdout == plain.stdout, "what is printed is what it is without a page"
    assert {file.name for file in (tmp_path / "index").iterdir()} == {
        f"runs{load_format(form).SUFFIX}" for form in FORMS if load_format(form).IN_FOLDER
    }
    assert sorted(listed.stderr.split()) == sorted(str(file) for file in (tmp_path / "index").iterdir())
    page = (tmp_path / "index" / "runs.html").read_text("utf-8")
    assert page.index("20250103-b") < page.index("20250102-a")
    assert "2 runs of 2 targets, 2025-01-02 to 2025-01-03" in page
    told = json.loads((tmp_path / "index" / "runs.json").read_text("utf-8"))
    assert [each["run_id"] for each in told["runs"]] == ["20250103-b", "20250102-a"]
    words = json.loads(run("list", "--verdict", "--json").stdout)
    assert [each["verdict"] or None for each in told["runs"]] == [each["verdict"] for each in words]
    assert told["all_shown"] is True


def test_verdicts_say_to_what_a_host_lost_cpu_meanwhile_where_any_did(tmp_path: Path) -> None:
    heading, lost = "host lost CPU to", "disturbance"
    assert heading not in run("list", "--verdict").stdout
    run("simulate", "this-vm", "--steal", "0.3", "--sessions", "1-2", "--label", "disturbed")
    lines = run("list", "--verdict", "--out", str(tmp_path)).stdout.splitlines()
    at = lines[0].index(heading)
    assert [line[at:].split()[0] for line in lines[1:]] == ["steal", "-", "-"]
    assert [each[lost] for each in json.loads(run("list", "--verdict", "--json").stdout)] == ["steal", None, None]
    assert heading in (tmp_path / "runs.md").read_text("utf-8")
    assert [each[lost] for each in json.loads((tmp_path / "runs.json").read_text("utf-8"))["runs"]] == ["steal", "", ""]


def test_of_an_experiment_the_list_has_the_answer_to_its_own_question(tmp_path: Path) -> None:
    run("simulate", "this-vm", "--pool", "8", "--sessions", "1,2", "--size", "tiny")
    newest = json.loads(run("list", "--verdict", "--json", "--out", str(tmp_path)).stdout)[0]
    assert newest["verdict"] is None
    assert newest["headline"].startswith(("Enough: ", "Inconclusive"))
    for shown in (run("list", "--verdict").stdout, (tmp_path / "runs.md").read_text("utf-8")):
        assert newest["headline"] in shown


def test_the_index_says_what_is_left_out_and_of_no_run_there_is_none(tmp_path: Path) -> None:
    run("list", "--out", str(tmp_path / "index"), "--limit", "1")
    assert "Only the newest 1 are listed" in (tmp_path / "index" / "runs.txt").read_text("utf-8")
    assert main(["list", "--out", str(tmp_path / "none"), "--target", "none"]) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("history", [[], ["--history"], ["--verdict"], ["--json"]])
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            ["--target", "embeded"],
            "no run of target 'embeded' is kept (did you mean 'embedded'?); targets with runs: embedded, prod",
        ),
        (["--host", "db9"], "no run of host 'db9' is kept; hosts with runs: none"),
    ],
)
def test_of_a_target_without_a_run_the_list_is_no_empty_table(
    capsys: pytest.CaptureFixture[str], history: list[str], chosen: list[str], said: str
) -> None:
    assert main(["list", *chosen, *history]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err


def test_a_long_label_is_shortened_in_the_table_alone() -> None:
    with open_store() as store:
        store.save(runs.record("20250104-c", started_at="2025-01-04T00:00:00Z", label="x" * 9000))
    assert run("list").stdout.splitlines()[1].endswith(f"  {'x' * 57}...")
    assert json.loads(run("list", "--json").stdout)[0]["label"] == "x" * 9000


def test_a_history_shortens_a_long_label_as_the_list_does() -> None:
    with open_store() as store:
        for number, label in enumerate(("x" * 90, "short")):
            store.save(runs.record(f"20250105-{number}", started_at=f"2025-01-05T0{number}:00:00Z", label=label))
    shown = "".join(run("show", "20250105-1", "--history").stdout.split())
    assert f"{'x' * 57}..." in shown and "x" * 58 not in shown
    assert "x" * 90 in run("show", "20250105-1", "--history", "--json").stdout


@pytest.mark.parametrize("limit", ["1", "0"])
def test_list_says_when_there_are_more(limit: str) -> None:
    result = run("list", "--limit", limit)
    assert len(result.stdout.splitlines()) == (2 if limit == "1" else 3)
    assert ("older runs are not shown" in result.stderr) is (limit == "1")


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_export_and_import_bring_the_same_run_to_another_store(tmp_path: Path, name: str) -> None:
    file, other = str(tmp_path / name), str(tmp_path / "other.db")
    assert run("export", "20250102", file).output == ""
    result = run("import", file, "--store", other)
    assert (result.exit_code, result.stdout) == (0, "20250102-a\n")
    with open_store(other) as store:
        assert store.load("last") == RUN


def test_export_to_standard_output_is_the_record() -> None:
    assert codec.from_data(json.loads(run("export", "last", "-").stdout), "stdout") == OTHER


def test_export_of_a_file_changes_its_form(tmp_path: Path) -> None:
    record_file.write_record(tmp_path / "a.json", RUN)
    run("export", str(tmp_path / "a.json"), str(tmp_path / "b.json.gz"))
    assert record_file.read(tmp_path / "b.json.gz") == RUN


def test_import_of_a_run_that_is_there_says_so_and_of_a_different_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_file.write_record(tmp_path / "same.json", RUN)
    assert "run 20250102-a is already in the store" in run("import", str(tmp_path / "same.json")).stderr
    record_file.write_record(tmp_path / "changed.json", RunRecord(RUN.header, ()))
    assert main(["import", str(tmp_path / "changed.json")]) == 3
    assert "has a different run 20250102-a" in capsys.readouterr().err


def test_import_takes_all_files_or_none_when_one_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_file.write_record(tmp_path / "good.json", runs.record("new"))
    (tmp_path / "bad.json").write_text("{")
    assert main(["import", str(tmp_path / "good.json"), str(tmp_path / "bad.json")]) == 3
    assert "bad.json is damaged: it is not JSON" in capsys.readouterr().err
    with open_store() as store:
        assert len(store.list()) == 2


@pytest.mark.parametrize(("typed", "left"), [("y\n", 1), ("", 2)])
def test_delete_asks_first(typed: str, left: int) -> None:
    result = run("delete", "last", typed=typed)
    assert ("Delete 20250103-b?" in result.stderr) == bool(typed), "nobody is shown what cannot be answered"
    with open_store() as store:
        assert len(store.list()) == left


def test_no_is_an_answer_and_no_interruption(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    assert main(["delete", "last"]) == 3
    shown = capsys.readouterr().err
    assert shown == "Delete 20250103-b? [y/N]: n\ndbcpu: nothing was done: the answer was no\n"
    with open_store() as store:
        assert len(store.list()) == 2


def test_who_gives_a_label_for_a_run_is_told_how_runs_of_a_label_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with open_store() as store:
        store.save(runs.record("20250106-d", started_at="2025-01-06T00:00:00Z", label="old"))
    assert main(["compare", "old", "last"]) == 2
    assert "if runs with that label are meant: dbcpu compare label:old;" in capsys.readouterr().err
    assert main(["compare", "older", "last"]) == 2
    assert "with that label" not in capsys.readouterr().err


def test_delete_takes_several_runs_without_asking() -> None:
    assert run("delete", "20250102", "20250103-b", "last", "--yes").exit_code == 0
    with open_store() as store:
        assert store.list() == ()


def test_delete_deletes_nothing_when_one_name_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", "20250102", "x", "--yes"]) == 2
    assert "begins with 'x'; the newest are 20250103-b, 20250102-a; dbcpu list shows all" in capsys.readouterr().err
    with open_store() as store:
        assert len(store.list()) == 2


def test_reading_commands_do_not_create_a_mistyped_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["list"], ["show", "last"], ["export", "last", "-"], ["delete", "last", "--yes"]):
        assert main([*command, "--store", str(tmp_path / "typo.db")]) == 3
        assert "there is no store at" in capsys.readouterr().err
    assert not (tmp_path / "typo.db").exists()


def test_store_upgrade_says_what_it_did(path: Path) -> None:
    assert run("store", "upgrade").stdout == f"the store {path} is at schema {schema.HEAD} already\n"


@pytest.mark.parametrize(
    ("arguments", "renderer"),
    [((), "table"), (("--json",), "json"), (("--format", "csv"), "csv"), (("--format", "markdown"), "markdown")],
)
def test_show_hands_the_run_and_its_analysis_to_the_renderer(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], renderer: str
) -> None:
    asked: list[str] = []

    def load(room: str, name: str) -> Any:
        if room == "cli":
            return real(room, name)
        asked.append(name)
        return SimpleNamespace(SUFFIX=".x", BINARY=False, IN_FOLDER=True, render=summary)

    def summary(document: Document, _: Pictures) -> str:
        assert document.run is not None
        record, analysis = document.run
        return f"{record.header.run_id} {len(record.rounds)} rounds: {analysis.run_id}\n"

    real = registry.load
    monkeypatch.setattr(registry, "load", load)
    assert run("show", "20250102", *arguments).stdout == "20250102-a 2 rounds: 20250102-a\n"
    assert asked == [renderer]


def test_run_gets_as_far_as_its_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no-such-target", "--yes"]) == 2
    assert "no target is called 'no-such-target'" in capsys.readouterr().err


def test_a_faulty_target_keeps_no_run_from_being_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dbcpu.toml").write_text("[targets.bad]\nport = 3\n")
    monkeypatch.setenv("DBCPU_CONFIG", str(tmp_path / "dbcpu.toml"))
    listed = run("list")
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) > 1
    assert f"{tmp_path}/dbcpu.toml, [targets.bad]: unknown key 'port'" in listed.stderr

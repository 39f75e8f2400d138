"""A run that was just measured is shown from what is at hand: each variant is explained once, nothing is read back."""

from pathlib import Path
from typing import Any

import pytest

from dbcpu.analysis import explain
from dbcpu.analysis.conclusions import single_run
from dbcpu.cli import main
from dbcpu.config.request import Request
from dbcpu.errors import Interrupted, StoreError
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.store.database import Store, open_store
from dbcpu.store.record_file import read, write_record
from dbcpu.workflows import compare, launch
from dbcpu.workflows import present as of_present
from dbcpu.workflows.measure_run import Choices
from dbcpu.workflows.present import present
from support.builders.comparison import noisy_run, with_variants


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(charts, "drawn", lambda shown, forms, **_: {form: {} for form in forms})
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variants that were explained, in turn."""
    seen: list[str] = []
    real = single_run.explained

    def counting(record: RunRecord, *rest: Any) -> Any:
        seen.append(record.rounds[0].variant)
        return real(record, *rest)

    monkeypatch.setattr(single_run, "explained", counting)
    return seen


def kept(folder: Path, run: RunRecord) -> Store:
    store = open_store(str(folder / "runs.db"))
    store.save(run)
    return store


def given(folder: Path, *formats: str) -> dict[str, Any]:
    return {"out": folder, "formats": formats, "json_file": None, "fail_on": "never", "quiet": False}


def test_each_variant_is_explained_once_to_show_a_run_of_several(
    tmp_path: Path, explained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = with_variants(noisy_run(1), noisy_run(2, speed=0.8), "spread")
    with kept(tmp_path, run) as store:
        assert present(store, run.header.run_id, lambda: run.rounds, **given(tmp_path / "out")) == 0
    assert explained == ["baseline", "spread"]
    assert capsys.readouterr().out.startswith("spread compared with baseline")
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written >= {"report.html", "report.md", "sessions.csv", "comparison.html", "comparison.json"}


@pytest.mark.parametrize(
    ("formats", "files", "said"),
    [(("html",), ["report.html"], "Report: "), (("csv",), ["sessions.csv"], "Report: "), (("none",), [], "")],
)
def test_only_the_formats_that_are_asked_for_are_written(
    formats: tuple[str, ...], files: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = noisy_run(1), tmp_path / "out"
    with kept(tmp_path, run) as store:
        present(store, run.header.run_id, lambda: run.rounds, **given(folder, *formats))
    assert [file.name for file in tmp_path.rglob("*.*") if ".db" not in file.name] == files
    where = folder / "report.html" if files == ["report.html"] else folder
    shown = f"writing the report ...\n{said}{where}\n" if said else ""
    assert capsys.readouterr().err == f"{shown}Show again: dbcpu show {run.header.run_id}\n"


def test_a_report_that_cannot_be_written_is_said_with_where_the_run_is(tmp_path: Path) -> None:
    run = noisy_run(1)
    (tmp_path / "file").touch()
    with kept(tmp_path, run) as store, pytest.raises(StoreError, match=r"^the report could not be ") as found:
        present(store, "run-1", lambda: run.rounds, **given(tmp_path / "file" / "out", "csv"))
    assert str(found.value).endswith(f"; run run-1 is kept in {tmp_path / 'runs.db'}, see: dbcpu show run-1")


@pytest.mark.parametrize(
    ("formats", "left"),
    [
        ((), "only its report is missing; write it: dbcpu report run-1 --out '{out}'"),
        (("csv",), "only its report is missing; write it: dbcpu report run-1 --out '{out}' --format csv"),
        (("none",), "see: dbcpu show run-1"),
    ],
)
def test_a_stop_while_the_report_is_written_names_the_run_and_what_is_missing(
    formats: tuple[str, ...],
    left: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopped(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(of_present, "write_report", stopped)
    run, folder = noisy_run(1), tmp_path / "a report"
    with kept(tmp_path, run) as store, pytest.raises(Interrupted) as found:
        present(store, "run-1", lambda: run.rounds, **given(folder, *formats))
    assert str(found.value) == f"interrupted; run run-1 is stored and complete, {left.format(out=folder)}"
    assert found.value.exit_code == 130
    shown = capsys.readouterr()
    assert shown.out.startswith("run ")
    assert shown.err == ("" if formats == ("none",) else "writing the report ...\n")


def test_a_stop_before_the_result_is_shown_writes_no_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(of_present, "print_document", stopped)
    run = noisy_run(1)
    with kept(tmp_path, run) as store, pytest.raises(Interrupted, match="run run-1 is stored and complete"):
        present(store, "run-1", lambda: run.rounds, **given(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_compare_explains_each_variant_of_a_run_once(tmp_path: Path, explained: list[str]) -> None:
    file = tmp_path / "both.json"
    write_record(file, with_variants(noisy_run(1), noisy_run(2, speed=0.8), "spread"))
    compare.comparison_document([str(file)])
    assert explained == ["baseline", "spread"]


def test_the_rounds_just_measured_are_not_read_back_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = noisy_run(1)

    def measured(_: Request, __: object, store: Store, watcher: Any, **___: object) -> str:
        store.begin(run.header)
        for each in run.rounds:
            store.append(run.header.run_id, each)
            watcher.finished(each)
        store.finish(run.header.run_id, "complete")
        return run.header.run_id

    def refused(*_: object) -> None:
        raise AssertionError("rounds were read back")

    monkeypatch.setattr(launch, "run", measured)
    monkeypatch.setattr(Store, "rounds", refused)
    monkeypatch.setattr(Store, "load", refused)
    files = {"json_file": str(tmp_path / "run.json"), "store": str(tmp_path / "runs.db")}
    delivery = launch.Delivery(**{**given(tmp_path / "out"), **files, "yes": True})
    assert launch.launch(Request("embedded", "embedded"), Choices(), delivery, lambda *_: None) == 0
    assert "All sessions get equal CPU" in capsys.readouterr().out
    assert read(tmp_path / "run.json").rounds == run.rounds


def test_brief_is_the_answer_what_helps_and_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = noisy_run(1, uneven=1.6)
    with kept(tmp_path, run) as store:
        assert present(store, run.header.run_id, lambda: run.rounds, **given(tmp_path, "none"), brief=True) == 0
        brief = capsys.readouterr().out
        assert present(store, run.header.run_id, lambda: run.rounds, **given(tmp_path, "none")) == 0
        whole = capsys.readouterr().out
    verdict = explain.explain(run).verdict
    assert verdict.split()[0] in brief
    assert " ".join(verdict.split()) in " ".join(brief.split())
    assert "What helps: " in brief
    assert "max/min" in brief
    assert ("Remedy: " in brief, "Remedy: " in whole) == (False, True)
    codes = {each.code for each in explain.explain(run).findings}
    (named,) = [line for line in " ".join(brief.split()).split(". ") if "Findings, not shown here: " in line]
    assert {word for word in codes if word in named} == codes
    assert len(brief.splitlines()) < len(whole.splitlines()) / 2


def night(day: int, speed: float = 1.0) -> RunRecord:
    return noisy_run(day, speed, repeats=2, levels=(1, 2), started_at=f"2026-11-{day:02}T04:30:00+00:00", target="box")


def test_a_night_begins_with_what_has_changed_since_the_nights_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, slow = str(tmp_path / "runs.db"), night(8, 0.7)
    first = "Slower than the 7 runs before: single-session throughput is "
    with open_store(url) as store:
        for each in (*map(night, range(1, 8)), slow):
            store.save(each)
    assert main(["show", slow.header.run_id, "--store", url]) == 0
    assert first not in capsys.readouterr().out, "showing a run explains no other runs"
    with open_store(url) as store:
        present(store, slow.header.run_id, lambda: slow.rounds, **given(tmp_path / "night", "markdown"))
    assert f"**{first}" in (tmp_path / "night" / "report.md").read_text()
    assert first in " ".join(capsys.readouterr().out.split())
    assert main(["report", slow.header.run_id, "--store", url, "--out", str(tmp_path / "again")]) == 0
    assert first in (tmp_path / "again" / "report.html").read_text()
    capsys.readouterr()
    assert main(["show", slow.header.run_id, "--store", url]) == 0
    assert first in " ".join(capsys.readouterr().out.split())
    assert main(["show", "run-5", "--store", url]) == 0
    assert "runs before" not in capsys.readouterr().out, "four earlier runs are no history"

"""The example reports and comparisons are what this version makes of the records beside them.

``pytest tests/unit/reports/test_examples.py --update-golden`` writes them anew: look at them then.
"""

import json
from functools import cache
from pathlib import Path

import pytest

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.reports import charts
from dbcpu.reports.document import Document
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats.base import load_format
from dbcpu.store.record_file import read
from dbcpu.workflows import compare
from support.page_reader import drawn_texts, without_pictures, writing
from support.paths import ROOT

FOLDER = ROOT / "reports" / "examples"
REPORTS = sorted(each.parent.name for each in FOLDER.glob("*/record.json.gz"))
COMPARISONS: dict[str, tuple[dict[str, str], int | None]] = {
    "comparison-2017": (
        {
            "on-prem": "comparison-2017/on-prem.json.gz",
            "cloud": "simulated-c4.4xlarge/record.json.gz",
            "cloud, SMT off": "simulated-c4.4xlarge-smt-off/record.json.gz",
        },
        12,
    ),
    "comparison-c4.4xlarge-smt": (
        {
            "SMT on": "simulated-c4.4xlarge/record.json.gz",
            "SMT off": "simulated-c4.4xlarge-smt-off/record.json.gz",
        },
        None,
    ),
    "comparison-emulated-smt": (
        {"SMT on": "emulated-smt/record.json.gz", "SMT off": "emulated-smt-off/record.json.gz"},
        None,
    ),
}
"""Folder -> name and record of each run, and how many busy cores of the first are to be moved."""
PICTURES = ("bars", "panels", "scaling")


@cache
def analysis_of(name: str) -> Analysis:
    return explain(read(FOLDER / name / "record.json.gz"))


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.slow
def test_an_example_report_is_what_its_record_gives(name: str, request: pytest.FixtureRequest) -> None:
    page = str(load_format("html").render(document(read(FOLDER / name / "record.json.gz"), analysis_of(name))))
    report = FOLDER / name / "report.html"
    if request.config.getoption("--update-golden"):
        report.write_text(page, "utf-8", newline="\n")
    assert report.is_file(), f"{report} is missing; run pytest --update-golden and look at it"
    kept = report.read_text("utf-8")
    assert without_pictures(page) == without_pictures(kept), f"{report} differs; run pytest --update-golden and look"
    drawn = writing(page)
    assert drawn == writing(kept), f"a picture of {report} differs; run pytest --update-golden and look"
    assert len(drawn) > 10
    assert all(len(texts) > 5 for texts in drawn)


@cache
def document_of(name: str) -> Document:
    runs, busy = COMPARISONS[name]
    rules = FOLDER / name / "dbcpu.toml"
    with pytest.MonkeyPatch.context() as patch:
        if rules.is_file():
            patch.setenv("DBCPU_CONFIG", str(rules))
        return compare.comparison_document(
            [f"{called}={FOLDER / file}" for called, file in runs.items()], options=compare.ComparisonOptions(busy=busy)
        )


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's rules and prices are no part of an example."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.slow
def test_an_example_comparison_is_what_the_records_give(name: str, request: pytest.FixtureRequest) -> None:
    compared = document_of(name)
    folder = FOLDER / name
    pictures = charts.drawn(compared.charts, ["svg"])["svg"]
    assert tuple(pictures) == PICTURES
    text = str(load_format("markdown").render(compared, pictures))
    page = str(load_format("html").render(compared, pictures))
    if request.config.getoption("--update-golden"):
        folder.mkdir(exist_ok=True)
        (folder / "comparison.md").write_text(text, "utf-8", newline="\n")
        (folder / "comparison.html").write_text(page, "utf-8", newline="\n")
        for each, picture in pictures.items():
            (folder / f"{each}.svg").write_bytes(picture)
    assert text == (folder / "comparison.md").read_text("utf-8"), "run pytest --update-golden and look"
    kept_page = (folder / "comparison.html").read_text("utf-8")
    assert without_pictures(page) == without_pictures(kept_page), "run pytest --update-golden and look"
    assert writing(page) == writing(kept_page), f"a picture of {name} differs; run pytest --update-golden and look"
    for each, picture in pictures.items():
        kept = (folder / f"{each}.svg").read_text("utf-8")
        assert drawn_texts(picture.decode("utf-8")) == drawn_texts(kept), f"{each} differs; run pytest --update-golden"
        assert len(drawn_texts(kept)) > 10


def test_a_changed_digit_in_a_picture_of_a_page_is_noticed() -> None:
    kept = (FOLDER / "embedded-2-vcpus" / "report.html").read_text("utf-8")
    assert writing(kept.replace(">1.0x</text>", ">2.0x</text>", 1)) != writing(kept)


@pytest.mark.slow
def test_the_comparison_shows_what_was_found_in_2017() -> None:
    compared = document_of("comparison-2017")
    data = json.loads(load_format("json").render(compared))
    old, cloud, off = data["sides"]
    spread = {
        each["name"]: {level["level"]: level["max_over_min"] for level in each["levels"]} for each in (cloud, off)
    }
    assert spread["cloud"][8] < 1.05
    assert spread["cloud"][9] == pytest.approx(1.5, abs=0.05)
    assert all(spread["cloud, SMT off"][level] < spread["cloud"][level] for level in (9, 10, 12, 14))
    assert old["decisions"] == []
    assert [each["outcome"] for each in cloud["decisions"]] == ["less", "more"]
    needs = {each["kind"]["name"]: each["vcpus"] for each in data["sizing"]["needs"]}
    assert needs == {"cloud": 24, "cloud, SMT off": 12}


def test_emulated_smt_shows_two_slow_sessions_where_off_shows_none() -> None:
    on, off = (analysis_of(name) for name in ("emulated-smt", "emulated-smt-off"))
    third = [next(each for each in run.levels if each.level == 3) for run in (on, off)]
    assert [each.main_cause for each in third] == ["shared_core", "run_queue"]
    assert third[0].slow == 2
    assert (third[0].max_over_min or 0) > 1.4 > 1.2 > (third[1].max_over_min or 9)


def test_smt_off_and_one_per_core_make_three_sessions_equal_and_cost_nothing() -> None:
    analysis = analysis_of("emulated-smt-variants")
    assert headline(analysis).headline == "No: at N=3 sessions are slower; inconclusive at N=2"
    third = {each.variant: each for each in analysis.levels if each.level == 3}
    assert (third["baseline"].slower, third["baseline"].main_cause) == (2, "shared_core")
    assert (third["baseline"].max_over_min or 0) > 1.4
    assert analysis.variants is not None
    ((level, penalty),) = analysis.variants.penalties
    assert level == 2
    assert penalty == pytest.approx(1.8, abs=0.1)
    decided = {each.name: {one.summary: one.outcome for one in each.decisions} for each in analysis.variants.variants}
    for name in ("smt_off", "one_per_core"):
        assert (third[name].max_over_min or 9) < 1.15
        assert third[name].main_cause == "run_queue"
        assert decided[name] == {"throughput": "not shown", "spread": "less"}


def test_every_example_that_is_promised_is_there() -> None:
    assert {
        "embedded-2-vcpus", "emulated-smt", "emulated-smt-off", "emulated-smt-variants",
        "simulated-c4.4xlarge", "simulated-c4.4xlarge-smt-off",
    } <= set(REPORTS)  # fmt: skip

"""Every form of a comparison, by golden files; all forms agree; pictures are the same every time."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dbcpu.analysis.comparison.compare import Candidate, compare
from dbcpu.analysis.comparison.published import parse
from dbcpu.cli import main
from dbcpu.errors import StoreError, UsageError
from dbcpu.record import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.document import Document
from dbcpu.reports.documents import comparison as of_runs
from dbcpu.reports.documents import published as of_published
from dbcpu.reports.formats.base import load_format
from dbcpu.store.record_file import write_record
from dbcpu.workflows.compare import comparison_document, published_document
from support.builders.comparison import aa_run, noisy_run
from support.paths import ROOT

FORMS = ("table", "markdown", "csv", "json")
PUBLISHED = ROOT / "reports" / "examples" / "published"
GOLDEN_NAMES = {"table": "table.txt", "markdown": "markdown.md", "csv": "csv.csv", "json": "json.json"}


def three_hosts() -> list[RunRecord]:
    return [
        noisy_run(1, label="=old | *box*", levels=(1, 2, 4), cores=4, threads=1),
        noisy_run(2, label="cloud", uneven=1.5, levels=(1, 2, 3, 4), cores=2, threads=2),
        noisy_run(3, label="cloud, SMT off", levels=(1, 2, 3, 4), cores=2, threads=1),
    ]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """What ``dbcpu compare`` makes of three files."""
    folder = tmp_path_factory.mktemp("runs")
    names = []
    for at, run in enumerate(three_hosts()):
        names.append(str(folder / f"{at}.json"))
        write_record(names[-1], run)
    return comparison_document(names, busy=4)


def text(form: str, compared: Document) -> str:
    rendered = load_format(form).render(compared)
    assert isinstance(rendered, str)
    return rendered


@pytest.mark.parametrize("form", FORMS)
def test_a_comparison_looks_as_when_somebody_last_looked(
    form: str, compared: Document, golden: Callable[[str, str], None]
) -> None:
    golden(f"three_hosts/{GOLDEN_NAMES[form]}", text(form, compared))


@pytest.mark.parametrize("form", FORMS)
def test_published_measurements_look_as_when_somebody_last_looked(
    form: str, golden: Callable[[str, str], None]
) -> None:
    read = parse((PUBLISHED / "numa-policies.csv").read_text("utf-8"), "numa-policies")
    golden(f"numa_policies/{GOLDEN_NAMES[form]}", text(form, of_published.document(read)))


def test_all_forms_agree_on_every_figure(compared: Document) -> None:
    data = json.loads(text("json", compared))
    rows = list(csv.DictReader(io.StringIO(text("csv", compared))))
    for side in data["sides"]:
        for figure in side["figures"]:
            found = [
                row
                for row in rows
                if row["label"].lstrip("'") == side["name"] and row["metric"] == figure["metric"] and not row["n"]
            ]
            assert bool(found) == (figure["value"] is not None)
            if found:
                assert float(found[0]["value"]) == pytest.approx(figure["value"], rel=1e-4, abs=1e-5)
    ratio = next(each for each in data["sides"][1]["figures"] if each["metric"] == "solo")["ratio"]
    for form in ("table", "markdown"):
        assert f"{ratio:.2f}x" in text(form, compared)
    for sentence in compared.verdict:
        assert sentence in data["verdict"]
        assert "".join(sentence.split()) in "".join(text("table", compared).split())


def test_the_csv_of_a_comparison_is_published_form_with_ratio_and_interval(compared: Document) -> None:
    first, *_ = text("csv", compared).splitlines()
    assert first == "label,configuration,n,cpus,metric,value,ratio,low,high"
    rows = [line.split(",")[:6] for line in text("csv", compared).splitlines() if '"' not in line]
    again = parse("\n".join(",".join(row) for row in rows) + "\n", "again")
    assert len(again.measurements) == len(rows) - 1


def test_markup_and_formulas_of_a_label_are_harmless(compared: Document) -> None:
    assert "\\*box\\*" in text("markdown", compared)
    assert "\n'=old" in text("csv", compared)


@pytest.mark.parametrize("form", ["svg", "png"])
def test_pictures_are_the_same_every_time(form: str, compared: Document) -> None:
    first, second = (charts.drawn(compared.charts, [form])[form] for _ in range(2))
    assert set(first) == {"panels", "bars", "scaling"}
    assert first == second


def test_panels_of_many_levels_and_hosts_are_drawn() -> None:
    made = [Candidate(f"host {at}", noisy_run(at, levels=(1, 2, 4, 128), repeats=1)) for at in range(6)]
    assert charts.drawn(of_runs.document(compare(made)).charts, ["svg"])["svg"]["panels"].startswith(b"<?xml")


@pytest.mark.parametrize("file", sorted(PUBLISHED.glob("*.csv")), ids=lambda file: file.stem)
def test_every_published_example_is_charted(file: Path) -> None:
    assert charts.drawn(of_published.document(parse(file.read_text("utf-8"), file.stem)).charts, ["svg"])["svg"]


def test_the_command_writes_every_form_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for at, run in enumerate(three_hosts()[:2]):
        files.append(str(tmp_path / f"{at}.json.gz"))
        write_record(files[-1], run)
    out = tmp_path / "out"
    assert main(["compare", *files, "--format", "markdown", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("# cloud compared with =old")
    assert {file.name for file in out.iterdir()} >= {
        "comparison.html",
        "comparison.md",
        "comparison.csv",
        "panels.svg",
        "bars.png",
    }
    assert "panels.svg" in shown.err


def test_a_variant_is_named_after_a_colon_and_an_unknown_one_lists_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "run.json")
    write_record(file, three_hosts()[0])
    assert main(["compare", file, f"{file}:pack"]) == 2
    assert "there are: baseline" in capsys.readouterr().err


def test_what_cannot_be_sized_is_compared_all_the_same_unless_sizes_were_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(tmp_path / f"{at}.json") for at in range(2)]
    for at, name in enumerate(names):
        write_record(name, noisy_run(at, levels=(8,)))
    assert main(["compare", *names]) == 0
    assert "Ranking" not in capsys.readouterr().out
    assert main(["compare", *names, "--size-for", "4"]) == 2
    assert "no level has a throughput" in capsys.readouterr().err


def test_the_floor_of_an_aa_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / f"{at}.json") for at in range(3)]
    runs = [*three_hosts()[1:], aa_run(noisy_run(7), noisy_run(8))]
    for name, run in zip(names, runs, strict=True):
        write_record(name, run)
    assert main(["compare", *names[:2], "--aa", names[2]]) == 0
    assert "A/A run run-7, 6 rounds against 6" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", *names[:2], "--aa", names[1]]) == 2


def test_runs_and_published_files_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "last", "table.csv"]) == 2
    assert "kinds of evidence" in capsys.readouterr().err


def test_a_published_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing\.csv could not be read"):
        published_document([str(tmp_path / "nothing.csv")])
    (tmp_path / "latin.csv").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        published_document([str(tmp_path / "latin.csv")])


def test_two_published_files_are_shown_as_one() -> None:
    files = [str(PUBLISHED / f"{name}.csv") for name in ("numa-policies", "thread-pool")]
    shown = published_document(files)
    assert {line.label for line in shown.records().rows} == {"Box A", "Box B", "server"}
    assert any(note.startswith("thread-pool: Source:") for note in shown.notes)


def test_long_labels_give_way_to_short_names(tmp_path: Path) -> None:
    names = []
    for at, run in enumerate(three_hosts()[:2]):
        long = RunRecord(replace(run.header, label="a label that is much too long for a column of a table"), run.rounds)
        names.append(str(tmp_path / f"{at}.json"))
        write_record(names[-1], long)
    made = comparison_document(names)
    assert {line.label for line in made.records().rows} == {"run A", "run B"}

"""Every form of a comparison, by golden files; all forms agree; pictures are the same every time."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.published import parse
from dbcpu.analysis.comparison.sizing import size
from dbcpu.analysis.results.comparison import Floor
from dbcpu.cli import main
from dbcpu.config.settings import settings
from dbcpu.errors import StoreError, UnknownName, UsageError
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.document import Document
from dbcpu.reports.documents import comparison as of_runs
from dbcpu.reports.documents import published as of_published
from dbcpu.reports.formats.base import load_format
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store.database import open_store
from dbcpu.store.record_file import write_record
from dbcpu.workflows.compare import ComparisonOptions, comparison_document, document, published_document
from dbcpu.workflows.given_sides import _runs
from support.builders.comparison import aa_run, compare, noisy_run
from support.builders.experiments import pool
from support.forms import TEXT_FORMS, as_last_seen
from support.page_reader import without_pictures
from support.paths import ROOT

pytestmark = pytest.mark.slow

PUBLISHED = ROOT / "reports" / "examples" / "published"


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
    return comparison_document(names, options=ComparisonOptions(busy=4))


def test_pools_are_compared_by_how_many_active_sessions_are_enough() -> None:
    """A side that shows none says so, and its sizes are beside those of the other side."""
    first, second = pool({1: 10.0, 2: 5.0, 4: 5.0}), pool({2: 4.0, 4: 2.0}, noise=0.5)
    found = of_runs.document(compare([Candidate("old", first), Candidate("new", second)]))
    said = "Active sessions that are enough: old: 2 (20 jobs take 5.00 s); new: inconclusive."
    assert said in found.verdict
    assert found.front is not None and said in found.front.sentences
    words = " ".join(text("table", found).split("Pools of active sessions")[1].split())
    assert re.search(r" 2 old 20 yes 5\.00 s .* 2 new 20 inconclusive 4\.00 s .* 4 old 20 yes 5\.00 s ", words), words
    assert "Pools of active sessions" in text("html", found)


def text(form: str, compared: Document) -> str:
    rendered = load_format(form).render(compared)
    assert isinstance(rendered, str)
    return rendered


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_a_comparison_looks_as_when_somebody_last_looked(
    form: str, compared: Document, golden: Callable[[str, str], None]
) -> None:
    as_last_seen(compared, form, "three_hosts", golden)


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_published_measurements_look_as_when_somebody_last_looked(
    form: str, golden: Callable[[str, str], None]
) -> None:
    read = parse((PUBLISHED / "numa-policies.csv").read_text("utf-8"), "numa-policies")
    as_last_seen(of_published.document(read), form, "numa_policies", golden)


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


def test_pictures_are_the_same_every_time(compared: Document) -> None:
    first, second = (charts.drawn(compared.charts, charts.FORMS) for _ in range(2))
    for form in charts.FORMS:
        assert set(first[form]) == {"panels", "bars", "scaling"}
        assert first[form] == second[form], form


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


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"busy": 12}, "--size-for"),
        ({"licences": ("none",)}, "--licence"),
        ({"aa": "last"}, "--aa"),
        ({"ratio": 1.2}, "--ratio"),
    ],
)
def test_published_figures_refuse_what_only_runs_have(given: dict[str, Any], option: str) -> None:
    table = str(PUBLISHED / "numa-policies.csv")
    with pytest.raises(UsageError, match=f"^{option}: .*only runs have what this needs"):
        document([table], options=ComparisonOptions(**given))
    assert document([table], options=ComparisonOptions(ratio=1.1, aa=None, licences=())).sections


def test_a_published_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing\.csv could not be read"):
        published_document([str(tmp_path / "nothing.csv")])
    (tmp_path / "latin.csv").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        published_document([str(tmp_path / "latin.csv")])


def test_two_published_files_are_shown_as_one() -> None:
    files = [str(PUBLISHED / f"{name}.csv") for name in ("numa-policies", "thread-pool")]
    shown = published_document(files)
    assert {line.label for line in shown.records().rows} == {"Box A", "Box B", "server", "five calls"}
    assert any(note.startswith("thread-pool: Source:") for note in shown.notes)


# --- several runs a side, history, and what is refused


NIGHT = datetime.fromisoformat("2026-10-01T04:30:00+00:00")


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store: seven runs of a host, four after it became slower, and one of other work."""
    store = str(tmp_path_factory.mktemp("store") / "runs.db")
    for night in range(12):
        late = night >= 7
        run = noisy_run(
            night, speed=(0.8 if late else 1.0) * (1 + 0.02 * (night % 3)), label="after" if late else "before",
            started_at=(NIGHT + timedelta(days=night)).isoformat(), run_id=f"202610{night + 1:02}-043000-a1b2c3",
            levels=(1, 2, 4),
        )  # fmt: skip
        if night == 11:
            work = replace(run.header.plan.workload, size="long", n=120)
            run = RunRecord(
                replace(run.header, label="other work", plan=replace(run.header.plan, workload=work)), run.rounds
            )
        with open_store(store) as opened:
            opened.save(run)
    return store


@pytest.fixture(scope="module")
def before_and_after(nights: str) -> Document:
    """Seven runs against four."""
    return comparison_document(["label:before", "label:after"], nights)


@pytest.fixture(scope="module")
def before_and_after_pictures(before_and_after: Document) -> Mapping[str, bytes]:
    return charts.drawn(before_and_after.charts, ["svg"])["svg"]


@pytest.fixture(scope="module")
def before_and_after_page(before_and_after: Document, before_and_after_pictures: Mapping[str, bytes]) -> str:
    return str(load_format("html").render(before_and_after, before_and_after_pictures))


def compare_in(store: str, *names: str, form: str = "table") -> str:
    rendered = load_format(form).render(comparison_document(names, store))
    assert isinstance(rendered, str)
    return rendered


def test_a_comma_list_and_a_label_are_sides_of_several_runs(nights: str, before_and_after: Document) -> None:
    given = [",".join(f"202610{night:02}" for night in nights_of) for nights_of in (range(1, 8), range(8, 12))]
    by_list = json.loads(compare_in(nights, f"before={given[0]}", f"after={given[1]}", form="json"))
    by_label = json.loads(text("json", before_and_after))
    assert by_list == by_label
    assert [len(side["runs"]) for side in by_label["sides"]] == [7, 4]
    for decision in by_label["sides"][1]["decisions"]:
        assert decision["runs"] == [7, 4]
        assert decision["between_run_source"] == "runs"
        assert decision["low"] <= decision["ratio"] <= decision["high"]
        assert decision["between_run_spread"] >= 0


@pytest.mark.parametrize(
    ("sides", "written"),
    [
        (("label:before", "label:after"), "label:after"),
        (("old=20261001", "new=20261008"), "20261008"),
        (("old=20261001", "new=20261008"), "new"),
    ],
)
def test_a_rule_is_given_to_a_side_as_it_was_written(nights: str, sides: tuple[str, str], written: str) -> None:
    found = json.loads(
        text(
            "json",
            comparison_document(sides, nights, ComparisonOptions(busy=2, licences=(f"{written}=oracle-cloud-ee",))),
        )
    )
    (need,) = found["sizing"]["needs"]
    assert need["licences"] == need["cores"]
    with pytest.raises(UnknownName, match=f"'{written}s'"):
        comparison_document(sides, nights, ComparisonOptions(busy=2, licences=(f"{written}s=oracle-cloud-ee",)))


def test_one_run_a_side_takes_the_history_of_the_store(nights: str) -> None:
    usual = json.loads(compare_in(nights, "20261007", "20261008", form="json"))
    assert usual["sides"][1]["decisions"][0]["between_run_source"] == "history"
    assert usual["sides"][1]["decisions"][0]["between_run_runs"] == 6
    young = json.loads(compare_in(nights, "20261002", "20261003", form="json"))
    assert young["sides"][1]["decisions"][0]["between_run_source"] == "not known"
    assert young["sides"][1]["decisions"][0]["between_run_spread"] is None


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("last", "last"), "a run compared with itself shows no difference"),
        (("20261001,20261002", "20261003,20261001"), "20261001-043000-a1b2c3 was given twice"),
        (("20261001,20261012", "20261003"), "their work differs (size long (n = 120) against medium (n = 80))"),
        (("20261001", "20261012", "--size-for", "4"), "sizing needs the same work on all hosts, and theirs differs"),
        (("20261001,", "20261003"), "names no run before or after a comma"),
        (("label:nothing", "20261003"), "no complete run has the label 'nothing'"),
        (("20261001",), "needs two runs or more"),
        (("box=20261001", "box=20261003"), "two of these are called 'box'; give each its own name"),
        (("label:", "20261003"), "label: needs a label, such as label:old"),
        (("20261001", "20261003", "--aa", "label:old"), "label:TEXT stands for runs in dbcpu compare alone"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_sentence(
    names: tuple[str, ...], said: str, nights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *names, "--store", nights]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert said in line


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "html", "metrics"])
def test_every_format_shows_sides_of_several_runs(
    form: str, before_and_after: Document, before_and_after_page: str
) -> None:
    shown = before_and_after_page if form == "html" else text(form, before_and_after)
    assert "before" in shown and "after" in shown
    if form == "metrics":
        assert 'dbcpu_comparison_runs{side="before"} 7.0' in shown
        assert 'source="runs"' in shown


LONG_NAMES = tuple(f"a-long-host-name-{at:03}" for at in range(5))


@pytest.fixture(scope="module", params=[2, 5])
def long_names(request: pytest.FixtureRequest, nights: str) -> tuple[tuple[str, ...], Document]:
    """Names, and the comparison of as many runs."""
    names = LONG_NAMES[: request.param]
    return names, comparison_document([f"{name}=202610{at + 1:02}" for at, name in enumerate(names)], nights)


@pytest.mark.parametrize("width", [80, 120])
def test_names_and_runs_are_never_broken(width: int, long_names: tuple[tuple[str, ...], Document]) -> None:
    names, made = long_names
    sides = len(names)
    lines = load_format("table").render(replace(made, width=width)).splitlines()
    assert max(map(len, map(str, lines))) <= width
    rows = [str(line) for line in lines if str(line).startswith(" ") and "a-long" in str(line)]
    assert len(rows) > 5 * sides
    assert all(any(name in row for name in names) for row in rows)
    for at in range(sides):
        assert any(names[at] in row and f"202610{at + 1:02}-043000-a1b2c3" in row for row in rows)


def test_a_page_says_its_title_once_and_no_picture_repeats_or_cuts_it(
    before_and_after_pictures: Mapping[str, bytes], before_and_after_page: str
) -> None:
    page = without_pictures(before_and_after_page)
    assert page.split("<main>")[0].split("<body>")[1].count("after compared with before") == 1
    assert "compared with" not in page.split("<main>")[1]
    pictures = before_and_after_pictures
    assert set(pictures) == {"bars", "panels", "scaling"}
    assert not any("…" in picture.decode() or "compared with" in picture.decode() for picture in pictures.values())


def test_cpus_of_a_variant_keep_their_commas() -> None:
    assert _runs("last:cpus:0-3,8,10-11", None) == ["last:cpus:0-3,8,10-11"]
    assert _runs("last:cpus:0-3,8,20261003", None) == ["last:cpus:0-3,8", "20261003"]
    assert _runs("20261001,20261002", None) == ["20261001", "20261002"]


def test_a_run_without_a_host_is_compared_by_what_is_known(tmp_path: Path) -> None:
    """As one that was measured by a script and imported."""
    names = []
    for seed in range(2):
        run = noisy_run(seed, repeats=3)
        header = replace(run.header, host=None, tool_version="dbcpu-lines 1", plan=replace(run.header.plan, vcpus=None))
        names.append(str(tmp_path / f"{seed}.json"))
        write_record(names[-1], RunRecord(header, run.rounds))
    (sentence,) = comparison_document(names).verdict
    assert "measure 6 rounds of each level and import them again" in sentence


@pytest.mark.parametrize(
    ("quota", "sizes"),
    [(None, r"4 vCPUs against 8, 1\.0\dx per vCPU"), (2.0, r"a CPU quota of 2 against 8 vCPUs")],
)
def test_hosts_of_different_size_say_what_each_has(tmp_path: Path, quota: float | None, sizes: str) -> None:
    """A total at full load says little of them; a quota is no number of vCPUs."""
    names = [str(tmp_path / name) for name in ("large.json", "small.json")]
    small = SimulatedHost(cores=4, threads=1, quota_cpus=quota)
    write_record(names[0], simulate(SimulatedHost(cores=8, threads=1), (1, 8), 6, seed=1, size="short"))
    write_record(names[1], simulate(small, (1, 2, 4), 6, seed=2, size="short"))
    made = comparison_document(names)
    assert made.front is not None
    assert re.search(rf"\({sizes}\)", made.front.headline), made.front.headline
    assert re.search(rf"\. At full load that is {sizes}\. Max/min ", made.verdict[0]), made.verdict[0]
    (hosts,) = [table for each in made.sections if each.name == "hosts" for table in each.tables]
    cells = [[column.of(row) for column in hosts.columns if column.key in ("vcpus", "quota")] for row in hosts.rows]
    assert cells == ([[8], [4]] if quota is None else [[8, ""], [4, "2 of 4 vCPUs"]])
    assert "; max/min at 1 session per " in made.front.headline
    of_two = comparison_document([*names, names[1]])
    assert of_two.front is not None
    assert of_two.front.headline.count("throughput at full load") == 2
    assert not re.search("even|max/min", of_two.front.headline), "seven lines were no headline"


def test_a_finding_that_means_another_thing_for_another_side_is_said_of_each() -> None:
    def side(name: str, meaning: str) -> Any:
        return SimpleNamespace(name=name, findings=(Finding("foreign-load", Level.WARNING, "5 %", meaning),))

    found = of_runs.merged_findings([side("a", "nobody is slower"), side("b", "slows"), side("c", "slows")])
    assert [(each.seen, each.meaning) for each in found] == [
        ("a: 5 %", "nobody is slower"),
        ("b: 5 %; c: 5 %", "slows"),
    ]


def test_long_labels_give_way_to_the_names_of_files_and_to_letters(tmp_path: Path) -> None:
    store, names = str(tmp_path / "runs.db"), []
    with open_store(store) as kept:
        for name, run in zip(("old", "new"), three_hosts()[:2], strict=True):
            label = "a label that is much too long for a column of a table"
            long = RunRecord(replace(run.header, label=label), run.rounds)
            kept.save(long)
            names.append(str(tmp_path / f"{name}.json.gz"))
            write_record(names[-1], long)
    made = comparison_document(names)
    assert {line.label for line in made.records().rows} == {"old", "new"}
    stored = comparison_document([run.header.run_id for run in three_hosts()[:2]], store=store)
    assert {line.label for line in stored.records().rows} == {"run A", "run B"}


def test_own_runs_stand_beside_published_figures_normalised_to_the_first_of_them(tmp_path: Path) -> None:
    """The configurations of a paper, measured here: one table, one picture, and whose figures they are is said."""
    for name, run in (("one", noisy_run(1)), ("half", noisy_run(2, speed=0.5))):
        write_record(str(tmp_path / f"{name}.json.gz"), run)
    names = [str(PUBLISHED / "virtual-partitions.csv"), f"1A={tmp_path}/one.json.gz", f"4A={tmp_path}/half.json.gz"]
    content = published_document(names)
    rows = [line for line in content.records().rows if line.label == "measured"]
    assert [(line.configuration, line.n, line.metric) for line in rows[:3]] == [
        ("1A", 4, "Mrows/s, all sessions"),
        ("1A", 4, "average seconds"),
        ("1A", 4, "least seconds"),
    ]
    assert [line.ratio for line in rows] == pytest.approx([1, 1, 1, 1, 0.5, 2, 2, 2], rel=0.05)
    assert [line.configuration for line in rows if line.metric == "p95 seconds"] == ["1A", "4A"]
    assert content.front.caveats == content.verdict[-1:]
    assert "are of runs of dbcpu; all others were measured by others" in content.verdict[0]
    assert len({line.label for line in content.records().rows}) == 2
    other = noisy_run(3)
    plan = replace(other.header.plan, workload=replace(other.header.plan.workload, sql_hash="1" * 64))
    write_record(str(tmp_path / "sql.json.gz"), RunRecord(replace(other.header, plan=plan), other.rounds))
    with pytest.raises(UsageError, match="have to do the same work as each other, and theirs differs"):
        published_document([*names, f"4B={tmp_path}/sql.json.gz"])


@pytest.mark.parametrize(("speed", "floor", "said"), [
    (0.8, None, "; a single session takes 1.2"),
    (0.8, Floor(0.1, 0.1, "an A/A run"), "; a single session takes 1.2"),
    (0.8, Floor(0.4, 0.4, "an A/A run"), ""),
    (1.0, None, ""),
    (1.2, None, ""),
])  # fmt: skip
def test_the_headline_of_a_sizing_says_that_a_single_session_is_slower(
    speed: float, floor: Floor | None, said: str
) -> None:
    """The number of vCPUs makes up for it in total alone, and who decides reads nothing but the headline."""
    runs = [noisy_run(1, label="old", cores=4, threads=1), noisy_run(2, speed, label="new", cores=4, threads=1)]
    found = [measured_side(each.header.label, [Candidate(each.header.label, each)]) for each in runs]
    sizing = size([(each.name, each.first.record, each.first.analysis) for each in found], settings().sizing, 4)
    front = of_runs.document(compare_sides(found, floor), sizing).front
    assert front is not None
    assert front.headline.startswith("4 busy cores of old need ")
    assert ("a single session takes" in front.headline) is bool(said)
    assert said in front.headline

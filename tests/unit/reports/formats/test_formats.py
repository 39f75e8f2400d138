"""Every form shows the same numbers, nothing from outside is taken for markup, and pictures do not vary."""

import csv
import json
import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.formatting import number, percent, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.charts.run.sessions import LABELLED_SESSIONS
from dbcpu.reports.document import Document, Section
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_tables import levels_table
from dbcpu.reports.formats.base import load_format
from dbcpu.reports.formats.table import show
from support.builders.example import three_on_two
from support.builders.record import record, round_of, session, solos, unsampled
from support.example_pages import RUNS, document_of, page_of, pictures_of
from support.forms import FORMS, TEXT_FORMS, as_last_seen
from support.page_reader import drawn_texts, read_page, without_pictures

pytestmark = pytest.mark.slow

PICTURES = {"host", "slowdown", "throughput", "sessions", "cpu_map", "lanes", "connect"}


def shown(form: str, content: Document) -> str:
    text = load_format(form).render(content)
    assert isinstance(text, str)
    return text


def of_run(run: RunRecord) -> Document:
    return document(run, explain(run))


@pytest.mark.parametrize("form", TEXT_FORMS)
@pytest.mark.parametrize("name", RUNS)
def test_texts_are_as_they_were_last_looked_at(name: str, form: str, golden: Callable[[str, str], None]) -> None:
    as_last_seen(document_of(name), form, name, golden)


@pytest.mark.parametrize("name", RUNS)
def test_the_page_without_its_drawings_is_as_it_was(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{name}/html.html", without_pictures(page_of(name)))


@pytest.mark.parametrize("name", RUNS)
def test_the_writing_in_pictures_is_as_it_was(name: str, golden: Callable[[str, str], None]) -> None:
    lines = [
        f"{picture}: {text}" for picture, content in pictures_of(name).items() for text in drawn_texts(content.decode())
    ]
    golden(f"{name}/chart.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", RUNS)
def test_all_forms_agree_on_every_number(name: str) -> None:
    run = document_of(name)
    data: dict[str, Any] = json.loads(shown("json", run))
    table, markdown = shown("table", run), shown("markdown", run)
    page = read_page(page_of(name))
    page_levels = page.tables["Medians over rounds, by concurrency (N)"]
    rows = list(csv.DictReader(StringIO(shown("csv", run))))
    for level in data["levels"]:
        figures = [
            number(level["median_s"], 3),
            number(level["slowdown_median"]),
            number(level["slowdown_max"]),
            number(level["max_over_min"]),
            percent(level["cv"]),
            number(level["throughput"], 1),
            number(level["makespan_throughput"], 1),
        ]
        assert re.search(rf"^ *{level['level']} +" + " +".join(map(re.escape, figures[:5])), table, re.MULTILINE)
        assert f"| {level['level']} | " + " | ".join(figures[:5]) in markdown
        assert all(figure in table and figure in markdown for figure in figures)
        row_on_page = next(cells for cells in page_levels if cells[0] == str(level["level"]))
        assert row_on_page[1:6] + row_on_page[8:10] == figures
    for session_view, row in zip(data["sessions"], rows, strict=True):
        for figure in ("elapsed_s", "slowdown", "inflation_s", "queue_s", "throttled_s", "gap_s", "mrows_per_s"):
            cell = float(row[figure]) if row[figure] else None
            assert cell == pytest.approx(session_view[figure], abs=1e-6), figure
        assert (row["cause"], row["evidence"]) == (session_view["cause"], session_view["evidence"])
        if session_view["order"] == data["telling_order"] and session_view["cause"] != "none":
            shown_of = [times(session_view["slowdown"]), Cause(session_view["cause"]).words]
            assert " | ".join(shown_of) in markdown
            on_page = [
                cells
                for caption, cells_ in page.tables.items()
                if caption.startswith("Slowed sessions at N = ")
                for cells in cells_
            ]
            evidence = session_view["evidence"].removeprefix(f"{shown_of[0]}: ")  # which has a column of its own
            assert [str(session_view["ordinal"]), *shown_of, evidence] in on_page
    answer = f"{data['verdict']} What helps: {data['outcome']['remedy']}."
    assert " ".join(table.split()).endswith(answer)
    assert page.holds(data["verdict"])


def test_json_keeps_the_names_that_programs_rely_on() -> None:
    data = json.loads(shown("json", document_of("three_on_two")))
    assert {"verdict", "levels", "sessions", "scaling", "findings"} <= set(data)
    assert {"level", "median_s", "max_over_min", "cv", "slow", "throughput", "regime"} <= set(data["levels"][0])
    assert {"level", "repeat", "variant", "ordinal", "slowdown", "cause", "evidence"} <= set(data["sessions"][0])
    assert {"knees", "smt_yield", "effective_cores"} <= set(data["scaling"])
    assert {"code", "level", "seen", "meaning", "remedy"} == set(data["findings"][0])
    assert data["findings"][0]["level"] in ("info", "warning", "problem")


def test_texts_from_outside_are_neither_formulas_nor_markup_nor_terminal_codes() -> None:
    evil = replace(session(1, answer_ok=None, error="=cmd|' /C calc'!A0 [red]x[/red] \x1b[2J | <img>"), cgroup="@evil")
    run = of_run(record([*solos(), round_of([session(0), evil])], label="=HYPERLINK(1)"))
    rows = list(csv.DictReader(StringIO(shown("csv", run))))
    assert {row["label"] for row in rows} == {"'=HYPERLINK(1)"}
    assert rows[-1]["why"].startswith("'=cmd")
    assert rows[-1]["cgroup"] == "'@evil"
    assert "[red]x[/red]" in shown("table", run)
    assert "\\|" in shown("markdown", run)
    assert "<img>" not in shown("markdown", run)
    assert all("\x1b" not in shown(form, run) for form in ("table", "csv", "markdown"))


def test_a_ticket_mentions_nobody_and_links_nothing() -> None:
    """Text from outside that GitHub would turn into a mention, a reference or a link, each cut by a comment."""
    label = "@octocat of #12: www.evil.example, http://evil.example, mailto:a@evil.example"
    text = shown("markdown", of_run(record([*solos(), round_of([session(0), session(1)])], label=label)))
    assert "@<!-- -->octocat of \\#<!-- -->12: www<!-- -->.evil.example, http:<!-- -->//evil.example" in text
    assert "mailto:<!-- -->a@<!-- -->evil" in text


def test_the_table_fits_its_width() -> None:
    assert max(len(line) for line in shown("table", document_of("nine_on_eight")).splitlines()) <= 120


def test_pictures_are_the_same_bytes_every_time() -> None:
    found = document_of("three_on_two").charts
    first, second = (charts.drawn(found, charts.FORMS, with_empty=True) for _ in range(2))
    for form in charts.FORMS:
        assert first[form] == second[form], form
        assert set(first[form]) == PICTURES


def test_the_legend_names_only_causes_that_occur() -> None:
    texts = drawn_texts(pictures_of("three_on_two")["slowdown"].decode())
    assert {cause for cause in Cause if cause.words in texts} == {Cause.NONE, Cause.RUN_QUEUE}


def test_few_sessions_are_named_in_the_picture_and_many_are_not() -> None:
    def texts(sessions: int) -> list[str]:
        run = of_run(record([*solos(), round_of([session(i, cpu=i % 2) for i in range(sessions)])]))
        wanted = [chart for chart in run.charts if chart.name == "sessions"]
        return drawn_texts(charts.drawn(wanted, ["svg"])["svg"]["sessions"].decode())

    assert f"session {LABELLED_SESSIONS - 1}" in texts(LABELLED_SESSIONS)
    assert not any(text.startswith("session ") for text in texts(LABELLED_SESSIONS + 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "run",
    [
        record([], status="failed"),
        record([round_of([session(0), session(1, 2.7)])]),
        record([*solos(), round_of([unsampled(session(0, 3.0)), unsampled(session(1))], not_sampled="remote")]),
        replace(three_on_two(), header=replace(three_on_two().header, host=None, label="数据库 $x$ 😀")),
    ],
    ids=["empty", "no solo", "not sampled", "no host, odd letters"],
)
def test_every_form_shows_every_kind_of_run(form: str, run: RunRecord) -> None:
    assert load_format(form).render(of_run(run))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_on_a_narrow_terminal_no_figure_is_cut_and_each_part_names_its_level(width: int) -> None:
    """Columns that do not fit stand in a second table, with N again."""
    analysis = explain(three_on_two())
    levels = Section("levels", "Levels", tables=(levels_table(analysis),))
    content = replace(document_of("three_on_two"), facts=(), sections=(levels,), findings=(), notes=(), verdict=())
    out = StringIO()
    show(content, Console(file=out, width=width, no_color=True, force_terminal=False, legacy_windows=False))
    shown_lines = out.getvalue().splitlines()
    assert max(map(len, shown_lines)) <= width
    parts = [line.split() for line in shown_lines if line.split()[:1] == ["N"]]
    assert [part[0] for part in parts] == ["N"] * len(parts)
    assert (len(parts) > 1) is (width <= 100)
    words = {word for line in shown_lines for word in line.split()}
    for view in analysis.levels:
        for figure in (view.slowdown_median, view.slowdown_max, view.max_over_min):
            assert figure is None or number(figure) in words


def test_markdown_aligns_figures_to_the_right_and_words_to_the_left() -> None:
    lines = shown("markdown", document_of("three_on_two")).splitlines()
    headings = next(at for at, line in enumerate(lines) if line.startswith("| N |"))
    sides = dict(zip(lines[headings].split(" | "), lines[headings + 1].split(" | "), strict=True))
    assert (sides["slowdown"], sides["equal, full"]) == ("---:", "---")

"""The page is self-contained, escapes everything, and shows the numbers of every other form."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.causes.time_parts import time_parts
from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.formatting import joined, seconds, times
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.charts.style import NARROW
from dbcpu.reports.document import Chart
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import measured_lines, summary
from dbcpu.reports.documents.run_tables import levels_table
from dbcpu.reports.formats import html
from dbcpu.reports.formats.html import inline
from dbcpu.simulator import preset, simulate
from support.builders.example import three_on_two
from support.builders.record import host as build_host
from support.builders.record import record, round_of, session, solos, unsampled
from support.example_pages import RUNS, analysis_of, document_of, page_of
from support.page_reader import narrow_widths, read_page, without_pictures

SECTIONS = tuple(name for name in charts.RUN_PICTURES if name not in ("soak", "sizes", "pool", "together", "variants"))
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&--><svg onload=alert(1)>"


every_run = pytest.mark.parametrize("name", RUNS)


@pytest.mark.slow
@every_run
def test_the_page_loads_nothing_and_runs_its_own_script_alone(name: str) -> None:
    page = read_page(page_of(name))
    assert not page.tags & {"iframe", "object", "embed", "base", "form"}
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert not re.search(r"@import|@font-face|url\((?!#)", page_of(name))
    (script,) = re.findall(r"<script>(.*?)</script>", page_of(name), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src" in page_of(name)


@every_run
def test_identifiers_are_unique_and_every_reference_leads_to_one(name: str) -> None:
    page = read_page(page_of(name))
    assert [each for each, times_ in Counter(page.ids).items() if times_ > 1] == []
    wanted = {link[1:] for link in page.links if link.startswith("#")}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", page_of(name)))
    assert len(wanted) > 30
    assert wanted <= set(page.ids)


def test_a_slowed_session_leads_to_its_lane_and_back() -> None:
    page = page_of("nine_on_eight")
    link = r'<a class="wide" href="#lanes-wide-(lane-[\w-]+)">(\d+)</a>'
    phone = r'<a class="narrow" href="#lanes-narrow-(lane-[\w-]+)" aria-label="(\d+)"></a>'
    rows = re.findall(rf'<tr id="row-(lane-[\w-]+)"><th scope="row">{link}{phone}</th>', page)
    assert len(rows) == 2
    for lane, wide, session_, narrow, named in rows:
        assert (wide, narrow, named) == (lane, lane, session_)
        for width in ("wide", "narrow"):
            place = f'<g id="lanes-{width}-{lane}"><a href="#row-{lane}">'
            assert re.search(rf"{place}[^/]*>session {session_}</text>", page)


def test_nothing_leads_to_a_lane_that_one_of_the_pictures_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = charts.drawn

    def without(given: Iterable[Chart], *more: Any, **named: Any) -> dict[str, dict[str, bytes]]:
        lanes = [chart for chart in given if chart.name == "lanes"]
        found = {form: dict(pictures) for form, pictures in drawn(lanes, *more, **named).items()}
        if named.get("for_phone"):
            found["svg"]["lanes"] = found["svg"]["lanes"].replace(b'id="lane-', b'id="other-')
        return found

    monkeypatch.setattr(charts, "drawn", without)
    page = html.render(document_of("nine_on_eight"))
    assert "row-lane-" not in page
    assert "-other-" in page
    assert "#lanes-wide-lane-" not in page


def test_a_simulated_run_says_so_in_title_heading_and_headline() -> None:
    made = simulate(preset("c4.4xlarge"), (1, 2), repeats=1, size="short", label="new box")
    front = document(made, explain(made)).front
    assert (front.heading, front.headline.endswith(" (simulated)")) == ("new box (simulated)", True)
    assert document(made, explain(made)).title == "CPU consistency: new box (simulated)"
    measured = document(three_on_two(), explain(three_on_two()))
    assert "simulated" not in measured.title + measured.front.headline


@every_run
def test_every_picture_is_there_for_both_widths_with_a_table_beside_it(name: str) -> None:
    for section in SECTIONS:
        part = page_of(name).split(f'<section id="{section}">')[1].split("</section>")[0]
        assert part.count("<svg ") == part.count('role="img" aria-label="') == 2, section
        assert "<summary>The numbers as a table</summary>" in part, section
        assert page_of(name).count(f' id="{section}-numbers"') == part.count(f'<div id="{section}-numbers">') == 1
        assert part.count("<tr>") > 1, section


@every_run
def test_the_page_shows_the_words_and_numbers_of_the_analysis(name: str) -> None:
    run, page = RUNS[name], read_page(page_of(name))
    analysis = analysis_of(name)
    assert page.holds(analysis.verdict)
    for text in [text for _, text in (*measured_lines(run, analysis), *summary(run, analysis))] + [
        joined(each.seen, each.meaning) for each in analysis.findings
    ]:
        assert " ".join(text.replace("`", "").split()) in page.text
    assert "see `docs" not in page.text
    rows = [list(row) for row in levels_table(analysis).texts()]
    assert page.tables["Medians over rounds, by concurrency (N)"][1:] == rows
    bars = page.tables["Where the time of each session went"]
    for part, row in zip(time_parts(run, analysis), bars[1:], strict=True):
        assert row[:3] == [str(part.view.ordinal), seconds(part.view.elapsed_s), times(part.view.slowdown)]
    connect = page.tables["Time to connect"]
    assert [row[1:] for row in connect[1:]] == [
        [seconds(each.connect_median_s), seconds(each.connect_max_s)] for each in analysis.levels
    ]


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the words are looked at, drawing would be most of the time."""
    monkeypatch.setattr(charts, "drawn", lambda *_, **__: {"svg": {}})


@pytest.mark.usefixtures("no_pictures")
def test_text_from_outside_stays_text() -> None:
    run = record(
        [*solos(), round_of([session(0), replace(session(1, answer_ok=None, error=EVIL), cgroup=EVIL)])], label=EVIL
    )
    host = run.header.host
    assert host is not None
    odd_host = replace(host, hostname=EVIL, cpu_model=EVIL, kernel="\x1b[2J", facts={EVIL: EVIL})
    workload = replace(run.header.plan.workload, sql=EVIL, plan_shape=EVIL)
    plan = replace(run.header.plan, target=EVIL, workload=workload)
    database = replace(run.header.database, version=EVIL, parameters={EVIL: EVIL})
    run = replace(run, header=replace(run.header, host=odd_host, plan=plan, database=database, notes=(EVIL,)))
    page = html.render(document(run, explain(run)))
    read = read_page(page)
    assert not read.tags & {"img"}
    assert page.count("<script") == 1
    assert "onload=alert" not in re.sub(r"&lt;.*?&gt;", "", page)
    assert "\x1b" not in page
    assert EVIL in read.text


def without_host(run: RunRecord) -> RunRecord:
    return replace(run, header=replace(run.header, host=None))


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (record([], status="failed"), "No round can be shown."),
        (
            record([round_of([session(0), session(1, 2.7)])]),
            "No valid session of this run can be compared with the single-session time.",
        ),
        (
            record([*solos(), round_of([unsampled(session(0, 3.0)), unsampled(session(1))], not_sampled="no root")]),
            "2 sessions not sampled: no root.",
        ),
        (
            without_host(three_on_two()),
            "The host was not sampled.",
        ),
        (
            without_host(record([round_of([unsampled(session(0))], not_sampled="requested by --host none")] * 3)),
            "The host was not sampled: requested by --host none.",
        ),
    ],
    ids=["empty", "no solo", "not sampled", "no host", "not wanted"],
)
def test_a_page_without_a_picture_says_why(run: RunRecord, reason: str) -> None:
    assert reason in read_page(html.render(document(run, explain(run)))).text


@every_run
def test_the_first_screen_answers(name: str) -> None:
    found = headline(analysis_of(name))
    header = squeezed(read_page(page_of(name).split("<header>")[1].split("</header>")[0]).text)
    told = (found.headline, analysis_of(name).verdict, f"What helps: {found.remedy}.")
    places = [header.index(squeezed(text)) for text in told]
    assert places == sorted(places)
    for fact in found.facts:
        assert squeezed(f"{fact.name}{fact.value}{fact.beside}") in header


def squeezed(text: str) -> str:
    return re.sub(r"[\s`]", "", text)


@every_run
def test_headings_go_down_one_step_at_a_time(name: str) -> None:
    steps = [int(each) for each in re.findall(r"<h(\d)[ >]", without_pictures(page_of(name)))]
    assert steps[0] == 1
    assert steps.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(steps))


def test_words_between_backticks_are_code_and_escaped() -> None:
    assert html.with_code("`a <b> &` and ``") == "<code>a &lt;b&gt; &amp;</code> and ``"
    assert html.with_code("<i>`<u>") == "&lt;i&gt;`&lt;u&gt;"


@pytest.mark.slow
def test_256_levels_up_to_512_sessions_make_a_page_that_can_be_mailed() -> None:
    """Fewer sessions are kept of most levels: what fills the page are levels, the last round and single dots."""
    levels = [*range(2, 511, 2), 512]
    crowds = [[session(i, 1.8, cpu=i % 64) for i in range(512 if each == 512 else min(each, 12))] for each in levels]
    rounds = [round_of(crowd, level=level) for level, crowd in zip(levels, crowds, strict=True)]
    run = record([*solos(), *rounds], build_host(64), vcpus=64)
    page = html.render(document(run, explain(run)))
    assert len(page.encode("utf-8")) < 10_000_000
    assert len(read_page(page).tables["Slowdown relative to the single-session time"]) == 258


@pytest.mark.slow
def test_the_same_run_gives_the_same_page() -> None:
    assert html.render(document(three_on_two(), explain(three_on_two()))) == page_of("three_on_two")


def test_narrow_pictures_are_no_wider_than_a_phone_shows() -> None:
    widths = narrow_widths(page_of("nine_on_eight"))
    assert set(widths) == set(SECTIONS)
    assert max(widths.values()) <= NARROW * 72


def test_an_inlined_picture_has_only_its_own_identifiers() -> None:
    svg = (
        '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "http://www.w3.org/x.dtd">\n'
        '<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt" viewBox="0 0 72 36">\n'
        "<metadata>m</metadata>\n"
        '<!-- a word --><g id="a" clip-path="url(#b)"><use xlink:href="#c"/></g></svg>\n'
    )
    assert inline(svg, "one", 'say "this"') == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 36" role="img" aria-label="say &#34;this&#34;" '
        'style="width:115px"><g id="one-a" clip-path="url(#one-b)"><use xlink:href="#one-c"/></g></svg>'
    )


def test_pictures_can_be_left_out_of_a_page() -> None:
    assert len(without_pictures(page_of("three_on_two"))) < 60_000

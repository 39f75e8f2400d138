"""A run of several variants shows them beside each other, on the same axes, with the same numbers in every form."""

import json
from collections.abc import Iterator
from csv import DictReader
from functools import cache
from io import StringIO
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from msgspec.structs import replace

from dbcpu.analysis.comparison.variant_sentences import variant_ratios, variant_sentences, variants_headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.levels.variant_rounds import one_variant
from dbcpu.analysis.results.comparison import LASTING_THROUGHPUT, LESS
from dbcpu.analysis.results.run import Analysis
from dbcpu.errors import UsageError
from dbcpu.formatting import count, number, percent
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.charts.style import STYLE, drawn_narrow
from dbcpu.reports.document import Document, Panel, Panels
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import summary
from dbcpu.reports.formats import csv, html, markdown, table
from dbcpu.reports.formats import json as json_form
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.store.record_file import write_record
from dbcpu.workflows import compare
from support.builders.comparison import noisy_run, with_variants
from support.builders.example import two_settings
from support.page_reader import read_page

NAMES = ["baseline", "smt_off"]


@pytest.fixture(autouse=True)
def chart_style() -> Iterator[None]:
    with mpl.rc_context(STYLE):
        yield


@cache
def explained() -> tuple[RunRecord, Analysis]:
    run = two_settings()
    return run, explain(run)


def drawn(name: str) -> Figure:
    figure = charts.run_picture(name, *explained())
    assert figure is not None
    return figure


@pytest.mark.parametrize("name", ["slowdown", "throughput", "connect", "sessions", "cpu_map", "lanes"])
def test_each_variant_has_a_panel_on_the_same_axes(name: str) -> None:
    panels = drawn(name).axes
    assert [each.get_title("left") for each in panels] == NAMES
    assert panels[0].get_xlim() == panels[1].get_xlim()
    if name in ("slowdown", "throughput", "connect"):
        assert panels[0].get_ylim() == panels[1].get_ylim()


def test_panels_stand_beside_each_other_and_on_a_phone_below() -> None:
    def places() -> list[tuple[float, float]]:
        figure = drawn("slowdown")
        figure.draw_without_rendering()
        return [(each.get_position().x0, each.get_position().y0) for each in figure.axes]

    wide = places()
    assert wide[0][0] < wide[1][0]
    assert wide[0][1] == pytest.approx(wide[1][1])
    with drawn_narrow():
        phone = places()
    assert phone[0][0] == pytest.approx(phone[1][0])
    assert phone[0][1] > phone[1][1]


def test_crowded_panels_are_counted_on_grids_of_the_same_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbcpu.reports.charts.run.slowdown.MAX_POINTS", 10)
    panels = drawn("slowdown").axes
    assert [len(each.images) for each in panels] == [1, 1]
    assert panels[0].get_ylim() == panels[1].get_ylim()


def test_every_variant_is_drawn_at_the_level_of_the_most_telling_round() -> None:
    run, analysis = explained()
    told = representative_rounds(analysis)
    assert [each.variant for each in told] == NAMES
    assert {each.level for each in told} == {9}
    assert told[0].order == analysis.telling_order
    assert [run.rounds[each.order].variant for each in told] == NAMES


def test_cpus_that_a_variant_switched_off_are_not_shown_as_free() -> None:
    on, off = drawn("cpu_map").axes
    assert [len(each.get_yticks()) for each in (on, off)] == [16, 8]


def test_bars_are_normalised_to_the_first_variant() -> None:
    (axes,) = drawn("variants").axes
    assert [each.get_text() for each in axes.get_xticklabels()] == NAMES
    first = [bar for bar in axes.patches if bar.get_x() < 0.5]  # type: ignore[attr-defined]
    assert {round(float(bar.get_y() + bar.get_height()), 2) for bar in first} == {1.0}  # type: ignore[attr-defined]
    found = explained()[1].variants
    assert found is not None
    for one in found.variants[1].decisions:
        assert f"{one.ratio:.2f}" in {text.get_text() for text in axes.texts}


def test_headline_and_bars_name_the_level_of_each_ratio() -> None:
    """0.75x was said of N=16 without a level, above a picture of N=9 in which it was 0.99."""
    found = explained()[1].variants
    assert found is not None
    first, under = found.variants
    shown = tuple(replace(one, outcome=LESS) for one in under.decisions)
    said = variants_headline(replace(found, variants=(first, replace(under, decisions=shown))))
    named = [name for name, _ in variant_ratios(found)]
    for one, word in zip(shown, ("throughput", "max/min"), strict=True):
        assert f"{word} at {one.levels}" in named
        assert f"{word} {one.ratio:.2f}x at {one.levels}" in said


def test_each_panel_has_the_limits_of_its_variant() -> None:
    on, off = drawn("slowdown").axes
    said = [{text.get_text().strip() for text in axes.texts} for axes in (on, off)]
    assert "8 cores" in said[0]
    assert "8 vCPUs" in said[1]
    assert "8 cores" not in said[1]


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the words are looked at, drawing would be most of the time."""
    blank = b'<svg width="72pt" height="36pt" viewBox="0 0 72 36"></svg>'
    monkeypatch.setattr(charts, "drawn", lambda shown, forms, **_: {"svg": {each.name: blank for each in shown}})


@pytest.mark.usefixtures("no_pictures")
def test_a_run_of_one_variant_says_nothing_of_variants() -> None:
    run = one_variant(two_settings(), "baseline")
    analysis = explain(run)
    assert analysis.variants is None
    assert charts.run_picture("variants", run, analysis) is None
    assert 'id="variants"' not in html.render(document(run, analysis))


def test_a_second_variant_without_a_valid_round_is_no_comparison() -> None:
    run = two_settings()
    broken = tuple(r if r.variant == "baseline" else replace(r, error="17 of 32 connected") for r in run.rounds)
    analysis = explain(replace(run, rounds=broken))
    assert analysis.variants is None
    lost = (
        "Under smt_off N=1,8-9,16 have no whole round: each failed, or a session of it failed or gave a wrong answer."
    )
    assert analysis.verdict == f"{explained()[1].verdict} {lost}"


@pytest.mark.usefixtures("no_pictures")
def test_all_forms_show_all_variants_and_agree() -> None:
    run, analysis = explained()
    page = read_page(html.render(document(run, analysis)))
    data = json.loads(json_form.render(document(run, analysis)))
    assert analysis.variants is not None
    assert f"Throughput is {LASTING_THROUGHPUT}" in page.text
    (sentence,) = variant_sentences(analysis.variants)
    assert sentence in page.text
    assert sentence in " ".join(table.render(document(run, analysis)).split())
    assert "smt\\_off against baseline" in markdown.render(document(run, analysis))
    (found,) = (row for row in data["variants"]["variants"][1]["rows"] if row["level"] == 9)
    rows = page.tables["The same sessions under each variant"]
    (shown,) = (row for row in rows if row[:2] == ["9", "smt_off"])
    assert shown[2:7] == [
        number(found["median_s"], 3), percent(found["cv"]), number(found["max_over_min"]), count(found["slow"]),
        number(found["throughput"], 1),
    ]  # fmt: skip
    for caption in (
        "Slowdown relative to the single-session time",
        "Mrows/s of all sessions together",
        "Where the time of each session went",
        "Use of each core, in shares of the round",
        "Where each session ran, in shares of its own run",
        "Time to connect",
    ):
        assert page.tables[caption][0][0] == "variant"
        assert [row[0] for row in page.tables[caption][1:]] == sorted(row[0] for row in page.tables[caption][1:])
        assert {row[0] for row in page.tables[caption][1:]} == set(NAMES)
    assert {row["variant"] for row in DictReader(StringIO(csv.render(document(run, analysis))))} == set(NAMES)


def panels_of(shown: Document) -> tuple[Panel, ...]:
    (found,) = (chart.data for chart in shown.charts if isinstance(chart.data, Panels))
    return found.panels


def test_compare_takes_a_run_of_several_variants_as_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "both.json.gz"
    write_record(str(file), with_variants(noisy_run(1), noisy_run(2, speed=0.8), "spread"))
    shown = compare.comparison_document([str(file)])
    assert [each.title.split(" (")[0] for each in panels_of(shown)] == ["baseline", "spread"]
    several = compare.comparison_document([f"all={file}", f"new={file}:spread"])
    assert [each.title.split(" (")[0] for each in panels_of(several)] == ["all baseline", "all spread", "new"]
    named = compare.comparison_document([f"old={file}:baseline", f"new={file}:spread"])
    assert [each.title.split(" (")[0] for each in panels_of(named)] == ["old", "new"]
    assert "new against old: throughput at N=4 is 20 % lower" in named.verdict[0]


def test_options_of_sides_are_used_for_the_variants_of_one_run(tmp_path: Path) -> None:
    file = tmp_path / "both.json.gz"
    write_record(str(file), with_variants(noisy_run(1), noisy_run(2, speed=0.8), "spread"))
    ranked = compare.comparison_document([str(file)], options=compare.ComparisonOptions(licences=("oracle-cloud-ee",)))
    columns = [each for part in ranked.sections for table in part.tables for each in table.columns]
    assert any("licence" in each.heading for each in columns)
    with pytest.raises(UsageError, match="no licence rule is called 'none'"):
        compare.comparison_document([str(file)], options=compare.ComparisonOptions(licences=("none",)))


def test_a_variant_that_was_left_out_is_named_wherever_the_run_is_shown() -> None:
    run = two_settings()
    left_out = "variant one_per_core is left out: no core has two CPUs that may be used"
    noted = replace(run, header=replace(run.header, notes=("smt: 2 threads", left_out)))
    shown = table.render(document(noted, explain(noted)))
    assert "one_per_core is left out: no core has two" in shown
    compared = table.render(compare.variants_document(noted, explain(noted)))
    assert "Variant one_per_core is left out: no core has two CPUs that may be used." in " ".join(compared.split())
    assert "left out" not in table.render(compare.variants_document(run, explain(run)))


def test_the_page_says_the_sentences_of_variants_in_its_box_alone() -> None:
    run = two_settings()
    found = explain(run)
    assert found.variants is not None
    made, sentences = document(run, found), variant_sentences(found.variants)
    assert made.front is not None and set(sentences) <= set(made.front.sentences)
    for sections, times_said in ((made.page, 0), (made.sections, 1)):
        lines = [text for part in sections for facts in part.facts for _, text in facts.pairs]
        assert [lines.count(each) for each in sentences] == [times_said] * len(sentences)


def test_what_is_said_of_the_first_variant_alone_has_its_name() -> None:
    run = simulate(SimulatedHost(cores=4, threads=2), (1, 4, 8), repeats=3, variants=("baseline", "smt_off"))
    found = explain(run)
    lines = summary(run, found)
    assert document(run, found).verdict[-1].startswith("baseline: ")
    assert dict(lines)["capacity"].startswith("baseline: ")
    alone = one_variant(run, "baseline")
    assert "baseline: " not in dict(summary(alone, explain(alone)))["capacity"]

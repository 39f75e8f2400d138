"""Every format shows every kind of document, and every page loads nothing, runs nothing and answers first."""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from io import StringIO
from itertools import pairwise

import pytest

from dbcpu.errors import UsageError
from dbcpu.reports import charts
from dbcpu.reports.charts.style import NARROW
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import load_format
from support.documents import KINDS, document_of, of_comparison, of_history, of_published, of_variants, page_of
from support.forms import FORMS
from support.page_reader import narrow_widths, read_page, without_pictures

pytestmark = pytest.mark.slow

EVIL = "<script>alert(1)</script><img src=x>\"'&--><svg onload=alert(1)>"
# The scope makes tests of one kind neighbours: they mostly run in one worker, which makes and draws that kind alone.
every_kind = pytest.mark.parametrize("kind", KINDS, scope="module")


def says_all_in_words(kind: str, shown: str) -> None:
    """What is for people to read has every sentence of the answer, and every row of the tables."""
    document, words = document_of(kind), "".join(shown.replace("\\", "").split())
    for sentence in document.verdict:
        assert "".join(sentence.split()) in words
    for section in document.sections:
        for table in section.tables:
            assert all("".join(row[0].split()) in words for row in table.texts())


def has_its_data(kind: str, shown: str) -> None:
    data, verdict = json.loads(shown), document_of(kind).verdict
    assert data["schema"] == 1
    assert data["verdict"] == (verdict[0] if kind == "run" else list(verdict))


def has_its_records(kind: str, shown: str) -> None:
    assert len(list(csv.reader(StringIO(shown)))) == len(document_of(kind).records().rows) + 1 > 1


def answers_on_its_page(kind: str, shown: str) -> None:
    front, page = document_of(kind).front, read_page(shown).text.replace("`", "")
    assert all(sentence.replace("`", "") in page for sentence in (front.headline, *front.sentences))


def has_samples(kind: str, shown: str) -> None:
    first = {"run": "dbcpu_run_info{", "comparison": 'dbcpu_comparison_ratio{baseline="old box",side="cloud",'}
    assert first.get(kind, "dbcpu_comparison_ratio{") in shown
    assert shown.endswith("# EOF\n")


SHOWS: dict[str, Callable[[str, str], None]] = {
    "csv": has_its_records,
    "html": answers_on_its_page,
    "json": has_its_data,
    "metrics": has_samples,
}
"""What a format shows that is not a text with all sentences and tables; any other has to be one."""
REFUSED = {"metrics": {"history", "overview", "variants", "published", "cpu_counts", "runs"}}
"""Kinds of documents that a format is not for."""


@every_kind
@pytest.mark.parametrize("form", FORMS)
def test_every_format_shows_every_kind_of_document(kind: str, form: str) -> None:
    if kind in REFUSED.get(form, ()):
        with pytest.raises(UsageError, match=f"a {document_of(kind).name} is not shown as {form}"):
            load_format(form).render(document_of(kind))
    else:
        shown = page_of(kind) if form == "html" else str(load_format(form).render(document_of(kind)))
        SHOWS.get(form, says_all_in_words)(kind, shown)


@every_kind
def test_a_page_loads_nothing_and_runs_its_own_script_alone(kind: str) -> None:
    page = read_page(page_of(kind))
    assert not page.tags & {"iframe", "object", "embed", "base", "form"}
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert not re.search(r"@import|@font-face|url\((?!#)", page_of(kind))
    assert "default-src 'none'; script-src 'sha256-" in page_of(kind)
    assert page_of(kind).count("<script") == 1


@every_kind
def test_identifiers_are_unique_and_every_reference_leads_to_one(kind: str) -> None:
    page = read_page(page_of(kind))
    assert [name for name, often in Counter(page.ids).items() if often > 1] == []
    wanted = {link[1:] for link in page.links if link.startswith("#")}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", page_of(kind)))
    assert wanted <= set(page.ids)


@every_kind
def test_the_first_screen_answers_and_says_what_it_rests_on(kind: str) -> None:
    front = document_of(kind).front
    header = read_page(page_of(kind).split("<header>")[1].split("</header>")[0]).text.replace("`", "")
    said = [front.headline, *(front.sentences or document_of(kind).verdict), *front.caveats]
    assert front.headline
    places = [header.index(text.replace("`", "")) for text in said]
    assert places == sorted(places)
    assert all(f"{tile.name} {tile.value} {tile.beside}" in header for tile in front.tiles)


@every_kind
def test_headings_go_down_one_step_at_a_time(kind: str) -> None:
    steps = [int(level) for level in re.findall(r"<h(\d)[ >]", without_pictures(page_of(kind)))]
    assert steps[0] == 1
    assert steps.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(steps))


@every_kind
def test_every_picture_is_there_for_both_widths_with_a_name_and_its_numbers(kind: str) -> None:
    for section in document_of(kind).page:
        if section.charts:
            part = page_of(kind).split(f'<section id="{section.name}">')[1].split("</section>")[0]
            assert part.count("<svg ") == part.count('role="img" aria-label="') == 2, section.name
    if kind != "published":
        assert page_of(kind).count("<figure>") == len(document_of(kind).charts)


@every_kind
def test_narrow_pictures_are_no_wider_than_a_phone_shows(kind: str) -> None:
    widths = narrow_widths(page_of(kind))
    assert set(widths) == {chart.name for chart in document_of(kind).charts}
    assert widths or kind == "runs", "an index has a table and no picture"
    assert max(widths.values(), default=0.0) <= NARROW * 72


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the words are looked at, drawing would be most of the time."""
    monkeypatch.setattr(charts, "drawn", lambda *_, **__: {"svg": {}})


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("make", [of_comparison, of_history, of_variants, of_published], ids=lambda make: make.__name__)
def test_text_from_outside_stays_text(make: Callable[[str], Document]) -> None:
    page = str(load_format("html").render(make(EVIL + "\x1b")))
    read = read_page(page)
    assert not read.tags & {"img", "svg"}
    assert page.count("<script") == 1
    assert "\x1b" not in page
    assert EVIL in read.text


def test_a_sizing_page_answers_in_its_headline_and_shows_licences_as_no_advice() -> None:
    front = document_of("sizing").front
    assert front.headline == "4 busy cores of old box need 8 vCPUs of cloud or 4 vCPUs of cloud, SMT off"
    assert [(tile.name, tile.value) for tile in front.tiles] == [("cloud", "8 vCPUs"), ("cloud, SMT off", "4 vCPUs")]
    (limits,) = (section.notes for section in document_of("sizing").page if section.name == "limits")
    assert any("storage, network and memory" in note for note in limits)
    assert any("Too small to be detected" in note for note in limits)
    assert len((*front.sentences, *front.caveats)) <= 5, "the answer is short: the rest stands below"


def test_a_history_page_says_since_when_it_is_slower() -> None:
    front = document_of("history").front
    assert front.headline.startswith("Slower since 2026-10-09: Mrows/s of one session went from ")
    assert front.tone == "bad"
    assert of_history(runs=3).front.headline == "3 runs: too few to show a lasting change"

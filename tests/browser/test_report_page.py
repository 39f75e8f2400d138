"""The report as a browser shows it: silent, complete, within the screen, readable in light, dark and on paper."""

import re
from pathlib import Path

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats import html
from dbcpu.simulator import preset, simulate
from plugins.browser import Browser
from support.builders.example import two_settings
from support.example_pages import page_of

DESKTOP, PHONE = 1280, 390
PHONE_HEIGHT = 844
MAX_BYTES = 10_000_000
CONTRAST = 4.5
"""The least contrast of text that WCAG 2.2 asks for (success criterion 1.4.3)."""


def many_sessions() -> RunRecord:
    return simulate(preset("2x20x2"), (1, 40, 80, 512), repeats=1, seed=1, size="short")


def rendered(run: RunRecord) -> str:
    return html.render(document(run, explain(run)))


PAGES = {
    "three_on_two": lambda: page_of("three_on_two"),
    "nine_on_eight": lambda: page_of("nine_on_eight"),
    "two_settings": lambda: rendered(two_settings()),
    "many": lambda: rendered(many_sessions()),
}


@pytest.fixture(scope="module", params=PAGES)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report."""
    file = tmp_path_factory.mktemp(request.param) / "report.html"
    file.write_text(PAGES[request.param](), "utf-8")
    return file.as_uri()


def local_file(address: str) -> Path:
    return Path(address.removeprefix("file://"))


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_nothing_is_requested_nothing_is_complained_of_and_nothing_leaves_the_screen(
    browser: Browser, report: str, width: int
) -> None:
    seen = browser.show(report, width)
    assert [each for each in seen.requests if not each.startswith("data:")] == [report]
    assert seen.console == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert local_file(report).stat().st_size < MAX_BYTES


def test_the_answer_and_what_helps_are_on_the_first_screen_of_a_phone(browser: Browser, report: str) -> None:
    browser.show(report, PHONE)
    bottom = browser.evaluate("document.querySelector('.answer').getBoundingClientRect().bottom")
    assert bottom < PHONE_HEIGHT
    assert browser.evaluate("document.querySelector('.headline').checkVisibility()") is True


def test_every_picture_has_a_name_and_a_table(browser: Browser, report: str) -> None:
    browser.show(report, DESKTOP)
    named = browser.evaluate("[...document.querySelectorAll('svg')].map(s => [s.role, s.ariaLabel])")
    assert named
    assert all(role == "img" and label for role, label in named)
    tables = browser.evaluate(
        "[...document.querySelectorAll('figure')].map(f => !!f.parentNode.querySelector('table'))"
    )
    assert all(tables)


def test_requests_and_complaints_of_another_page_are_noticed(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "loud.html"
    file.write_text("<body><img src='other.png'><script>console.error('loud'); missing()</script>", "utf-8")
    seen = browser.show(file.as_uri())
    assert (tmp_path / "other.png").as_uri() in seen.requests
    assert "loud" in str(seen.console)
    assert "missing is not defined" in str(seen.console)


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_each_section_shows_one_picture_that_fits_its_card(browser: Browser, report: str, width: int) -> None:
    browser.show(report, width)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('svg')]"
        ".map(s => s.getBoundingClientRect()).filter(b => b.width).map(b => [b.left, b.right, b.height]))"
    )
    assert len(sizes) == 7 + ("two_settings" in report)
    for shown in sizes:
        assert len(shown) == 1
        left, right, height = shown[0]
        assert left >= 0
        assert right <= width
        assert height > 100


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(browser: Browser, report: str, dark: bool) -> None:
    browser.show(report, DESKTOP, dark)
    pairs = browser.evaluate(
        "[...document.querySelectorAll('p, dt, dd, b, span, code, h1, h2, h3, a, th, td, summary, figcaption')]"
        ".map(e => { let b = e;"
        " while (b && getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;"
        " return getComputedStyle(e).color + '|' + getComputedStyle(b || document.body).backgroundColor; })"
        ".filter((each, at, all) => all.indexOf(each) === at)"
    )
    assert pairs
    for pair in pairs:
        ink, paper = (brightness(colour) for colour in pair.split("|"))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= CONTRAST, pair
        assert (ink > paper) == dark, pair


def test_a_table_opens_without_a_script(browser: Browser, report: str) -> None:
    browser.show(report, DESKTOP)
    shown = "document.querySelector('#slowdown details table').checkVisibility()"
    assert browser.evaluate(shown) is False
    browser.evaluate("document.querySelector('#slowdown summary').click()")
    assert browser.evaluate(shown) is True


def test_an_address_may_lead_to_the_numbers_of_a_picture(browser: Browser, report: str) -> None:
    shown = "document.querySelector('#throughput details table').checkVisibility()"
    browser.show(report, DESKTOP)
    assert browser.evaluate(shown) is False
    browser.show(f"{report}#throughput-numbers", DESKTOP)
    assert browser.evaluate(shown) is True


COLUMN = "[...document.querySelectorAll('#levels tbody tr')].map(r => r.cells[{at}].textContent)"


def test_a_heading_sorts_its_table_by_what_its_cells_stand_for(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only the table is looked at, and drawing would be most of the work.
    monkeypatch.setattr(charts, "drawn", lambda *_, **__: {"svg": {}})
    run = simulate(preset("c4.4xlarge"), (1, 2, 9, 16, 100), repeats=2, seed=1, size="short")
    file = tmp_path / "report.html"
    file.write_text(rendered(run), "utf-8")
    browser.show(file.as_uri(), DESKTOP)
    assert browser.page.console == []
    heads = "[...document.querySelectorAll('#levels thead th')]"
    at = browser.evaluate(f"{heads}.findIndex(h => h.textContent === 'max/min')")
    column = COLUMN.format(at=at)
    before = browser.evaluate(column)
    assert before[0] == "-"
    for word, order in (("descending", reversed), ("ascending", list)):
        browser.evaluate(f"{heads}[{at}].querySelector('button').click()")
        assert browser.evaluate(f"{heads}[{at}].getAttribute('aria-sort')") == word
        found = browser.evaluate(column)
        known = [float(each) for each in found if each != "-"]
        assert known == list(order(sorted(known)))
        assert found[-1] == "-"
        assert sorted(found) == sorted(before)
    # 100 before 16: numbers are no words. Only the last heading says how the table is sorted.
    browser.evaluate(f"{heads}[0].querySelector('button').click()")
    assert browser.evaluate(COLUMN.format(at=0)) == ["100", "16", "9", "2", "1"]
    assert browser.evaluate(f"{heads}.filter(h => h.hasAttribute('aria-sort')).length") == 1


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_slowed_session_leads_to_its_lane_on_this_screen_and_back(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(page_of("nine_on_eight"), "utf-8")
    browser.show(file.as_uri(), width)
    shown = "[...document.querySelectorAll('tr[id^=row-lane] th a')].filter(a => a.checkVisibility())"
    assert browser.evaluate(f"{shown}.length") == 2
    assert browser.evaluate(f"{shown}[0].getBoundingClientRect().width") > 0
    browser.evaluate(f"{shown}[0].click()")
    top = browser.evaluate("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= top < 900
    browser.evaluate("document.querySelector(':target a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert browser.evaluate("document.querySelector(':target').tagName") == "TR"


def test_in_the_dark_pictures_are_dark_with_their_hues(browser: Browser, report: str) -> None:
    browser.show(report, DESKTOP, dark=True)
    card = "getComputedStyle(document.querySelector('.card'))"
    assert brightness(browser.evaluate(f"{card}.backgroundColor")) < 0.2
    drawn = browser.evaluate("getComputedStyle(document.querySelector('.card svg')).filter")
    assert drawn == "invert(0.9) hue-rotate(180deg)"


def test_it_prints_all_sections_in_ink_on_paper(browser: Browser, report: str) -> None:
    browser.show(report, PHONE, dark=True)
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert browser.evaluate("getComputedStyle(document.querySelector('.card svg')).filter") == "none"
        assert (
            browser.evaluate("[...document.querySelectorAll('details, nav')].some(e => e.checkVisibility())") is False
        )
        assert browser.evaluate("[...document.querySelectorAll('.wide')].every(e => e.checkVisibility())") is True
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it, of a computed colour."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_phone_has_the_causes_of_the_levels_on_its_screen_below_their_figures(browser: Browser, report: str) -> None:
    browser.show(report, PHONE)
    causes = browser.evaluate(
        "[...document.querySelectorAll('#levels tbody tr')].map(r => [r.cells[0], r.lastElementChild]"
        ".map(c => c.getBoundingClientRect())).filter(([n, c]) => c.width).map(([n, c]) => [n.bottom, c.top, c.right])"
    )
    assert causes or "nine_on_eight" not in report
    assert all(top > bottom - 1 and right <= PHONE for bottom, top, right in causes)

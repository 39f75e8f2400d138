"""The pages of a comparison, a sizing answer, histories and an index of runs as a browser shows them."""

from pathlib import Path

import pytest

from plugins.browser import Browser
from support.documents import page_of

DESKTOP, PHONE, PHONE_HEIGHT = 1280, 390, 844
PAGES = ("comparison", "sizing", "history", "overview", "variants", "published", "runs")


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page."""
    file: Path = tmp_path_factory.mktemp(request.param) / f"{request.param}.html"
    file.write_text(page_of(request.param), "utf-8")
    return file.as_uri()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_nothing_is_requested_nothing_is_complained_of_and_nothing_leaves_the_screen(
    browser: Browser, page: str, width: int
) -> None:
    seen = browser.show(page, width)
    assert [each for each in seen.requests if not each.startswith("data:")] == [page]
    assert seen.console == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_each_figure_shows_one_picture_that_fits(browser: Browser, page: str, width: int) -> None:
    browser.show(page, width)
    shown = browser.evaluate(
        "[...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('svg')]"
        ".map(s => s.getBoundingClientRect()).filter(b => b.width).map(b => [b.left, b.right, b.height]))"
    )
    assert shown or page.endswith("/runs.html"), "an index has a table and no picture"
    for pictures in shown:
        ((left, right, height),) = pictures
        assert left >= 0
        assert right <= width
        assert height > 100


def test_the_headline_is_on_the_first_screen_of_a_phone(browser: Browser, page: str) -> None:
    browser.show(page, PHONE)
    assert browser.evaluate("document.querySelector('.headline').getBoundingClientRect().bottom") < PHONE_HEIGHT / 2


def test_rows_of_text_are_cards_on_a_phone_and_nothing_of_them_is_off_screen(browser: Browser, page: str) -> None:
    browser.show(page, PHONE)
    edges = browser.evaluate(
        "[...document.querySelectorAll('.cards tbody tr')].map(r => [...r.cells]"
        ".map(c => c.getBoundingClientRect()).filter(b => b.width).map(b => b.right))"
    )
    assert edges or "comparison" not in page
    assert all(right <= PHONE for row in edges for right in row)


def test_a_phone_shows_all_columns_of_the_figures_beside_a_picture_of_ratios(browser: Browser, page: str) -> None:
    browser.show(page, PHONE)
    beyond = browser.evaluate("[...document.querySelectorAll('#bars .scroll')].map(s => s.scrollWidth - s.clientWidth)")
    assert beyond or "comparison" not in page
    assert all(each <= 0 for each in beyond)


def test_paper_has_the_name_of_a_run_in_one_line(browser: Browser, page: str) -> None:
    """It is copied by hand from there. A4 without its margins has 688 CSS pixels."""
    browser.show(page, 688)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        lines = browser.evaluate(
            "[...document.querySelectorAll('tbody .run-id')].map(e => { const text = document.createRange();"
            " text.selectNodeContents(e); return text.getClientRects().length; })"
        )
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    assert lines or not page.endswith(("/runs.html", "/comparison.html"))
    assert set(lines) <= {1}


def test_paper_repeats_the_head_of_a_table_and_leaves_no_row_alone(browser: Browser, page: str) -> None:
    browser.show(page, DESKTOP)
    browser.call("Emulation.setEmulatedMedia", media="print")
    style = "[...document.querySelectorAll('{}')].every(e => getComputedStyle(e).{} === '{}')"
    try:
        for each in (("thead", "display", "table-header-group"), ("thead", "breakAfter", "avoid"),
                     ("th button", "display", "contents"),
                     ("h2", "breakAfter", "avoid"), ("tbody tr", "breakInside", "avoid")):  # fmt: skip
            assert browser.evaluate(style.format(*each)) is True, each
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_it_prints_in_ink_on_paper(browser: Browser, page: str) -> None:
    browser.show(page, PHONE, dark=True)
    assert browser.pdf().startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.evaluate("[...document.querySelectorAll('.wide')].every(e => e.checkVisibility())") is True
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")

"""Text in pictures is text: it can be searched and copied, and has a font on every machine."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.reports import charts
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats import html
from support.builders.example import three_on_two


@pytest.fixture(scope="module")
def picture() -> str:
    record = three_on_two()
    return charts.drawn(document(record, explain(record)).charts, ("svg",))["svg"]["slowdown"].decode()


def test_words_are_elements_and_no_outlines(picture: str) -> None:
    words = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    assert {"concurrent sessions (N)", "slowdown", "1", "2", "3"} <= set(words)


def test_every_font_has_one_that_each_machine_has_behind_it(picture: str) -> None:
    fonts = set(re.findall(r"font(?:-family)?: [^;\"]*", "".join(re.findall(r"<text [^>]*>", picture))))
    assert [each for each in fonts if "DejaVu Sans" in each]
    assert all(each.endswith("sans-serif") for each in fonts if "family" in each)


def test_a_label_with_marks_of_the_page_is_text_in_it() -> None:
    record = three_on_two()
    hostile = '</svg><script>alert("x")</script>'
    header = record.header
    changed = replace(record, header=replace(header, label=hostile))
    page = html.render(document(changed, explain(changed)))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page

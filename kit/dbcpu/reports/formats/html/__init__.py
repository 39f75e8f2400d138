"""A document as one self-contained HTML file: the answer, pictures with their numbers as tables, everything else.

It asks the network for nothing, which its content security policy enforces, and has no script. Every text is escaped by
the template; pictures are inline SVG on a light card, so that they are read in dark mode and on paper.
"""

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import NO_PICTURES, Pictures
from dbcpu.reports.formats.html.inline import inline

SUFFIX = ".html"
BINARY = False
IN_FOLDER = True
MAX_ROWS = 20
"""Of a table with the worst first."""
_BACKTICKED = re.compile(r"`([^`]+)`")


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """The whole page; ``pictures`` are those drawn already, the others are drawn here."""
    return (
        _templates()
        .get_template("page.html")
        .render(document=document, front=document.front, pictures=_inlined(document, pictures), most=MAX_ROWS)
    )


def _inlined(document: Document, known: Pictures) -> dict[str, tuple[Markup, Markup]]:
    """For screen and phone, of the charts that have something to show."""
    from dbcpu.reports import charts

    shown = {chart.name: chart for chart in document.charts}
    narrow = charts.drawn(shown.values(), ("svg",), for_phone=True)["svg"]
    lacking = [chart for name, chart in shown.items() if name in narrow and name not in known]
    wide = {**known, **charts.drawn(lacking, ("svg",))["svg"]}
    return {
        name: (
            inline(wide[name].decode("utf-8"), f"{name}-wide", shown[name].title),
            inline(picture.decode("utf-8"), f"{name}-narrow", shown[name].title),
        )
        for name, picture in narrow.items()
    }


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )
    made.filters["code"] = with_code
    return made


def _printable(value: object) -> object:
    """Text from outside may carry terminal escapes; lines stay lines."""
    if type(value) is not str:
        return value
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value)


def with_code(text: str) -> Markup:
    """Words between backticks as ``code``; everything is escaped first."""
    return Markup(_BACKTICKED.sub(r"<code>\1</code>", str(escape(_printable(text)))))  # noqa: S704 - escaped

"""A document as one self-contained HTML file: the answer, pictures with their numbers as tables, everything else.

It asks the network for nothing, which its content security policy enforces. Its one script sorts tables, is allowed by
its hash alone, and nothing is lacking without it. Every text is escaped by the template; pictures are inline SVG on a
light card, so that they are read in dark mode and on paper. Each
has identifiers of its own on the page, and neither metadata nor comments.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dbcpu.formatting import joined
from dbcpu.reports.document import Document
from dbcpu.reports.formats.base import NO_PICTURES, Pictures

SUFFIX = ".html"
BINARY = False
IN_FOLDER = True
MAX_ROWS = 20
"""Of a table with the worst first."""
_TEMPLATES = Path(__file__).parent / "templates"
_PLACE = re.compile(r'(<g id="([\w-]+-(wide|narrow)-(lane-[\w-]+))">)(.*?)</g>', re.DOTALL)
_BACKTICKED = re.compile(r"`([^`]+)`")


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """The whole page; ``pictures`` are those drawn already, the others are drawn here."""
    script = (_TEMPLATES / "sorting.js").read_text("utf-8")
    shown, places = _linked(_inlined(document, pictures), _rows(document))
    return (
        _templates()
        .get_template("page.html")
        .render(
            document=document,
            front=document.front,
            pictures=shown,
            places=places,
            most=MAX_ROWS,
            script=Markup(script),  # noqa: S704 - a file of this package
            script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        )
    )


def _rows(document: Document) -> set[str]:
    """The places in pictures that rows of tables name."""
    tables = [table for section in document.page for table in section.tables]
    placed = [table for table in tables if any(column.place for column in table.columns)]
    return {place for table in placed for row in table.cells(MAX_ROWS) for _, _, place in row if place}


def _linked(
    pictures: dict[str, tuple[Markup, Markup]], rows: set[str]
) -> tuple[dict[str, tuple[Markup, Markup]], dict[str, dict[str, str]]]:
    """The pictures with links from places to their rows, and of each place its identifiers in both, by their width.

    A link needs both: only one of the pictures is shown, and nothing leads to what is hidden.
    """
    found: dict[str, dict[str, str]] = {}
    for picture in (one for both in pictures.values() for one in both):
        for _, identifier, width, place, _ in _PLACE.findall(picture):
            found.setdefault(place, {}).setdefault(width, identifier)
    places = {place: known for place, known in found.items() if place in rows and len(known) == 2}

    def linked(match: re.Match[str]) -> str:
        opening, _, _, place, inside = match.groups()
        return f'{opening}<a href="#row-{place}">{inside}</a></g>' if place in places else match[0]

    def shown(picture: Markup) -> Markup:
        return Markup(_PLACE.sub(linked, str(picture)))  # noqa: S704 - was markup before

    return {name: (shown(wide), shown(narrow)) for name, (wide, narrow) in pictures.items()}, places


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
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )
    made.filters["code"] = with_code
    made.globals["joined"] = joined
    return made


def _printable(value: object) -> object:
    """Text from outside may carry terminal escapes; lines stay lines."""
    if type(value) is not str:
        return value
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value)


def with_code(text: str) -> Markup:
    """Words between backticks as ``code``; everything is escaped first."""
    return Markup(_BACKTICKED.sub(r"<code>\1</code>", str(escape(_printable(text)))))  # noqa: S704 - escaped


SCALE = 1.6
"""CSS pixels per point: the letters of the picture are then as large as those of the page's tables."""
LONG = 0.85
"""Height over width from which a picture is a long one."""

_HEAD = re.compile(r"^.*?(?=<svg\b)", re.DOTALL)
_NOT_SHOWN = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_SIZE = re.compile(r'\s(?:width|height)="[\d.]+pt"')
_WIDTH = re.compile(r'\swidth="([\d.]+)pt"')
_HEIGHT = re.compile(r'\sheight="([\d.]+)pt"')
_NAMED = re.compile(r'(\bid="|href="#|url\(#)')


def inline(svg: str, prefix: str, label: str) -> Markup:
    """The ``svg`` element as markup; every identifier begins with ``prefix``, readers hear ``label``."""
    element = _NOT_SHOWN.sub("", _HEAD.sub("", svg))
    opening, rest = element.split(">", 1)
    width = _WIDTH.search(opening)
    points = float(width[1]) if width else 500.0
    height = _HEIGHT.search(opening)
    # On paper a picture gets half a page, unless it is a long one.
    long = ' class="long"' if height and float(height[1]) > LONG * points else ""
    opening = _SIZE.sub("", opening) + long
    body = _NAMED.sub(rf"\g<1>{prefix}-", f"{opening}>{rest}").split(">", 1)[1]
    size = f'style="width:{points * SCALE:.0f}px"'
    lines = "\n".join(line for line in body.splitlines() if line.strip())
    return Markup(f'{opening} role="img" aria-label="{escape(label)}" {size}>{lines}')  # noqa: S704 - made by matplotlib

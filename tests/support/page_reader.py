"""Reads a report page as a browser would: its tables, its words, the identifiers in it, and what it would load."""

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

_PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_NARROW = re.compile(r'<svg\b[^>]* viewBox="0 0 ([\d.]+) [^>]*>.{0,300}?<g id="([\w-]+)-narrow-figure_1"', re.DOTALL)


@dataclass
class PageReader(HTMLParser):
    """``tables``: caption -> rows of cells, the head first. ``text``: all words that are shown, pictures left out."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def holds(self, sentence: str) -> bool:
        """Whether it shows a sentence in which commands are marked by backticks, and in a page by their type."""
        return "".join(sentence.replace("`", "").split()) in "".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given[name] or "" for name in ("href", "src", "xlink:href") if name in given]
        if tag in ("table", "tr", "th", "td", "caption", "style", "svg", "title"):
            self._open.append(tag)
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td"):
            self._rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        inner = self._open[-1] if self._open else ""
        if "style" in self._open or "svg" in self._open:
            return
        if inner in ("th", "td"):
            self._rows[-1][-1] += data
        elif inner == "caption":
            self._caption = data
        self.words.append(data)


def read_page(page: str) -> PageReader:
    """Read the whole page."""
    reader = PageReader()
    reader.feed(page)
    reader.close()
    return reader


def writing(page: str) -> list[list[str]]:
    """The writing of each picture of a page."""
    return [drawn_texts(svg) for svg in _PICTURE.findall(page)]


def drawn_texts(svg: str) -> list[str]:
    """The writing of an SVG file, in the order in which it was drawn."""
    return [unescape(each) for each in re.findall(r"<text\b[^>]*>([^<]*)</text>", svg)]


def without_pictures(page: str) -> str:
    """Its drawings depend on the version of matplotlib: what they say is compared apart from this."""
    return _PICTURE.sub("<svg></svg>", page)


def narrow_widths(page: str) -> dict[str, float]:
    """By the name of a picture: the points that it is wide for a phone."""
    return {name: float(points) for points, name in _NARROW.findall(page)}

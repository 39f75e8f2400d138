"""How figures become files: one look, the same bytes for the same figure, and words for who points at a mark.

These are a ``<title>`` in the SVG, which every browser shows by itself: they are carried through matplotlib as the
identifier of the artist, and put in their place afterwards.
"""

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import BytesIO
from urllib.parse import quote, unquote

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from dbcpu.reports.charts.style import STYLE, is_narrow

FORMS = ("svg", "png")
PNG_DPI = 144
_WITHOUT_DATE = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


@contextmanager
def drawing() -> Iterator[None]:
    """Within this, figures have the house's look."""
    # A label may hold letters that the font lacks: they are drawn as boxes, without a word on the terminal.
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def saved(figure: Figure, forms: Sequence[str]) -> dict[str, bytes]:
    """The figure as each of ``forms`` (``svg``, ``png``), within ``drawing``."""
    # The parts are arranged once, not twice for each form, which would be most of the time.
    if arrange := figure.get_layout_engine():
        arrange.execute(figure)
    figure.set_layout_engine(None)
    made = {}
    for form in forms:
        out = BytesIO()
        figure.savefig(out, format=form, dpi=PNG_DPI, metadata=_WITHOUT_DATE[form])
        made[form] = with_titles(out.getvalue()) if form == "svg" else out.getvalue()
    return made


MAX_HOVER = 1000
"""Marks of one kind in a picture; each takes some 50 bytes."""
_MARK = "hover:"
_GROUP = re.compile(rf'^( *)<g id="{_MARK}([^"]*)">\n(.*?)^\1</g>', re.DOTALL | re.MULTILINE)
"""Matplotlib indents what is within a group."""
_SHAPE = re.compile(r"<(use|path)\b([^>]*)/>")


def hovering(artist: Artist, words: Sequence[str]) -> None:
    """``words``: one for each point of a scatter plot in their order, or a single one for any other artist.

    A phone has nothing to point with.
    """
    if len(words) <= MAX_HOVER and not is_narrow():
        artist.set_gid(_MARK + quote(json.dumps(list(words))))


def with_titles(svg: bytes) -> bytes:
    """The picture with the words of ``hovering`` as titles of the marks."""
    text = svg.decode("utf-8")
    return _GROUP.sub(_titled, text).encode("utf-8") if _MARK in text else svg


def _titled(group: re.Match[str]) -> str:
    left = iter(json.loads(unquote(group[2])))
    # The shape of all marks stands before them, where they share one.
    shared, end, marks = group[3].rpartition("</defs>")

    def shape(found: re.Match[str]) -> str:
        word = next(left, None)
        if word is None:
            return found[0]
        return f"<{found[1]}{found[2]}><title>{escape(word, quote=False)}</title></{found[1]}>"

    return f"{group[1]}<g>\n{shared}{end}{_SHAPE.sub(shape, marks)}{group[1]}</g>"

"""Pictures of a comparison: panels with shared axes, normalised bars, growth with CPUs, figures over time; SVG and PNG.

The same sheet gives the same bytes: jitter comes from the order of the points, and no date is written.
"""

import warnings
from collections.abc import Mapping
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

from dbcpu.comparisons.base import Sheet
from dbcpu.comparisons.chart import curves, panels, timeline
from dbcpu.renderers.chart import ratio_bars
from dbcpu.renderers.chart.style import STYLE

SUFFIX = ".svg"
BINARY = True
FORMS = ("svg", "png")
PNG_DPI = 144


def render(sheet: Sheet) -> bytes:
    """The first picture there is, as SVG; an empty one when there is nothing to draw."""
    made = pictures(sheet, "svg")
    return next(iter(made.values()), b"")


def pictures(sheet: Sheet, form: str) -> Mapping[str, bytes]:
    """``panels``, ``bars``, ``scaling``, ``history`` as ``svg`` or ``png``; a second of a kind is ``bars-2``."""
    made: dict[str, bytes] = {}
    # A label may hold letters that the font lacks: they are drawn as boxes, without a word on the terminal.
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        if sheet.panels:
            made["panels"] = _bytes(panels.draw(sheet.panels, sheet.title), form)
        for at, each in enumerate(sheet.bars, 1):
            drawn = ratio_bars.draw(each.title, sheet.title, each.configurations, each.series)
            made["bars" if at == 1 else f"bars-{at}"] = _bytes(drawn, form)
        for at, curve in enumerate(sheet.curves, 1):
            made["scaling" if at == 1 else f"scaling-{at}"] = _bytes(curves.draw(curve, sheet.title), form)
        for at, line in enumerate(sheet.timelines, 1):
            made["history" if at == 1 else f"history-{at}"] = _bytes(timeline.draw(line), form)
    return made


def _bytes(figure: Figure, form: str) -> bytes:
    out = BytesIO()
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(out, format=form, dpi=PNG_DPI, metadata=metadata)
    return out.getvalue()

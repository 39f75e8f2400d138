"""How figures become files: one look, and the same bytes for the same figure."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

from dbcpu.reports.charts.hover import with_titles
from dbcpu.reports.charts.style import STYLE

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

"""The pictures: host, slowdown, throughput, time per session, CPU map, lanes and connect times, as SVG and PNG.

The same analysis gives the same bytes: jitter comes from the order of the points, and no date or random
identifier is written.
"""

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from io import BytesIO

import matplotlib as mpl
from matplotlib.figure import Figure

from dbcpu.analysis.base import Analysis
from dbcpu.record import RunRecord
from dbcpu.renderers.chart import (
    connect,
    cpu_map,
    host,
    lanes,
    pool,
    sessions,
    sizes,
    slowdown,
    soak,
    throughput,
    together,
    variants,
)
from dbcpu.renderers.chart.frame import nothing
from dbcpu.renderers.chart.style import STYLE, narrow

SUFFIX = ".svg"
BINARY = True
FORMS = ("svg", "png")
PNG_DPI = 144
MISSING_LETTER = r"Glyph .* missing from"
DRAWINGS = {
    "slowdown": slowdown.draw,
    "throughput": throughput.draw,
    "host": host.draw,
    "sessions": sessions.draw,
    "cpu_map": cpu_map.draw,
    "lanes": lanes.draw,
    "connect": connect.draw,
}
"""In the order in which a report shows them."""
EXPERIMENTS = {"soak": soak.draw, "sizes": sizes.draw, "pool": pool.draw, "together": together.draw}
"""Pictures that only such runs have; they stand first."""
OF_SEVERAL_VARIANTS = {"variants": variants.draw}
"""There is nothing to say of it in a run of one variant."""


def render(record: RunRecord, analysis: Analysis) -> bytes:
    """The slowdown picture as SVG."""
    return pictures(record, analysis, "svg")["slowdown"]


def pictures(record: RunRecord, analysis: Analysis, form: str) -> Mapping[str, bytes]:
    """All pictures by name as ``svg`` or ``png``; one without data says so."""
    drawn = dict(pictures_with_data(record, analysis, form))
    if not drawn.keys() >= DRAWINGS.keys():
        with mpl.rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=MISSING_LETTER)
            empty = _bytes(nothing(record, analysis), form)
        drawn |= {name: empty for name in DRAWINGS if name not in drawn}
    return drawn


def pictures_with_data(
    record: RunRecord, analysis: Analysis, form: str, *, for_phone: bool = False
) -> Mapping[str, bytes]:
    """The pictures for which this run has something to show; ``for_phone``: narrow ones."""
    made: dict[str, bytes] = {}
    # A label may hold letters that the font lacks: they are drawn as boxes, without a word on the terminal.
    with narrow() if for_phone else nullcontext(), mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=MISSING_LETTER)
        for name, draw in {**EXPERIMENTS, **OF_SEVERAL_VARIANTS, **DRAWINGS}.items():
            figure = draw(record, analysis)
            if figure is not None:
                made[name] = _bytes(figure, form)
    return made


def _bytes(figure: Figure, form: str) -> bytes:
    out = BytesIO()
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    figure.savefig(out, format=form, dpi=PNG_DPI, metadata=metadata)
    figure.clear()  # its parts refer to each other: a drawing of 1,000 sessions would stay until some later collection
    return out.getvalue()

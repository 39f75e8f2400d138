"""Pictures of documents as SVG and PNG: ``run`` has those of one run, ``comparison`` those that compare.

The same document gives the same bytes: jitter comes from the order of the points, and no date or random identifier is
written.
"""

# ruff: noqa: E402 - Matplotlib says where it keeps its list of fonts as it is loaded: no news to whoever wants a picture
import ctypes
import gc
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Protocol, runtime_checkable

logging.getLogger("matplotlib").setLevel(logging.ERROR)

from matplotlib.figure import Figure

from dbcpu import registry
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.canvas import FORMS as FORMS
from dbcpu.reports.charts.canvas import drawing, saved
from dbcpu.reports.charts.style import drawn_narrow
from dbcpu.reports.document import Bars, Chart, Curves, FigureHistory, Panels, RunPicture, Strips

RUN_PICTURES = (
    "soak",
    "sizes",
    "pool",
    "together",
    "variants",
    "slowdown",
    "throughput",
    "host",
    "sessions",
    "cpu_map",
    "lanes",
    "connect",
)
"""Names of charts of a run, each that of a file of ``run``; it is loaded when it is drawn."""


@runtime_checkable
class RunChartModule(Protocol):
    """What a file of ``run`` that draws a chart offers."""

    def draw(self, record: RunRecord, analysis: Analysis) -> Figure | None:
        """None where there is nothing to draw."""


def drawn(
    charts: Iterable[Chart], forms: Sequence[str], *, for_phone: bool = False, with_empty: bool = False
) -> Mapping[str, Mapping[str, bytes]]:
    """The pictures by form (``svg``, ``png``) and name; each is drawn once for all forms, ``for_phone`` a narrow one.

    One without data is left out; ``with_empty``: the usual pictures of a run are drawn without data.
    """
    made: dict[str, dict[str, bytes]] = {form: {} for form in forms}
    with drawn_narrow() if for_phone else nullcontext(), drawing():
        for chart in charts:
            with _parts_freed():
                pictures = _pictures_of(chart, forms, with_empty=with_empty)
            for form, picture in pictures.items():
                made[form][chart.name] = picture
    return made


def _pictures_of(chart: Chart, forms: Sequence[str], *, with_empty: bool) -> Mapping[str, bytes]:
    """By form; none where there is nothing to draw."""
    from dbcpu.reports.charts.run.frame import empty_picture

    figure = figure_of(chart)
    if figure is None and with_empty and isinstance(chart.data, RunPicture) and chart.data.usual:
        figure = empty_picture(chart.data.record, chart.data.analysis)
    _give_back()
    return {} if figure is None else saved(figure, forms)


def _give_back() -> None:
    """What drawing has freed stands between what is still there, and the buffers of the next step would come on top.

    Where the C library has no such call, it does without. Source: malloc_trim(3)
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def _parts_freed() -> Iterator[None]:
    """The parts of a figure refer to each other: all that was made within this and is in such a circle is freed.

    Left to the collector, these many objects would be gone through while they are drawn, and would stay long after.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)
        _give_back()
        if enabled:
            gc.enable()


def run_picture(name: str, record: RunRecord, analysis: Analysis) -> Figure | None:
    """One of ``RUN_PICTURES``, within ``drawing``; None where there is nothing to draw."""
    chart = registry.load("reports.charts.run", name)
    assert isinstance(chart, RunChartModule), name
    figure: Figure | None = chart.draw(record, analysis)
    return figure


def figure_of(chart: Chart) -> Figure | None:
    """The picture itself, within ``drawing``; None where there is nothing to draw. Loads what draws this one."""
    data = chart.data
    match data:
        case RunPicture():
            return run_picture(chart.name, data.record, data.analysis)
        case Panels():
            from dbcpu.reports.charts.comparison import panels

            return panels.draw(data)
        case Bars():
            from dbcpu.reports.charts.comparison import ratio_bars

            return ratio_bars.draw(data)
        case Curves():
            from dbcpu.reports.charts.comparison import growth

            return growth.draw(data)
        case FigureHistory():
            from dbcpu.reports.charts.comparison import history

            return history.draw(data)
        case Strips():
            from dbcpu.reports.charts.comparison import strips

            return strips.draw(data)

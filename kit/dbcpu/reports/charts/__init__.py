"""Pictures of documents as SVG and PNG: ``run`` has those of one run, ``comparison`` those that compare.

The same document gives the same bytes: jitter comes from the order of the points, and no date or random identifier is
written.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from matplotlib.figure import Figure

from dbcpu.reports.charts.canvas import FORMS as FORMS
from dbcpu.reports.charts.canvas import drawing, saved
from dbcpu.reports.charts.comparison import growth, history, panels, ratio_bars, strips
from dbcpu.reports.charts.run import (
    connect,
    cpu_map,
    frame,
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
from dbcpu.reports.charts.style import narrow
from dbcpu.reports.document import Bars, Chart, Curves, FigureHistory, Panels, RunPicture, Strips

RUN_PICTURES = {
    "soak": soak.draw,
    "sizes": sizes.draw,
    "pool": pool.draw,
    "together": together.draw,
    "variants": variants.draw,
    "slowdown": slowdown.draw,
    "throughput": throughput.draw,
    "host": host.draw,
    "sessions": sessions.draw,
    "cpu_map": cpu_map.draw,
    "lanes": lanes.draw,
    "connect": connect.draw,
}
"""By the name of the chart."""


def drawn(
    charts: Iterable[Chart], forms: Sequence[str], *, for_phone: bool = False, with_empty: bool = False
) -> Mapping[str, Mapping[str, bytes]]:
    """The pictures by form (``svg``, ``png``) and name; each is drawn once for all forms, ``for_phone`` a narrow one.

    One without data is left out; ``with_empty``: the usual pictures of a run are drawn without data.
    """
    made: dict[str, dict[str, bytes]] = {form: {} for form in forms}
    with narrow() if for_phone else nullcontext(), drawing():
        for chart in charts:
            figure = figure_of(chart)
            if figure is None and with_empty and isinstance(chart.data, RunPicture) and chart.data.usual:
                figure = frame.nothing(chart.data.record, chart.data.analysis)
            if figure is not None:
                for form, picture in saved(figure, forms).items():
                    made[form][chart.name] = picture
    return made


def figure_of(chart: Chart) -> Figure | None:
    """The picture itself, within ``drawing``; None where there is nothing to draw."""
    data = chart.data
    match data:
        case RunPicture():
            return RUN_PICTURES[chart.name](data.record, data.analysis)
        case Panels():
            return panels.draw(data)
        case Bars():
            return ratio_bars.draw(data)
        case Curves():
            return growth.draw(data)
        case FigureHistory():
            return history.draw(data)
        case Strips():
            return strips.draw(data)

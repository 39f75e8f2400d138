"""Pictures of a comparison: panels with shared axes, normalised bars, growth with CPUs, figures over time; SVG and PNG.

The same sheet gives the same bytes: jitter comes from the order of the points, and no date is written.
"""

from collections.abc import Iterator, Mapping, Sequence

from matplotlib.figure import Figure

from dbcpu.reports.charts import comparison_panels, growth, history, ratio_bars
from dbcpu.reports.charts.canvas import FORMS as FORMS
from dbcpu.reports.charts.canvas import drawing, saved
from dbcpu.reports.document import Sheet

SUFFIX = ".svg"
BINARY = True


def render(sheet: Sheet) -> bytes:
    """The first picture there is, as SVG; an empty one when there is nothing to draw."""
    made = pictures(sheet, "svg")
    return next(iter(made.values()), b"")


def pictures(sheet: Sheet, form: str) -> Mapping[str, bytes]:
    """``panels``, ``bars``, ``scaling``, ``history`` as ``svg`` or ``png``; a second of a kind is ``bars-2``."""
    return drawn(sheet, (form,))[form]


def drawn(sheet: Sheet, forms: Sequence[str]) -> Mapping[str, Mapping[str, bytes]]:
    """The same in several forms, by form and name: each picture is drawn once for all of them."""
    made: dict[str, dict[str, bytes]] = {form: {} for form in forms}
    with drawing():
        for name, figure in _figures(sheet):
            for form, picture in saved(figure, forms).items():
                made[form][name] = picture
    return made


def _figures(sheet: Sheet) -> Iterator[tuple[str, Figure]]:
    if sheet.panels:
        yield "panels", comparison_panels.draw(sheet.panels, sheet.title)
    for at, each in enumerate(sheet.bars, 1):
        figure = ratio_bars.draw(each.title, sheet.title, each.configurations, each.series)
        yield "bars" if at == 1 else f"bars-{at}", figure
    for at, curve in enumerate(sheet.curves, 1):
        yield "scaling" if at == 1 else f"scaling-{at}", growth.draw(curve, sheet.title)
    for at, line in enumerate(sheet.timelines, 1):
        yield "history" if at == 1 else f"history-{at}", history.draw(line)

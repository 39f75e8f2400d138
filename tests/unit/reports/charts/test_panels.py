"""Names of cores and vCPUs beyond the largest level stay within the axes."""

import pytest
from matplotlib.figure import Figure

from dbcpu.analysis.results.cause import Cause
from dbcpu.reports.charts.canvas import drawing
from dbcpu.reports.charts.comparison.panels import draw
from dbcpu.reports.document import Panel, Panels


def panels(levels: int) -> Figure:
    points = tuple((level, 1.0, Cause.NONE) for level in range(1, levels + 1))
    small = Panel("cloud", points, (), cores=2, vcpus=4)
    big = Panel("on-prem", points, (), cores=40, vcpus=80)
    with drawing():
        figure = draw(Panels("seconds by N", (small, big)))
        figure.canvas.draw()
    return figure


@pytest.mark.parametrize("levels", [4, 32, 200])
def test_no_text_is_outside_its_panel(levels: int) -> None:
    figure = panels(levels)
    for axes in figure.axes[:2]:
        frame = axes.get_window_extent()
        assert frame.width > 0.35 * figure.bbox.width
        for text in axes.texts:
            box = text.get_window_extent()
            assert frame.x0 <= box.x0, text.get_text()
            assert box.x1 <= frame.x1 + 1, text.get_text()


def test_what_lies_beyond_is_marked_and_has_no_line() -> None:
    big = panels(4).axes[1]
    assert [text.get_text() for text in big.texts] == ["40 cores → ", "80 vCPUs → "]
    assert not [line for line in big.lines if line.get_linestyle() == ":"]

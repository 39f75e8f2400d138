"""Names of cores and vCPUs beyond the largest level stay within the axes."""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from dbcpu.analysis.results.cause import Cause
from dbcpu.reports.charts.canvas import drawing
from dbcpu.reports.charts.comparison import growth
from dbcpu.reports.charts.comparison.panels import draw
from dbcpu.reports.charts.style import drawn_narrow
from dbcpu.reports.document import Curves, Panel, Panels


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


def test_the_line_of_all_cores_is_at_one_session_a_core() -> None:
    points = tuple((level, 1.0, Cause.NONE) for level in (1, 8, 9, 16))
    with drawing():
        figure = draw(Panels("sessions per core", (Panel("cloud", points, (), cores=8, vcpus=16, units=8),)))
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == ":"]
    assert [float(np.asarray(line.get_xdata())[0]) for line in lines] == [1.0, 2.0]


def test_a_title_is_not_broken_while_it_has_room() -> None:
    title = "All sessions of all levels: cartesian, size short (n = 50, 6.2 Mrows)"
    with drawing():
        figure = draw(Panels(title, (Panel("a", ((1, 1.0, Cause.NONE),), ()), Panel("b", ((1, 1.0, Cause.NONE),), ()))))
        figure.canvas.draw()
    heading = figure.texts[0]
    assert heading.get_text() == title
    assert heading.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.parametrize("narrow", [False, True])
def test_numbers_at_an_axis_do_not_touch(narrow: bool) -> None:
    """0.025 and 0.125, 1, 1.025 and 1.125 were written over each other."""
    series = (("on-prem", ((0.025, 0.025), (1, 0.8), (1.025, 0.81), (2, 1.06))), ("cloud", ((0.125, 0.1), (1.125, 1))))
    with drawing(), drawn_narrow() if narrow else nullcontext():
        figure = growth.draw(Curves("Throughput", "sessions per core", "ratio", series))
        figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [Text.get_window_extent(label) for label in axes.get_xticklabels() if label.get_text()]
    assert len(boxes) > 3
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))

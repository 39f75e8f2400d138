"""What is drawn of comparisons, histories and fleets: whole intervals, and a legend in the colours of the dots."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from dbcpu.reports.charts.canvas import drawing
from dbcpu.reports.charts.comparison import history, ratio_bars, strips
from dbcpu.reports.document import Bars, FigureHistory, Strips, TimelineChange, TimelineSeries


def bars(*ratios: tuple[float, float | None, float | None], groups: int = 1) -> Figure:
    names = tuple(f"host-{at}" for at in range(groups * len(ratios)))
    with drawing():
        return ratio_bars.draw(Bars("N = 2", names, (("max/min", ratios * groups),)))


@pytest.mark.parametrize("groups", [1, 8])
@pytest.mark.parametrize("low", [0.5, 0.85, None])
def test_an_interval_is_shown_whole(low: float | None, groups: int) -> None:
    """Upright, and lying where there are many; the axis begins at 0, as lengths are compared."""
    high = None if low is None else 1.7
    (axes,) = bars((1.0, None, None), (0.99, low, high), groups=groups).axes
    begin, end = axes.get_xlim() if groups > 1 else axes.get_ylim()
    assert begin == 0
    assert end >= (high or 1.0)


@pytest.mark.parametrize("groups", [1, 8])
def test_a_long_interval_leaves_the_bars_half_of_the_axis(groups: int) -> None:
    """From 0.87 to 3.5 for an interval, the bars themselves were slivers."""
    (axes,) = bars((1.0, None, None), (0.93, 0.88, 3.5), groups=groups).axes
    end = (axes.get_xlim() if groups > 1 else axes.get_ylim())[1]
    assert end == pytest.approx(2.0)
    assert "arrow: the interval goes on" in (axes.get_xlabel() if groups > 1 else axes.get_ylabel())


@pytest.mark.parametrize("groups", [1, 8])
@pytest.mark.parametrize("ratio", [(0.998, None, None), (0.93, 0.85, 3.5), (0.9, 0.89, 0.97)])
def test_no_line_strikes_a_label_through(ratio: tuple[float, float | None, float | None], groups: int) -> None:
    figure = bars((1.0, None, None), ratio, groups=groups)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    at_one = axes.transData.transform((1.0, 1.0))[0 if groups > 1 else 1]
    whisker = axes.transData.transform((1.0, 1.0))[1 if groups > 1 else 0]
    labels = [text for text in axes.texts if text.get_text() == f"{ratio[0]:.2f}"]
    boxes = [Text.get_window_extent(label) for label in labels]  # the letters, without an arrow's box
    assert boxes
    for box in boxes:
        low, high = (box.x0, box.x1) if groups > 1 else (box.y0, box.y1)
        assert not low < at_one < high
        if groups == 1 and ratio[2] == 3.5:
            assert not box.x0 < whisker < box.x1


def test_the_legend_has_the_colour_of_the_dots() -> None:
    with drawing():
        figure = strips.draw(Strips("Speed", (("kind", (("db-1", 1.0, False), ("db-2", 1.1, False))),), "ratio"))
    dots, handle = figure.axes[0].collections[0], figure.legends[0].legend_handles[0]
    assert isinstance(handle, Line2D)
    assert to_rgba(handle.get_color(), handle.get_alpha()) == pytest.approx(to_rgba_array(dots.get_facecolor())[0])


def test_the_label_of_a_change_covers_no_run() -> None:
    """As high as a label at its usual place are the runs after an early rise."""
    moments = tuple(f"2026-11-{day:02}T04:30:00+00:00" for day in range(1, 21))
    values = (70.0,) * 8 + (100.0,) * 6 + (70.0,) * 6
    rise = TimelineSeries("Mrows/s", values, changes=(TimelineChange(8, "2026-11-09", 70.0, 100.0, (7, 9)),))
    with drawing():
        figure = history.draw(FigureHistory("box", moments, (rise,)))
        figure.draw_without_rendering()
        (axes,) = figure.axes
        (label,) = (text for text in axes.texts if "1.43x" in text.get_text())
        covered, runs = label.get_window_extent(), axes.transData.transform(np.asarray(axes.lines[0].get_xydata()))
    assert not [run for run in runs if covered.contains(*run)]


def test_the_levels_of_a_series_are_whole_beside_its_panel() -> None:
    """Cut behind the first level, the highest of five read as that of N=2."""
    spread = TimelineSeries("max/min, highest of N=2,4-5,8", (1.5, 1.6))
    with drawing():
        figure = history.draw(
            FigureHistory("box", ("2026-11-01T04:30:00+00:00", "2026-11-02T04:30:00+00:00"), (spread,))
        )
    assert figure.axes[0].get_ylabel() == "max/min,\nhighest of N=2,4-5,8"


@pytest.mark.parametrize(
    ("moments", "ticks", "offset"),
    [
        (("2026-11-30T04:30:00+00:00", "2026-11-30T10:30:00+00:00"), "06:00", "2026-11-30"),
        (("2026-11-03T04:30:00+00:00", "2026-11-20T10:30:00+00:00"), "11-05", "2026"),
        (("2026-03-03T04:30:00+00:00", "2026-11-20T10:30:00+00:00"), "2026-05", ""),
    ],
)
def test_dates_have_the_form_of_the_pages(moments: tuple[str, str], ticks: str, offset: str) -> None:
    with drawing():
        figure = history.draw(FigureHistory("box", moments, (TimelineSeries("max/min", (1.5, 1.6)),)))
        figure.draw_without_rendering()
        axis = figure.axes[0].xaxis
        shown = [label.get_text() for label in axis.get_ticklabels()]
    assert ticks in shown
    assert axis.get_offset_text().get_text() == offset
    assert not any(letter.isalpha() for label in shown for letter in label)


@pytest.mark.parametrize("groups", [3, 12])
def test_long_names_of_published_figures_stand_whole_beside_their_bars(groups: int) -> None:
    name = "interleaved over the nodes 0 and 1 by numactl, of a box with two sockets and SMT {}"
    names = tuple(name.format(at) for at in range(groups))
    series = "transactions per second of the whole application server"
    with drawing():
        figure = ratio_bars.draw(Bars("of N = 2", names, ((series, ((1.0, None, None),) * groups),)))
        figure.draw_without_rendering()
        (axes,) = figure.axes
        labels = (axes.get_yticklabels if groups > 10 else axes.get_xticklabels)()
        boxes = [label.get_window_extent() for label in labels]
    assert [label.get_text().replace("\n", " ") for label in labels] == list(names)
    assert [text.get_text().replace("\n", " ") for text in figure.legends[0].get_texts()] == [series]
    inside = figure.bbox
    assert all(inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1) for box in boxes)
    assert not any(one.overlaps(other) for one, other in pairwise(boxes))

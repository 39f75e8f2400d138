"""The name of a knee stands where no curve is."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.reports import charts
from dbcpu.reports.charts.canvas import drawing
from dbcpu.simulator import SimulatedHost, simulate


@pytest.mark.parametrize("turbo", [0.0, 0.3])
def test_no_curve_crosses_the_name_of_a_knee(turbo: float) -> None:
    """With a turbo frequency the ideal is far above the curve, and passes where the name usually stands."""
    run = simulate(SimulatedHost(cores=8, threads=2, turbo_slope=turbo), (1, 4, 8, 12, 16), 3, seed=1)
    with drawing():
        figure = charts.run_picture("throughput", run, explain(run))
        assert figure is not None
        figure.draw_without_rendering()
    (axes,) = figure.axes
    names = [text for text in axes.texts if text.get_text().startswith("knee")]
    assert names
    for name in names:
        box = Text.get_window_extent(name)
        for line in (each for each in axes.lines if each.get_linestyle() != ":"):
            way = axes.transData.transform(np.asarray(line.get_xydata()))
            steps = np.linspace(0, 1, 50)[:, None]
            dense = [point for one, two in pairwise(way) for point in one + (two - one) * steps]
            assert not [point for point in dense if box.contains(*point)], line.get_label()


@pytest.mark.parametrize(("error", "knees", "is_drawn"), [(0.14, (), False), (0.03, (), True), (0.14, (2.0,), True)])
def test_a_fit_that_misses_the_levels_and_has_no_knee_is_not_drawn(
    error: float, knees: tuple[float, ...], is_drawn: bool
) -> None:
    """One that is drawn lies within the axes."""
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 2, 3, 4), 3, seed=1)
    found = explain(run)
    highest = 2 * max(each.throughput or 0.0 for each in found.levels)
    curve = ((1.0, highest / 4), (2.0, highest / 2), (4.0, highest))
    with drawing():
        figure = charts.run_picture(
            "throughput", run, replace(found, scaling=replace(found.scaling, fit_error=error, knees=knees, curve=curve))
        )
    assert figure is not None
    (axes,) = figure.axes
    fits = [line for line in axes.lines if str(line.get_label()).startswith("fit")]
    assert bool(fits) is is_drawn
    assert bool(axes.get_ylim()[1] > highest) is is_drawn

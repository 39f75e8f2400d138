"""The name of a knee stands where no curve is."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text

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

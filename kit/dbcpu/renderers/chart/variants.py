"""What another setting of the host changes: each variant's figures over those of the first, which are 1."""

from matplotlib.figure import Figure

from dbcpu.analysis.base import Analysis
from dbcpu.analysis.compare_words import normalised
from dbcpu.record import RunRecord
from dbcpu.renderers.chart import ratio_bars
from dbcpu.renderers.chart.frame import measured


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None for a run of one variant."""
    compared = analysis.comparison
    series = normalised(compared) if compared else ()
    if not compared or not series:
        return None
    names = [each.name for each in compared.sides]
    return ratio_bars.draw(f"Against {names[0]} = 1", measured(record, analysis), names, series)

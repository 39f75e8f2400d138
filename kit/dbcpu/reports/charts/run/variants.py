"""The figures of each variant relative to the first = 1."""

from matplotlib.figure import Figure

from dbcpu.analysis.comparison.variant_sentences import variant_ratios
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.comparison import ratio_bars
from dbcpu.reports.charts.run.frame import measured_words
from dbcpu.reports.document import Bars


def draw(record: RunRecord, analysis: Analysis) -> Figure | None:
    """One figure, or None for a run of one variant."""
    found = analysis.variants
    series = variant_ratios(found) if found else ()
    if not found or not series:
        return None
    title = f"Relative to {found.first.name} = 1"
    names = tuple(each.name for each in found.variants)
    return ratio_bars.draw(Bars(title, names, series, measured_words(record, analysis)))

"""The pictures: host, slowdown, throughput, time per session, CPU map, lanes and connect times, as SVG and PNG.

The same analysis gives the same bytes: jitter comes from the order of the points, and no date or random
identifier is written.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from dbcpu.analysis.results.run import Analysis
from dbcpu.record import RunRecord
from dbcpu.reports.charts import (
    connect,
    cpu_map,
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
from dbcpu.reports.charts.canvas import FORMS as FORMS
from dbcpu.reports.charts.canvas import drawing, saved
from dbcpu.reports.charts.frame import nothing
from dbcpu.reports.charts.style import narrow

SUFFIX = ".svg"
BINARY = True
DRAWINGS = {
    "slowdown": slowdown.draw,
    "throughput": throughput.draw,
    "host": host.draw,
    "sessions": sessions.draw,
    "cpu_map": cpu_map.draw,
    "lanes": lanes.draw,
    "connect": connect.draw,
}
"""In the order in which a report shows them."""
EXPERIMENTS = {"soak": soak.draw, "sizes": sizes.draw, "pool": pool.draw, "together": together.draw}
"""Pictures that only such runs have; they stand first."""
OF_SEVERAL_VARIANTS = {"variants": variants.draw}
"""There is nothing to say of it in a run of one variant."""


def render(record: RunRecord, analysis: Analysis) -> bytes:
    """The slowdown picture as SVG."""
    return pictures(record, analysis, "svg")["slowdown"]


def pictures(record: RunRecord, analysis: Analysis, form: str) -> Mapping[str, bytes]:
    """All pictures by name as ``svg`` or ``png``; one without data says so."""
    return with_empty_ones(record, analysis, form, pictures_with_data(record, analysis, form))


def pictures_with_data(
    record: RunRecord, analysis: Analysis, form: str, *, for_phone: bool = False
) -> Mapping[str, bytes]:
    """The pictures for which this run has something to show; ``for_phone``: narrow ones."""
    return drawn(record, analysis, (form,), for_phone=for_phone)[form]


def drawn(
    record: RunRecord, analysis: Analysis, forms: Sequence[str], *, for_phone: bool = False
) -> Mapping[str, Mapping[str, bytes]]:
    """The same in several forms, by form and name: each picture is drawn once for all of them."""
    made: dict[str, dict[str, bytes]] = {form: {} for form in forms}
    with narrow() if for_phone else nullcontext(), drawing():
        for name, draw in {**EXPERIMENTS, **OF_SEVERAL_VARIANTS, **DRAWINGS}.items():
            figure = draw(record, analysis)
            if figure is not None:
                for form, picture in saved(figure, forms).items():
                    made[form][name] = picture
    return made


def with_empty_ones(record: RunRecord, analysis: Analysis, form: str, made: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """``made``, and a picture that says so for each of the usual ones without data."""
    missing = [name for name in DRAWINGS if name not in made]
    if not missing:
        return made
    with drawing():
        empty = saved(nothing(record, analysis), (form,))[form]
    return {**made, **dict.fromkeys(missing, empty)}

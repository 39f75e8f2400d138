"""A caption says what can be in its picture, and nothing else."""

from functools import cache

import pytest
from matplotlib.colors import to_hex
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.placement.timeline import timeline
from dbcpu.reports import charts
from dbcpu.reports.charts.canvas import drawing
from dbcpu.reports.charts.run.lanes import CORE_COLOURS
from dbcpu.reports.documents.run_readings import reading
from support.builders.example import nine_on_eight, three_on_two
from support.builders.experiments import pool

RUNS = {"with SMT": nine_on_eight, "without": three_on_two}


@cache
def read(run: str, name: str) -> str:
    record = RUNS[run]()
    analysis = explain(record)
    lines = [timeline(record, each.order) for each in representative_rounds(analysis)]
    return reading(name, analysis, [each for each in lines if each])


@pytest.mark.parametrize(
    ("name", "words"),
    [("cpu_map", "the CPUs of a core together"), ("lanes", "shared core"), ("throughput", "SMT begins")],
)
def test_of_a_host_without_smt_nothing_is_said_of_shared_cores(name: str, words: str) -> None:
    assert words in read("with SMT", name)
    assert words not in read("without", name)


def test_the_legend_of_lanes_has_a_colour_that_is_drawn() -> None:
    record = nine_on_eight()
    with drawing():
        figure = charts.run_picture("lanes", record, explain(record))
        assert figure is not None
        (handle,) = (each for each in figure.legends[0].get_patches() if str(each.get_label()).startswith("colour"))
    drawn = {to_hex(each.get_facecolor()) for axes in figure.axes for each in axes.patches}
    assert to_hex(handle.get_facecolor()) in drawn & set(CORE_COLOURS)


def test_where_cpus_were_faster_meanwhile_grey_that_ends_early_is_explained() -> None:
    """It is what is left of the time of one session alone: the picture seemed to contradict its legend."""
    analysis = explain(three_on_two())
    faster = [replace(each, inflation_s=-0.1 * (each.reference_s or 0.0)) for each in analysis.sessions]
    words = "grey is shorter than the single-session time"
    assert words in reading("sessions", replace(analysis, sessions=tuple(faster)), ())
    assert words not in read("without", "sessions")


@pytest.mark.parametrize(
    ("totals", "said", "not_said"),
    [
        ({1: 20.0, 2: 10.0, 10: 10.0}, "Larger ones were not shown to be faster.", "not measured"),
        ({1: 40.0, 2: 10.0}, "Larger ones were not measured.", "not shown"),
    ],
)
def test_nothing_is_said_of_larger_pools_that_were_not_measured(
    totals: dict[int, float], said: str, not_said: str
) -> None:
    analysis = explain(pool(totals))
    assert analysis.pool is not None
    assert analysis.pool.enough == 2
    words = reading("pool", analysis, [])
    assert said in words
    assert not_said not in words

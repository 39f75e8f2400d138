"""Pictures of many CPUs, sessions and levels are aggregated instead of smeared, and say so."""

import re
from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from dbcpu.analysis.explain import explain
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run import connect, cpu_map, lanes, slowdown
from dbcpu.reports.charts.style import NARROW, STYLE, drawn_narrow
from support.builders.record import host, record, round_of, session, solos


@pytest.fixture(autouse=True)
def chart_style() -> Iterator[None]:
    with mpl.rc_context(STYLE):
        yield


def together(sessions: int, cores: int, threads: int = 1) -> RunRecord:
    """Session i on CPU i, around again beyond the last."""
    cpus = cores * threads
    crowd = [session(i, 1.8, 0.0 if sessions <= cpus else 1.8, cpu=i % cpus) for i in range(sessions)]
    return record([*solos(), round_of(crowd)], host(cores, threads), vcpus=cpus)


def texts(figure: Figure | None) -> list[str]:
    assert figure is not None
    return [found.get_text() for found in figure.findobj(Text) if isinstance(found, Text)]


def labels(figure: Figure | None, noun: str) -> int:
    return len({text for text in texts(figure) if re.fullmatch(rf"{noun} \d+", text)})


def test_cpus_have_rows_then_cores_have_rows_then_cores_are_counted() -> None:
    few, some, many = together(9, 8, 2), together(65, 40, 2), together(170, 170)
    figures = [cpu_map.draw(run, explain(run)) for run in (few, some, many)]
    assert [labels(figure, "CPU") for figure in figures] == [16, 0, 0]
    assert [labels(figure, "core") for figure in figures] == [0, 20, 0]
    assert "of 170 cores" in texts(figures[2])


def test_lanes_are_named_then_coloured_by_sharing_then_sampled() -> None:
    few, some, many = together(5, 4), together(60, 30), together(300, 150)
    figures = [lanes.draw(run, explain(run)) for run in (few, some, many)]
    assert [labels(figure, "session") for figure in figures] == [5, 0, 0]
    assert "shares its CPU" in texts(figures[1])
    assert any("150 of 300 shown" in text for text in texts(figures[2]))


def test_a_lane_bears_the_number_of_its_cpu_and_has_the_number_of_migrations() -> None:
    moving = session(0, 2.0, stays=[(0, 0.0, 1.0), (1, 1.0, 2.0)])
    run = record([*solos(), round_of([moving, session(1, 3.0, cpu=1)])])
    shown = texts(lanes.draw(run, explain(run)))
    assert {"0", "1"} <= set(shown)
    assert "black line: migration (1 sampled)" in shown


def test_crowded_slowdowns_are_counted_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    run = together(12, 4)
    dots = slowdown.draw(run, explain(run))
    assert dots is not None
    assert not dots.axes[0].images
    monkeypatch.setattr(slowdown, "MAX_POINTS", 10)
    grid = slowdown.draw(run, explain(run))
    assert grid is not None
    assert len(grid.axes[0].images) == 1
    assert {"run-queue wait", "median", "fair share: N / vCPUs"} <= set(texts(grid))


def test_crowded_connect_times_are_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    run = together(12, 4)
    assert "a session" in texts(connect.draw(run, explain(run)))
    monkeypatch.setattr(connect, "MAX_DOTS", 10)
    assert "half of the sessions" in texts(connect.draw(run, explain(run)))


def test_a_picture_for_a_phone_is_narrow_and_the_next_one_is_not() -> None:
    run = together(5, 4)
    with drawn_narrow():
        phone = lanes.draw(run, explain(run))
    desk = lanes.draw(run, explain(run))
    assert phone is not None
    assert desk is not None
    assert phone.get_figwidth() == NARROW
    assert desk.get_figwidth() == lanes.WIDTH

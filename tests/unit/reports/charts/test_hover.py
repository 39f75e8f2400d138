"""Marks of a picture have words that a browser shows to whoever points at them."""

import re
from xml.dom import minidom

import pytest
from matplotlib.figure import Figure

from dbcpu.reports import charts
from dbcpu.reports.charts.canvas import MAX_HOVER, drawing, hovering, saved
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import cause_counts
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.workflows.explain import explained

TITLE = re.compile(r"<title>([^<]*)</title>")


def titles(marker: str, count: int, words: list[str]) -> list[str]:
    """Those of a scatter plot of so many marks, whose picture is well-formed."""
    with drawing():
        figure = Figure()
        hovering(figure.subplots().scatter(range(count), range(count), marker=marker), words)
        svg = saved(figure, ["svg"])["svg"].decode()
    minidom.parseString(svg)  # noqa: S318 - of this project
    assert "hover" not in svg
    return TITLE.findall(svg)


# Few marks of a simple shape are drawn one by one, many refer to one shape.
@pytest.mark.parametrize("count", [1, 2, 40])
@pytest.mark.parametrize("marker", ["o", "^", "x", "s"])
def test_each_mark_has_its_own_words(marker: str, count: int) -> None:
    words = [f'N={at}: "<1.00x> & more"' for at in range(count)]
    assert titles(marker, count, words) == [f'N={at}: "&lt;1.00x&gt; &amp; more"' for at in range(count)]


def test_a_crowd_of_marks_has_none() -> None:
    assert titles("o", 3, ["word"] * (MAX_HOVER + 1)) == []


def test_the_slowdown_of_each_session_can_be_read_off() -> None:
    run = simulate(SimulatedHost("box", cores=2), (1, 3), repeats=2, size="tiny", seed=1)
    drawn = charts.drawn(document(*explained(run.header, run.rounds)).charts, ["svg"])["svg"]
    found = TITLE.findall(drawn["slowdown"].decode())
    assert len(found) == sum(len(each.sessions) for each in run.rounds)
    assert "N=3, round 1, session 0: 1." in " ".join(found)
    assert any(re.fullmatch(r"session \d, single-session time: .*", each) for each in TITLE.findall(
        drawn["sessions"].decode()))  # fmt: skip


@pytest.mark.parametrize(
    ("host", "repeats", "seed", "words", "many"),
    [
        (SimulatedHost(cores=2, threads=1, steal=0.15), 3, 0, "CPU steal", 2),
        (SimulatedHost(cores=2, threads=1, steal=0.15), 3, 9, "CPU steal", 1),
        (SimulatedHost(cores=4, threads=1, irq=0.2), 6, 7, "interrupts", 4),
    ],
)
def test_the_picture_marks_as_many_rounds_of_a_single_session_as_the_table_counts(
    host: SimulatedHost, repeats: int, seed: int, words: str, many: int
) -> None:
    """The loss was counted by the kernel, and is within noise beside a reference that has it, too: none was marked."""
    run = simulate(host, (1, 2, 4), repeats=repeats, seed=seed)
    made = document(*explained(run.header, run.rounds))
    found = TITLE.findall(charts.drawn(made.charts, ["svg"])["svg"]["slowdown"].decode())
    marked = [each for each in found if each.startswith("N=1,") and each.endswith(f", {words}")]
    assert len(marked) == many
    (row,) = [each for each in explained(run.header, run.rounds)[1].levels if each.level == 1]
    assert cause_counts(row) == f"{words} ({many} of {repeats})"

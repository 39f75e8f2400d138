"""What pictures of a run say in words and marks: rules, colours that repeat, and what was not measured."""

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.charts.run import connect, cpu_map, host, lanes, sessions, slowdown, throughput
from dbcpu.reports.charts.run.ideal import ideal_line
from dbcpu.reports.charts.style import PART_COLOURS, PART_HATCHES, STYLE
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.requested_run import simulate_now
from support.builders import record as build

OF_A_PART = (Cause.RUN_QUEUE, Cause.THROTTLED, Cause.STEAL, Cause.WAIT)
"""Causes that whole parts of a session's time are."""


@pytest.fixture(autouse=True)
def chart_style() -> Iterator[None]:
    with mpl.rc_context(STYLE):
        yield


def legend(figure: Figure | None) -> list[str]:
    assert figure is not None
    return [text.get_text() for found in figure.legends for text in found.get_texts()]


def alone_on(cores: int) -> RunRecord:
    crowd = [build.session(i, 1.8, cpu=i) for i in range(cores)]
    return build.record([*build.solos(), build.round_of(crowd)], build.host(cores), vcpus=cores)


def test_the_ideal_bends_where_cpu_time_runs_out_also_between_two_levels() -> None:
    analysis = explain(simulate(SimulatedHost(cores=4, threads=1), (1, 16), size="tiny", repeats=2, seed=1))
    (_, alone), (at, bent), (_, last) = ideal_line(analysis.levels)
    assert (at, bent) == (4.0, last)
    assert bent == pytest.approx(4 * alone)


@pytest.mark.parametrize(
    ("quota_cpus", "rule"),
    [
        (1.5, "ideal: single-session rate x min(N, quota 1.5)"),
        (None, "ideal: single-session rate x min(N, vCPUs)"),
    ],
)
def test_the_ideal_is_drawn_by_the_rule_that_its_legend_names(quota_cpus: float | None, rule: str) -> None:
    run = simulate(SimulatedHost(cores=4, threads=1, quota_cpus=quota_cpus), (1, 8), size="tiny", repeats=2, seed=1)
    analysis = explain(run)
    assert rule in legend(throughput.draw(run, analysis))
    alone, most = ideal_line(analysis.levels)[0][1], ideal_line(analysis.levels)[-1][1]
    assert most == pytest.approx(alone * (quota_cpus or 4))


def test_each_variant_has_the_limit_where_its_own_ideal_bends() -> None:
    """A quota of 5.5 bounds 8 CPUs, and not the 4 that one thread per core leaves."""
    changes = {"cores": 4, "threads": 2, "quota_cpus": 5.5}
    run = simulate_now(None, "1,4,6,8", "baseline,one_per_core", changes, size="tiny", repeats=2, seed=1)
    analysis = explain(run)
    rates, times = throughput.draw(run, analysis), slowdown.draw(run, analysis)
    assert rates is not None
    assert times is not None
    assert "ideal: single-session rate x min(N, quota 5.5 or vCPUs)" in legend(rates)
    assert "fair share: N / (quota 5.5 or vCPUs)" in legend(times)
    for figure in (rates, times):
        marks = [[text.get_text().strip() for text in axes.texts] for axes in figure.axes]
        assert [[each for each in ("quota 5.5", "6 vCPUs", "4 vCPUs") if each in panel] for panel in marks] == [
            ["quota 5.5"],
            ["4 vCPUs"],
        ]
    shown = [[each for each in analysis.levels if each.variant == name] for name in ("baseline", "one_per_core")]
    assert [max(x for x, _ in ideal_line(levels)[:-1] if x < 6) for levels in shown] == pytest.approx([5.5, 4])


@pytest.mark.parametrize(("cores", "words"), [(8, "colour: the core; number"), (9, "the core (colours repeat)")])
def test_lanes_say_that_colours_repeat(cores: int, words: str) -> None:
    run = alone_on(cores)
    assert any(words in text for text in legend(lanes.draw(run, explain(run))))


@pytest.mark.parametrize("connect_s", [0.0, 0.01])
def test_a_time_to_connect_of_nothing_was_not_measured(connect_s: float) -> None:
    run = alone_on(2)
    rounds = [
        replace(each, sessions=tuple(replace(one, connect_s=connect_s) for one in each.sessions)) for each in run.rounds
    ]
    run = replace(run, rounds=tuple(rounds))
    assert (connect.draw(run, explain(run)) is not None) == bool(connect_s)


def test_causes_are_told_without_colour_in_bars() -> None:
    run = simulate(SimulatedHost(cores=2, threads=2), (1, 4, 6), size="tiny", repeats=2, seed=1)
    figure = sessions.draw(run, explain(run))
    assert figure is not None
    looks = {patch.get_label(): patch.get_hatch() for found in figure.legends for patch in found.get_patches()}
    assert looks[Cause.RUN_QUEUE.words] == PART_HATCHES["queue_s"]
    named = {name for name in PART_COLOURS if name not in ("reference_s", "unsplit_s")}
    own = {each.value for each in Cause if each.is_known} - {Cause.SHARED_CORE, *OF_A_PART}
    assert PART_HATCHES.keys() == named | own
    assert len(set(PART_HATCHES.values())) == len(PART_HATCHES)


def test_the_host_shows_its_slower_cores_and_how_many_cpus_share_one() -> None:
    run = simulate(SimulatedHost(cores=4, threads=2, efficiency_cores=2), (1,), size="tiny", repeats=1, seed=1)
    words = legend(host.draw(run, explain(run)))
    assert "a CPU of a slower core" in words
    assert "a core: 1 or 2 CPUs share it" in words
    plain = alone_on(2)
    assert legend(host.draw(plain, explain(plain))) == ["a CPU, with its number", "a core"]


@pytest.mark.parametrize(("threads", "noun"), [(1, "CPU"), (2, "core")])
def test_the_map_names_what_was_free_and_what_shared(threads: int, noun: str) -> None:
    everywhere = tuple(range(2 * threads))
    crowd = [replace(build.session(at, 1.8, 1.8, cpu=0), allowed_cpus=everywhere) for at in range(2)]
    run = build.record([*build.solos(), build.round_of(crowd)], build.host(2, threads), vcpus=2 * threads)
    assert f"{noun} free while another is shared" in legend(cpu_map.draw(run, explain(run)))

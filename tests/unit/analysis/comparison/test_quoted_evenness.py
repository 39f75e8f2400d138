"""Evenness of a comparison: what decides is of shared levels, and what is quoted of each host stands beside it."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.sentences import metric_words, quoted_evenness
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.comparison import LESS, NOT_SHOWN, Comparison
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.comparison import document
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_soak
from support.builders.comparison import compare

OLD = SimulatedHost("old", cores=4, scheduler="sticky", rebalance_s=1.0, noise=0.002)
NEW = SimulatedHost("new", cores=4, threads=1, noise=0.002)


def run_of(host: SimulatedHost, *levels: int) -> RunRecord:
    return simulate(host, levels, repeats=6, seed=3, run_id=host.name)


def compared(*runs: RunRecord) -> Comparison:
    return compare([Candidate(each.header.run_id, each) for each in runs])


@pytest.fixture(scope="module")
def one_shared_level() -> Comparison:
    """The first slows some of 5 and 6 sessions, which the other, with 4 vCPUs, was not measured with."""
    return compared(run_of(OLD, 1, 4, 5, 6, 8), run_of(NEW, 1, 2, 3, 4))


def test_what_is_uneven_on_one_side_alone_is_said_in_verdict_and_figures(one_shared_level: Comparison) -> None:
    found = one_shared_level
    old, new = found.sides
    assert new.decisions[1].outcome == NOT_SHOWN
    assert found.verdict[0].endswith(
        "Evenness of each, at levels up to its own vCPUs: new 1.00 at N=4, even; old 0.66 at N=5, not even."
    )
    figure = new.figure("evenness")
    assert figure.base == old.figure("evenness").value
    assert figure.value == pytest.approx(0.995, abs=0.005)
    assert figure.low is not None and figure.high is not None
    assert 1.3 < figure.low < (figure.ratio or 0) < figure.high < 1.6


def test_the_figure_says_at_which_levels_max_over_min_is(one_shared_level: Comparison) -> None:
    assert metric_words(one_shared_level, "spread") == "max/min at N=4"


def test_the_page_does_not_call_it_no_difference(one_shared_level: Comparison) -> None:
    front = document(one_shared_level).front
    assert front is not None
    assert "its sessions were even up to its vCPUs (1.00), those of old were not (0.66)" in front.headline
    assert "evenness: no difference" not in front.headline
    quoted = [tile.beside.rpartition(", evenness ")[2] for tile in front.tiles]
    assert quoted == ["0.66 at N=5, not even", "1.00 at N=4, even"]


@pytest.mark.parametrize("sessions", [5, 8])
def test_of_a_soak_nothing_is_quoted_here_either(sessions: int) -> None:
    """Its own page, list and metrics have no pair; a comparison quoted ``evenness 0.66 at N=9, not even``."""
    soak = simulate_soak(OLD, sessions, 60.0, RunOptions(seed=1))
    found = compared(run_of(OLD, 1, 4, 5, 6, 8), soak)
    own, its = found.sides
    assert (its.runs[0].quote.evenness, its.runs[0].quote.usable_cores, its.even) == (None, None, "")
    assert its.figure("evenness").value is None and its.figure("effective_cores").value is None
    assert own.figure("evenness").value is not None
    assert "Evenness of each" not in found.verdict[0]
    front = document(found).front
    assert front is not None
    assert "evenness" not in front.tiles[1].beside
    assert its.figure("spread").value is not None, "max/min is compared all the same"


def test_with_several_sides_at_the_same_levels_the_baseline_is_of_these_too() -> None:
    third = run_of(SimulatedHost("third", cores=4, threads=1, noise=0.004), 1, 4)
    found = compared(run_of(OLD, 1, 4, 5, 6, 8), run_of(NEW, 1, 2, 3, 4), third)
    assert metric_words(found, "spread") == "max/min at N=4"
    assert found.baseline.figure("spread").value == found.sides[1].figure("spread").base


def test_the_figure_is_that_of_the_run_and_the_answers_of_several_runs_agree_or_are_undecided() -> None:
    even, uneven = run_of(OLD, 1, 2, 4), run_of(OLD, 1, 4, 5, 6, 8)
    room = explain(uneven).capacity
    assert room is not None and room.evenness is not None
    old = compared(uneven, run_of(NEW, 1, 4)).baseline
    assert old.figure("evenness").value == room.evenness.value
    assert old.even == "no"
    both = measured_side("both", [Candidate("both", even), Candidate("both", uneven)])
    assert (
        compare_sides([both, measured_side("new", [Candidate("new", run_of(NEW, 1, 4))])]).baseline.even == "undecided"
    )


def test_under_a_quota_evenness_is_that_of_levels_up_to_it_and_the_sentence_says_so() -> None:
    held = SimulatedHost("held", cores=4, threads=2, quota_cpus=6.0)
    (said,) = compared(run_of(OLD, 1, 4, 6, 8), run_of(held, 1, 4, 6, 8)).verdict
    assert "Evenness of each, at levels up to its own vCPUs or CPU quota: held 0." in said


def beside_a_quota(threads: int, noise: float) -> Comparison:
    """A small host, and one whose quota of 5 CPUs is not even at N=5, at other work; they share N=1 and N=2."""
    small = run_of(SimulatedHost("small", cores=2, threads=threads, noise=noise), 1, 2)
    host = SimulatedHost("limited", cores=4, threads=2, quota_cpus=5.0, noise=0.002)
    limited = run_of(host, *range(1, 7))
    plan = replace(limited.header.plan, workload=replace(limited.header.plan.workload, sql_hash="other"))
    found = compared(small, replace(limited, header=replace(limited.header, plan=plan)))
    side = found.sides[1]
    assert (side.even, bool(side.other_work), side.decisions[1].levels) == ("no", True, "N=2")
    return found


def test_headline_and_tile_of_other_work_do_not_call_max_over_min_of_few_sessions_evenness() -> None:
    """Tile and headline had 1.00 without its N and *evenness: no difference shown* of a host that is not even."""
    found = beside_a_quota(threads=2, noise=0.002)
    side, front = found.sides[1], document(found).front
    assert front is not None and side.decisions[1].outcome == NOT_SHOWN
    tile = next(each for each in front.tiles if each.name == "limited")
    quoted = quoted_evenness(side)
    assert quoted.endswith(", not even") and " at N=2" not in quoted
    assert f"{tile.value} {tile.beside}".startswith(f"{tile.value} evenness{quoted.removeprefix(tile.value)}, ")
    assert "evenness: no difference" not in front.headline
    assert f"max/min at N=2: no difference shown (evenness: limited {quoted}" in front.headline


def test_who_is_more_even_at_a_shared_level_and_not_even_at_another_is_said_to_be_so() -> None:
    found = beside_a_quota(threads=1, noise=0.02)
    side, front = found.sides[1], document(found).front
    assert front is not None and side.decisions[1].outcome == LESS
    assert "its sessions were more even in this run (max/min at N=2 " in front.headline
    assert f" lower) (evenness: limited {quoted_evenness(side)}; small " in front.headline

"""Runs against a baseline: what is refused, what decides, and what is never claimed."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.comparability import differences, other_work
from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.decisions import floor_from
from dbcpu.analysis.comparison.sentences import normalised
from dbcpu.analysis.comparison.side_figures import ABSOLUTE
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.comparison import (
    BELOW_FLOOR,
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    OTHER_WORK,
    PER_CORE,
    SPREAD,
    TOO_FEW,
    Comparison,
    Floor,
)
from dbcpu.errors import UnknownName, UsageError
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Panels
from dbcpu.reports.documents.comparison import document
from dbcpu.reports.formats import table
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.comparison import aa_run, compare, noisy_run, with_variants
from support.builders.record import PLAN


def against(base: RunRecord, other: RunRecord, floor: Floor | None = None) -> Comparison:
    return compare([Candidate("old", base), Candidate("new", other)], floor)


def changed(run: RunRecord, **work: Any) -> RunRecord:
    plan = replace(run.header.plan, workload=replace(run.header.plan.workload, **work))
    return RunRecord(replace(run.header, plan=plan), run.rounds)


@pytest.mark.parametrize(
    ("work", "fact"),
    [
        ({"sql_hash": "1" * 64}, "SQL"),
        ({"size": "long", "n": 120}, "size"),
        ({"answer": "7"}, "answer"),
        ({"plan_shape": f"Gather > {PLAN}"}, "plan shape"),
    ],
)
def test_the_speed_of_other_work_is_not_compared_and_its_evenness_is(work: dict[str, Any], fact: str) -> None:
    found = against(noisy_run(1), changed(noisy_run(2), **work))
    base, side = found.sides
    assert found.other_work == side.other_work
    assert side.other_work.startswith(f"{fact} ")
    assert [each.outcome == OTHER_WORK for each in side.decisions] == [True, False]
    for metric in ABSOLUTE:
        assert base.figure(metric).value is not None
        assert side.figure(metric).ratio is None
    assert side.figure("spread").ratio is not None
    assert f"the work differs ({side.other_work}), so speed is not compared. Usable cores " in found.verdict[0]
    assert "throughput" not in found.verdict[0].partition("speed is not compared")[2]


def test_sides_of_the_same_work_keep_their_speed_beside_one_of_other_work() -> None:
    runs = [noisy_run(1), noisy_run(2), changed(noisy_run(3), name="arithmetic")]
    found = compare([Candidate(name, run) for name, run in zip("abc", runs, strict=True)])
    assert [side.other_work for side in found.sides] == ["", "", "workload arithmetic against cartesian"]
    assert found.sides[1].figure("throughput").ratio is not None
    assert found.sides[2].figure("throughput").ratio is None


def test_what_is_shown_of_other_work_has_no_seconds_and_no_rates_beside_each_other() -> None:
    shown = table.render(document(against(noisy_run(1), changed(noisy_run(2), name="arithmetic", unit="Mloops/s"))))
    assert "Mrows/s, single" not in shown
    assert "elapsed" not in shown
    assert "throughput" in shown
    (panels,) = [
        chart.data
        for chart in document(against(noisy_run(1), changed(noisy_run(2), name="arithmetic"))).charts
        if chart.name == "panels"
    ]
    assert isinstance(panels, Panels)
    assert panels.y_title == "times a single session"
    assert {round(dict(panel.medians)[1], 6) for panel in panels.panels} == {1.0}


def with_blocks(run: RunRecord, size: str, workload: str) -> RunRecord:
    database = replace(run.header.database, parameters={"db_block_size": size})
    return changed(replace(run, header=replace(run.header, database=database)), name=workload)


def test_blocks_of_another_size_are_other_work_where_blocks_are_read() -> None:
    small, large = noisy_run(1), noisy_run(2)
    found = against(with_blocks(small, "8192", "logical_io"), with_blocks(large, "16384", "logical_io"))
    assert found.other_work == "block size 16384 bytes against 8192 bytes"
    against(with_blocks(small, "8192", "cartesian"), with_blocks(large, "16384", "cartesian"))


def test_other_hints_are_the_same_work_and_are_listed() -> None:
    """The plan says what hints do; texts of earlier versions have fewer of them."""
    texts = [
        "select /*+ no_parallel */ count(*)  from a, b",
        "select /*+ leading(a b) no_parallel */ count(*) from a, b",
    ]
    old, new = (changed(noisy_run(seed), sql=text, sql_hash=str(seed) * 64) for seed, text in enumerate(texts, start=1))
    found = {each.fact: (each.base, each.other) for each in differences(old.header, new.header)}
    assert found["hints"] == ("no_parallel", "leading(a b) no_parallel")
    assert other_work(old.header, new.header) == ""
    other = changed(noisy_run(2), sql=texts[1].replace("a, b", "a, b, c"), sql_hash="2" * 64)
    assert other_work(old.header, other.header).startswith("SQL ")


def test_where_a_common_table_expression_is_kept_is_no_other_plan() -> None:
    shapes = ("LOAD AS SELECT > COUNT", "LOAD AS SELECT (CURSOR DURATION MEMORY) > COUNT")
    old, new = (changed(noisy_run(1), plan_shape=shape) for shape in shapes)
    assert other_work(old.header, new.header) == ""


def test_an_unknown_plan_shape_is_not_held_against_a_run() -> None:
    assert against(noisy_run(1), changed(noisy_run(2), plan_shape=None)).sides[1].decisions


def test_what_differs_is_listed_and_not_refused() -> None:
    base, other = noisy_run(1), noisy_run(2, threads=1)
    assert other.header.host is not None
    other = RunRecord(
        replace(
            other.header,
            database=replace(other.header.database, version="19.0"),
            host=replace(other.header.host, kernel="6.6.1"),
        ),
        other.rounds,
    )
    told = {each.fact: (each.base, each.other) for each in against(base, other).sides[1].differs}
    assert told["kernel"] == ("6.12.0", "6.6.1")
    assert told["database"] == ("postgresql 18.0", "postgresql 19.0")
    assert told["SMT"] == ("on", "off")
    assert told["vCPUs"] == ("4", "2")


def test_a_faster_host_is_told_with_ratio_interval_and_p() -> None:
    found = against(noisy_run(1), noisy_run(2, speed=1.2))
    decision = found.sides[1].decisions[0]
    assert decision.outcome == MORE
    assert decision.levels == "N=4"
    assert decision.rounds == (6, 6)
    assert decision.ratio == pytest.approx(1.2, rel=0.03)
    assert decision.low is not None and decision.high is not None
    assert decision.low < 1.2 < decision.high
    assert decision.p == pytest.approx(2 / 924)
    assert "throughput at N=4 is 20 % higher" in found.verdict[0] or "19 % higher" in found.verdict[0]


def test_a_slower_one_is_told_as_lower() -> None:
    assert against(noisy_run(1), noisy_run(2, speed=0.8)).sides[1].decisions[0].outcome == LESS


def test_less_evenness_is_told_by_the_spread_over_cores_to_vcpus() -> None:
    found = against(noisy_run(1), noisy_run(2, uneven=1.5))
    throughput, spread = found.sides[1].decisions
    assert spread.summary == SPREAD
    assert spread.outcome == MORE
    assert spread.levels == "N=2-4 (3 levels)"
    assert spread.ratio == pytest.approx(1.5 ** (2 / 3), rel=0.03)  # of three levels two are uneven
    assert "higher" in found.verdict[0]
    assert throughput.outcome != MORE


def test_three_rounds_against_three_never_decide_however_large_the_difference() -> None:
    found = against(noisy_run(1, repeats=3), noisy_run(2, speed=3.0, repeats=3))
    assert {each.outcome for each in found.sides[1].decisions} == {TOO_FEW}
    assert "3 rounds against 3 cannot reach significance" in found.verdict[0]
    fewer = against(noisy_run(1, repeats=3), noisy_run(2, repeats=2))
    assert "2 rounds against 3 cannot reach significance" in fewer.verdict[0], "those of the side that is told first"


def test_no_difference_says_what_could_have_been_seen() -> None:
    found = against(noisy_run(3), noisy_run(4))
    decision = found.sides[1].decisions[0]
    assert decision.outcome == NOT_SHOWN
    assert decision.detectable is not None and 0.005 < decision.detectable < 0.1
    assert "no difference shown" in found.verdict[0]
    assert "detectable: " in found.verdict[0]
    assert "same" not in found.verdict[0]


def test_below_the_floor_nothing_is_claimed() -> None:
    fast = noisy_run(2, speed=1.05, noise=0.002)
    slow = noisy_run(1, noise=0.002)
    assert against(slow, fast).sides[1].decisions[0].outcome == MORE
    told = against(slow, fast, Floor(0.08, 0.08, "an A/A run"))
    assert told.sides[1].decisions[0].outcome == BELOW_FLOOR
    assert "no claim" in told.verdict[0]


def test_an_aa_run_gives_the_floor() -> None:
    run = aa_run(noisy_run(31, noise=0.02), noisy_run(32, noise=0.02))
    floor, own = floor_from(run), explain(run).noise_floor
    assert own is not None
    assert floor.level == pytest.approx(max(own.level_ratio, own.level_seen) - 1)
    assert 0.02 < floor.level < 0.12
    assert floor.source == "A/A run run-31, 6 rounds against 6 at 5 %, within one sitting"
    drifted = floor_from(aa_run(noisy_run(31), noisy_run(32, speed=1.3)))
    assert drifted.level > 0.25


def test_two_variants_of_other_things_give_no_floor() -> None:
    for run in (noisy_run(1), with_variants(noisy_run(31), noisy_run(32), "smt_off")):
        with pytest.raises(UsageError, match="is no A/A run"):
            floor_from(run)
    with pytest.raises(UsageError, match="too few rounds"):
        floor_from(aa_run(noisy_run(1, repeats=1), noisy_run(2, repeats=1)))


@pytest.mark.slow
def test_false_alarms_between_runs_of_the_same_thing_are_rare() -> None:
    sides = [measured_side("same", [Candidate("same", noisy_run(seed, noise=0.03))]) for seed in range(100, 141)]
    alarms = sum(each.shown for pair in pairwise(sides) for each in compare_sides(pair).sides[1].decisions)
    assert alarms <= 6  # of 80 at 5 %


def test_each_run_is_loaded_at_its_own_vcpus() -> None:
    found = against(noisy_run(1), noisy_run(2, threads=1, levels=(1, 2, 3)))
    assert found.sides[1].decisions[0].levels == "N=4 and N=2"
    assert found.sides[1].figure("smt_yield").value is None
    assert found.sides[0].figure("smt_yield").value is not None


def test_without_full_load_in_both_the_largest_common_level_decides() -> None:
    found = against(noisy_run(1, levels=(1, 2, 3)), noisy_run(2))
    assert found.sides[1].decisions[0].levels == "N=3"
    nothing = against(noisy_run(1, levels=(2,)), noisy_run(2, levels=(1, 3)))
    assert {each.outcome for each in nothing.sides[1].decisions} == {NOT_MEASURED}


def test_hosts_of_different_size_are_compared_at_the_same_sessions_per_core() -> None:
    """By N they share no level between the cores and the vCPUs."""
    big = noisy_run(1, levels=(1, 8, 9, 12, 16), cores=8)
    small = noisy_run(2, levels=(1, 2, 3, 4), uneven=1.5)
    found = against(big, small)
    assert found.levels_per == PER_CORE
    side = found.sides[1]
    # 9 of 8 cores is beyond them, and 12.5 % more than 8: it has no partner.
    assert side.shared_levels == ((8, 2), (12, 3), (16, 4))
    spread = side.decisions[1]
    assert spread.levels == "1 to 2 sessions per core (N=8-16 against N=2-4, 3 levels)"
    assert spread.outcome == MORE
    assert spread.ratio == pytest.approx(1.5 ** (2 / 3), rel=0.03)
    assert side.figure("spread").ratio == pytest.approx(spread.ratio, rel=0.01)
    assert "sessions per core" in found.summaries[SPREAD]
    shown = table.render(document(found))
    assert "Levels by sessions per core" in shown
    assert "not measured" not in shown


def test_sessions_that_all_have_a_core_are_compared_where_no_more_were_measured() -> None:
    found = against(noisy_run(1, levels=(1, 2), cores=4), noisy_run(2, levels=(1, 2), cores=8))
    spread = found.sides[1].decisions[1]
    assert (spread.levels, spread.outcome) == ("N=2", NOT_SHOWN)
    assert found.sides[1].figure("spread").ratio == pytest.approx(spread.ratio, rel=0.01)


def test_evenness_is_compared_from_the_cores_on_that_a_host_does_not_show() -> None:
    """At N=8, as many as it shows, two sessions are on every core and all are alike."""
    plain, hidden = (
        simulate(host, tuple(range(1, 9)), repeats=6, seed=21)
        for host in (SimulatedHost(cores=8, threads=1), SimulatedHost(cores=4, hidden_smt=True))
    )
    found = compare([Candidate("plain", plain), Candidate("hidden", hidden)])
    spread = next(each for each in found.sides[1].decisions if each.summary == SPREAD)
    assert (spread.outcome, spread.levels) == (MORE, "N=4-8 (5 levels)")


def test_levels_are_shared_per_core_or_by_n_as_wanted() -> None:
    big, small = noisy_run(1, levels=(1, 2, 4, 8, 16), cores=8), noisy_run(2, levels=(1, 2, 3, 4))
    sides = [Candidate("big", big), Candidate("small", small)]
    assert compare(sides).sides[1].decisions[1].levels == "N=2-4 (2 levels)"
    per_core = compare(sides, levels_per=PER_CORE).sides[1]
    assert per_core.shared_levels == ((4, 1), (8, 2), (16, 4))
    assert per_core.decisions[1].levels == "1 to 2 sessions per core (N=8-16 against N=2-4, 2 levels)"
    (panels,) = [each.data for each in document(compare(sides, levels_per=PER_CORE)).charts if each.name == "panels"]
    assert isinstance(panels, Panels)
    assert (panels.x_title, [panel.units for panel in panels.panels]) == ("sessions per core", [8, 2])


def test_one_session_more_than_cores_or_vcpus_is_no_shared_level() -> None:
    big, small = noisy_run(1, levels=(1, 39, 41, 79), cores=40), noisy_run(2, levels=(1, 8, 9, 16), cores=8)
    assert against(big, small).sides[1].shared_levels == ((41, 9),)


def test_levels_per_core_need_cores() -> None:
    unknown = noisy_run(1)
    unknown = replace(unknown, header=replace(unknown.header, host=None))
    with pytest.raises(UsageError, match=r"the cores of old are not known.*--cores old=N"):
        compare([Candidate("old", unknown), Candidate("new", noisy_run(2))], levels_per=PER_CORE)


def test_variants_of_one_run_are_compared() -> None:
    run = with_variants(noisy_run(1, uneven=1.5), noisy_run(2), "spread")
    found = compare([Candidate("as it is", run), Candidate("spread", run, "spread")])
    assert found.sides[1].variant == "spread"
    assert found.sides[1].decisions[1].outcome == LESS
    with pytest.raises(UnknownName, match="there are: baseline, spread"):
        compare([Candidate("a", run), Candidate("b", run, "pack")])


def test_the_ratio_of_the_spread_is_taken_at_the_levels_of_both() -> None:
    found = against(noisy_run(1, cores=4, threads=1, levels=(1, 2, 3, 4)), noisy_run(2, uneven=1.5))
    decision = found.sides[1].decisions[1]
    assert decision.levels == "N=2-4 (3 levels)"
    assert found.sides[1].figure("spread").ratio == pytest.approx(decision.ratio, rel=0.01)


def test_the_baseline_is_one_and_figures_have_intervals() -> None:
    found = against(noisy_run(1), noisy_run(2, speed=1.2))
    assert [each.ratio for each in found.baseline.figures if each.value is not None] == [1.0] * 8
    solo = found.sides[1].figure("solo")
    assert solo.low is not None and solo.high is not None
    assert solo.low < 1.2 < solo.high
    assert found.sides[1].figure("effective_cores").ratio == pytest.approx(1.0, abs=0.05)


def test_a_comparison_needs_two_runs_with_rounds() -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        compare([Candidate("a", noisy_run(1))])
    with pytest.raises(UsageError, match="no valid round"):
        against(noisy_run(1), RunRecord(noisy_run(2).header, ()))


def test_the_picture_has_evenness_as_it_is_quoted_and_not_where_all_are_even() -> None:
    """Of a host that is not even at N=4 a bar of 1.00 was drawn: max/min at N=2."""
    even, uneven = (SimulatedHost(cores=2, threads=each, scheduler="smt_balancing") for each in (1, 2))
    pair = [simulate(host, tuple(range(1, 2 * host.threads + 1)), 6, seed=1) for host in (even, uneven)]
    drawn = dict(normalised(compare([Candidate(name, each) for name, each in zip("ab", pair, strict=True)])))
    assert [*drawn][-1] == "evenness, as quoted"
    assert not any("max/min" in name for name in drawn)
    (evenness,) = (ratios[1] for name, ratios in drawn.items() if "evenness" in name)
    assert evenness is not None
    assert evenness[0] == pytest.approx(0.75, abs=0.05)


def test_the_drawn_interval_of_max_over_min_ends_where_that_of_a_side_is_1() -> None:
    comparison = compare([Candidate("a", noisy_run(1, uneven=1.2)), Candidate("b", noisy_run(2))])
    side = comparison.sides[1]
    unquoted = tuple(replace(each, ratio=None) if each.metric == "evenness" else each for each in side.figures)
    wide = tuple(replace(each, low=0.1) if each.metric == "spread" else each for each in unquoted)
    (base,) = (each.base for each in wide if each.metric == "spread")
    drawn = dict(normalised(replace(comparison, sides=(comparison.sides[0], replace(side, figures=wide)))))
    (spread,) = (ratios[1] for name, ratios in drawn.items() if "max/min" in name)
    assert base is not None
    assert spread is not None
    assert spread[1] == pytest.approx(min(spread[0], 1 / base))

"""Several runs a side, the history of a target, and what one run a side never claims."""

import math
from itertools import product

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.comparison.measured_run import MeasuredSide, measured
from dbcpu.analysis.comparison.sentences import decision_words, metric_words
from dbcpu.analysis.levels.round_figures import figures_by_round
from dbcpu.analysis.results.comparison import (
    HISTORY,
    LESS,
    NOT_KNOWN,
    NOT_MEASURED,
    NOT_SHOWN,
    RUNS,
    SITTING,
    TOO_FEW,
    Comparison,
    Decision,
)
from dbcpu.errors import UsageError
from dbcpu.record.finding_entry import Level
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.comparison import compare, noisy_run, with_variants
from support.builders.luck import lucky_runs, slower

HOST = SimulatedHost("box", cores=2, threads=1, scheduler="smt_balancing", noise=0.02)
LEVELS = (1, 2)


def side(name: str, *records: RunRecord) -> MeasuredSide:
    return measured_side(name, [Candidate(name, each) for each in records])


def of(*sides: MeasuredSide) -> tuple[Comparison, Decision]:
    found = compare_sides(sides)
    return found, found.sides[1].decisions[0]


def with_past(given: MeasuredSide, *earlier: RunRecord) -> MeasuredSide:
    return replace(given, history=tuple(figures_by_round(each) for each in earlier))


# --- several runs a side


def test_the_run_is_the_unit_where_a_side_has_several() -> None:
    base, other = lucky_runs(HOST, LEVELS, 1, 4, 0.05), lucky_runs(HOST, LEVELS, 2, 4, 0.05, speed=0.7)
    found, throughput = of(side("old", *base), side("new", *other))
    assert throughput.outcome == LESS
    assert throughput.between_run_source == RUNS
    assert throughput.runs == (4, 4)
    assert throughput.between_run_spread is not None and 0.02 < throughput.between_run_spread < 0.1
    assert throughput.low is not None and throughput.high is not None
    assert throughput.low < 0.7 < throughput.high
    assert "4 runs against 4, which differ by" in found.verdict[0]
    assert "one run a side" not in found.verdict[0]


def test_what_rounds_alone_would_tell_apart_several_runs_do_not() -> None:
    """Runs of one host, 5 % apart by luck: two of them differ clearly by their rounds."""
    runs = lucky_runs(HOST, LEVELS, 3, 8, 0.08)
    by_speed = sorted(runs, key=lambda each: figures_by_round(each)[-1].throughput)
    alone = compare([Candidate("a", by_speed[0]), Candidate("b", by_speed[-1])]).sides[1].decisions[0]
    assert alone.shown
    assert of(side("a", *runs[:4]), side("b", *runs[4:]))[1].outcome == NOT_SHOWN


def test_one_run_is_compared_with_several_by_the_spread_of_the_several() -> None:
    runs = lucky_runs(HOST, LEVELS, 4, 6, 0.03)
    _, throughput = of(side("one", runs[0]), side("several", *runs[1:]))
    assert (throughput.between_run_source, throughput.runs) == (RUNS, (1, 5))


def test_a_side_is_the_mean_of_its_runs_in_every_table() -> None:
    runs = [slower(each, factor, f"r{at}") for at, (each, factor) in enumerate(
        (each, factor) for each in lucky_runs(replace(HOST, noise=0.0), LEVELS, 5, 1, 0.0) for factor in (1.0, 1.21)
    )]  # fmt: skip
    found, _ = of(side("both", *runs), side("other", *lucky_runs(HOST, LEVELS, 6, 2, 0.0)))
    one, two = (each.throughput for each in found.baseline.runs)
    assert one is not None and two is not None
    mean = math.sqrt(one * two)
    assert found.baseline.figure("throughput").value == pytest.approx(mean)
    assert found.baseline.levels[-1].throughput == pytest.approx(mean)


@pytest.mark.parametrize(
    ("other", "fact"),
    [
        (noisy_run(2, target="elsewhere"), "target differs"),
        (noisy_run(2, cores=4), "number of vCPUs differs"),
        (noisy_run(2, cores=4, threads=1), "number of cores differs"),
    ],
)
def test_runs_of_other_things_are_no_side(other: RunRecord, fact: str) -> None:
    with pytest.raises(UsageError, match=f"cannot be one side: their {fact}"):
        side("mixed", noisy_run(1), other)


def test_a_run_compared_with_itself_is_refused_in_one_sentence() -> None:
    run = noisy_run(1)
    with pytest.raises(UsageError, match="run run-1 was given twice: a run compared with itself shows no difference"):
        compare([Candidate("a", run), Candidate("b", run)])
    with pytest.raises(UsageError, match="was given twice"):
        of(side("a", run, noisy_run(2)), side("b", noisy_run(3), noisy_run(2)))


# --- one run a side


def test_history_widens_interval_and_decision_and_is_named() -> None:
    past = lucky_runs(HOST, LEVELS, 7, 8, 0.05)
    one, two = lucky_runs(HOST, LEVELS, 8, 1, 0.0)[0], lucky_runs(HOST, LEVELS, 9, 1, 0.0, speed=0.92)[0]
    _, alone = of(side("then", one), side("now", two))
    found, usual = of(with_past(side("then", one), *past), with_past(side("now", two), *past))
    assert alone.shown
    assert (alone.between_run_source, usual.between_run_source) == (NOT_KNOWN, HISTORY)
    assert usual.outcome == NOT_SHOWN
    assert usual.between_run_runs == 8
    assert usual.between_run_spread == pytest.approx(0.05, rel=0.6)
    assert None not in (alone.low, alone.high, usual.low, usual.high)
    assert usual.low < alone.low < alone.high < usual.high  # type: ignore[operator]
    assert "8 earlier runs differ by" in found.verdict[0]


def test_too_short_a_history_is_none() -> None:
    past = lucky_runs(HOST, LEVELS, 7, 4, 0.05)
    one, two = lucky_runs(HOST, LEVELS, 8, 2, 0.0)
    decision = of(with_past(side("then", one), *past), with_past(side("now", two), *past))[1]
    assert decision.between_run_source == NOT_KNOWN
    assert decision.between_run_spread is None


def test_an_earlier_run_of_the_target_was_then_and_this_one_is_now() -> None:
    then, now = noisy_run(1), noisy_run(2, speed=0.72, started_at="2026-11-02T12:00:00+00:00")
    found, decision = of(side("old", then), side("new", now))
    assert decision.then
    assert " lower than then (" in found.verdict[0] and "is now 2" in found.verdict[0]
    assert "With one run a side what changes between runs is not included. Evenness" in found.verdict[0]


def test_of_two_hosts_with_one_run_each_no_property_is_claimed() -> None:
    sentence = of(side("a", noisy_run(1)), side("b", noisy_run(2, speed=0.8, target="elsewhere")))[0].verdict[0]
    assert " lower in this run (" in sentence
    assert " is 2" not in sentence
    assert "what changes between runs is not included" in sentence


def test_variants_of_one_run_took_turns_and_need_no_spread_between_runs() -> None:
    run = with_variants(noisy_run(1), noisy_run(2, speed=0.8), "spread")
    found = compare([Candidate("as it is", run, "baseline"), Candidate("spread", run, "spread")])
    assert {each.between_run_source for each in found.sides[1].decisions} == {SITTING}
    assert "within one sitting" in found.verdict[0]


# --- test and interval, estimators, levels


def test_an_interval_that_leaves_out_one_is_not_called_no_difference() -> None:
    """At p between 0.5 % and 5 % the difference is likely, and not shown."""
    likely = small = 0
    firsts = [side("a", noisy_run(seed)) for seed in range(6)]
    seconds = [side("b", noisy_run(100 + seed, speed=1.014)) for seed in range(7)]
    for first, second in product(firsts, seconds):
        found, decision = of(first, second)
        assert decision.p is not None and decision.low is not None and decision.high is not None
        leaves_out_one = not decision.low <= 1 <= decision.high
        assert leaves_out_one == (decision.p < 0.05)
        words = found.verdict[0].split(". Max/min")[0]
        if decision.outcome == NOT_SHOWN:
            below = abs(decision.ratio - 1) < decision.floor if decision.ratio and decision.floor else False
            likely_words = f"a difference{' below the noise floor of ' if below else ' is likely, not shown'}"
            assert (likely_words in words) == leaves_out_one
            assert ("no difference shown" in words) != leaves_out_one
            likely += leaves_out_one
            small += leaves_out_one and below
    assert likely >= 3
    assert 0 < small < likely


@pytest.mark.parametrize("speed", [0.8, 1.01, 1.3])
def test_sentence_table_and_values_have_one_estimate(speed: float) -> None:
    found = of(side("a", noisy_run(1, noise=0.05)), side("b", noisy_run(2, speed=speed, noise=0.05)))[0]
    for decision in found.sides[1].decisions:
        figure, own = found.sides[1].figure(decision.summary), found.baseline.figure(decision.summary)
        assert (figure.ratio, figure.low, figure.high) == (decision.ratio, decision.low, decision.high)
        assert figure.value is not None and own.value is not None
        assert figure.value / own.value == pytest.approx(decision.ratio)
        assert decision.low is not None and decision.high is not None and decision.ratio is not None
        assert decision.low <= decision.ratio <= decision.high


def test_levels_oversubscribed_on_one_side_only_do_not_count_for_evenness() -> None:
    large = noisy_run(1, cores=4, threads=1, levels=(1, 2, 3, 4))
    small = noisy_run(2, cores=2, threads=1, uneven=1.5, levels=(1, 2, 3, 4))
    spread = of(side("large", large), side("small", small))[0].sides[1].decisions[1]
    assert spread.levels == "N=2"
    assert spread.left_out == (3, 4)
    assert spread.outcome == NOT_SHOWN


# --- findings, remedies, odd input


def test_findings_from_a_warning_on_come_along_once_per_side() -> None:
    stolen = replace(HOST, steal=0.3)
    quiet = lucky_runs(HOST, LEVELS, 10, 1, 0.0)
    found = of(side("a", *quiet), side("b", *lucky_runs(stolen, LEVELS, 11, 2, 0.0)))[0]
    codes = [each.code for each in found.sides[1].findings]
    assert "steal" in codes
    assert len(set(codes)) == len(codes)
    assert all(each.level >= Level.WARNING for each in found.sides[1].findings)
    assert "(in 2 of 2 runs)" in next(each.seen for each in found.sides[1].findings if each.code == "steal")
    assert "steal" not in [each.code for each in found.baseline.findings]


def test_too_few_rounds_are_mended_by_the_command_that_measured_them() -> None:
    real = of(side("a", noisy_run(1, repeats=3)), side("b", noisy_run(2, repeats=3)))[1]
    simulated = of(
        *(side(name, *lucky_runs(HOST, LEVELS, seed, 1, 0.0, repeats=3)) for name, seed in (("a", 1), ("b", 2)))
    )[1]
    assert (real.outcome, simulated.outcome) == (TOO_FEW, TOO_FEW)
    assert real.remedy == "`dbcpu run --repeats 6`"
    assert simulated.remedy == "`dbcpu simulate --repeats 6`"


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_runs_without_a_level_in_common_are_not_measured_in_both(runs: int) -> None:
    base = [noisy_run(seed, levels=(2,)) for seed in range(runs)]
    other = [noisy_run(10 + seed, levels=(1, 3)) for seed in range(runs)]
    found = of(side("a", *base), side("b", *other))[0]
    assert {each.outcome for each in found.sides[1].decisions} == {NOT_MEASURED}
    assert "was not measured in both" in found.verdict[0]


def test_figures_name_the_level_at_which_all_sides_were_measured() -> None:
    """Where one side lacks N = vCPUs, the others are compared there neither."""
    whole = noisy_run(1)
    assert metric_words(of(side("a", whole), side("b", noisy_run(2)))[0], "throughput").endswith("at N = vCPUs")
    found = of(side("a", whole), side("b", noisy_run(3, levels=(1,))))[0]
    assert metric_words(found, "throughput") == "Mrows/s in total at N = 1"
    assert found.sides[0].figure("throughput").value == pytest.approx(found.sides[0].figure("solo").value, rel=0.2)


def test_what_a_page_shows_at_one_pace_is_named_as_delivered() -> None:
    by_turns = replace(HOST, toggle=1.6, pace_hz=20.0)
    paced, other = (simulate(by_turns, (1, 2), 3, seed, size="short") for seed in (1, 2))
    found = of(side("a", paced), side("b", other))[0]
    assert metric_words(found, "solo") == "Mrows/s, single session, as delivered"
    assert metric_words(found, "spread") == "max/min at N=2"


@pytest.mark.parametrize(("share", "words"), [(0.021, "2.1 %"), (0.5, "50 %"), (1.5, "2.50x")])
def test_a_detectable_difference_of_more_than_the_whole_is_a_factor(share: float, words: str) -> None:
    decision = Decision("throughput", NOT_SHOWN, "N=2", (6, 6), 1.0, 0.5, 2.0, 0.5, detectable=share)
    assert f"detectable: {words} or more" in decision_words(decision)


def test_an_interrupted_run_is_compared_by_what_it_has_and_says_so() -> None:
    whole = noisy_run(2)
    broken = RunRecord(replace(whole.header, status="interrupted"), whole.rounds[:9])
    found = of(side("a", noisy_run(1)), side("b", broken))[0]
    assert "incomplete-run" in [each.code for each in found.sides[1].findings]
    assert found.sides[1].runs[0].status == "interrupted"


def test_a_side_whose_runs_lack_rounds_of_their_own_level_still_compares() -> None:
    one, short = noisy_run(1), noisy_run(2, levels=(1, 2))
    found = of(side("a", one, short), side("b", noisy_run(3), noisy_run(4)))[0]
    assert found.sides[1].decisions[0].levels == "N=2"
    assert measured("x", short).levels == {1, 2}

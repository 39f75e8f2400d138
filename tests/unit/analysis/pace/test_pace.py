"""The pace of the CPUs, on simulated hosts whose truth is known."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.causes.loss import Loss, at_usual_steal
from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.comparison.side_figures import COMPARED_METRICS
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.levels.solo_reference import MIN_COUNTED
from dbcpu.analysis.pace.by_level import pace_ratio
from dbcpu.analysis.pace.exponent import PRIOR_SD, USUAL, fitted, speed
from dbcpu.analysis.pace.pieces import PaceStretch, pieces_of
from dbcpu.analysis.pace.two_speeds import two_speeds
from dbcpu.analysis.placement.joined_rounds import WatchedRound
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.scaling.topology_check import widened
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.plan import MIN_PACE_PIECES
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.comparison import compare
from support.contradictions import contradictions

TOGGLING = SimulatedHost(cores=2, threads=1, toggle=1.8, mrows_per_s=17)
HIDDEN = SimulatedHost(cores=1, threads=2, hidden_smt=True, toggle=1.8, mrows_per_s=17)


@lru_cache
def run(host: SimulatedHost, seed: int = 1, **changes: Any) -> RunRecord:
    given: dict[str, Any] = {"levels": (1, 2, 3), "repeats": 6, "size": "short", "seconds": 1.5, **changes}
    return simulate(host, seed=seed, **given)


def without_witness(record: RunRecord) -> RunRecord:
    return replace(record, rounds=tuple(replace(each, witness=None) for each in record.rounds))


def at(analysis: Analysis, level: int) -> Any:
    return next(each for each in analysis.levels if each.level == level)


def test_the_tolerance_is_small_although_the_cpus_toggle() -> None:
    for seed in range(3):
        known, blind = (explain(each) for each in (run(TOGGLING, seed), without_witness(run(TOGGLING, seed))))
        assert known.reference is not None
        assert blind.reference is not None
        assert known.reference.tolerance <= 0.12
        assert known.reference.spread < blind.reference.spread
        assert known.reference.pace is not None
        assert known.reference.pace.tolerance == blind.reference.tolerance
        assert abs(known.reference.pace.exponent - 0.75) < 3 * known.reference.pace.exponent_error + 0.02


def test_sessions_are_slower_by_the_witness_and_lose_nothing_else() -> None:
    analysis = explain(run(TOGGLING))
    pairs = [each for each in analysis.sessions if each.level == 2]
    assert {each.cause for each in pairs} <= {Cause.NONE, Cause.SLOWER_CPU}
    slow = [each for each in analysis.sessions if each.level <= 2 and each.pace_only]
    assert slow, "some session met more slow states than single sessions usually do"
    assert all("by the witness" in each.evidence for each in slow)
    for each in analysis.sessions:
        assert each.pieces is None or each.pieces >= MIN_PACE_PIECES
        assert each.pace is None or 0.4 < each.pace < 1.1


def test_steal_all_along_is_no_noise_beside_a_witness() -> None:
    stolen = replace(TOGGLING, steal=0.3, noise=0.005)
    for seed in range(3):
        record = run(stolen, seed)
        known, blind = explain(record), explain(without_witness(record))
        assert known.reference is not None
        assert blind.reference is not None
        assert known.reference.tolerance <= 0.12 < blind.reference.tolerance
        assert known.reference.counted_tolerance == MIN_COUNTED
        assert contradictions(record, known) == []


def test_a_session_that_was_spared_the_usual_steal_has_lost_what_it_lost_beside_that() -> None:
    counted = {"total_s": -0.1, "inflation_s": 0.2, "queue_s": 0.0, "throttled_s": 0.0, "gap_s": -0.3, "unsplit_s": 0.0}
    columns = {name: np.full(2, value) for name, value in counted.items()}
    columns["gap_s"] = np.array([-0.3, np.nan])
    usual = at_usual_steal(Loss(**columns), np.full(2, 0.3))
    assert usual.total_s.tolist() == pytest.approx([0.2, -0.1])
    assert usual.gap_s[0] == 0.0


def test_a_session_that_always_shared_its_core_is_named_by_the_proven_cost() -> None:
    host = SimulatedHost(
        cores=8, threads=2, scheduler="sticky", smt_yield=0.31, noise=0.01, mrows_per_s=17, toggle=1.8, toggle_s=3.2,
        toggle_slow=0.32, toggle_form="walk",
    )  # fmt: skip
    record = simulate(host, (1, 2, 8, 12, 16), 6, 1, size="short", seconds=1.5)
    analysis = explain(record)
    assert analysis.shared_core is not None
    full = [each for each in analysis.sessions if each.level == 16]
    assert {each.pieces for each in full} == {None}
    assert {each.cause for each in full} == {Cause.SHARED_CORE}
    by_proof = [each for each in full if "which costs" in each.evidence]
    assert by_proof, "some were within the noise of times as delivered"
    table = analysis.shared_core.table
    named = sum(each.cause == Cause.SHARED_CORE for each in analysis.sessions)
    assert table.shared_slow >= named - table.alone_slow
    assert contradictions(record, analysis) == []


def test_the_verdict_says_that_it_was_not_the_sessions() -> None:
    record = run(TOGGLING)
    analysis = explain(record)
    assert at(analysis, 2).at_one_pace
    assert at(analysis, 2).full_speed is Answer.YES
    assert "The speed of the CPUs themselves changes" in analysis.verdict
    assert "strangers-on-siblings" in {each.code for each in analysis.findings}
    assert contradictions(record, analysis) == []


def test_beside_other_processes_a_tenant_is_one_of_two_reasons() -> None:
    def meaning(host: SimulatedHost) -> str:
        found = explain(run(host)).findings
        (said,) = [each.meaning for each in found if each.code == "strangers-on-siblings"]
        return said

    assert meaning(TOGGLING).startswith("another tenant uses the cores of these vCPUs from time to time: ")
    assert "the reason may be other processes of this host, if these vCPUs share cores" in meaning(
        replace(TOGGLING, noisy_neighbour=0.4)
    )


def test_own_sharing_of_hidden_siblings_is_not_divided_away() -> None:
    for seed in range(4):
        record = run(HIDDEN, seed)
        analysis = explain(record)
        assert not at(analysis, 2).at_one_pace
        assert at(analysis, 2).full_speed is Answer.NO
        assert "it was not these sessions" not in analysis.verdict
        assert contradictions(record, analysis) == []


def test_shown_siblings_keep_their_cause() -> None:
    host = SimulatedHost(cores=2, threads=2, pace_hz=20.0, mrows_per_s=17)
    analysis = explain(run(host, levels=(1, 2, 3, 4)))
    shared = [each for each in analysis.sessions if each.level == 4]
    assert {each.cause for each in shared} == {Cause.SHARED_CORE}
    assert at(analysis, 4).full_speed is Answer.NO


def test_cores_of_two_kinds_are_no_strangers() -> None:
    host = SimulatedHost(cores=4, threads=1, efficiency_cores=2, pace_hz=20.0, mrows_per_s=17)
    analysis = explain(run(host, levels=(1, 2, 4)))
    assert not at(analysis, 4).at_one_pace
    assert at(analysis, 4).even is not Answer.YES
    assert at(analysis, 4).max_over_min > 1.3


def test_a_quiet_host_is_explained_as_without_a_witness() -> None:
    host = SimulatedHost(cores=4, threads=1, pace_hz=20.0, mrows_per_s=17)
    record = run(host, levels=(1, 2, 4, 6), repeats=3)
    known, blind = explain(record), explain(without_witness(record))
    assert known.two_speeds is None
    for one, other in zip(known.levels, blind.levels, strict=True):
        assert (one.even, one.full_speed) == (other.even, other.full_speed)


def test_too_few_pieces_leave_the_times_as_they_are_and_that_is_said() -> None:
    record = run(replace(TOGGLING, pace_hz=3.0))
    analysis, blind = explain(record), explain(without_witness(record))
    assert analysis.reference == blind.reference
    assert analysis.levels == blind.levels


def test_a_single_session_with_too_few_pieces_is_no_reference_if_two_others_remain() -> None:
    record = run(TOGGLING)
    first = next(each for each in record.rounds if each.level == 1)
    assert first.witness is not None
    few = tuple(replace(cpu, at_us=cpu.at_us[:3], ns=cpu.ns[:3]) for cpu in first.witness.cpus)
    short = replace(first, witness=replace(first.witness, cpus=few))
    changed = replace(record, rounds=tuple(short if each is first else each for each in record.rounds))
    before, after = (explain(each).reference for each in (record, changed))
    assert before is not None
    assert after is not None
    assert after.pace is not None
    assert after.sessions == before.sessions - 1


def test_a_comparison_shows_single_sessions_as_delivered_and_at_full_pace() -> None:
    calm = run(replace(TOGGLING, toggle_slow=0.2), repeats=6)
    found = compare([Candidate("calm", calm), Candidate("loud", run(TOGGLING, repeats=6))])
    for metric in ("solo", "throughput"):
        delivered, full = (found.sides[1].figure(name) for name in (metric, f"{metric}_at_full_pace"))
        assert delivered.ratio is not None
        assert full.low is not None
        assert full.high is not None
        assert delivered.ratio < 0.9, "the stranger of the second is there more often"
        assert full.ratio == pytest.approx(1.0, abs=0.05)
        assert full.low <= 1.0 <= full.high
    assert "At the full pace of the CPUs throughput is" in found.verdict[0]
    assert "By the witness, the CPUs of loud lost more of their full pace than those of calm: 0." in found.verdict[0]


def test_a_comparison_without_a_witness_on_both_sides_has_no_figures_at_full_pace() -> None:
    plain = without_witness(run(TOGGLING))
    found = compare([Candidate("with", run(TOGGLING)), Candidate("without", plain)])
    assert {figure.metric for side in found.sides for figure in side.figures} == set(COMPARED_METRICS)
    assert "full pace" not in found.verdict[0]


def test_other_experiments_are_explained_as_delivered() -> None:
    record = run(TOGGLING)
    plan = replace(record.header.plan, experiment="pool", pieces=8)
    assert run_context(RunRecord(replace(record.header, plan=plan), record.rounds)).split is None


def test_every_loss_is_still_split_exactly() -> None:
    for each in explain(run(TOGGLING)).sessions:
        parts = [each.inflation_s, each.queue_s, each.throttled_s, each.gap_s]
        assert each.elapsed_s is not None
        assert each.reference_s is not None
        assert sum(part or 0.0 for part in parts) == pytest.approx(each.elapsed_s - each.reference_s)


def test_a_stolen_solo_round_is_no_reference_if_others_remain() -> None:
    record = run(TOGGLING)
    solos = [each for each in record.rounds if each.level == 1]
    stolen = replace(
        solos[0],
        cpu_timeline=tuple(replace(row, steal_s=tuple(0.1 for _ in row.steal_s)) for row in solos[0].cpu_timeline),
    )
    changed = replace(record, rounds=tuple(stolen if each is solos[0] else each for each in record.rounds))
    assert run_context(record).reference.sessions == len(solos)  # type: ignore[union-attr]
    assert run_context(changed).reference.sessions == len(solos) - 1  # type: ignore[union-attr]
    blind = run_context(without_witness(changed)).reference
    assert blind is not None
    assert blind.sessions == len(solos), "without a witness as before"


def test_pieces_beside_a_session_are_those_of_its_cpu_while_it_was_there() -> None:
    record = run(replace(TOGGLING, toggle=1.0, pace_hz=20.0))
    round_ = next(each for each in record.rounds if each.level == 2)
    members = [each for each in timed(record) if each.round is round_]
    (watched,) = WatchedRound.each([members])
    (found,) = pieces_of([watched], {})
    assert round_.witness is not None
    for member in members:
        cpus = {each.cpu for each in member.session.residency if each.state == "R"}
        most = sum(at_us >= 0 for each in round_.witness.cpus if each.cpu in cpus for at_us in each.at_us)
        assert 0 < found.beside[member.session.ordinal].size <= most
    assert all(ns.size for ns in found.idle.values())
    (shown,) = pieces_of([watched], {0: (1,), 1: (0,)})
    both = min(member.span.end_s for member in members if member.span)
    assert sum(ns.size for ns in shown.beside.values()) < sum(ns.size for ns in found.beside.values()), both


def test_the_exponent_is_found_and_stays_near_its_prior_without_data() -> None:
    rng = np.random.default_rng(1)
    cases = []
    for _ in range(20):
        ns = 1e5 * np.where(rng.random(40) < rng.uniform(0.1, 0.9), 1.8, 1.0)
        cases.append((float(-np.log(speed(ns, 0.9, 1e5)) + 0.005 * rng.standard_normal()), ns))
    found = fitted([cases])
    assert found.value == pytest.approx(0.9, abs=0.05)
    assert found.error < PRIOR_SD / 2
    assert (fitted([]).value, fitted([cases[:2]]).value) == (USUAL, USUAL)


@pytest.mark.parametrize(("slower", "rises"), [(1.0, False), (1.4, True)])
def test_a_pace_that_falls_with_the_sessions_is_seen(slower: float, rises: bool) -> None:
    rng = np.random.default_rng(2)

    def stretch(order: int, sessions: int, factor: float) -> PaceStretch:
        ns = 1e5 * factor * np.exp(0.1 * rng.standard_normal(30))
        return PaceStretch(order, max(1, sessions), order % 2, sessions, ns)

    seen = [stretch(at, sessions, slower if sessions == 2 else 1.0) for at in range(12) for sessions in (0, 1, 2)]
    ratio = pace_ratio(seen, (2,), 1.0)
    assert ratio is not None
    assert ratio.low < slower < ratio.high
    assert (ratio.low > 1.1) is rises
    assert pace_ratio(seen[:2], (2,), 1.0) is None


def test_one_speed_is_not_called_two() -> None:
    rng = np.random.default_rng(3)
    one = [PaceStretch(at, 1, 0, 1, 1e5 * np.exp(0.02 * rng.standard_normal(50))) for at in range(4)]
    assert two_speeds(one) is None
    slow = [replace(each, ns=each.ns * 1.8) if each.order % 2 else each for each in one]
    found = two_speeds(slow)
    assert found is not None
    assert found.slow_share == pytest.approx(0.5, abs=0.02)
    assert found.factor == pytest.approx(1.8, rel=0.02)


def test_marks_of_sessions_lie_about_the_median_of_their_level() -> None:
    """Also above the vCPUs, where those that a session waits for were as slow meanwhile."""
    analysis = explain(run(TOGGLING))
    for level in (each for each in analysis.levels if each.at_one_pace and each.level > 1):
        views = [each.at_one_pace() for each in analysis.sessions if each.level == level.level]
        rounds = {each.order for each in views}
        medians = [np.median([each.slowdown for each in views if each.order == order]) for order in rounds]
        assert np.median(medians) == pytest.approx(level.slowdown_median)
        highest = [max(each.slowdown or 0.0 for each in views if each.order == order) for order in rounds]
        assert np.median(highest) == pytest.approx(level.slowdown_max)
        assert all(each.cause is not Cause.SLOWER_CPU for each in views if each.pace_only)


def test_intervals_of_the_curve_hold_the_truth_where_only_some_levels_are_at_one_pace() -> None:
    """Sessions that share cores stay as delivered: how slow the few single ones were by chance is not their doing."""
    host, held = replace(TOGGLING, threads=2, smt_yield=0.3, mrows_per_s=30), 0
    for seed in (1, 8, 9, 11):
        found = explain(simulate(host, (1, 2, 3, 4, 5, 6, 8), seed=seed, repeats=6)).scaling
        knee = widened(found.knees[0], found.knee_intervals[0])
        for interval, truth in ((knee, 2.0), (found.smt_yield_interval, 0.3), (found.effective_cores_interval, 2.6)):
            assert interval is not None
            held += interval.low <= truth <= interval.high
    assert held >= 11

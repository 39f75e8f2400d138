"""The course of a soak: who is slow, since when, and what was lost."""

import re

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.experiments import MAX_KEPT, thinned
from dbcpu.analysis.experiments.soak import _heat
from dbcpu.analysis.explain import explain, explain_rounds
from dbcpu.analysis.results.experiments import Soak
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import STILL_RAN, timed_round
from dbcpu.formatting import times
from dbcpu.record.rounds import CgroupUse, Execution, KitCost, RunRecord
from dbcpu.reports import charts
from dbcpu.reports.documents.experiments import experiment_lines, experiment_tables
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats import table
from dbcpu.simulator import SimulatedHost
from dbcpu.simulator.experiments import RunOptions, simulate_soak
from support.builders import experiments as build


def steady(segment: int, ordinal: int, chance: np.random.Generator) -> float:
    return float(2.0 * np.exp(chance.normal(0, 0.02)))


def stuck(segment: int, ordinal: int, chance: np.random.Generator) -> float:
    """Sessions 1 and 3 share a core all the time."""
    return steady(segment, ordinal, chance) * (1.6 if ordinal in (1, 3) else 1.0)


def explained(record: RunRecord) -> tuple[Analysis, Soak]:
    analysis = explain(record)
    assert analysis.soak is not None
    return analysis, analysis.soak


def test_a_steady_soak_has_one_value_and_no_drift() -> None:
    analysis, soak = explained(build.soak(steady))
    assert (soak.second, soak.trend, soak.gaps) == (None, None, ())
    assert soak.alone_s == pytest.approx(build.ALONE_S)
    assert soak.lasted_s == pytest.approx(720.0)
    assert analysis.verdict.endswith("no two speeds were found; no drift was found.")


def test_the_baseline_of_a_soak_is_that_of_its_page() -> None:
    """Means of single sessions, and the median of these: half of the executions of one may be quick."""
    run = build.soak(steady)
    at = next(order for order, each in enumerate(run.rounds) if each.anchor)
    (alone,) = run.rounds[at].sessions
    uneven = (Execution(0.0, 2.0), Execution(2.0, 2.0), Execution(4.0, 8.0))
    changed = replace(run.rounds[at], sessions=(replace(alone, executions=uneven),))
    others = tuple(each for each in run.rounds if not each.anchor)
    analysis, soak = explained(replace(run, rounds=(changed, *others)))
    assert soak.alone_s == pytest.approx(4.0)
    assert analysis.reference is not None
    assert analysis.reference.elapsed_s == pytest.approx(soak.alone_s, rel=0.01)


def with_segment(run: RunRecord, at: int, window_s: float, begins_s: float) -> RunRecord:
    """A segment whose executions began ``begins_s`` before it, as those that follow another do; polled since then."""
    done = [order for order, each in enumerate(run.rounds) if not each.anchor][at]
    changed = run.rounds[done]
    sessions = tuple(
        replace(
            each,
            run_delay_s=0.016,
            executions=tuple(replace(one, start_s=one.start_s - begins_s) for one in each.executions[:1]),
        )
        for each in changed.sessions
    )
    assert changed.cost is not None
    changed = replace(
        changed,
        sessions=sessions,
        timeline_s=(-0.05, window_s),
        cost=replace(changed.cost, window_s=window_s, driver_cpu_s=2 * window_s),
    )
    return replace(run, rounds=(*run.rounds[:done], changed, *run.rounds[done + 1 :]))


def test_a_segment_shorter_than_an_execution_has_no_shares() -> None:
    run = with_segment(build.soak(steady), 6, 0.000_44, 2.0)
    run = replace(run, header=replace(run.header, database=replace(run.header.database, driver_on_host=True)))
    analysis, soak = explained(run)
    short = soak.segments[6]
    assert (short.executions, short.queue, short.throttled, short.steal) == (4, None, None, None)
    assert {each.code for each in analysis.findings}.isdisjoint({"driver-on-host", "foreign-load", "few-polls"})
    assert "driver-on-host" in {each.code for each in explain(with_segment(run, 6, 1.5, 2.0)).findings}


def test_shares_of_a_segment_are_of_the_time_that_was_polled_and_at_most_all_of_it() -> None:
    polled = with_segment(build.soak(steady), 6, 1.55, 1.0)
    assert explained(polled)[1].segments[6].queue == pytest.approx(0.01)
    at = next(order for order, each in enumerate(polled.rounds) if each.timeline_s[0] < 0)
    queued = tuple(replace(each, run_delay_s=2.0) for each in polled.rounds[at].sessions)
    changed = replace(polled.rounds[at], sessions=queued)
    more = replace(polled, rounds=(*polled.rounds[:at], changed, *polled.rounds[at + 1 :]))
    assert explained(more)[1].segments[6].queue == 1.0


def test_sessions_that_stay_at_the_second_value_are_named() -> None:
    analysis, soak = explained(build.soak(stuck, sessions=5))
    assert soak.second is not None
    assert soak.second.sessions == (1, 3)
    assert soak.second.ratio == pytest.approx(1.6, rel=0.03)
    assert "sessions 1,3 took 3.20 s nearly all the time" in analysis.verdict
    assert "1.6" in analysis.verdict


def test_the_second_value_is_the_rarer_one_even_if_it_is_the_faster() -> None:
    def mostly_slow(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * (1.0 if ordinal == 0 else 1.6)

    _, soak = explained(build.soak(mostly_slow, sessions=5))
    assert soak.second is not None
    assert soak.second.second_s < soak.second.first_s
    assert soak.second.sessions == (0,)


def test_all_take_turns() -> None:
    def turns(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * (1.6 if chance.uniform() < 0.3 else 1.0)

    analysis, soak = explained(build.soak(turns))
    assert soak.second is not None
    assert soak.second.sessions == ()
    assert soak.second.share == pytest.approx(0.3, abs=0.05)
    assert "all sessions alternate" in analysis.verdict


def test_the_slowdown_of_the_verdict_is_that_of_the_table_though_the_times_are_bimodal() -> None:
    def by_turns(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * (3.0 if chance.uniform() < 0.4 else 1.0)

    analysis, soak = explained(build.soak(by_turns))
    (level,) = [each for each in analysis.levels if each.level == soak.sessions]
    assert level.slowdown_median is not None
    assert soak.median_s is not None and soak.alone_s is not None
    assert level.slowdown_median > 1.4 * soak.median_s / soak.alone_s
    assert f"(slowdown of the median session {times(level.slowdown_median)})" in analysis.verdict


def test_a_slowdown_within_noise_is_said_to_be_that() -> None:
    def little(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * 0.9

    analysis, _ = explained(build.soak(little))
    assert analysis.reference is not None
    assert f"x; below {times(analysis.reference.limit)} is noise)" in analysis.verdict


@pytest.mark.parametrize("late_s", [-0.01, 0.01])
def test_the_same_segment_begins_at_the_same_time_in_every_table(late_s: float) -> None:
    """At 89.99 s and at 90.01 s: one run had 90.0 s, the other 1.5 min."""
    analysis, soak = explained(build.soak(steady, segments=2))
    later = replace(soak.segments[1], at_s=90.0 + late_s)
    began = experiment_tables(analysis)[0].columns[0]
    assert began.format(began.of(later)) == "1.5 min"


def test_a_bad_time_is_told_by_its_segments() -> None:
    def bad_hour(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * (1.5 if segment in (6, 7) else 1.0)

    analysis, soak = explained(build.soak(bad_hour))
    assert soak.second is not None
    assert soak.second.segments == (6, 7)
    assert soak.worst in (6, 7)
    assert "all sessions took 3.00 s together, in 2 segments" in analysis.verdict


def test_drift_is_told_with_its_size() -> None:
    def slower(segment: int, ordinal: int, chance: np.random.Generator) -> float:
        return steady(segment, ordinal, chance) * (1 + 0.02 * segment)

    analysis, soak = explained(build.soak(slower))
    assert soak.trend is not None
    assert soak.trend.change == pytest.approx(0.22, abs=0.04)
    assert "slower by the end" in analysis.verdict


def test_steal_and_run_queue_are_shares_of_their_segment() -> None:
    record = build.soak(steady, segments=3)
    rounds = list(record.rounds)
    members = tuple(replace(each, run_delay_s=15.0) for each in rounds[2].sessions)
    series = tuple(replace(each, steal_s=(6.0,)) for each in rounds[2].cpu_timeline)
    rounds[2] = replace(rounds[2], sessions=members, cpu_timeline=series)
    _, soak = explained(replace(record, rounds=tuple(rounds)))
    assert [each.steal for each in soak.segments] == pytest.approx([0.0, 0.1, 0.0])
    assert [each.queue for each in soak.segments] == pytest.approx([0.0, 0.25, 0.0])


def broken(record: RunRecord, at: int, lost_s: float) -> RunRecord:
    """Round ``at`` ends after 20 s by a failure, and what follows comes ``lost_s`` later than it should."""
    rounds = list(record.rounds)
    members = tuple(
        replace(each, executions=each.executions[:10], error="terminating connection") for each in rounds[at].sessions
    )
    error = "4 of 4 sessions ended: terminating connection"
    cost = KitCost(20.0, 0.01)
    rounds[at] = replace(rounds[at], sessions=members, error=error, cost=cost)
    moved = [replace(each, released_monotonic_s=each.released_monotonic_s + lost_s) for each in rounds[at + 1 :]]
    return replace(record, rounds=(*rounds[: at + 1], *moved))


def test_a_restart_is_a_gap_from_the_last_execution_to_the_next_release() -> None:
    record = broken(build.soak(steady), 5, lost_s=30.0)
    analysis, soak = explained(record)
    (gap,) = soak.gaps
    last = max(each.start_s + each.elapsed_s for s in record.rounds[5].sessions for each in s.executions)
    assert gap.from_s == pytest.approx(4 * 60 + last, abs=0.01)
    assert gap.to_s == pytest.approx(5 * 60 + 30, abs=0.01)
    assert soak.segments[4].cut.endswith("terminating connection")
    assert "1 gap" in analysis.verdict
    assert any(name == "gap" for name, _ in experiment_lines(analysis))
    assert "remark" in experiment_tables(analysis)[0].headings


def test_a_soak_of_a_day_is_explained_from_few_rounds_and_all_times() -> None:
    record = build.soak(stuck, segments=MAX_KEPT * 3, sessions=3)
    kept, soak = thinned(record.header, iter(record.rounds))
    assert len(kept.rounds) <= MAX_KEPT + 1
    assert kept.rounds[0].anchor
    assert len(soak.segments) == MAX_KEPT * 3
    _, analysis = explain_rounds(record.header, iter(record.rounds))
    assert analysis.soak == soak
    assert {each.level for each in analysis.levels} == {1, 3}


def test_a_wrong_answer_is_no_execution() -> None:
    record = build.soak(steady, segments=2)
    members = tuple(replace(each, answer_ok=False) for each in record.rounds[1].sessions)
    rounds = (record.rounds[0], replace(record.rounds[1], sessions=members), record.rounds[2])
    _, soak = explained(replace(record, rounds=rounds))
    assert soak.segments[0].executions == 0
    assert soak.segments[0].median_s is None


def test_an_execution_counts_in_every_bin_that_it_lies_in() -> None:
    record = build.soak(steady, segments=1, sessions=1)
    (session,) = record.rounds[1].sessions
    long = replace(session, executions=(Execution(0.0, 30.0), Execution(30.0, 90.0)))
    rounds = (record.rounds[0], replace(record.rounds[1], sessions=(long,)))
    _, soak = explained(replace(record, rounds=rounds))
    assert soak.heat is not None
    (row,) = soak.heat.values
    assert row[0] == pytest.approx(30.0)
    assert row[-1] == pytest.approx(90.0)
    assert None not in row


def test_short_sql_beside_long_is_compared_size_by_size() -> None:
    record = build.soak(steady, segments=6)
    long = replace(record.header.plan.workload, size="long", rows=10 * record.header.plan.workload.rows)
    short = replace(record.header.plan.workload, size="tiny")
    plan = replace(record.header.plan, workload=short, sizes=(long,), variants=("tiny", "long"))
    chance = np.random.default_rng(1)
    rounds = [replace(record.rounds[0], variant="tiny")]
    for at, each in enumerate(record.rounds[1:]):
        # The scheduler moves sessions every few seconds: short executions are wholly fast or slow, long ones both.
        size = ("tiny", "long")[at % 2]
        times = [1.0 if chance.uniform() < 0.5 else 2.0 for _ in range(40)] if size == "tiny" else [15.0, 15.2, 14.9]
        members = tuple(build.session(ordinal, times) for ordinal in range(4))
        rounds.append(replace(each, variant=size, sessions=members))
    record = replace(record, header=replace(record.header, plan=plan), rounds=tuple(rounds))
    analysis, soak = explained(record)
    tiny, long_view = soak.sizes
    assert (tiny.size, long_view.size) == ("tiny", "long")
    assert tiny.slow_over_fast == pytest.approx(2.0)
    assert long_view.slow_over_fast < 1.05
    assert tiny.second is not None
    assert tiny.second.ratio == pytest.approx(2.0, rel=0.02)
    assert "shorter SQL is more uneven" in analysis.verdict
    assert {each.variant for each in analysis.levels} == {"tiny"}
    assert "sizes" in charts.drawn(document(record, analysis).charts, ["svg"])["svg"]


def test_what_a_quota_held_back_is_no_wait_in_a_run_queue() -> None:
    """The kernel counts throttled time as run delay, too."""
    record = build.soak(steady, segments=3)
    group = CgroupUse("/db", 1.5, periods=600, throttled_periods=600, throttled_s=18.0, sessions=(0, 1, 2, 3))
    rounds = [record.rounds[0]]
    for each in record.rounds[1:]:
        members = tuple(replace(one, run_delay_s=6.0) for one in each.sessions)
        rounds.append(replace(each, sessions=members, cgroups=(group,)))
    record = replace(record, rounds=tuple(rounds))
    analysis, soak = explained(record)
    segment = soak.segments[0]
    assert segment.throttled == pytest.approx(18 / 240)
    assert segment.queue == pytest.approx(6 / 240)
    assert "throttled" in table.render(document(record, analysis))
    unlimited, _ = explained(build.soak(steady, segments=3))
    assert "throttled" not in table.render(document(build.soak(steady, segments=3), unlimited))


def test_every_form_shows_the_soak() -> None:
    record = build.soak(stuck, sessions=5)
    analysis = explain(record)
    text = table.render(document(record, analysis))
    assert "Segments" in text
    assert "nearly all the time" in text
    drawn = charts.drawn(document(record, analysis).charts, ["svg"])["svg"]
    assert next(iter(drawn)) == "soak"


def test_an_interrupted_soak_says_so() -> None:
    record = build.soak(steady, segments=3)
    plan = replace(record.header.plan, rounds=None)
    record = replace(record, header=replace(record.header, status="interrupted", plan=plan))
    # As many as `dbcpu list` counts: three segments, and one session alone.
    assert explain(record).verdict.startswith("Interrupted after 4 rounds. 4 sessions in a loop for 3.0 min")


def test_rounds_of_an_interrupted_soak_that_are_not_explained_one_by_one_count_too() -> None:
    record = build.soak(steady, segments=70)
    plan = replace(record.header.plan, rounds=None)
    found = explain(replace(record, header=replace(record.header, status="interrupted", plan=plan)))
    seen = next(each.seen for each in found.findings if each.code == "incomplete-run")
    assert seen == f"the run is interrupted with {len(record.rounds)} rounds"
    assert found.verdict.startswith(f"Interrupted after {len(record.rounds)} rounds. ")


def test_a_soak_without_any_execution_is_told_as_that() -> None:
    record = build.soak(steady, segments=1)
    analysis, soak = explained(replace(record, rounds=()))
    assert analysis.verdict == "No execution ended."
    assert (soak.heat, soak.histogram, soak.worst) == (None, None, None)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("longest_s", [0.0, 2e-320, 1e-300, 1e100])
def test_a_picture_of_executions_of_almost_no_time_or_of_ages(longest_s: float) -> None:
    ordinals, starts, elapsed = np.array([0, 1]), np.array([0.0, longest_s / 2]), np.array([longest_s, longest_s / 2])
    heat = _heat(ordinals, starts, elapsed)
    seen = [value for row in heat.values for value in row if value is not None]
    assert heat.ordinals == (0, 1)
    assert all(0 <= value <= longest_s for value in seen)
    assert bool(seen) == (longest_s > 0)


def test_a_loss_to_other_processes_is_claimed_only_where_there_is_one() -> None:
    """A neighbour on a CPU that the sessions do not need, and one that they cannot avoid."""
    spared = simulate_soak(SimulatedHost("h", cores=4, threads=1, noisy_neighbour=0.7), 3, 300.0, RunOptions(seed=1))
    hit = simulate_soak(SimulatedHost("h", cores=4, threads=1, noisy_neighbour=0.7), 4, 300.0, RunOptions(seed=1))
    for run, lost in ((spared, False), (hit, True)):
        analysis = explain(run)
        (found,) = [each for each in analysis.findings if each.code == "foreign-load"]
        assert ("part of the slowdown is caused by" in found.meaning) == lost
        assert ("the host lost CPU to other processes" in analysis.verdict) == lost


def soaked(host: SimulatedHost, sessions: int, seed: int = 1) -> Analysis:
    return explain(simulate_soak(host, sessions, 60.0, RunOptions(size="medium", repeats=3, seed=seed)))


def test_a_quota_is_the_cause_of_a_slowdown_and_no_disturbance() -> None:
    analysis = soaked(SimulatedHost("h", cores=4, threads=1, quota_cpus=2.5), 4)
    assert re.search(r"slowdown of the median session 1\.\d\dx, CPU quota\)", analysis.verdict)
    assert "quiet host" not in analysis.verdict
    assert headline(analysis).remedy.startswith("raise `cpu.max`")
    assert headline(analysis).headline.endswith("; slower by CPU quota")


def test_no_slowdown_is_told_that_no_session_has() -> None:
    analysis = soaked(SimulatedHost("h", cores=4, threads=1, irq=0.5), 2)
    assert "(slowdown of the sessions 1.00x to 2.00x)" in analysis.verdict
    assert "take 2.05 s (2.00x as long); session 0 took 2.05 s nearly all the time" in analysis.verdict
    assert headline(analysis).remedy.startswith("move interrupts")


def test_what_all_lose_to_steal_is_said() -> None:
    analysis = soaked(SimulatedHost("h", cores=4, threads=1, steal=0.3), 4)
    assert re.search(r"\(\d\d % of it is lost to CPU steal; a single session loses \d\d %\)", analysis.verdict)
    assert headline(analysis).remedy.startswith("use a dedicated host")


def silent(record: RunRecord, ordinal: int, *orders: int) -> RunRecord:
    """Session ``ordinal`` ends an execution in no segment but those of these orders."""
    rounds = []
    for each in record.rounds:
        members = tuple(replace(s, executions=(), answer_ok=None) if s.ordinal == ordinal else s for s in each.sessions)
        rounds.append(each if each.anchor or each.order in orders else replace(each, sessions=members))
    return replace(record, rounds=tuple(rounds))


def test_a_session_that_never_ends_an_execution_leaves_no_segment_whole() -> None:
    """It is a failed session, and no verdict said that the others had more CPU; one that runs on has not failed."""
    analysis, soak = explained(silent(build.soak(steady), 1))
    assert not soak.whole
    assert "Every segment failed, or a session of it failed or gave a wrong answer" in analysis.verdict
    assert analysis.failures is not None
    assert f"{analysis.failures.sessions} sessions failed" in headline(analysis).headline
    analysis, soak = explained(silent(build.soak(steady), 1, 5))
    assert (soak.whole, analysis.failures) == (True, None)
    assert "Every segment failed" not in analysis.verdict


@pytest.mark.parametrize("order", [1, 2, 7, MAX_KEPT * 2])
def test_a_session_that_ended_an_execution_in_one_segment_of_a_day_has_not_failed(order: int) -> None:
    """Of a long soak not every segment is explained: a finding counted it in each of those, and `failures` did not."""
    analysis, soak = explained(silent(build.soak(steady, segments=MAX_KEPT * 2, sessions=2), 1, order))
    assert (soak.whole, analysis.failures) == (True, None)
    assert "failed-session" not in {each.code for each in analysis.findings}


def test_what_a_session_of_a_soak_ended_in_other_segments_counts_in_a_picture_of_one() -> None:
    record = silent(build.soak(steady), 1, 5)
    assert {each.why for each in timed_round(record, 6)} == {"", STILL_RAN}

"""The head of a run says what did the work, and calls only a database one."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.formatting import percent, times
from dbcpu.record.header import Database, work_words
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.reports.documents.answer_terms import answer_terms
from dbcpu.reports.documents.environment import environment
from dbcpu.reports.documents.run_summary import cause_counts, measured_lines, summary
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_soak, simulate_together
from support.builders.record import host, record, round_of, session, solos


def run_of(kind: str, version: str) -> RunRecord:
    run = record([*solos(), round_of([session(0), session(1)])])
    return replace(run, header=replace(run.header, database=Database(kind, version)))


@pytest.mark.parametrize(
    ("kind", "name", "text"), [("postgresql", "database", "postgresql 1.2 (host)"), ("shell", "program", "1.2 (host)")]
)
def test_what_did_the_work(kind: str, name: str, text: str) -> None:
    run = run_of(kind, "1.2")
    run = replace(run, header=replace(run.header, plan=replace(run.header.plan, target="host")))
    lines = dict(measured_lines(run, explain(run)))
    assert lines[name] == text
    assert {"database", "program"} & set(lines) == {name}
    assert environment(run)[2].title == name.capitalize()


def test_the_limit_of_noise_is_one_on_the_whole_page() -> None:
    """Of three single sessions one is far out: the robust spread misses it, the limit does not."""
    alone = [round_of([session(0, run_s=run_s)], repeat=at, order=at) for at, run_s in enumerate((1.0, 1.01, 1.4))]
    run = record([*alone, round_of([session(0, run_s=1.0), session(1, run_s=1.0)], order=3)])
    found = explain(run)
    (noisy,) = [each for each in found.findings if each.code == "noisy-reference"]
    assert found.reference is not None
    limit = times(found.reference.limit)
    assert f"a slowdown of one session below {limit} may be noise" in dict(measured_lines(run, found))["baseline"]
    assert limit in noisy.meaning


def test_single_sessions_that_are_no_reference_are_counted() -> None:
    run = record([*solos(), round_of([session(0), session(1)], order=3)])
    assert "(3 rounds, noise" in dict(measured_lines(run, explain(run)))["baseline"]
    wrong = replace(run.rounds[0], sessions=(replace(run.rounds[0].sessions[0], answer_ok=False),))
    partly = replace(run, rounds=(wrong, *run.rounds[1:]))
    assert (
        "(2 of 3 rounds: the other is no reference (steal, "
        in dict(measured_lines(partly, explain(partly)))["baseline"]
    )


def test_what_a_single_session_loses_as_much_is_named_in_the_column_of_causes() -> None:
    found = explain(simulate(SimulatedHost(cores=2, threads=1, steal=0.3), (1, 2), repeats=3, seed=1))
    assert found.levels[0].level == 1
    lost = percent(1 - 1 / (found.levels[0].counted_slowdown or 1.0))
    assert cause_counts(found.levels[0]) == f"CPU steal; {lost} lost"
    assert cause_counts(explain(simulate(SimulatedHost(cores=2, threads=1), (1, 2), repeats=5, seed=1)).levels[0]) == ""


@pytest.mark.parametrize("rounds", [2, 3])
def test_a_median_between_slow_rounds_and_others_is_no_share_that_anybody_lost(rounds: int) -> None:
    """With interrupts on one of four CPUs one of two sessions lost half of its time in some rounds, three nothing."""
    host = SimulatedHost(cores=4, threads=1, irq=0.5)
    found = explain(simulate(host, (1, 2, 3, 4, 5), repeats=rounds, seed=rounds, size="short", executions=3))
    two = found.levels[1]
    assert (two.level, two.counted_cause) == (2, Cause.IRQ) and (two.counted_slowdown or 1.0) > 1.2
    assert re.fullmatch(rf"interrupts \(\d of {2 * rounds}\)", cause_counts(two))


def test_what_all_lose_alike_comes_before_the_few_sessions_that_are_slower_as_well() -> None:
    found = explain(simulate(SimulatedHost(cores=2, threads=1, steal=0.3), (1, 2), repeats=3, seed=1)).levels[0]
    few = replace(found, causes=((Cause.STEAL, 1), (Cause.COMPETITOR, 2), (Cause.NONE, 3)), sessions=6)
    lost = percent(1 - 1 / (found.counted_slowdown or 1.0))
    assert cause_counts(few) == f"CPU steal (1 of 6), other processes (2 of 6); {lost} lost"
    apart = replace(
        few,
        level=2,
        slowdown_median=1.0,
        max_over_min=3.0,
        main_cause=Cause.STEAL,
        causes=((Cause.STEAL, 1), (Cause.NONE, 5)),
    )
    assert cause_counts(apart) == f"CPU steal (1 of 6); {lost} lost"
    beside = replace(apart, causes=((Cause.STEAL, 1), (Cause.SLOWER_CPU, 3), (Cause.NONE, 2)))
    assert cause_counts(beside) == "CPU steal (1 of 6), slower CPU (3 of 6)"


def test_a_host_bounded_by_a_quota_is_shown_with_all_its_cpus_and_the_quota() -> None:
    run = simulate(SimulatedHost(cores=4, threads=1, quota_cpus=1.5), (1, 2), repeats=2, seed=1)
    assert ", 4 vCPUs with a CPU quota of 1.5, " in dict(measured_lines(run, explain(run)))["host"]
    free = simulate(SimulatedHost(cores=4, threads=1, quota_cpus=6.0), (1, 2), repeats=2, seed=1)
    assert ", 4 vCPUs on 4 cores, " in dict(measured_lines(free, explain(free)))["host"]


def test_equal_shares_whose_max_over_min_looks_larger_are_explained_where_the_terms_are() -> None:
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 2), repeats=5, seed=1)
    found = explain(run)
    alone, pair = found.levels
    wide = replace(found, levels=(alone, replace(pair, max_over_min=1.12)))
    assert "by chance" not in dict(summary(run, found))["terms"].lower()
    assert "it is above 1.10x at N=2, although shares are equal" in dict(summary(run, wide))["terms"]


def test_the_witness_is_credited_only_with_what_it_made_smaller() -> None:
    run = simulate(SimulatedHost(cores=2, threads=1, toggle=1.8, noise=0.01), (1, 2), repeats=6, seed=3)
    found = explain(run)
    assert found.reference is not None and found.reference.pace is not None
    assert "without the witness" in dict(summary(run, found))["pace"]
    pace = replace(found.reference.pace, tolerance=found.reference.tolerance)
    same = replace(found, reference=replace(found.reference, pace=pace))
    assert "without the witness" not in dict(summary(run, same))["pace"]


def test_where_no_curve_fits_the_line_of_scaling_says_of_what() -> None:
    run = simulate(SimulatedHost("busy", cores=2, threads=1, noisy_neighbour=1.0), (1, 2, 3, 4), repeats=2, seed=1)
    said = dict(summary(run, explain(run)))["scaling"]
    assert said.startswith("no curve was found that fits the throughput of these levels; a quieter host may help")


@pytest.mark.parametrize(
    ("quota", "highest", "said"),
    [
        (15, 6, "no knee was found up to 6 sessions, the highest level measured"),
        (6.2, 8, "inconclusive where the throughput bends first: at the cores (4) or at the CPU quota (6.2)"),
    ],
)
def test_of_cores_and_quota_it_is_inconclusive_which_bends_the_throughput_where_more_sessions_than_cores_ran(
    quota: float, highest: int, said: str
) -> None:
    host = SimulatedHost(cores=8 if quota > 8 else 4, threads=2, quota_cpus=quota, scheduler="smt_balancing")
    run = simulate(host, tuple(range(1, highest + 1)), repeats=6, seed=1)
    assert dict(summary(run, explain(run)))["scaling"].startswith(said)


def test_levels_without_a_throughput_are_none_that_were_not_measured() -> None:
    def rounds(level: int, at: int) -> Round:
        failed = level == 2
        last = session(level - 1, run_s=1.0, answer_ok=None if failed else True, error="lost" if failed else None)
        return round_of([*(session(each, run_s=1.0) for each in range(level - 1)), last], repeat=at)

    run = record([rounds(level, at) for at in range(3) for level in (1, 2, 3, 4)], host(cores=4, threads=1), vcpus=4)
    assert (
        dict(summary(run, explain(run)))["scaling"]
        == "no curve: it needs 4 levels or more, and only 3 have a throughput"
    )


def test_why_a_level_has_a_larger_rate_than_the_peak_is_said_below_the_table() -> None:
    """82 Mrows/s at three sessions stood above a peak throughput of 80."""
    run = simulate(SimulatedHost(cores=2, threads=1, scheduler="smt_balancing"), (1, 2, 3, 4), 6, seed=1)
    terms = dict(summary(run, explain(run)))["terms"]
    assert ". Mrows/s at N=3 is more than the host can sustain: some sessions end before others" in terms
    two = simulate(SimulatedHost(cores=2, threads=1), (1, 2), 3, seed=1)
    assert "can sustain" not in dict(summary(two, explain(two)))["terms"]


def test_it_is_said_of_targets_together_too_and_of_which() -> None:
    """A target with six sessions on four cores does 165 Mrows/s where a core does 40, and has no capacity."""
    run = simulate_together(SimulatedHost(cores=4, threads=1), (2, 6), ((), ()), RunOptions(repeats=3, seed=1))
    terms = dict(summary(run, explain(run)))["terms"]
    assert ". Mrows/s at N=6 of database-2 is more than the host can sustain there" in terms


@pytest.mark.parametrize(("host", "sessions"), [
    (SimulatedHost(cores=4, threads=1), 9),
    (SimulatedHost(cores=4, threads=1, quota_cpus=2.5), 6),
    (SimulatedHost(cores=8, threads=2), 20),
])  # fmt: skip
def test_what_a_soak_does_for_a_minute_is_not_more_than_its_host_can_sustain(
    host: SimulatedHost, sessions: int
) -> None:
    """160.1 Mrows/s on four cores of 40.0, with equal shares, was."""
    run = simulate_soak(host, sessions, 60.0, RunOptions(seed=1))
    terms = dict(summary(run, explain(run)))["terms"]
    assert "equal: max/min" in terms
    assert "can sustain" not in terms


def test_sessions_that_end_together_are_no_reason_for_more_throughput_than_the_peak() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=2), (1, 4, 9), repeats=3, seed=1))
    assert found.capacity is not None
    more = replace(found.levels[-1], throughput=2 * (found.capacity.peak_throughput or 1.0), even=Answer.YES)
    even = answer_terms(replace(found, levels=(*found.levels[:-1], more)))
    assert "more than the host can sustain" in even
    assert "end before others" not in even
    uneven = replace(found, levels=(*found.levels[:-1], replace(more, even=Answer.NO)))
    assert "sustain: some sessions end before others" in answer_terms(uneven)


def test_the_terms_say_why_an_answer_is_another_than_the_figures_beside_it_seem_to_give() -> None:
    steal = simulate(SimulatedHost(cores=4, threads=1, steal=0.2), (1, 2, 4), 3, seed=1, size="medium")
    found = explain(steal)
    assert found.levels[0].full_speed is Answer.NO and (found.levels[0].slowdown_median or 1.0) < 1.1
    said = dict(summary(steal, found))["terms"]
    assert "Full is no at N=1-2,4 though the slowdown is small: the kernel counted lost time" in said
    few = simulate(SimulatedHost(cores=2, threads=1), (1, 2), 3, seed=1, size="medium")
    seen = explain(few)
    assert seen.levels[1].even is Answer.UNDECIDED and (seen.levels[1].even_bound or 2.0) < 1.1
    said = dict(summary(few, seen))["terms"]
    assert "Equal is ? at N=2 though max/min is small: yes needs 5 rounds, there are 3" in said
    one = simulate(SimulatedHost(cores=4, threads=1), (1, 2, 3, 4), 1, seed=1, size="medium")
    said = dict(summary(one, explain(one)))["terms"]
    why = "yes needs 5 rounds of a level and larger ones, there are 3 at N=2, 2 at N=3 and 1 at N=4"
    assert f"Equal is ? at N=2-4 though max/min is small: {why}" in said
    enough = simulate(SimulatedHost(cores=2, threads=1), (1, 2), 5, seed=1, size="medium")
    assert "though" not in dict(summary(enough, explain(enough)))["terms"]


def test_a_loop_counts_steps_and_no_rows() -> None:
    run = run_of("postgresql", "18.4")
    work = replace(run.header.plan.workload, name="arithmetic", size="short", n=5_000_000, rows=5_000_000)
    assert work_words(work) == "arithmetic, size short (n = 5000000 steps, counted as 5.0 Mrows)"
    assert "steps" not in work_words(run.header.plan.workload)

"""How many active sessions are enough, and that it agrees with what was published of a thread pool."""

import csv
import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.measured_run import measured
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.errors import UsageError
from dbcpu.measure.experiments.pool import PoolShape
from dbcpu.record.header import BASELINE
from dbcpu.record.plan import rounds
from dbcpu.record.rounds import Execution, Round, RunRecord, Session
from dbcpu.reports import charts
from dbcpu.reports.documents.run import document
from dbcpu.reports.formats.base import load_format
from dbcpu.simulator import SimulatedHost
from dbcpu.simulator.experiments import RunOptions, simulate_pool
from support.builders import experiments as build
from support.paths import ROOT

PUBLISHED = ROOT / "reports/examples/published/thread-pool.csv"


def test_the_smallest_pool_that_finishes_as_early_as_any_is_enough() -> None:
    analysis = explain(build.pool({1: 10.0, 2: 5.1, 4: 5.0, 20: 4.95}))
    assert analysis.pool is not None
    assert (analysis.pool.enough, analysis.pool.best) == (2, 20)
    assert analysis.verdict.startswith("2 active sessions are enough on 2 vCPUs: 20 jobs take 5.10 s; with 20 ")
    assert "each job takes 9.71x as long" in analysis.verdict


def test_times_and_memory_are_told_for_each_size() -> None:
    analysis = explain(build.pool({2: 5.0, 10: 5.0}))
    assert analysis.pool is not None
    two, ten = analysis.pool.sizes
    assert (two.total_s, two.piece_s, two.x_alone) == pytest.approx((5.0, 0.5, 1.0))
    assert (ten.piece_s, ten.x_alone, ten.pieces_per_s) == pytest.approx((2.5, 5.0, 4.0))
    assert (two.rss_bytes, ten.rss_bytes, ten.processes) == (20e6, 60e6, 15)
    assert two.switches == 200


def test_a_gain_beyond_the_tolerance_asks_for_the_larger_pool() -> None:
    analysis = explain(build.pool({2: 5.0, 4: 4.0, 10: 3.9}))
    assert analysis.pool is not None
    assert analysis.pool.enough == 4


def test_noise_leaves_open_which_pool_is_enough() -> None:
    analysis = explain(build.pool({2: 5.0, 4: 4.9, 10: 4.8}, noise=0.2))
    assert analysis.pool is not None and analysis.experiment is not None
    assert analysis.pool.enough is None
    assert analysis.pool.detectable is not None and 1.3 < analysis.pool.detectable < 1.7
    assert analysis.verdict.startswith("Inconclusive how many active sessions are enough: differences below 1.5")
    assert analysis.experiment.tone == "unknown"


def test_too_small_pools_are_said_where_the_rest_is_open() -> None:
    analysis = explain(build.pool({1: 15.0, 4: 4.9, 10: 4.8}, noise=0.2))
    assert analysis.verdict.startswith("Too few are N=1; inconclusive how many")


def test_a_smaller_pool_that_may_be_enough_is_said() -> None:
    analysis = explain(build.pool({2: 5.0, 4: 4.7, 10: 4.65}, noise=0.03))
    assert analysis.pool is not None
    assert analysis.pool.enough == 4
    assert "inconclusive whether 2 would be enough: with 2 the total is 1.08x (95 % CI " in analysis.verdict


def test_a_total_beyond_noise_that_may_be_near_the_shortest_is_said_with_its_interval() -> None:
    """It said "differences below 1.58x are within noise" of totals that were 1.66x apart."""
    analysis = explain(build.pool({2: 25.12, 4: 15.11}, noise=0.2))
    assert analysis.pool is not None
    two, four = analysis.pool.sizes
    assert two.over_best is not None and four.over_best is None
    assert two.over_best.low == pytest.approx(25.12 / 15.11 / (analysis.pool.detectable or 0.0))
    assert analysis.verdict.endswith(
        "with 2 the total is 1.66x (95 % CI 1.05x to 2.63x) of the shortest one, which leaves open whether more than "
        "1.10x."
    )


def test_one_round_of_each_size_shows_nothing() -> None:
    analysis = explain(build.pool({2: 5.0, 10: 4.0}, rounds=1))
    assert analysis.pool is not None
    assert (analysis.pool.enough, analysis.pool.detectable) == (None, None)
    assert "each size was measured only once" in analysis.verdict


def test_a_gain_beyond_the_vcpus_has_a_caveat() -> None:
    analysis = explain(build.pool({2: 5.0, 10: 3.0}))
    assert analysis.verdict.startswith("10 active sessions are enough on 2 vCPUs")
    assert "larger share" in analysis.verdict


@pytest.mark.parametrize(
    ("cores", "blocking", "sizes"),
    [(4, 20, (2, 4, 8)), (4, 20, (8, 16, 22)), (16, 0, (2, 8))],
    ids=["jobs that wait hold the sessions", "they hold most", "a vCPU for each session"],
)
def test_the_largest_pool_is_not_enough_where_more_sessions_have_something_to_do(
    cores: int, blocking: int, sizes: tuple[int, ...]
) -> None:
    host = SimulatedHost("h", cores=cores, threads=1)
    record = simulate_pool(host, 40, sizes, RunOptions(size="short", seed=1), blocking)
    analysis = explain(record)
    assert analysis.pool is not None and analysis.experiment is not None
    assert (analysis.pool.larger, analysis.pool.enough) == (True, None)
    assert analysis.pool.sizes[-1].enough is Answer.UNDECIDED
    assert analysis.verdict.startswith("Inconclusive how many active sessions are enough on")
    assert "measure larger ones." in analysis.verdict
    assert analysis.experiment.tone == "unknown"
    shown = load_format("json").render(document(record, analysis))
    assert '"enough": "yes"' not in shown


@pytest.mark.parametrize(
    ("cores", "blocking", "sizes"),
    [(4, 20, (2, 8, 40)), (4, 20, (8, 16, 40)), (16, 0, (2, 8, 16)), (16, 0, (2, 40)), (64, 0, (2, 40))],
)
def test_the_largest_pool_is_enough_where_more_sessions_would_have_nothing_to_do(
    cores: int, blocking: int, sizes: tuple[int, ...]
) -> None:
    """Each vCPU has its session where no job waits, or each job has one: the waits of all then begin at once."""
    host = SimulatedHost("h", cores=cores, threads=1)
    found = explain(simulate_pool(host, 40, sizes, RunOptions(size="short", seed=1), blocking)).pool
    assert found is not None
    assert (found.larger, found.enough) == (False, sizes[-1])


def test_rounds_that_did_not_do_all_pieces_do_not_count() -> None:
    record = build.pool({2: 5.0, 10: 5.0}, rounds=1)
    broken = replace(record.rounds[2], sessions=record.rounds[2].sessions[:-1], cpu_timeline=())
    record = RunRecord(record.header, (*record.rounds[:2], broken))
    analysis = explain(record)
    assert analysis.pool is not None
    assert [each.active for each in analysis.pool.sizes] == [2]
    nothing = RunRecord(record.header, record.rounds[:1])
    assert explain(nothing).verdict == "No pool finished all of its jobs."


def test_the_published_thread_pool_gets_the_advice_of_its_article() -> None:
    """Ten times the threads: the same total, ten times the time per call, more memory. So ten are enough."""
    lines = [line for line in PUBLISHED.read_text("utf-8").splitlines() if not line.startswith("#")]
    told = {(row["configuration"], row["metric"]): float(row["value"]) for row in csv.DictReader(lines)}
    totals = {size: told[f"{size} threads", "total s"] for size in (10, 100)}
    analysis = explain(build.pool(totals, pieces=100))
    assert analysis.pool is not None
    ten, hundred = analysis.pool.sizes
    assert analysis.pool.enough == 10
    published = told["100 threads", "s per call"] / told["10 threads", "s per call"]
    assert hundred.piece_s / ten.piece_s == pytest.approx(published, rel=0.05)


def test_levels_are_checked_and_chosen() -> None:
    pool = PoolShape(100)
    assert pool.levels("auto", 2, 2) == (1, 2, 4, 10, 100)
    assert pool.levels("10,100", 2, 2) == (10, 100)
    assert PoolShape(5).levels("auto", 2, 2) == (1, 2, 4, 5)
    with pytest.raises(UsageError, match="--active 101 is more than the 100 jobs"):
        pool.levels("1,101", 2, 2)
    in_turn = PoolShape(100, connections=6, one_at_a_time=True)
    assert in_turn.levels("auto", 2, 2) == (1, 2, 4, 6)
    with pytest.raises(UsageError, match="--active 7 is more than the 6 connections"):
        in_turn.levels("1,7", 2, 2)


def test_each_repeat_has_every_size_once_and_anchors_stand_outside() -> None:
    specs = PoolShape(100).specs((1, 10, 100), 3, 7, ("baseline",))
    assert [each.order for each in specs] == list(range(len(specs)))
    assert [each.anchor for each in specs] == [True, *[False] * 9, True]
    assert sorted(each.level for each in specs[1:-1]) == [1, 1, 1, 10, 10, 10, 100, 100, 100]
    assert (
        len(
            {tuple(each.level for each in specs), tuple(each.level for each in rounds((1, 10, 100), 3, 8, (BASELINE,)))}
        )
        == 2
    )


def test_the_picture_shows_all_three_curves() -> None:
    record = build.pool({2: 5.0, 10: 5.0})
    assert next(iter(charts.drawn(document(record, explain(record)).charts, ["svg"])["svg"])) == "pool"


def test_the_time_of_a_job_is_of_the_same_kind_as_that_of_a_single_session() -> None:
    """Means both: where a few jobs are slow and most are quick, a median against a mean says faster than alone."""
    run = build.pool({2: 5.0})
    kinds = (*[0.25] * 8, *[1.5] * 2)
    members = [build.session(ordinal, kinds) for ordinal in range(2)]
    rounds = [replace(each, sessions=tuple(members)) if not each.anchor else each for each in run.rounds]
    found = explain(replace(run, rounds=tuple(rounds))).pool
    assert found is not None
    assert (found.sizes[0].piece_s, found.sizes[0].x_alone) == pytest.approx((0.5, 1.0))


def test_jobs_that_wait_count_for_the_total_and_delay_the_others_where_sessions_are_few() -> None:
    analysis = explain(build.pool({2: 12.0, 8: 4.0}, blocked=4))
    assert analysis.pool is not None
    two, eight = analysis.pool.sizes
    assert (analysis.pool.blocking, analysis.pool.block_s) == (4, 1.0)
    assert (two.total_s, eight.total_s) == pytest.approx((14.0, 5.0))
    assert two.done_s is not None
    assert eight.done_s is not None
    assert two.done_s > eight.done_s
    assert two.piece_s == pytest.approx(12.0 / 8)
    assert "4 jobs only wait (1.00 s each) and hold a session meanwhile: half of the others are done after" in (
        analysis.verdict
    )
    assert "failed-session" not in {each.code for each in analysis.findings}


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_jobs_are_never_done_after_all_of_them_whatever_one_round_took(rounds: int) -> None:
    """A round on a busy host has half of the jobs: over all rounds together 95 % were done after the median total."""
    pool = explain(build.pool({2: 6.0, 8: 6.0}, pieces=48, rounds=rounds, noise=0.6, blocked=8)).pool
    assert pool is not None
    for each in pool.sizes:
        assert each.fast_s is not None and each.slow_s is not None
        assert each.done_s is not None and each.late_s is not None
        assert each.done_s <= each.late_s <= each.total_s + 1e-9
        assert each.fast_s <= each.piece_s * (1 + 1e-9)
        assert each.piece_s <= each.slow_s * (1 + 1e-9)


def test_jobs_are_done_since_the_first_began_as_the_total_counts() -> None:
    """A session that was sent its first job a second after the release does not make jobs later than the total."""
    record = build.pool({4: 6.0}, pieces=48, blocked=0)
    late = [
        each if each.anchor else replace(each, sessions=tuple(_later(one, 1.0) for one in each.sessions))
        for each in record.rounds
    ]
    before, after = (explain(replace(record, rounds=tuple(rounds))).pool for rounds in (record.rounds, late))
    assert before is not None and after is not None
    assert after.sizes[0].total_s == pytest.approx(before.sizes[0].total_s)
    assert after.sizes[0].late_s == pytest.approx(before.sizes[0].late_s)


def _later(each: Session, by_s: float) -> Session:
    moved = tuple(
        replace(
            one,
            start_s=one.start_s + by_s,
            server_start_s=None if one.server_start_s is None else one.server_start_s + by_s,
        )
        for one in each.executions
    )
    return replace(each, executions=moved)


def test_rates_of_sessions_that_did_not_compute_at_once_are_not_added() -> None:
    """Six sessions hold a job that waits, then have two short jobs each, one session after the other."""
    run = build.pool({2: 3.0, 6: 3.0}, pieces=18, blocked=6)
    rounds = [
        replace(each, sessions=tuple(_later(one, 0.9 * one.ordinal) for one in each.sessions))
        if each.level == 6
        else each
        for each in run.rounds
    ]
    run = replace(run, rounds=tuple(rounds))
    found = explain(run)
    levels = found.levels
    alone = next(each for each in levels if each.level == 1)
    for each in levels:
        assert each.throughput is not None and each.makespan_throughput is not None and alone.throughput is not None
        assert each.throughput <= 1.1 * alone.throughput * min(each.level, 2)
        if each.level > 1:
            assert each.throughput == each.makespan_throughput
            assert each.ideal_throughput is not None
            assert each.efficiency == pytest.approx(each.throughput / each.ideal_throughput)
    assert found.scaling.effective_cores is None
    assert "baseline-too-slow" not in {each.code for each in found.findings}
    compared = measured("a", run)
    assert {each.level: each.throughput for each in compared.analysis.levels if each.level > 1} == {
        each.level: each.makespan_throughput for each in levels if each.level > 1
    }
    assert all(each.throughput == each.makespan for each in compared.rounds if each.level > 1)


def test_rounds_in_which_a_session_only_waited_count() -> None:
    """It did not fail: the others did all that was to compute."""
    run = build.pool({6: 3.0}, pieces=18, blocked=6)
    rounds = [_with_one_that_waited(each) if each.repeat and not each.anchor else each for each in run.rounds]
    found = explain(replace(run, rounds=tuple(rounds)))
    six = found.levels[-1]
    assert found.pool is not None
    assert (six.level, six.rounds, six.sessions) == (6, 3, 16)
    assert six.rounds == found.pool.sizes[0].rounds
    assert six.throughput is not None


def _with_one_that_waited(given: Round) -> Round:
    """The last session had no job that computes; the first did its share."""
    first, *others, last = given.sessions
    more = replace(first, executions=first.executions + _later(last, first.executions[-1].elapsed_s * 2).executions)
    return replace(given, sessions=(more, *others, replace(last, executions=(), answer_ok=None)))


def test_sockets_and_the_range_of_jobs_stand_in_the_tables() -> None:
    record = build.pool({2: 5.0, 10: 5.0})
    text = "\n".join(
        str(table.caption) for section in document(record, explain(record)).sections for table in section.tables
    )
    assert "What the server holds at the end of a round" in text
    pool = explain(record).pool
    assert pool is not None
    assert [each.sockets for each in pool.sizes] == [3, 11]
    assert pool.sizes[0].slow_s == pytest.approx(0.5)


def test_where_callers_wait_for_their_answers_it_is_said_and_waiting_for_a_call_is_no_loss() -> None:
    """Each session has a job of half a second, and then none for as long."""
    run = build.pool({2: 10.0})
    in_turn = replace(run.header.plan, connections=2, one_at_a_time=True)
    apart = tuple(Execution(1.0 * at, 0.5) for at in range(10))
    members = tuple(replace(build.session(ordinal, [0.5] * 10), executions=apart) for ordinal in range(2))
    rounds = [replace(each, sessions=members, cpu_timeline=()) if not each.anchor else each for each in run.rounds]
    waited = RunRecord(replace(run.header, plan=in_turn), tuple(rounds))
    assert {each.span.elapsed_s for each in timed(waited) if each.span and not each.round.anchor} == {5.0}
    found = explain(waited)
    assert found.verdict.endswith(
        "Measured with 2 callers that wait for each answer; more callers may need more sessions."
    )
    assert found.pool is not None
    assert found.pool.sizes[0].total_s == pytest.approx(9.5)
    captions = [table.caption for section in document(waited, found).sections for table in section.tables]
    assert (
        "20 jobs called over 2 TCP connections, one call at a time on each, through pools of active sessions"
        in captions
    )


def test_the_largest_pool_is_no_answer_where_a_smaller_one_may_be_enough() -> None:
    analysis = explain(build.pool({2: 5.0, 4: 4.7}, noise=0.03))
    assert analysis.pool is not None
    assert analysis.pool.enough == 4
    assert analysis.verdict.startswith("Inconclusive how few active sessions are enough")
    assert "the largest measured pool, with 4, is enough (" in analysis.verdict
    assert "and whether 2 would be enough is inconclusive: differences below 1.0" in analysis.verdict


@pytest.mark.parametrize(
    ("host", "sizes", "said", "headline"),
    [
        (SimulatedHost(cores=8, threads=1), (1, 2), "Inconclusive how many active sessions are enough on 8 vCPUs: the",
         "Inconclusive: no pool of more than 2 was measured"),
        (SimulatedHost(cores=2, threads=1), (1, 2), "2 active sessions are enough on 2 vCPUs: ",
         "Enough: 2 active sessions"),
        (SimulatedHost(cores=4, threads=1, quota_cpus=1.5), (1, 2, 4),
         "2 active sessions are enough on a CPU quota of 1.5", "Enough: 2 active sessions"),
    ],
    ids=["idle vCPUs", "all vCPUs", "quota"],
)  # fmt: skip
def test_enough_is_not_said_of_a_pool_that_leaves_vcpus_idle(
    host: SimulatedHost, sizes: tuple[int, ...], said: str, headline: str
) -> None:
    analysis = explain(simulate_pool(host, 40, sizes, RunOptions(repeats=3, seed=1, size="medium")))
    assert analysis.experiment is not None
    assert (analysis.verdict.startswith(said), analysis.experiment.headline) == (True, headline), analysis.verdict


def test_jobs_that_wait_use_more_sessions_than_vcpus_without_others_on_the_host() -> None:
    host = SimulatedHost(cores=4, threads=1, waits=0.5)
    found = explain(simulate_pool(host, 40, (2, 4, 8), RunOptions(repeats=3, seed=1, size="medium")))
    assert found.pool is not None and found.pool.enough == 8
    assert "other processes or steal" not in found.verdict


def shared_cores_remedy(host: SimulatedHost, active: tuple[int, ...]) -> str:
    analysis = explain(simulate_pool(host, 60, active, RunOptions(size="short", repeats=3, seed=1)))
    return next(each.remedy for each in analysis.findings if each.code == "shared-cores")


def test_no_remedy_advises_a_smaller_pool_than_the_answer() -> None:
    assert "a pool of" not in (said := shared_cores_remedy(SimulatedHost("h", cores=8, threads=2), (2, 8, 16, 30)))
    assert said.startswith("let fewer sessions share a core: SMT off")
    assert said.endswith("; 16 active sessions are enough")
    costly = SimulatedHost("h", cores=4, threads=2, smt_yield=-0.2)
    assert shared_cores_remedy(costly, (2, 4, 8)).endswith("; 4 active sessions are enough")


def simulated(host: SimulatedHost, pieces: int, active: tuple[int, ...], connections: int = 0) -> Analysis:
    given = RunOptions(size="short", repeats=3, seed=1)
    return explain(simulate_pool(host, pieces, active, given, connections=connections))


def test_a_pool_that_is_slower_than_a_smaller_one_is_not_enough() -> None:
    found = simulated(SimulatedHost("h", cores=4, threads=2, smt_yield=-0.2), 40, (2, 4, 8)).pool
    assert found is not None
    assert [each.enough for each in found.sizes] == [Answer.NO, Answer.YES, Answer.NO]


def test_too_large_pools_are_said_where_the_rest_is_open() -> None:
    analysis = explain(build.pool({1: 20.0, 4: 4.9, 5: 4.8, 20: 12.0}, noise=0.2))
    assert analysis.verdict.startswith("Too few are N=1; too many are N=20; inconclusive how many")


def test_of_a_hundred_sessions_that_are_enough_nobody_says_that_they_are_needed() -> None:
    host = SimulatedHost("h", cores=8, threads=2)
    analysis = simulated(host, 100, (10, 100))
    assert analysis.experiment is not None
    assert analysis.verdict.startswith("At most 100 active sessions are needed on 16 vCPUs: 100 jobs take ")
    assert "10 are too few, and whether 16 are enough was not measured (`--active 10,16`)" in analysis.verdict
    assert analysis.experiment.headline == "Enough: at most 100 active sessions"


def test_the_headline_says_at_most_where_a_smaller_size_is_undecided() -> None:
    analysis = simulated(SimulatedHost("h", cores=8, threads=2), 100, (10, 16, 100))
    assert analysis.experiment is not None
    assert analysis.verdict.startswith("Inconclusive how few active sessions are enough")
    assert analysis.experiment.headline == "Enough: at most 100 active sessions"


def test_a_quota_is_the_cause_of_a_pool_and_no_disturbance() -> None:
    verdict = simulated(SimulatedHost("h", cores=4, threads=1, quota_cpus=2.0), 30, (1, 2, 4, 8)).verdict
    assert "quiet host" not in verdict
    assert verdict.endswith(
        "The CPU quota limits pools of N=4,8; for a shorter total raise `cpu.max` (systemd: `CPUQuota=`, "
        "containers: `--cpus`)."
    )


def test_an_undecided_size_says_why() -> None:
    host = SimulatedHost("h", cores=4, threads=1, noisy_neighbour=0.8)
    verdict = simulated(host, 40, (1, 2, 3, 4, 5, 8, 16)).verdict
    assert re.search(r"whether 5 would be enough: with 5 the total is 1\.\d\dx \(95 % CI 1\.0", verdict)


def test_sessions_that_only_wait_bend_no_curve_and_find_no_hidden_cores() -> None:
    """Two of ten jobs compute: with more sessions no more is done, on whatever cores."""
    host = SimulatedHost(cores=4, threads=1)
    run = simulate_pool(host, 10, (2, 4, 8), RunOptions(size="short", repeats=3), blocking=8, block_s=3.0)
    found = explain(run)
    assert "cores-fewer-than-shown" not in {each.code for each in found.findings}
    assert (found.topology, found.scaling.knees, found.scaling.effective_cores) == (None, (), None)
    compared = measured("a", run).analysis
    assert (compared.topology, compared.capacity and compared.capacity.usable_cores) == (None, None)

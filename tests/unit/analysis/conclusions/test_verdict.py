"""The one sentence, for runs of every kind."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.answers import EQUAL
from dbcpu.analysis.levels.rounds_apart import apart_words
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.run import Analysis, RoundsApart
from dbcpu.record.header import ANONYMOUS, HostInfo
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import SOLO_S, host, record, round_of, session, solos, unsampled


def pairs(*elapsed_s: float, rounds: int = 5) -> list[Round]:
    """Rounds of two sessions or more, one for each elapsed time."""
    return [
        round_of([session(i, run_s, cpu=i) for i, run_s in enumerate(elapsed_s)], repeat=at, order=10 + at)
        for at in range(rounds)
    ]


def even() -> RunRecord:
    return record([*solos(), *pairs(SOLO_S, 1.85)])


def replace_status(run: RunRecord, status: str) -> RunRecord:
    return replace(run, header=replace(run.header, status=status))


def test_two_cpus_and_three_sessions() -> None:
    assert explain(three_on_two()).verdict == (
        "Up to 2 sessions all get equal CPU at full speed (median max/min at most 1.02). Above the 2 vCPUs shares are "
        "unequal: at 3 sessions 2 of 3 have a slowdown of 2.02x (run-queue wait: more sessions than the 2 vCPUs)."
    )


def test_a_shared_core() -> None:
    said = explain(nine_on_eight()).verdict
    assert "Up to 8 sessions" in said
    assert "from 9 on" not in said  # it is the highest level
    assert "2 of 9 have a slowdown of 1.51x (shared core: " in said


def test_equal_cpu_is_said_where_it_is_shown() -> None:
    said = explain(even()).verdict
    assert (
        said
        == "All sessions get equal CPU at full speed, at every level up to 2 sessions (median max/min at most 1.03)."
    )


def test_one_round_of_a_level_shows_no_equality_and_more_would() -> None:
    said = explain(record([*solos(), *pairs(SOLO_S, 1.85, rounds=1)])).verdict
    assert said.startswith("Inconclusive at N=2: one round of a level proves no equality; ")
    assert "more rounds (about " in said
    assert "; 5 of each level in all) would probably decide" in said


def test_a_single_solo_round_has_no_spread() -> None:
    said = explain(record([*solos(1), *pairs(SOLO_S, SOLO_S)])).verdict
    assert said == (
        "Inconclusive at N=2: a single session was measured only once, so the noise is not known; "
        "more rounds of one session would decide."
    )


def test_where_solo_sessions_differ_like_a_shared_core_equality_is_not_claimed() -> None:
    alone = [round_of([session(0, run_s)], repeat=i, order=i) for i, run_s in enumerate((1.0, 1.8, 3.1))]
    said = explain(record([*alone, *pairs(SOLO_S, 1.85)])).verdict
    assert said.startswith("Inconclusive at N=2: slowdowns below 2.91x are within noise; ")
    assert said.endswith("a quieter host or longer executions may decide.")
    assert "equal CPU" not in said


@pytest.mark.parametrize(("threads", "asked"), [(1, True), (2, False)])
def test_where_cores_may_be_hidden_all_levels_are_asked_for(threads: int, asked: bool) -> None:
    """Sessions that differ by hidden cores look like noise in a few levels."""
    alone = [round_of([session(0, run_s)], repeat=i, order=i) for i, run_s in enumerate((1.0, 1.8, 3.1))]
    shown = explain(record([*alone, *pairs(SOLO_S, 1.85)], host(8 // threads, threads), vcpus=8))
    assert (
        "; all levels (`--sessions auto`) show whether CPUs share cores; else longer executions may" in shown.verdict
    ) == asked
    remedies = {each.code: each.remedy for each in shown.findings}
    assert ("share cores that this host does not show" in remedies["inconclusive"]) == asked


def test_steal_that_hides_losses_is_said() -> None:
    """Or the reader looks for a busy process on a host whose hypervisor gave the time to others."""

    def said(share: float) -> str:
        rounds = [
            round_of([session(0, run_s)], order=i, busy_s={0: run_s}, steal_s={0: share * run_s})
            for i, run_s in enumerate((1.1, 1.8, 3.1))
        ]
        return explain(record([*rounds, *pairs(SOLO_S, 1.85)])).verdict

    assert "steal" not in said(0.0)
    assert "within noise, with 8.0 % CPU steal; " in said(0.08)


def test_what_all_lose_like_a_single_session_is_said_as_it_was_counted() -> None:
    """At 3 sessions "the median slowdown is 0.96x", where each lost a sixth of its time."""
    found = explain(simulate(SimulatedHost("stolen", cores=4, threads=1, steal=0.2), (1, 2, 3, 4), 6, 1))
    assert [each.counted_slowdown for each in found.levels if (each.counted_slowdown or 1.0) > 1.1]
    assert not re.search(r"slowdown is (0\.\d+|1\.0\d)x", found.verdict), found.verdict


def test_steal_that_a_single_session_loses_is_said_first() -> None:
    rounds = [round_of([session(0, 1.0, gap_s=0.8)], order=i, busy_s={0: 1.0}, steal_s={0: 0.8}) for i in range(3)]
    said = explain(record([*rounds, *pairs(SOLO_S, SOLO_S)])).verdict
    assert said.startswith("Even a single session loses 4")
    assert "(CPU steal)" in said


def test_an_impossible_throughput_makes_the_baseline_unreliable() -> None:
    fast = [round_of([session(i, SOLO_S / 2, cpu=i) for i in range(2)], repeat=at, order=10 + at) for at in range(3)]
    said = explain(record([*solos(), *fast])).verdict
    assert said.startswith("The baseline is not reliable: the throughput is up to 2.00x of what single sessions")
    assert "equal CPU" not in said


def test_all_equally_slow_are_not_called_equal_at_full_speed() -> None:
    said = explain(record([*solos(), *pairs(SOLO_S * 1.5, SOLO_S * 1.5)])).verdict
    assert said.startswith("At 2 sessions all are equally slow, with a slowdown of 1.50x")


def test_queueing_though_there_are_cpus_enough_is_said() -> None:
    pinned = round_of([session(0, SOLO_S, SOLO_S, cpu=0), session(1, SOLO_S, SOLO_S, cpu=0)])
    assert (
        "another session or process had the CPU" in explain(record([*solos(), pinned], host(cores=4), vcpus=4)).verdict
    )


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (record(solos()), "A single session reaches 22.76 Mrows/s (1.80 s); measure more"),
        (record([round_of([], level=4, error="17 of 32 connected")], status="failed"), "Nothing was measured: 17 of"),
        (record([round_of([session(0), session(1, 2.7)])]), "Without a valid single-session baseline only the spread"),
        (replace_status(even(), "interrupted"), "Interrupted after 8 of 8 rounds. All sessions get equal CPU"),
        (record([], status="interrupted", planned=9), "Nothing was measured: no round was finished."),
    ],
    ids=["solo only", "failed", "no solo", "interrupted", "interrupted at once"],
)
def test_runs_that_are_not_whole(run: RunRecord, expected: str) -> None:
    assert explain(run).verdict.startswith(expected)


def test_without_sampling_the_cause_is_not_claimed() -> None:
    blind = round_of([unsampled(session(0, 3.6)), unsampled(session(1, 3.6))], not_sampled="the host is remote")
    assert "(cause unknown); the host was not sampled: the host is remote" in explain(record([*solos(), blind])).verdict


def test_two_vcpus_that_behave_like_one_core() -> None:
    def both(run_s: float, measured_host: HostInfo) -> str:
        return explain(record([*solos(), *pairs(run_s, run_s)], measured_host)).verdict

    assert "as on two hardware threads of one core, though the host reports 2 cores" in both(1.5 * SOLO_S, host(2, 1))
    assert "hardware threads" not in both(1.15 * SOLO_S, host(2, 1))  # turbo takes as much
    assert "the host reports" not in both(1.5 * SOLO_S, host(1, 2))


def test_what_is_undecided_is_said_beside_a_loss() -> None:
    """Three sessions on two vCPUs all wait; how alike they are would be known after three rounds of them."""
    run = record([*solos(), *pairs(SOLO_S, SOLO_S), *_loaded(SOLO_S * 1.5, SOLO_S * 1.51, SOLO_S * 1.55)])
    found = explain(run)
    last = found.levels[-1]
    assert (last.even, last.full_speed) == (Answer.UNDECIDED, Answer.NO)
    assert "It is inconclusive whether shares are equal at N=3; " in found.verdict
    assert f"more rounds (on its host: `dbcpu more {found.run_id} --sessions 3 --rounds 2`) or" in found.verdict
    unnamed = explain(replace(run, header=replace(run.header, run_id=f"20261101-120000{ANONYMOUS}")))
    assert "more rounds (on that host) or a quieter host may decide" in unnamed.verdict
    assert not [each for each in unnamed.findings if "dbcpu more" in each.remedy]


def _loaded(*elapsed_s: float) -> list[Round]:
    return [round_of([session(i, run_s, cpu=i % 2) for i, run_s in enumerate(elapsed_s)], repeat=0, order=30)]


def simulated(levels: tuple[int, ...], **host: object) -> Analysis:
    return explain(simulate(SimulatedHost(**host), levels, repeats=4, seed=3))  # type: ignore[arg-type]


def test_a_larger_loss_above_the_vcpus_is_named_with_its_cause() -> None:
    """A quota of three CPUs on four: up to three only the turbo falls, at four the quota stops all."""
    found = simulated((1, 2, 3, 4), cores=4, threads=1, turbo_slope=0.3, quota_cpus=3.0, hypervisor=None)
    assert "bove the CPU quota of 3: at 4 sessions all are equally slow" in found.verdict
    assert "x (CPU quota, and lower frequency as well)" in found.verdict


def test_what_sessions_lose_beside_each_other_is_named_beside_what_one_alone_loses() -> None:
    found = simulated((1, 2, 4), cores=4, threads=2, hidden_smt=True, steal=0.3)
    assert found.verdict.startswith("Even a single session loses ")
    worst = max(found.levels, key=lambda each: each.max_over_min or 1.0)
    assert f"; at {worst.level} sessions " in found.verdict


def test_a_single_session_far_from_its_memory_loses_what_its_times_show() -> None:
    """Nothing was counted of it: the share was that of nothing (0.0 %)."""
    far = SimulatedHost(sockets=2, cores=4, threads=1, nodes=2, remote_slowdown=0.3, memory_node=0)
    found = explain(simulate(far, (1, 4, 8), repeats=6, seed=1))
    assert found.verdict.startswith("Even a single session is not always fast: in 3 of 6 rounds it has a slowdown of ")
    assert " 0.0 % of its time" not in found.verdict
    assert headline(found).headline.startswith("No: even a single session is not always at full speed")


def test_cores_of_two_kinds_are_named_as_the_reason_and_the_remedy() -> None:
    found = simulated(tuple(range(1, 9)), cores=8, threads=1, efficiency_cores=4, scheduler="sticky", hypervisor=None)
    assert "(slower CPU: the host has cores of two kinds)" in found.verdict
    assert headline(found).remedy.startswith("keep the database on the cores of full speed")


def test_waiting_for_each_other_beside_other_processes_names_these() -> None:
    found = simulated((1, 2), cores=2, threads=1, noisy_neighbour=1.0)
    assert "run-queue wait: sessions waited for a CPU, while other processes used " in found.verdict
    assert "and other processes as well" not in found.verdict


def test_fewer_vcpus_than_sessions_use_are_no_fault_of_the_baseline() -> None:
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 2), repeats=6, seed=1)
    plan = replace(run.header.plan, vcpus=1, vcpus_source="--vcpus")
    found = explain(replace(run, header=replace(run.header, plan=plan))).verdict
    assert "This run counts on 1 vCPU, and its sessions may use 2 CPUs: measure again without `--vcpus`" in found
    assert "quieter host" not in found
    caged = replace(plan, vcpus_source="instance caging")
    assert "--vcpus" not in explain(replace(run, header=replace(run.header, plan=caged))).verdict


def test_what_makes_the_slowest_slower_is_the_cause_of_unequal_shares() -> None:
    """Turbo slows all of a round alike, a shared core only some of it."""
    turbo = SimulatedHost(cores=4, threads=2, turbo_slope=0.2, hypervisor=None)
    found = explain(simulate(turbo, levels=(1, 4, 6, 8), repeats=6, seed=2))
    causes = {each.level: each.main_cause for each in found.levels}
    assert (causes[4], causes[6]) == ("frequency", "shared_core")
    assert "At 6 sessions all have a slowdown, from 1.25x to 1.80x, 4 of 6 in a slow group" in found.verdict


def test_above_a_quota_the_unequal_levels_are_named_and_all_sessions_are_slow() -> None:
    held = simulate(SimulatedHost(cores=8, threads=2, quota_cpus=4.0), (1, 2, 4, 6, 8, 9, 12, 16), repeats=6, seed=1)
    said = explain(held).verdict
    assert "Above the CPU quota of 4 shares are unequal at N=9,12: at 9 sessions all have a slowdown, from 2.1" in said


def test_a_quota_is_raised_where_it_makes_the_vcpus_so_few() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=1, quota_cpus=2.5), levels=(1, 2, 5), repeats=6, seed=2))
    remedies = {each.code: each.remedy for each in found.findings}
    assert "or raise the CPU quota" in remedies["oversubscribed"]


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.2])
def test_what_the_bounds_exclude_is_not_within_noise(noise: float) -> None:
    run = simulate(SimulatedHost(name="noisy", cores=4, noise=noise), (1, 2, 3, 4), 3, 1, size="short")
    undecided = [each for each in explain(run).levels if Answer.UNDECIDED in (each.even, each.full_speed)]
    assert undecided
    for each in undecided:
        open_ = [(each.even, each.even_bound), (each.full_speed, each.slowdown_high)]
        limits = [limit for answer, limit in open_ if answer is Answer.UNDECIDED and limit is not None]
        if each.calm_rounds is not None:
            continue
        assert each.detectable is not None and limits
        assert each.detectable <= max(EQUAL, *limits)


def test_without_a_whole_cpu_for_one_session_others_are_as_fast_as_it_and_not_at_full_speed() -> None:
    run = simulate(SimulatedHost(name="stolen", cores=4, steal=0.1), (1, 2, 3, 4), 6, 1, size="short")
    found = explain(run)
    assert found.levels[0].full_speed is Answer.UNDECIDED
    assert "equal CPU at full speed" not in found.verdict
    assert not headline(found).headline.startswith("Yes")


def test_above_a_quota_of_one_cpu_sessions_are_throttled_and_take_no_turns() -> None:
    run = simulate(SimulatedHost(name="limited", cores=4, quota_cpus=1.0), (1, 2, 3, 4), 3, 1, size="short")
    assert headline(explain(run)).headline == "No: above the CPU quota of 1 they are throttled"


@pytest.mark.parametrize(("level", "whose"), [(5, "one core"), (6, "some cores")])
def test_more_sessions_than_a_core_has_threads_share_some_cores(level: int, whose: str) -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=2), (1, 4, level), 3, 1, size="medium"))
    assert f"sessions ran on both hardware threads of {whose})" in found.verdict


def test_a_cause_stands_with_the_rounds_that_have_the_slowdown() -> None:
    apart = RoundsApart(rounds=2, sessions=1, max_sessions=1, slowdown=1.67)
    (level,) = [each for each in explain(three_on_two()).levels if each.level == 3]
    level = replace(level, rounds=3, rounds_apart=apart)
    assert apart_words(level, why=" (remote memory)").endswith("a slowdown of 1.67x (remote memory), in the other none")
    assert apart_words(replace(level, rounds=6)).endswith("a slowdown of 1.67x, in the others none")


def test_rounds_that_are_as_fast_as_a_single_session_have_no_slowdown() -> None:
    """Slower than the others they are: a slowdown of 0.96x is none, and what the kernel counted is a loss of time."""
    (level,) = [each for each in explain(three_on_two()).levels if each.level == 1]
    apart = RoundsApart(rounds=2, sessions=1, max_sessions=1, slowdown=0.96)
    usual = apart_words(replace(level, rounds=6, rounds_apart=apart), why=" (CPU steal)")
    assert usual == "in 2 of 6 rounds it takes at least 1.15x as long as in the others (CPU steal)"
    counted = apart_words(replace(level, rounds=6, rounds_apart=replace(apart, slowdown=1.54, counted=True)))
    assert counted == "in 2 of 6 rounds it loses 35 % of the time by the kernel's count, in the others none"

"""Sentences of one result do not contradict its other parts, on hosts whose truth is known."""

import re
from collections.abc import Sequence
from functools import cache

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.level_losses import lost_to
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_summary import cause_counts, summary
from dbcpu.reports.formats import table
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.contradictions import contradictions

HOSTS = {
    "one core as two": (SimulatedHost(cores=1, threads=2, hidden_smt=True), (1, 2, 3, 4), 3),
    "two kinds": (SimulatedHost(cores=4, threads=1, efficiency_cores=2, efficiency_speed=0.6), (1, 2, 3, 4, 5, 6), 3),
    "neighbour": (SimulatedHost(cores=2, threads=1, noisy_neighbour=1.0, scheduler="frozen"), (1, 2, 3, 4), 3),
    "one vCPU": (SimulatedHost(cores=1, threads=1, noisy_neighbour=0.8), (1, 2, 3), 3),
    "noise": (SimulatedHost(cores=4, threads=1, noise=0.2), (1, 2, 3, 4, 5), 2),
    "hidden": (SimulatedHost(cores=4, threads=2, hidden_smt=True, scheduler="frozen"), (1, 2, 4), 3),
    "far memory": (SimulatedHost(cores=2, threads=1, sockets=2, nodes=2, remote_slowdown=0.4, memory_node=1,
                                 scheduler="frozen"), (1, 2, 3), 3),
    "turbo": (SimulatedHost(cores=4, threads=1, turbo_slope=0.3), (1, 2, 3, 4, 5, 6), 5),
    "measured turbo": (SimulatedHost(cores=4, threads=1, turbo_slope=0.4, hypervisor=None), (1, 2, 3, 4, 5, 6), 3),
    "siblings": (SimulatedHost(cores=4, threads=2), (1, 2, 3, 4, 5, 8, 9, 10, 11), 6),
    "costly siblings": (SimulatedHost(cores=4, threads=2, smt_yield=-0.3), (1, 2, 3, 4, 5, 8, 9, 10), 3),
    "interrupts": (SimulatedHost(cores=4, threads=1, irq=0.4), (1, 2, 3, 4, 5), 4),
    "few levels": (SimulatedHost(cores=16, threads=1), (1, 16), 5),
    "one noisy round": (SimulatedHost(cores=2, threads=1, noise=0.08), (1, 2), 1),
}  # fmt: skip


LONGER = {
    "hidden beside turbo": (SimulatedHost(cores=16, threads=2, hidden_smt=True, turbo_slope=0.15),
                            (1, 2, 8, 15, 16, 17, 24, 31, 32, 33, 40, 64), 6, 6),
    "stolen from": (SimulatedHost(cores=8, threads=2, steal=0.1), (1, 2), 20, 2),
    "long waits": (SimulatedHost(cores=4, threads=1, waits=0.3, wait_s=0.1), (1, 2, 3, 4, 5, 8), 6, 1),
}  # fmt: skip
"""Levels, repeats and seed: what takes longer than a statement of size short."""


@cache
def result(name: str) -> tuple[RunRecord, Analysis]:
    if name in LONGER:
        host, levels, repeats, seed = LONGER[name]
        record = simulate(host, levels, repeats, seed=seed, size="medium")
    else:
        host, levels, repeats = HOSTS[name]
        record = simulate(host, levels, repeats, seed=1, size="short")
    return record, explain(record)


def scaling(name: str) -> str:
    return dict(summary(*result(name))).get("scaling", "")


@pytest.mark.parametrize("name", [*HOSTS, *LONGER])
def test_no_part_contradicts_another(name: str) -> None:
    assert contradictions(*result(name)) == []


def test_two_vcpus_that_are_one_core_have_the_remedy_of_hidden_siblings() -> None:
    _, found = result("one core as two")
    assert "two hardware threads of one core" in found.verdict
    assert "ThreadsPerCore=1" in headline(found).remedy
    assert "--sessions auto" not in scaling("one core as two"), "all of its levels were measured"


def test_on_cores_of_two_kinds_not_all_sessions_slow_down() -> None:
    assert "cores of two kinds: a session on a slower core adds less" in scaling("two kinds")


def test_what_others_used_of_the_cpus_is_said_where_sessions_queue() -> None:
    assert ", while other processes used " in result("neighbour")[1].verdict


def test_one_vcpu_has_no_curve_to_speak_of() -> None:
    assert "linearly" not in scaling("one vCPU")


def test_where_all_levels_were_measured_no_other_ones_are_asked_for() -> None:
    assert "--sessions auto" not in result("noise")[1].verdict


def test_levels_come_before_a_quieter_host_where_siblings_may_be_hidden() -> None:
    _, found = result("hidden")
    assert "ll levels (`--sessions auto`) show whether CPUs share cores" in found.verdict
    assert headline(found).remedy.startswith("measure all levels (`--sessions auto`)")


def test_a_single_session_far_from_its_memory_is_slowed_and_does_not_lose_nothing() -> None:
    assert "loses 0" not in result("far memory")[1].verdict
    assert "(remote memory)" in result("far memory")[1].verdict


def test_under_turbo_throughput_is_not_called_linear() -> None:
    assert scaling("turbo").startswith("throughput bends at ")


@pytest.mark.parametrize(
    ("name", "vcpus"), [("turbo", 4), ("measured turbo", 4), ("siblings", 8), ("costly siblings", 8), ("interrupts", 4)]
)
def test_unequal_turns_are_put_down_to_what_makes_them_unequal(name: str, vcpus: int) -> None:
    """What all lose alike comes first where it is more than that."""
    said = result(name)[1].verdict
    above = said[said.index(f"bove the {vcpus} vCPUs shares are unequal") :]
    turns = f"(run-queue wait: more sessions than the {vcpus} vCPUs"
    assert turns in above or ", and unequal through run-queue wait)" in above


@pytest.mark.parametrize(
    ("name", "price"),
    [("siblings", "With SMT off throughput is lower"), ("costly siblings", "Without SMT throughput is higher")],
)
def test_smt_off_is_advised_with_its_price(name: str, price: str) -> None:
    assert price in headline(result(name)[1]).remedy


def test_a_known_cause_stands_in_place_of_possible_ones() -> None:
    (slow,) = [each for each in result("measured turbo")[1].findings if each.code == "slow-together"]
    assert slow.meaning == "most of the loss is by lower frequency"


def test_reasons_for_being_slow_together_are_possible_on_this_host() -> None:
    """Bare metal hides no SMT and has no steal; where cores of two kinds are the cause, it is named."""
    host = SimulatedHost("h", cores=6, threads=2, efficiency_cores=5, efficiency_speed=0.5, hypervisor=None, noise=0.05)
    analysis = explain(simulate(host, (1, 2, 3, 4, 5, 6), repeats=6, seed=5))
    slow = [each for each in analysis.findings if each.code == "slow-together"]
    assert slow and "cores of two kinds" in slow[0].meaning
    assert not re.search(r"hypervisor|steal|quota|other processes", slow[0].meaning)


@pytest.mark.parametrize("name", ["one core as two", "interrupts"])
def test_a_quiet_host_is_not_told_that_a_quieter_one_helps_the_curve(name: str) -> None:
    assert "quieter" not in scaling(name)


def test_levels_that_were_not_measured_are_not_claimed() -> None:
    assert "at every measured level up to 16 sessions (measured at N=16; " in result("few levels")[1].verdict


def test_more_rounds_are_not_meant_to_decide_where_noise_is_too_large() -> None:
    said = result("one noisy round")[1].verdict
    assert "one round of a level proves no equality; with this noise not even 20 rounds would probably decide" in said


@pytest.mark.parametrize("name", ["siblings", "measured turbo", "interrupts"])
def test_what_helps_is_the_last_line(name: str) -> None:
    made = document(*result(name))
    remedy = headline(result(name)[1]).remedy
    assert remedy
    assert " ".join(table.render(made).split()).endswith(f"What helps: {remedy}.")
    assert made.verdict[-1] not in remedy


def test_two_groups_beside_turbo_are_no_proof_of_the_cores_shown() -> None:
    found = result("hidden beside turbo")[1]
    assert found.topology is not None and found.topology.grouped
    assert "consistent with the reported topology" not in scaling("hidden beside turbo")
    assert "which the host does not show" in found.verdict
    assert headline(found).remedy.startswith("give each vCPU a core of its own")


def test_many_rounds_do_not_make_up_for_what_is_stolen_of_most() -> None:
    (alone,) = [each for each in result("stolen from")[1].levels if each.level == 1]
    assert (alone.counted_slowdown or 1.0) > 1.05
    assert alone.full_speed is not Answer.YES


def test_sessions_that_wait_do_more_than_so_many_that_do_not() -> None:
    found = result("long waits")[1]
    assert found.reference is not None and found.reference.busy < 0.9
    assert "baseline-too-slow" not in {each.code for each in found.findings}
    assert (found.scaling.effective_cores or 0.0) <= 4.0


WAITING = (1, 2, 4, 6, 8, 12)
"""Levels for work that waits for half of its time on four vCPUs."""


@cache
def run_of(
    host: SimulatedHost, levels: range | tuple[int, ...], repeats: int = 6, seed: int = 1
) -> tuple[RunRecord, Analysis]:
    record = simulate(host, tuple(levels), repeats, seed=seed)
    return record, explain(record)


def made(host: SimulatedHost, levels: range | tuple[int, ...], repeats: int = 6, seed: int = 1) -> Analysis:
    return run_of(host, levels, repeats, seed)[1]


def lines(host: SimulatedHost, levels: range | tuple[int, ...], repeats: int = 6, seed: int = 1) -> dict[str, str]:
    return dict(summary(*run_of(host, levels, repeats, seed)))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sessions_that_keep_their_neighbours_to_the_end_cost_no_throughput(seed: int) -> None:
    curve = made(SimulatedHost(cores=4, threads=1, scheduler="frozen"), range(1, 10), seed=seed).scaling
    assert [round(knee) for knee in curve.knees] == [4]
    assert curve.left_out is None
    assert curve.effective_cores == pytest.approx(4.0, abs=0.1)


def test_sessions_that_wait_and_leave_cpus_idle_say_nothing_of_usable_cores() -> None:
    host = SimulatedHost(cores=4, threads=1, waits=0.5)
    few, many = (made(host, levels).capacity for levels in (range(1, 5), WAITING))
    assert few is not None and many is not None
    assert (few.usable_cores, few.per_vcpu) == (None, None)
    assert many.usable_cores == pytest.approx(4.0, abs=0.3)


def test_throughput_under_a_quota_is_per_cpu_of_the_quota() -> None:
    said = lines(SimulatedHost(cores=4, threads=1, quota_cpus=1.5), range(1, 5))["capacity"]
    assert "(40.0 per CPU of the quota)" in said


def test_what_is_equal_and_slow_is_not_said_to_be_at_full_speed() -> None:
    host = SimulatedHost(cores=8, threads=2, hidden_smt=True)
    said = lines(host, (1, 2, 4, 16), seed=4)["capacity"]
    assert "at full speed up to 2 sessions; equal shares also at N=16" in said


def test_a_loss_that_the_kernel_counted_is_no_unknown_cause() -> None:
    found = made(SimulatedHost(cores=4, threads=1, steal=0.2), (1, 2, 4, 8))
    (level,) = [each for each in found.levels if each.level == 4]
    assert (level.even, lost_to(level)) == (Answer.NO, Cause.STEAL)
    assert re.fullmatch(r"CPU steal; \d+ % lost", cause_counts(level))
    assert "as long as the fastest (CPU steal)" in found.verdict
    assert "cause unknown" not in found.verdict


def test_single_sessions_on_a_cpu_that_interrupts_keep_busy_are_no_change_of_the_host() -> None:
    found = made(SimulatedHost(cores=4, threads=1, irq=0.4), range(1, 6))
    assert "interrupts" in {each.code for each in found.findings}
    assert "solo-drift" not in {each.code for each in found.findings}


def test_a_bend_by_chance_is_no_knee_of_cores_that_are_not_shown() -> None:
    found = made(SimulatedHost(cores=8, threads=2, hidden_smt=True), range(1, 17))
    assert found.topology is not None and found.topology.like_cores == 8
    assert found.scaling.knees == ()
    # Where the vCPUs end there is one, whoever shares a core.
    (knee,) = made(SimulatedHost(cores=8, threads=2, hidden_smt=True, scheduler="frozen"), range(1, 21)).scaling.knees
    assert knee == pytest.approx(16, rel=0.1)


def test_where_the_median_session_is_slow_half_of_them_are() -> None:
    host = SimulatedHost(cores=4, threads=1, toggle=1.8)
    found = explain(simulate(host, (1, 2, 3, 4, 5, 6), 6, seed=11, size="short", executions=5))
    (level,) = [each for each in found.levels if each.level == 5]
    assert level.full_speed is Answer.NO and level.slow == 2.5
    assert "at 5 sessions 4 of 5 have a slowdown" in found.verdict


def test_what_a_single_session_loses_is_the_main_cause_and_both_losses_have_a_remedy() -> None:
    front = headline(made(SimulatedHost(cores=4, threads=2, steal=0.2), range(1, 9), seed=21))
    assert front.headline == "No: even a single session does not get a whole CPU"
    assert [fact.cause for fact in front.facts if fact.cause] == ["steal"]
    steal, shared = front.remedy.split(". Against shared core: ")
    assert "dedicated host" in steal and "one session per core" in shared


@pytest.mark.parametrize(("threads", "which"), [(2, "the second threads"), (4, "all threads beyond the first")])
def test_what_more_than_two_threads_add_is_not_put_down_to_the_second(threads: int, which: str) -> None:
    found = made(SimulatedHost(cores=2, threads=threads), range(1, 2 * threads + 1))
    assert which in headline(found).remedy


@pytest.mark.parametrize(
    "host",
    [
        SimulatedHost(cores=4, threads=1, efficiency_cores=2, efficiency_speed=0.5),
        SimulatedHost(sockets=2, cores=2, threads=1, nodes=2, remote_slowdown=0.5, memory_node=0),
    ],
    ids=["slower cores", "memory far away"],
)
def test_those_who_stay_slow_leave_no_cpu_to_others_when_they_end(host: SimulatedHost) -> None:
    """Two whole CPUs and two of half the speed are three, whatever halves it."""
    for levels in ((1, 2, 3, 4), (1, 4)):
        room = made(host, levels, repeats=12).capacity
        assert room is not None and room.usable_cores == pytest.approx(3.0, abs=0.2)


def test_under_a_quota_the_curve_may_bend_beyond_it() -> None:
    said = lines(SimulatedHost(cores=4, threads=2, quota_cpus=3.7), range(1, 9))["scaling"]
    first, second = re.findall(r"(?:up to|until) (\d+\.\d) sessions", said)
    assert float(first) == pytest.approx(3.7, abs=0.2)
    assert float(second) == pytest.approx(7.5, abs=1.0)


def test_a_quota_of_less_than_all_cpus_is_what_bounds_them() -> None:
    host = SimulatedHost(cores=4, threads=1, quota_cpus=3.7)
    assert "of a CPU quota of 3.7" in lines(host, range(1, 9))["to quote"]
    assert "quota" in headline(made(host, range(1, 9))).remedy
    assert "of 4 vCPUs" in lines(SimulatedHost(cores=4, threads=1, quota_cpus=4), range(1, 9))["to quote"]


@pytest.mark.parametrize("levels", [(1, 8), (1, 2, 3, 4, 5, 6, 7, 8)])
def test_slower_cores_have_their_remedy_whatever_was_measured(levels: tuple[int, ...]) -> None:
    host = SimulatedHost(cores=8, threads=1, efficiency_cores=4, efficiency_speed=0.6)
    assert "cores of full speed" in headline(made(host, levels)).remedy


def test_who_loses_a_cpu_to_interrupts_has_a_cause_also_where_few_do() -> None:
    found = made(SimulatedHost(cores=4, threads=1, irq=0.3), (1, 4), seed=7)
    assert "as long as the fastest (interrupts)" in found.verdict
    assert "slowdown of 1.00x" not in found.verdict


def test_of_work_that_waits_more_sessions_than_vcpus_are_of_use() -> None:
    remedy = headline(made(SimulatedHost(cores=4, threads=1, waits=0.5), WAITING)).remedy
    assert remedy.startswith("run no more than 6 such sessions")  # 8 keep the CPUs busy, and lose 11 %
    both = SimulatedHost(cores=4, threads=2, waits=0.6)
    shared = headline(explain(simulate(both, (1, 4, 8, 12), 6, seed=6, size="medium")))
    assert shared.headline.startswith("Yes up to 8 sessions")
    assert shared.remedy == "run no more than 8 such sessions, or add cores"


@pytest.mark.parametrize("seed", [2, 9, 10, 12])
def test_rounds_that_stand_apart_by_less_than_a_ratio_of_1_15_are_not_equal(seed: int) -> None:
    """One session of four runs on the CPU of the interrupts in half of all rounds, and in two of these six."""
    found = made(SimulatedHost(cores=8, threads=1, irq=0.12), (1, 4), seed=seed)
    assert found.levels[-1].even is Answer.UNDECIDED
    assert "Yes" not in headline(found).headline


def test_sharing_that_nearly_accounts_for_it_is_not_put_down_to_others() -> None:
    """Work that waits 10 ms at a time is seen by few polls: what is not seen of sessions looks like others' time."""
    host = SimulatedHost(cores=4, threads=2, waits=0.7)
    found = explain(simulate(host, (1, 4, 8, 16), 6, seed=1, size="medium"))
    assert "competitor" not in {cause for level in found.levels for cause, _ in level.causes}


@pytest.mark.parametrize("levels", [(*range(1, 17), 32), (*range(1, 21), 32), range(1, 21)])
def test_usable_cores_do_not_depend_on_which_levels_were_measured(levels: Sequence[int]) -> None:
    """Rates of unequal sessions beyond the vCPUs are too high, for some end early, and are no work of the host."""
    host = SimulatedHost(cores=8, threads=2, smt_yield=1 / 3, scheduler="frozen")
    found = explain(simulate(host, tuple(levels), 6, seed=1, size="medium")).capacity
    assert found is not None and found.usable_cores_interval is not None
    assert found.usable_cores == pytest.approx(8 * 4 / 3, rel=0.01)
    assert found.usable_cores_interval.low <= 8 * 4 / 3 <= found.usable_cores_interval.high


def test_slower_cores_count_for_what_they_do_and_not_for_those_who_wait() -> None:
    host = SimulatedHost(cores=8, threads=1, efficiency_cores=4, efficiency_speed=0.5)
    found = explain(simulate(host, (*range(1, 11), 16), 6, seed=1, size="medium")).capacity
    assert found is not None
    assert found.usable_cores == pytest.approx(6.0, rel=0.01)


def test_above_the_vcpus_the_verdict_names_the_cause_of_the_table_first() -> None:
    found = made(preset("smt8"), (1, 8, 16, 64, 80))
    (level,) = [each for each in found.levels if each.level == 80]
    assert (level.even, lost_to(level), level.counted_cause) == (Answer.NO, Cause.SHARED_CORE, Cause.RUN_QUEUE)
    assert "all 8 hardware threads of each core, and unequal through run-queue wait)" in found.verdict


def test_equal_at_full_speed_in_most_rounds_is_not_said_of_all() -> None:
    host = SimulatedHost(cores=3, threads=2, hidden_smt=True)
    found = made(host, (*range(1, 9), 12), repeats=10)
    apart = found.levels[1].rounds_apart
    assert apart is not None and found.levels[1].full_speed is Answer.YES
    assert f"but not in every round (at 2 sessions, in {apart.rounds} of 10 rounds all have" in found.verdict


def test_a_session_more_than_vcpus_counts_as_too_many_where_some_waited() -> None:
    found = made(preset("graviton"), (1, 64, 65, 80))
    (said,) = [each.seen for each in found.findings if each.code == "oversubscribed"]
    assert said.startswith("at N=65,80 there were more sessions than the 64 vCPUs")


def test_contention_is_told_of_the_first_variant_by_its_name() -> None:
    host = SimulatedHost(cores=2, threads=2)
    record = simulate(host, (1, 2, 4), 3, seed=1, size="short", variants=("baseline", "smt_off"))
    said = dict(summary(record, explain(record)))["contention"]
    assert said.startswith("baseline: SMT sharing at N=4 ")
    assert "queueing" not in said


def test_cpus_that_the_witness_shows_slower_together_are_not_consistent_with_what_is_shown() -> None:
    host = SimulatedHost(cores=4, threads=2, hidden_smt=True, toggle=1.8, toggle_s=2.0)
    found = explain(simulate(host, (*range(1, 11), 16), 6, seed=11, size="medium"))
    assert "shared cores that are not shown" in found.verdict
    assert found.topology is not None
    assert (found.topology.verdict, "share cores that are not shown" in found.topology.why) == ("unclear", True)


@pytest.mark.parametrize(
    ("host", "cores"),
    [(SimulatedHost(cores=1, irq=0.3, waits=0.1), 0.7), (SimulatedHost(cores=2, steal=0.3, waits=0.3), 1.4)],
    ids=["interrupts", "steal"],
)
def test_of_work_that_waits_what_the_host_takes_is_no_wait_of_its_own(host: SimulatedHost, cores: float) -> None:
    found = explain(simulate(replace(host, threads=1), (1, 2, 3, 4), 6, seed=1, size="medium")).capacity
    assert found is not None
    assert found.usable_cores == pytest.approx(cores, abs=0.05)


def test_what_fewer_sessions_lose_to_another_cause_has_its_remedy_too() -> None:
    found = explain(simulate(SimulatedHost(cores=2, threads=2, irq=0.3), (1, 2, 3, 4, 5, 8), 6, seed=2, size="medium"))
    assert "in 4 of 6 rounds 1 of 2 has a slowdown of 1.42x through interrupts, in the others none" in found.verdict
    assert headline(found).remedy.startswith("run one session per core")
    assert ". Against interrupts: move interrupts to other CPUs" in headline(found).remedy


def test_slow_sessions_that_are_unlike_each_other_have_no_common_slowdown() -> None:
    host = SimulatedHost(cores=3, threads=2, sockets=2, nodes=2, remote_slowdown=0.4, memory_node=0, scheduler="sticky",
                         hypervisor=None)  # fmt: skip
    found = explain(simulate(host, (*range(1, 15), 24), 6, seed=13, size="medium"))
    (level,) = [each for each in found.levels if each.level == 8]
    assert level.slowdown_max == pytest.approx(2.51, abs=0.01)
    assert level.slower_min == pytest.approx(1.50, abs=0.01)
    assert re.search(r"at 8 sessions 6 of 8 have a slowdown, from 1\.50x to 2\.51x", found.verdict)


@pytest.mark.parametrize(("cores", "threads", "waits", "pool"), [(2, 4, 0.6, 5), (4, 2, 0.2, 5), (4, 2, 0.0, 4)])
def test_fewer_sessions_that_help_are_as_many_as_keep_the_cores_busy(
    cores: int, threads: int, waits: float, pool: int
) -> None:
    """Of work that waits a pool of one session per core leaves the cores idle for that part of the time."""
    host = SimulatedHost(cores=cores, threads=threads, waits=waits)
    found = explain(simulate(host, (1, 2, 3, 4, 5, 6, 7, 8), 6, seed=1, size="medium"))
    remedy = next(each.remedy for each in found.findings if each.code == "shared-cores")
    assert f"a pool of {pool}" in remedy
    assert ("one session per core" in remedy) == (pool == cores)


@pytest.mark.parametrize(("name", "guest"), [("turbo", True), ("measured turbo", False)])
def test_a_turbo_that_falls_is_normal_and_no_guest_sets_a_frequency(name: str, guest: bool) -> None:
    remedy = headline(result(name)[1]).remedy
    assert remedy.startswith("plan with the times measured with as many sessions as you run")
    assert ("cpupower" in remedy) != guest


def test_memory_that_a_variant_spreads_over_nodes_is_a_possible_reason() -> None:
    """Half of it is on the other node then, wherever a session runs; without such a variant it is no reason."""
    numa = SimulatedHost(sockets=2, cores=4, threads=1, nodes=2, remote_slowdown=0.5, memory_node=0)
    run = simulate(numa, (1, 4, 8), 3, seed=0, variants=("baseline", "memory:interleave"))
    slow = [each.meaning for each in explain(run).findings if each.code == "slow-together"]
    assert slow and slow[0].startswith("possible reasons: memory on another NUMA node, ")

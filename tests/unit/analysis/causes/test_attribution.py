"""Each cause, as it was measured on a live host, is named; nothing is named that the evidence does not carry."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.causes.evidence_rules import of_elapsed
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.results.run import SessionView
from dbcpu.record.header import HostInfo
from dbcpu.record.rounds import UNLISTED, CgroupUse, Foreign, Residency, Round, Session, Wait
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos, unsampled


def views(loaded: Round, measured_host: HostInfo | None = None) -> list[SessionView]:
    analysis = explain(record([*solos(), loaded], measured_host))
    return [view for view in analysis.sessions if view.order == 3]


def causes(loaded: Round, measured_host: HostInfo | None = None) -> list[str]:
    return [view.cause for view in views(loaded, measured_host)]


def test_two_sessions_each_on_its_cpu_lose_nothing() -> None:
    assert causes(round_of([session(0, 1.81, 0.02), session(1, 1.81, 0.02)])) == ["none", "none"]


def test_two_sessions_pinned_to_one_cpu_queue_for_each_other() -> None:
    seen = views(round_of([session(0, 1.81, 1.82, cpu=0), session(1, 1.81, 1.82, cpu=0)], busy_s={0: 3.62, 1: 0.1}))
    assert [view.cause for view in seen] == ["run_queue", "run_queue"]
    assert seen[0].evidence == (
        "2.02x: run-queue wait 1.82 s of 3.63 s on CPU 0, shared with session 1 "
        "while another CPU it may use was idle (1.82 s)"
    )
    assert [view.avoidable_s for view in seen] == pytest.approx([1.82, 1.82])


def test_three_pinned_0_0_1_are_two_slow_and_one_not() -> None:
    seen = views(
        round_of([session(0, 1.82, 1.82, cpu=0), session(1, 1.82, 1.81, cpu=0), session(2, 1.82, 0.04, cpu=1)])
    )
    assert [view.cause for view in seen] == ["run_queue", "run_queue", "none"]
    assert [view.group for view in seen] == ["slow", "slow", "fast"]
    assert [view.slowdown for view in seen] == pytest.approx([2.0, 2.0, 1.0], abs=0.05)


def test_three_free_on_two_cpus_rotate_and_queue() -> None:
    elapsed = 2.70
    lanes = [
        [(0, 0.0, 1.8), (1, 1.8, elapsed)],
        [(1, 0.0, 0.9), (0, 0.9, elapsed)],
        [(0, 0.0, 0.9), (1, 0.9, elapsed)],
    ]
    sessions = [session(i, 1.83, elapsed - 1.83, stays=stays) for i, stays in enumerate(lanes)]
    assert causes(round_of(sessions, busy_s={0: 2.7, 1: 2.7})) == ["run_queue"] * 3


@pytest.mark.parametrize(("run_s", "gap_s", "seen_s"), [(1.87, 1.80, 1.32), (1.86, 0.72, 0.5)])
def test_a_stopped_process_is_seen_stopped(run_s: float, gap_s: float, seen_s: float) -> None:
    # Short stops are seen by fewer polls than they last: the state accounts for less than the gap.
    one = session(0, run_s, 0.04, gap_s, stays=[(0, 0.0, run_s + 0.04 + gap_s - seen_s)])
    stretch = replace(one.residency[0], state="T", from_s=one.residency[0].to_s, to_s=run_s + 0.04 + gap_s, cpu_s=0.0)
    one = replace(one, residency=(*one.residency, stretch))
    assert causes(round_of([one, session(1)])) == ["stopped", "none"]


def test_a_quota_throttles() -> None:
    group = CgroupUse("/pod", 0.5, 38, 37, 1.796, sessions=(0,))
    seen = views(round_of([session(0, 1.87, 1.81), session(1)], busy_s={0: 1.87, 1: 1.8}, cgroups=(group,)))
    assert [view.cause for view in seen] == ["throttled", "none"]
    assert seen[0].throttled_s == pytest.approx(1.796)
    assert "0.5 CPUs" in seen[0].evidence


def test_a_group_quota_is_shared_out_by_run_delay_and_never_exceeds_it() -> None:
    group = CgroupUse("/pod", 1.0, 38, 37, 3.59, sessions=(0, 1))
    seen = views(round_of([session(0, 1.9, 1.84), session(1, 1.9, 1.78)], cgroups=(group,)))
    assert [view.cause for view in seen] == ["throttled", "throttled"]
    assert sum(view.throttled_s or 0.0 for view in seen) == pytest.approx(3.59)
    excessive = replace(group, throttled_s=100.0)
    seen = views(round_of([session(0, 1.9, 1.84), session(1, 1.9, 1.78)], cgroups=(excessive,)))
    assert [view.throttled_s for view in seen] == pytest.approx([1.84, 1.78])


def test_a_wait_on_an_idle_cpu_is_not_called_a_run_queue() -> None:
    # A quota above the container shows in no counter that can be read: the CPU stands idle.
    seen = views(round_of([session(0, 1.87, 1.81), session(1)], busy_s={0: 1.87, 1: 1.8}))
    assert [view.cause for view in seen] == ["unexplained", "none"]
    assert "idle" in seen[0].evidence


def test_where_steal_was_counted_it_may_be_why_a_cpu_was_idle_and_no_quota() -> None:
    """The kernel counts as idle what the hypervisor did with a CPU that had somebody ready."""
    waiting = [session(0, 1.87, 1.81), session(1)]
    quiet = views(round_of(waiting, busy_s={0: 1.87, 1: 1.8}))[0]
    stolen = views(round_of(waiting, busy_s={0: 1.87, 1: 1.8}, steal_s={0: 0.2}))[0]
    assert "idle meanwhile as far as was seen: a CPU quota may be why" in quiet.evidence
    assert "idle meanwhile as far as was seen: steal may be why" in stolen.evidence


def test_too_few_polls_do_not_show_that_a_cpu_was_idle() -> None:
    # 0.2 s at 20 Hz: the other session on the CPU may have been there between the polls.
    alone = [round_of([session(0, 0.1)]) for _ in range(3)]
    short = round_of([session(0, 0.1, 0.1), session(1, 0.1)], busy_s={0: 0.1, 1: 0.1})
    seen = [view for view in explain(record([*alone, short])).sessions if view.level == 2]
    assert [view.cause for view in seen] == ["run_queue", "none"]


def test_what_a_session_ran_before_its_first_runnable_poll_is_no_foreign_process() -> None:
    def late(ordinal: int) -> Session:
        # Asleep at the first poll, woken right after it: half of its run belongs to that stretch.
        one = session(ordinal, 1.8, 1.8, cpu=0)
        first = Residency(0, "S", 0.0, 1.8, 0.9, 0.9)
        return replace(one, residency=(first, Residency(0, "R", 1.8, 3.6, 0.9, 0.9)))

    seen = views(round_of([late(0), late(1)], busy_s={0: 3.6}))
    assert [view.cause for view in seen] == ["run_queue", "run_queue"]
    assert "foreign" not in seen[0].evidence


@pytest.mark.parametrize(("queue_s", "hog_s"), [(1.85, 1.85), (0.78, 0.78)])
def test_a_foreign_process_on_the_cpu_is_a_competitor(queue_s: float, hog_s: float) -> None:
    hog = Foreign(77, "backup", hog_s, (0,))
    loaded = round_of([session(0, 1.82, queue_s), session(1)], busy_s={0: 1.82 + hog_s, 1: 1.8}, foreign=(hog,))
    seen = views(loaded)
    assert [view.cause for view in seen] == ["competitor", "none"]
    assert "backup (pid 77)" in seen[0].evidence


def test_many_processes_together_have_no_pid() -> None:
    """A file of the shell kit has their CPU time in one sum."""
    hog = Foreign(UNLISTED, "other processes", 1.85, (0,))
    loaded = round_of([session(0, 1.82, 1.85), session(1)], busy_s={0: 3.67, 1: 1.8}, foreign=(hog,))
    (evidence,) = [view.evidence for view in views(loaded) if view.cause == "competitor"]
    assert "other processes, which used 1.85 s of CPU time there" in evidence
    assert "pid" not in evidence


def test_without_a_cpu_timeline_the_list_of_foreign_processes_is_the_evidence() -> None:
    hog = Foreign(77, "backup", 1.8, (0,))
    assert causes(round_of([session(0, 1.82, 1.8), session(1)], foreign=(hog,))) == ["competitor", "none"]


def test_a_queue_behind_a_session_and_a_weaker_foreign_process_is_a_run_queue() -> None:
    hog = Foreign(77, "cron", 0.4, (0,))
    sessions = [session(0, 1.8, 2.2, cpu=0), session(1, 1.8, 2.2, cpu=0)]
    seen = views(round_of(sessions, busy_s={0: 4.0}, foreign=(hog,)))
    assert [view.cause for view in seen] == ["run_queue", "run_queue"]
    assert "cron" in seen[0].evidence


def test_a_sleep_named_by_the_database_is_a_wait() -> None:
    sleeper = session(0, 1.81, 0.04, 0.705, gap_state="S", waits=(Wait("Timeout:PgSleep", 1, 0.7),))
    seen = views(round_of([sleeper, session(1)]))
    assert [view.cause for view in seen] == ["wait", "none"]
    assert "Timeout:PgSleep" in seen[0].evidence


def test_a_sleep_seen_only_by_the_polls_is_a_wait_too() -> None:
    assert causes(round_of([session(0, 1.81, 0.05, 0.6, gap_state="D"), session(1)])) == ["wait", "none"]


def test_a_sleep_that_is_longer_than_the_time_off_the_cpu_is_no_wait() -> None:
    """One poll, before the work, stands for all of it."""
    one = session(0, 1.81, 0.04, 0.705, gap_state="S")
    all_asleep = replace(one, residency=tuple(replace(each, state="S") for each in one.residency))
    assert causes(round_of([one, session(1)])) == ["wait", "none"]
    assert causes(round_of([all_asleep, session(1)])) == ["unexplained", "none"]


def test_the_resource_manager_is_told_from_other_waits() -> None:
    held = session(0, 1.81, 0.04, 0.705, waits=(Wait("resmgr:cpu quantum", 9, 0.7),))
    assert causes(round_of([held, session(1)])) == ["resource_manager", "none"]


def test_each_wait_has_its_own_cause() -> None:
    both = (Wait("db file sequential read", 4, 0.2), Wait("resmgr:cpu quantum", 9, 0.5))
    held, _ = views(round_of([session(0, 1.81, 0.04, 0.705, waits=both), session(1)]))
    lost_s = dict(held.parts)
    assert lost_s[Cause.RESOURCE_MANAGER] / lost_s[Cause.WAIT] == pytest.approx(0.5 / 0.2)
    assert "waited 500 ms for resmgr:cpu quantum" in held.evidence
    assert "waited 200 ms for db file sequential read" in held.evidence


@pytest.mark.parametrize(("waited_s", "stolen_s", "lost"), [
    (0.6, 0.9, {Cause.STEAL: 0.9}),
    (1.5, 0.0, {Cause.WAIT: 0.9}),
])  # fmt: skip
def test_what_a_single_session_waits_as_well_is_no_loss(
    waited_s: float, stolen_s: float, lost: dict[Cause, float]
) -> None:
    def waits(seconds: float) -> tuple[Wait, ...]:
        return (Wait("Timeout:PgSleep", 1, seconds),)

    alone = [round_of([session(0, SOLO_S, 0.0, 0.6, waits=waits(0.6))], repeat=at, order=at) for at in range(3)]
    both = [session(0, SOLO_S, 0.0, 1.5, waits=waits(waited_s)), session(1, SOLO_S, 0.0, 0.6, waits=waits(0.6))]
    loaded = round_of(both, order=3, busy_s={0: 2.0, 1: 2.0}, steal_s={0: stolen_s})
    held, free = [each for each in explain(record([*alone, loaded])).sessions if each.order == 3]
    assert dict(held.parts) == pytest.approx(lost, abs=0.05)
    assert free.cause is Cause.NONE
    assert ("waited 900 ms more than a single session for Timeout:PgSleep" in held.evidence) == (Cause.WAIT in lost)


def test_steal_ticks_that_account_for_the_gap_are_steal() -> None:
    loaded = round_of([session(0, 1.81, 0.02, 0.9), session(1)], busy_s={0: 1.81, 1: 1.8}, steal_s={0: 0.88})
    assert causes(loaded) == ["steal", "none"]


def test_a_gap_without_evidence_stays_unexplained() -> None:
    loaded = round_of([session(0, 1.81, 0.02, 0.9), session(1)], busy_s={0: 1.81, 1: 1.8}, steal_s={0: 0.1})
    assert causes(loaded) == ["unexplained", "none"]


@pytest.mark.parametrize("factor", [1.15, 1.5, 4.0, 6.0])
def test_more_cpu_time_and_nothing_else_is_a_slower_cpu(factor: float) -> None:
    assert causes(round_of([session(0, SOLO_S * factor, 0.05), session(1)])) == ["slower_cpu", "none"]


def test_siblings_that_overlap_share_a_core_and_say_with_whom() -> None:
    smt = host(cores=4, threads=2)
    loaded = round_of([session(0, 2.75, cpu=3), session(1, 1.81, cpu=0), session(2, 2.74, cpu=7)])
    seen = views(loaded, smt)
    assert [view.cause for view in seen] == ["shared_core", "none", "shared_core"]
    assert seen[0].evidence.startswith("1.53x: shared core 3 with session 2 for 100 % of its run")


def test_an_overlap_too_short_for_the_loss_is_no_shared_core() -> None:
    smt = host(cores=2, threads=2)
    loaded = round_of([session(0, 2.7, cpu=0), session(1, 0.3, cpu=2)])
    assert views(loaded, smt)[0].cause == "slower_cpu"


def test_hidden_siblings_are_only_a_slower_cpu() -> None:
    assert causes(round_of([session(0, 2.7, cpu=0), session(1, 2.7, cpu=1)])) == ["slower_cpu", "slower_cpu"]


def test_a_foreign_process_on_the_other_thread_is_a_competitor() -> None:
    loaded = round_of([session(0, 2.7, cpu=0)], level=1, busy_s={0: 2.7, 2: 2.7})
    seen = [v for v in explain(record([*solos(), loaded], host(2, 2))).sessions if v.order == 3]
    assert seen[0].cause == "competitor"


def test_oversubscribed_siblings_lose_to_both_and_the_larger_part_is_named() -> None:
    smt = host(cores=1, threads=2)
    lanes = [
        [(0, 0.0, 2.7), (1, 2.7, 4.05)],
        [(1, 0.0, 4.05)],
        [(0, 0.0, 1.35), (1, 1.35, 2.7), (0, 2.7, 4.05)],
    ]
    seen = views(round_of([session(i, 2.7, 1.35, stays=stays) for i, stays in enumerate(lanes)]), smt)
    assert {view.cause for view in seen} == {"run_queue"}
    assert all("shared core 0" in view.evidence for view in seen)


def test_without_sampling_the_reason_is_said_and_no_cause() -> None:
    blind = round_of([unsampled(session(0, 3.6)), unsampled(session(1, 1.8))], not_sampled="the host is remote")
    seen = views(blind)
    assert [view.cause for view in seen] == ["unexplained", "none"]
    assert seen[0].evidence == "2.00x: no evidence from the host: the host is remote"
    assert seen[0].queue_s is None


def test_without_schedstat_the_rest_of_the_loss_is_not_split() -> None:
    ticks = replace(session(0, 1.82, 1.8, cpu=0), run_delay_s=None, cpu_source="stat")
    seen = views(round_of([ticks, session(1)]))
    assert (seen[0].cause, seen[0].queue_s, seen[0].gap_s) == ("unexplained", None, None)
    assert "schedstat" in seen[0].evidence


def test_the_parts_add_up_to_the_loss() -> None:
    group = CgroupUse("/pod", 1.0, 38, 37, 0.5, sessions=(0, 1))
    loaded = round_of([session(0, 2.1, 1.2, 0.3), session(1, 1.7, 0.1, -0.001)], cgroups=(group,))
    for view in views(loaded):
        parts = [view.inflation_s, view.queue_s, view.throttled_s, view.gap_s]
        assert all(part is not None for part in parts)
        assert sum(part or 0.0 for part in parts) == pytest.approx((view.elapsed_s or 0) - (view.reference_s or 0))


def test_what_a_session_loses_even_alone_is_not_a_loss_of_sharing() -> None:
    alone = solos(queue_s=1.8)
    both = round_of([session(0, 1.8, 1.8), session(1, 1.8, 1.8)])
    analysis = explain(record([*alone, both]))
    assert {view.cause for view in analysis.sessions} == {"none"}
    assert [view.queue_s for view in analysis.sessions] == pytest.approx([0.0] * 5)


def test_every_cause_named_here_is_a_known_one() -> None:
    named = causes(round_of([session(0, 1.82, 1.82, cpu=0), session(1, 2.9, 0.0), session(2, 1.8, 0, 2.0)]))
    assert set(named) <= set(CAUSES)


def test_a_wait_is_said_whole_where_a_single_session_waits_too() -> None:
    alone = [round_of([session(0, SOLO_S, 0.6)], order=at, busy_s={0: 2.4}) for at in range(3)]
    both = round_of([session(0, SOLO_S, 2.1, cpu=0), session(1, SOLO_S, 2.1, cpu=0)], order=3, busy_s={0: 3.6})
    seen = [each for each in explain(record([*alone, both], host(2, 1))).sessions if each.order == 3]
    assert "run-queue wait 2.10 s (1.50 s more than a single session) of 3.90 s" in seen[0].evidence


def test_no_wait_is_longer_than_its_session() -> None:
    """The kernel counts a little longer than the session is timed: from before it is sent to after its answer."""
    assert of_elapsed(0.138, 0.0, 0.133) == "all of 133 ms"
    assert of_elapsed(0.1, 0.038, 0.133) == "all of 133 ms (100 ms more than a single session)"
    assert of_elapsed(0.1, 0.0, 0.133) == "100 ms of 133 ms"


def test_a_cpu_time_that_two_causes_explain_is_said_once() -> None:
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.3, hypervisor=None)
    found = explain(simulate(host, tuple(range(1, 9)), 6, seed=1, size="medium"))
    both = [
        each.evidence for each in found.sessions if each.level == 7 and "MHz" in each.evidence and ";" in each.evidence
    ]
    assert both
    for why in both:
        assert why.count("more than a single session") == 1
        assert re.search(r"\([\d.]+ m?s of that here\); [\d.]+ m?s of that: its CPUs ran at", why)


def test_what_the_work_itself_sleeps_is_no_loss_beside_interrupts() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=2, irq=0.3, waits=0.4), (1, 2, 3, 6), 6, seed=4)).levels[2]
    assert (found.main_cause, found.second_cause) == (Cause.IRQ, Cause.NONE)
    assert found.causes == ((Cause.IRQ, 4), (Cause.NONE, 14))


def test_a_gap_that_interrupts_account_for_is_counted_for_them_though_it_is_a_little_longer() -> None:
    found = explain(simulate(SimulatedHost(cores=4, threads=2, irq=0.3), (1, 2), 6, seed=2))
    assert found.levels[1].counted_cause is Cause.IRQ
    assert {each.counted_cause for each in found.sessions if each.level == 2} == {Cause.NONE, Cause.IRQ}

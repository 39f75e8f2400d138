"""Whom a session waited for, where the kernel's trace names it."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.record.rounds import UNLISTED, Foreign, KitCost, RanInstead, Session, Trace, WakeUps
from dbcpu.reports.documents.run_summary import summary
from support.builders.record import record, round_of, session, solos

WAITED_S = 1.8


def waiting(*ran: RanInstead, woken: WakeUps | None = None) -> Session:
    return replace(session(0, 1.8, WAITED_S), ran_instead=ran, wake_ups=woken)


def explained(*sessions: Session, trace: Trace | None = None) -> tuple[str, str]:
    """Cause and evidence of the first session of a round."""
    loaded = replace(round_of([*sessions]), trace=trace or Trace(900, 0))
    view = next(each for each in explain(record([*solos(), loaded])).sessions if each.order == 3)
    return view.cause, view.evidence


def test_a_stranger_is_named_with_its_number_and_control_group() -> None:
    backup = RanInstead(77, "backup\x1b[31m", 1.2, None, "/system.slice/backup.service")
    cause, evidence = explained(waiting(backup, RanInstead(10, "postgres", 0.6, 1, "/db")), session(1))
    assert cause == "competitor"
    assert "run-queue wait 1.80 s of 3.60 s on CPU 0; there backup" in evidence
    assert "(pid 77, /system.slice/backup.service) ran 1.20 s, by the kernel's trace" in evidence
    assert "in the same wait session 1 ran 600 ms" in evidence
    assert evidence.count("by the kernel's trace") == 1
    assert "\x1b" not in evidence


def test_behind_a_session_it_is_the_run_queue_whatever_else_the_host_did() -> None:
    cause, evidence = explained(waiting(RanInstead(10, "postgres", 1.7, 1), RanInstead(5, "kworker", 0.1)), session(1))
    assert cause == "run_queue"
    assert "there session 1 ran 1.70 s, by the kernel's trace" in evidence


def test_the_sum_of_the_others_has_no_name() -> None:
    cause, evidence = explained(waiting(RanInstead(UNLISTED, "other processes", 1.8)))
    assert cause == "competitor"
    assert "there many processes ran, none for long" in evidence
    assert "pid 0" not in evidence


def test_who_ran_instead_is_named_although_single_sessions_lost_as_much() -> None:
    """A level is no slower than a disturbed baseline: what both lost, and to whom, is said all the same."""
    burner = RanInstead(77, "burner", 1.2, None, "/user.slice")
    lost = replace(session(0, 1.0, WAITED_S), ran_instead=(burner, RanInstead(10, "postgres", 0.01, 1, "/db")))
    at_rest = replace(session(1, 1.0, WAITED_S), ran_instead=(RanInstead(10, "postgres", 1.7, 0, "/db"),))
    alone = [replace(round_of([replace(lost, ran_instead=(burner,))], repeat=at), trace=Trace(9, 0)) for at in range(3)]
    both = replace(round_of([lost, at_rest]), trace=Trace(900, 0))
    found = {each.ordinal: each for each in explain(record([*alone, both])).sessions if each.level == 2}
    assert found[0].slowdown == pytest.approx(1.0)
    assert (found[0].cause, found[0].counted_cause) == ("none", "competitor")
    assert found[0].evidence.endswith("; in its place burner (pid 77, /user.slice) ran 1.20 s, by the kernel's trace")
    assert found[1].evidence.endswith("within noise (tolerance 10 %)")


def test_foreign_load_names_whom_sessions_waited_for() -> None:
    """Another process used more of the host, on a CPU where no session was."""
    backup = RanInstead(77, "backup", 1.2, None, "/system.slice/backup.service")
    loaded = [
        replace(
            round_of([waiting(backup, RanInstead(5, "kworker", 0.01))], repeat=at),
            trace=Trace(900, 0),
            foreign=(Foreign(9, "elsewhere", 3.0),),
        )
        for at in range(2)
    ]
    found = next(each for each in explain(record([*solos(), *loaded])).findings if each.code == "foreign-load")
    assert "elsewhere (pid 9: 6.00 s in these rounds)" in found.seen
    assert found.seen.endswith(
        "; where sessions waited for a CPU, backup (pid 77, /system.slice/backup.service) ran 2.40 s, "
        "by the kernel's trace"
    )


def test_the_summary_says_how_soon_sessions_ran_once_woken_and_a_finding_where_it_was_not_whole() -> None:
    woken = WakeUps(100, 0.0002, 0.001, 0.002, 0.004)
    whole = replace(round_of([waiting(woken=woken)]), trace=Trace(900, 0))
    cut = replace(round_of([waiting()], repeat=1), trace=Trace(900, 12, "12 events were lost"))
    run = record([*solos(), whole, cut])
    analysis = explain(run)
    assert dict(summary(run, analysis))["trace"] == (
        "exact placement in 1 of 5 rounds, by the kernel's trace, which took less than 0.1 % of the CPU time; "
        "once woken, the usual session ran after 200 us (median), 1.0 ms (95 %), 2.0 ms (99 %); "
        "the longest wait was 4.0 ms"
    )
    found = next(each for each in analysis.findings if each.code == "trace-incomplete")
    assert found.seen == "the kernel's trace of 1 of 5 rounds was not used (N=1): 12 events were lost"
    assert found.remedy == "shorter rounds (`--executions`, `--size`), or leave out `--sampler trace`"


def test_shorter_rounds_help_no_trace_whose_connection_ended() -> None:
    ended = replace(round_of([waiting()]), trace=Trace(0, 0, "the connection to ssh:db1 ended: ssh gave no reason"))
    found = next(each for each in explain(record([*solos(), ended])).findings if each.code == "trace-incomplete")
    assert found.remedy == "measure again, or leave out `--sampler trace`"


@pytest.mark.parametrize(("events", "share"), [(1000, "less than 0.1 %"), (40_000, "2.0 %")])
def test_the_summary_says_what_the_trace_cost(events: int, share: str) -> None:
    """A microsecond an event: 40,000 of them in a second of 2 vCPUs."""
    cost = KitCost(1.0, 0.0)
    run = record([*solos(), replace(round_of([waiting()]), trace=Trace(events, 0), cost=cost)])
    analysis = explain(run)
    assert analysis.vcpus == 2
    assert f"by the kernel's trace, which took {share} of the CPU time" in dict(summary(run, analysis))["trace"]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1, "200 us (median)"),
        (19, "200 us (median)"),
        (20, "200 us (median), 1.0 ms (95 %)"),
        (99, "200 us (median), 1.0 ms (95 %)"),
        (100, "200 us (median), 1.0 ms (95 %), 2.0 ms (99 %)"),
    ],
)
def test_a_percentile_of_too_few_wake_ups_is_not_shown(count: int, shown: str) -> None:
    woken = waiting(woken=WakeUps(count, 0.0002, 0.001, 0.002, 0.004))
    run = record([*solos(), replace(round_of([woken]), trace=Trace(900, 0))])
    assert f"once woken, the usual session ran after {shown}; the longest" in dict(summary(run, explain(run)))["trace"]

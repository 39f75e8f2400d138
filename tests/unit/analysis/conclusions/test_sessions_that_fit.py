"""How many sessions are advised: never as many as lost, and no price of SMT off that a quota makes false."""

from dbcpu.analysis.explain import explain
from dbcpu.reports.documents.run import document
from dbcpu.simulator import SimulatedHost, simulate


def remedy_of(host: SimulatedHost, levels: tuple[int, ...], executions: int = 1) -> str:
    run = simulate(host, levels, 6, seed=1, size="medium", executions=executions)
    front = document(run, explain(run)).front
    assert front is not None
    return front.remedy


def test_of_work_that_waits_no_more_sessions_are_advised_than_lost_nothing() -> None:
    """Eleven were advised, which keep eight vCPUs busy, where nine had lost."""
    host = SimulatedHost(cores=8, threads=1, waits=0.3, scheduler="frozen")
    assert "run no more than 8 such sessions" in remedy_of(host, (1, 8, 9, 10, 11), executions=5)


def test_under_a_quota_smt_off_is_not_said_to_do_less() -> None:
    """There it did half as much again."""
    host = SimulatedHost(cores=2, threads=4, quota_cpus=3.3, scheduler="smt_balancing")
    said = remedy_of(host, tuple(range(1, 9)))
    assert "SMT off" in said
    assert "does less" not in said


def test_under_a_quota_as_many_are_advised_as_were_seen_at_full_speed() -> None:
    """Of a quota of 3.9 three were advised, below a verdict that four get equal CPU at full speed."""
    assert remedy_of(SimulatedHost(cores=4, threads=1, quota_cpus=3.9), tuple(range(1, 9))).startswith(
        "run no more than 4 busy"
    )
    assert remedy_of(SimulatedHost(cores=4, threads=1, quota_cpus=3.4), tuple(range(1, 9))).count("no more than 4") == 0

"""How many sessions are advised: never as many as lost, nor more than get most done.

Nor a price of SMT off that a quota makes false.
"""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.sessions_that_fit import sessions_that_fit
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
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


def test_the_advised_number_of_sessions_that_wait_kept_its_speed() -> None:
    """Eight were advised, of which each had lost 11 %, in a verdict of turns that nobody took."""
    run = simulate(SimulatedHost(cores=4, threads=1, waits=0.5), (1, 4, 5, 8), 6, seed=1, size="short")
    found = explain(run)
    front = document(run, found).front
    assert front is not None
    assert front.remedy.startswith("run no more than 5 such sessions")
    assert "above 5 they wait for a CPU at times" in found.verdict
    assert front.headline.startswith("Yes up to 5 sessions; above 5 they wait at times")


def test_advice_is_no_surer_than_the_answers_that_it_stands_on() -> None:
    """Of eight sessions that are reckoned to fit only four were measured; of five measured ones each had its speed."""
    host = SimulatedHost(cores=4, threads=1, waits=0.5)
    reckoned, measured = (simulate(host, levels, 6, seed=1, size="short") for levels in ((1, 4, 12), (1, 4, 5)))
    (advice,) = [each.remedy for each in explain(reckoned).findings if each.code == "oversubscribed"]
    assert advice.startswith("run no more than 8 such sessions, shown at full speed up to 4 and inconclusive beyond")
    found = explain(measured)
    assert found.levels[-1].full_speed is Answer.YES
    assert found.verdict.startswith(
        "All sessions get equal CPU at full speed, at every measured level up to 5 sessions"
    )


@pytest.mark.parametrize(("cpus", "alone", "beside", "said"), [
    (3.0, Answer.YES, (7, Answer.YES), "7 such sessions"),
    (2.6, Answer.YES, (5, Answer.NO), "2 such sessions, shown at full speed up to 1 and inconclusive beyond"),
    (2.6, Answer.NO, (5, Answer.NO), "2 such sessions, which were not shown to be at full speed"),
])  # fmt: skip
def test_as_many_are_advised_as_were_shown_and_no_full_speed_is_said_that_was_not(
    cpus: float, alone: Answer, beside: tuple[int, Answer], said: str
) -> None:
    """Full speed "up to 1" was said where one session was not."""
    found = explain(simulate(SimulatedHost(cores=4, threads=1, waits=0.5), (1, beside[0]), 1, seed=1, size="tiny"))
    levels = [replace(each, even=answer, full_speed=answer)
              for each, answer in zip(found.levels, (alone, beside[1]), strict=True)]  # fmt: skip
    assert sessions_that_fit(cpus, 4, 0.5, levels, found.scaling) == said


def test_of_work_that_waits_no_fewer_than_kept_their_speed_are_advised_against_shared_cores() -> None:
    """Two were advised, where three had full speed on two cores."""
    host = SimulatedHost(cores=2, threads=2, waits=0.5, scheduler="smt_balancing")
    assert remedy_of(host, (1, 2, 3, 8)) == "run no more than 3 such sessions, or add cores"


@pytest.mark.parametrize(("host", "most"), [
    (SimulatedHost(cores=8, threads=1, turbo_slope=0.9), 4),
    (SimulatedHost(cores=4, threads=2, turbo_slope=0.9), 2),
])  # fmt: skip
def test_where_more_sessions_do_less_it_is_said_and_fewer_are_advised(host: SimulatedHost, most: int) -> None:
    """Throughput that fell by two thirds was called a normal turbo frequency, and eight sessions were advised."""
    run = simulate(host, (*range(1, 9), 16), 6, seed=1)
    found = explain(run)
    front = document(run, found).front
    assert front is not None
    assert f"hroughput falls with more sessions: at {host.cores} sessions it is " in found.verdict
    assert f" less than at {most}." in found.verdict
    assert front.remedy.startswith(f"run no more than {most} sessions: with more sessions throughput falls")
    assert "is normal" not in front.remedy
    advised = [each.remedy for each in found.findings if each.code in ("oversubscribed", "shared-cores")]
    assert advised
    assert all(f"no more than {most} " in each or f"a pool of {most} " in each for each in advised)


def test_under_a_quota_smt_off_is_not_said_to_do_less() -> None:
    """There it did half as much again."""
    host = SimulatedHost(cores=2, threads=4, quota_cpus=3.3, scheduler="smt_balancing")
    said = remedy_of(host, tuple(range(1, 9)))
    assert "SMT off" in said
    assert "does less" not in said


def test_under_a_quota_as_many_are_advised_as_were_seen_at_full_speed() -> None:
    """Of a quota of 3.9 three were advised, below a verdict that four get equal CPU at full speed."""
    said = remedy_of(SimulatedHost(cores=4, threads=1, quota_cpus=3.9), tuple(range(1, 9)))
    assert said.startswith("run no more than 4 busy")
    assert "or add vCPUs, and raise the CPU quota with them" in said, "of 4 vCPUs a larger quota alone gives no more"
    assert remedy_of(SimulatedHost(cores=4, threads=1, quota_cpus=3.4), tuple(range(1, 9))).count("no more than 4") == 0


@pytest.mark.parametrize(("host", "most", "helps"), [
    (SimulatedHost(cores=8, threads=1, turbo_slope=0.9), 4, "use CPUs that keep their speed while all cores are busy"),
    (SimulatedHost(cores=4, threads=2, smt_yield=-0.2), 4, "add cores: more vCPUs on the same cores do not help"),
    (SimulatedHost(cores=4, threads=1), 4, "add vCPUs"),
])  # fmt: skip
def test_more_vcpus_of_a_cpu_that_does_less_with_more_sessions_are_no_remedy(
    host: SimulatedHost, most: int, helps: str
) -> None:
    """And eight busy sessions were advised where the second threads cost a fifth."""
    full = host.cores * host.threads
    found = explain(simulate(host, (*range(1, full + 2), 2 * full), 4, seed=1, size="short"))
    (remedy,) = [each.remedy for each in found.findings if each.code == "oversubscribed"]
    assert f"run no more than {most} busy sessions" in remedy
    assert f"or {helps}" in remedy

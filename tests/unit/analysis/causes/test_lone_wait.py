"""A single session waits behind no other session, whatever is seen of who had its CPU."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import Round
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, record, round_of, session, solos


def waited(order: int, others_s: float | None) -> Round:
    """A single session waits for 3 s; it was polled nowhere, as by a shell script. ``others_s``: what others used."""
    one = replace(session(0, SOLO_S, 3.0), residency=())
    if others_s is None:
        return round_of([one], repeat=order, order=order)
    busy = {0: SOLO_S, 1: others_s}
    return round_of([one], repeat=order, order=order, busy_s=busy)


@pytest.mark.parametrize(
    ("others_s", "cause", "evidence"),
    [
        (4.0, Cause.COMPETITOR, "other processes used 42 % of the vCPUs meanwhile"),
        (0.4, Cause.UNEXPLAINED, "other processes used 4.1 % of the vCPUs meanwhile"),
        (None, Cause.UNEXPLAINED, "what other processes used was not recorded"),
    ],
)
def test_a_wait_alone_is_put_down_to_others_if_they_used_so_much(
    others_s: float | None, cause: Cause, evidence: str
) -> None:
    found = explain(record([*solos(), waited(3, others_s)]))
    seen = [each for each in found.sessions if each.order >= 3]
    assert {(each.cause, each.counted_cause) for each in seen} == {(cause, cause)}
    assert all(evidence in each.evidence for each in seen)


def test_a_level_of_one_session_that_always_waits_names_who_had_the_cpu() -> None:
    found = explain(record([waited(order, 4.0) for order in range(5)]))
    assert found.levels[0].counted_cause is Cause.COMPETITOR
    assert "even a single session loses 62 % of its time (other processes)" in found.verdict


def test_a_wait_whose_cpu_was_counted_as_idle_is_of_no_other_session() -> None:
    idle = [round_of([session(0, SOLO_S, 3.0)], repeat=at, order=at, busy_s={0: SOLO_S, 1: 0.0}) for at in range(5)]
    assert {each.counted_cause for each in explain(record(idle)).sessions} == {Cause.UNEXPLAINED}


@pytest.mark.parametrize(
    ("host", "levels", "seed"),
    [
        (SimulatedHost(cores=1, threads=1, noisy_neighbour=0.15), (1,), 1),
        (SimulatedHost(cores=1, threads=1, quota_cpus=1.0, noisy_neighbour=1.0), (1, 3), 99),
    ],
)
def test_a_short_wait_is_put_down_to_what_used_the_only_cpu(
    host: SimulatedHost, levels: tuple[int, ...], seed: int
) -> None:
    """Ticks of 10 ms show nobody on the CPU in so short a round; rounding leaves 3e-17 s of "other sessions"."""
    alone = next(each for each in explain(simulate(host, levels, 6, seed=seed, size="short")).levels if each.level == 1)
    assert dict(alone.causes) == {Cause.NONE: 4, Cause.COMPETITOR: 2}


def test_a_tenth_of_the_wait_on_its_cpu_is_not_the_whole() -> None:
    """Too few polls to say that the CPU was idle: what others used there need cover 60 % of the wait all the same."""
    quick = [session(0, 0.2)] * 3
    rounds = [round_of([one], repeat=at, order=at, busy_s={0: 0.2, 1: 0.0}) for at, one in enumerate(quick)]
    late = round_of([session(0, 0.2, 0.1)], repeat=3, order=3, busy_s={0: 0.21, 1: 0.0})
    seen = explain(record([*rounds, late])).sessions[-1]
    assert (seen.cause, seen.counted_cause) == (Cause.UNEXPLAINED, Cause.UNEXPLAINED)
    assert "run-queue wait 100 ms" in seen.evidence

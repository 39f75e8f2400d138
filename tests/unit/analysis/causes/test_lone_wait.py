"""A single session waits behind no other session, whatever is seen of who had its CPU."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import Round
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

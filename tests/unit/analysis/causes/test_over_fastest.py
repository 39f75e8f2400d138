"""What all sessions of a round lose alike is not why some are slower than others."""

from functools import cache

import pytest

from dbcpu.analysis.causes.evidence_rules import Share
from dbcpu.analysis.causes.loss import Loss
from dbcpu.analysis.causes.over_fastest import Lost, over_fastest
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.causes import Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost, simulate

NONE, SHARED, SLOWER, QUEUE = Cause.NONE, Cause.SHARED_CORE, Cause.SLOWER_CPU, Cause.RUN_QUEUE


def lost(**seconds: float) -> Lost:
    """A session that takes a second alone."""
    total_s = sum(seconds.values())
    shares = tuple(Share(Cause(name), lost_s, lambda: "") for name, lost_s in seconds.items())
    return Lost(Loss(total_s, 0.0, 0.0, 0.0, 0.0, 0.0), 1.0, slowdown=1 + total_s, shares=shares, beside_s=total_s,
                tolerated_s=0.1)  # fmt: skip


@pytest.mark.parametrize(
    ("session", "fastest", "expected"),
    [
        (lost(slower_cpu=0.4, run_queue=0.3), lost(slower_cpu=0.4), (QUEUE, NONE)),
        (lost(slower_cpu=0.4, run_queue=0.3), lost(slower_cpu=0.38, run_queue=0.27), (SLOWER, QUEUE)),
        (lost(slower_cpu=0.4, run_queue=0.12), lost(slower_cpu=0.1), (SLOWER, QUEUE)),
        (lost(slower_cpu=0.4, run_queue=0.1), lost(slower_cpu=0.39, run_queue=0.1), (SLOWER, NONE)),
        (
            lost(steal=0.2, run_queue=0.2, wait=0.2),
            lost(steal=0.1, run_queue=0.1, wait=0.05),
            (Cause.WAIT, Cause.STEAL),
        ),
    ],
    ids=["common cause", "hardly slower", "less over the fastest", "too small a second", "three parts"],
)
def test_parts_are_weighed_over_those_of_the_fastest(
    session: Lost, fastest: Lost, expected: tuple[Cause, Cause]
) -> None:
    assert over_fastest([session, fastest])[0].named() == expected


def test_a_session_that_failed_is_not_the_fastest() -> None:
    failed = Lost(None, None, Cause.UNEXPLAINED, "excluded: it failed", valid=False)
    found = over_fastest([lost(slower_cpu=0.4, run_queue=0.3), failed])
    assert [each.named() for each in found] == [(SLOWER, QUEUE), (Cause.UNEXPLAINED, NONE)]


def test_what_one_that_shared_nothing_needed_too_is_no_cost_of_sharing() -> None:
    """A guest sees no frequency: 1.4 times by turbo, and 1.5 times on top by sharing."""
    shared, _ = over_fastest([lost(shared_core=1.1), lost(slower_cpu=0.4)])
    parts = shared.by_cause()
    assert parts[SHARED] + parts[SLOWER] == pytest.approx(1.1)
    assert parts[SHARED] == pytest.approx(0.6, abs=0.02)
    assert shared.named()[0] is SHARED


@cache
def eight_cores(hypervisor: str | None) -> Analysis:
    """Under turbo, with as many sessions as share four of the cores, and as share all."""
    host = SimulatedHost(cores=8, threads=2, turbo_slope=0.3, hypervisor=hypervisor)
    return explain(simulate(host, (1, 12, 16), 3, seed=1, size="short"))


@pytest.mark.parametrize("hypervisor", ["kvm", None])
def test_where_turbo_and_shared_cores_meet_the_level_is_unequal_by_sharing_alone(hypervisor: str | None) -> None:
    some, every = [each for each in eight_cores(hypervisor).levels if each.level > 1]
    assert (some.main_cause, some.second_cause) == (SHARED, NONE)
    assert every.main_cause == SHARED
    assert every.second_cause == (Cause.FREQUENCY if hypervisor is None else NONE), "a guest sees no frequency"


def test_the_second_cause_is_in_the_verdict() -> None:
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.3, hypervisor=None)
    found = explain(simulate(host, (1, 8), 3, seed=1, size="short"))
    assert found.verdict.endswith("hardware threads of one core, and lower frequency as well).")

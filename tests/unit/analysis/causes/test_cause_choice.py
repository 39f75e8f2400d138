"""What all sessions of a round lose alike is not why some are slower than others."""

from functools import cache

import numpy as np
import pytest

from dbcpu.analysis.causes.cause_choice import Lost
from dbcpu.analysis.causes.parts_by_cause import AT, LossPart, LossParts
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import CAUSES, Cause
from dbcpu.analysis.results.run import Analysis
from dbcpu.simulator import SimulatedHost, simulate

NONE, SHARED, SLOWER, QUEUE = Cause.NONE, Cause.SHARED_CORE, Cause.SLOWER_CPU, Cause.RUN_QUEUE


def lost(*sessions: dict[str, float] | None, noise: float = 0.01) -> Lost:
    """Sessions of one round that take a second alone, and what they lose by cause; None: it failed."""
    many, known = len(sessions), np.array([each is not None for each in sessions])
    shares = LossParts(many)
    for row, each in enumerate(sessions):
        there = np.arange(many) == row
        for name, lost_s in (each or {}).items():
            shares.add([LossPart.where(there, Cause(name), np.full(many, lost_s), str)])
    total_s = np.array([sum((each or {}).values()) for each in sessions])
    tolerated_s, spread = np.full(many, 0.1), np.full(many, noise)
    return Lost(
        np.zeros(many, dtype=np.int64), known, total_s > 0, np.ones(many), total_s, tolerated_s, spread, shares
    )  # fmt: skip


def named(*sessions: dict[str, float] | None) -> list[tuple[Cause, Cause]]:
    found, _ = lost(*sessions).named()
    return [(CAUSES[first], CAUSES[second]) for first, second in zip(*found, strict=True)]


@pytest.mark.parametrize(
    ("session", "fastest", "expected"),
    [
        ({"slower_cpu": 0.4, "run_queue": 0.3}, {"slower_cpu": 0.4}, (QUEUE, NONE)),
        ({"slower_cpu": 0.4, "run_queue": 0.3}, {"slower_cpu": 0.38, "run_queue": 0.27}, (SLOWER, QUEUE)),
        ({"slower_cpu": 0.4, "run_queue": 0.12}, {"slower_cpu": 0.1}, (SLOWER, QUEUE)),
        ({"slower_cpu": 0.4, "run_queue": 0.1}, {"slower_cpu": 0.39, "run_queue": 0.1}, (SLOWER, NONE)),
        (
            {"steal": 0.2, "run_queue": 0.2, "wait": 0.2},
            {"steal": 0.09, "run_queue": 0.1, "wait": 0.05},
            (Cause.WAIT, Cause.STEAL),
        ),
        ({"slower_cpu": 0.7, "run_queue": 0.3}, {"slower_cpu": 0.65}, (SLOWER, QUEUE)),
        ({"unexplained": 0.5, "run_queue": 0.3}, {"run_queue": 0.1}, (Cause.UNEXPLAINED, NONE)),
    ],
    ids=[
        "common cause", "hardly slower", "less over the fastest", "too small a second", "three parts", "clear",
        "too little known",
    ],
)  # fmt: skip
def test_parts_are_weighed_over_those_of_the_fastest(
    session: dict[str, float], fastest: dict[str, float], expected: tuple[Cause, Cause]
) -> None:
    assert named(session, fastest)[0] == expected


def test_what_noise_makes_slower_than_the_fastest_is_not_weighed_over_it() -> None:
    """All take turns, and one of them happened to need more CPU time: 1.17 times as long as the fastest."""
    sessions = {"run_queue": 0.8, "slower_cpu": 0.7}, {"run_queue": 0.75, "slower_cpu": 0.4}
    for noise, cause in ((0.01, SLOWER), (0.2, QUEUE)):
        found, _ = lost(*sessions, noise=noise).named()
        assert CAUSES[found.first[0]] is cause


def test_a_session_that_failed_is_not_the_fastest() -> None:
    assert named({"slower_cpu": 0.4, "run_queue": 0.3}, None) == [(SLOWER, QUEUE), (Cause.UNEXPLAINED, NONE)]


def test_sessions_are_compared_with_the_fastest_of_their_own_round() -> None:
    every = lost({"slower_cpu": 0.4, "run_queue": 0.3}, {"slower_cpu": 0.4}, {"slower_cpu": 0.4, "run_queue": 0.3})
    every.round_at = np.array([0, 0, 1])
    found, _ = every.named()
    assert [CAUSES[first] for first in found.first] == [QUEUE, SLOWER, SLOWER]


def test_what_one_that_shared_nothing_needed_too_is_no_cost_of_sharing() -> None:
    """A guest sees no frequency: 1.4 times by turbo, and 1.5 times on top by sharing."""
    every = lost({"shared_core": 1.1}, {"slower_cpu": 0.4})
    before_s, _ = every.shares.by_cause()
    found, shares = every.named()
    assert CAUSES[found.first[0]] is SHARED
    parts_s, _ = shares.by_cause()
    assert parts_s[AT[SHARED], 0] + parts_s[AT[SLOWER], 0] == pytest.approx(1.1)
    assert parts_s[AT[SHARED], 0] == pytest.approx(0.6, abs=0.02)
    assert parts_s[:, 1].sum() == pytest.approx(0.4)
    assert (every.shares.by_cause()[0] == before_s).all(), "the parts it was given stay as they were"


@cache
def eight_cores(hypervisor: str | None) -> Analysis:
    """Under turbo, with as many sessions as share four of the cores, and as share all."""
    host = SimulatedHost(cores=8, threads=2, turbo_slope=0.3, hypervisor=hypervisor)
    return explain(simulate(host, (1, 12, 16), 3, seed=1, size="short"))


@pytest.mark.parametrize("hypervisor", ["kvm", None])
def test_where_turbo_and_shared_cores_meet_the_level_is_unequal_by_sharing_alone(hypervisor: str | None) -> None:
    some, every = [each for each in eight_cores(hypervisor).levels if each.level > 1]
    assert (some.main_cause, some.unequal_by) == (SHARED, SHARED)
    assert some.second_cause == (Cause.FREQUENCY if hypervisor is None else Cause.SLOWER_CPU), "what all lose"
    assert every.main_cause == SHARED
    assert every.second_cause == (Cause.FREQUENCY if hypervisor is None else Cause.SLOWER_CPU), "as at fewer sessions"


def test_the_second_cause_is_in_the_verdict() -> None:
    host = SimulatedHost(cores=4, threads=2, turbo_slope=0.3, hypervisor=None)
    found = explain(simulate(host, (1, 8), 5, seed=1, size="short"))
    assert found.verdict.endswith("hardware threads of each core, and lower frequency as well).")

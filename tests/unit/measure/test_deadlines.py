"""How long a round may take follows from what the rounds before it took, not from the calibration alone."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from dbcpu.measure import rounds
from dbcpu.measure.rounds import RoundSetup, fair_execution_s, measure, timeout_of
from dbcpu.measure.shared_jobs import Jobs
from dbcpu.record.plan import RoundSpec
from dbcpu.record.rounds import Round
from support.builders.record import round_of, session


def setting(**changed: Any) -> RoundSetup:
    """500 executions of 10 ms on 2 vCPUs."""
    nothing: Any = None
    made = RoundSetup(
        nothing, None, nothing, nothing, executions=500, for_s=None, solo_s=0.01, vcpus=2, clock_ticks=100
    )
    return replace(made, **changed)


def test_twenty_times_what_fair_turns_take_and_a_minute_at_least() -> None:
    assert timeout_of(setting(), 1) == pytest.approx(100.0)
    assert timeout_of(setting(), 4) == pytest.approx(200.0)
    assert timeout_of(setting(executions=10), 1) == 60.0


def test_jobs_that_only_wait_have_their_time_too() -> None:
    """One session may hold all of them, one after the other."""
    assert timeout_of(setting(jobs=Jobs(10)), 1) == 60.0
    assert timeout_of(setting(jobs=Jobs(10, blocking=5, block_s=2.0)), 1) == pytest.approx(20 * (10 * 0.01 + 5 * 2.0))


@pytest.mark.parametrize(
    ("slowest_s", "level", "expected_s"), [(5.0, 1, 0.05), (20.0, 4, 0.1)], ids=["alone", "four on two"]
)
def test_an_execution_at_fair_shares_is_that_of_the_slowest_session(
    slowest_s: float, level: int, expected_s: float
) -> None:
    members = [session(at, run_s=slowest_s if at == 0 else 0.1, executions=100) for at in range(level)]
    assert fair_execution_s(round_of(members), 2) == pytest.approx(expected_s)


def test_where_no_execution_ended_nothing_is_known() -> None:
    assert fair_execution_s(replace(round_of([session(0)]), sessions=()), 2) == 0.0


def test_after_a_round_that_took_thirty_times_as_long_the_next_may_too(monkeypatch: pytest.MonkeyPatch) -> None:
    limits_s: list[float] = []

    def run_round(now: RoundSetup, spec: RoundSpec) -> Round:
        limits_s.append(timeout_of(now, spec.level))
        took_s = (150.0, 5.0, 5.0)[spec.order]
        return round_of([session(0, run_s=took_s, executions=500)], order=spec.order)

    def next_round(done: Sequence[Round]) -> RoundSpec | None:
        return RoundSpec(1, len(done), "baseline", len(done)) if len(done) < 3 else None

    monkeypatch.setattr(rounds, "run_round", run_round)
    assert len(list(measure(setting(), next_round))) == 3
    assert limits_s == pytest.approx([100.0, 3000.0, 3000.0])

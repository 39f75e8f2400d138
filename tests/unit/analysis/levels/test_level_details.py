"""Percentiles, CPU utilisation and moves of a level."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.level_details import utilisation
from dbcpu.analysis.results.run import LevelDetails
from dbcpu.record.rounds import CpuSeries, Execution, Round
from support.builders.record import record, round_of, session, solos


def with_executions(each: Round, taken_s: list[float]) -> Round:
    starts = [sum(taken_s[:at]) for at in range(len(taken_s))]
    executions = tuple(Execution(start, taken) for start, taken in zip(starts, taken_s, strict=True))
    ran = tuple(replace(one, executions=executions, cpu_s=1.8 * len(taken_s)) for one in each.sessions)
    return replace(each, sessions=ran)


def details_of(each: Round) -> LevelDetails:
    found = explain(record([*solos(), each])).levels[-1].details
    assert found is not None
    return found


def test_percentiles_are_of_single_executions_and_need_enough_of_them() -> None:
    taken_s = [1.0 + 0.01 * at for at in range(1, 51)]
    found = details_of(with_executions(round_of([session(0), session(1, cpu=1)]), taken_s))
    assert found.executions == 100
    assert (found.p50_s, found.p95_s, found.p99_s) == pytest.approx((1.255, 1.48, 1.5), abs=0.01)
    few = details_of(with_executions(round_of([session(0), session(1, cpu=1)]), taken_s[:10]))
    assert few.p95_s is not None
    assert few.p99_s is None


def test_eight_busy_cpus_of_sixteen_are_half() -> None:
    row = (1.0, 2.0)
    busy = tuple(CpuSeries(cpu, row if cpu < 8 else (0.0, 0.0), *[(0.0, 0.0)] * 3) for cpu in range(16))
    each = round_of([session(0, 3.0)])
    assert utilisation(replace(each, timeline_s=(0.0, 1.0, 3.0), cpu_timeline=busy)) == pytest.approx(0.5, abs=0.01)
    assert utilisation(replace(each, timeline_s=(), cpu_timeline=())) is None
    short = with_executions(each, [0.02])
    assert utilisation(replace(short, timeline_s=(0.0, 0.02, 3.0), cpu_timeline=busy)) is None, "two ticks say nothing"


def test_what_was_before_the_release_and_after_the_end_is_left_out() -> None:
    each = with_executions(round_of([session(0)]), [1.0])
    busy = (CpuSeries(0, (0.0, 1.0, 0.0), *[(0.0, 0.0, 0.0)] * 3),)
    assert utilisation(replace(each, timeline_s=(-5.0, 0.0, 1.0, 9.0), cpu_timeline=busy)) == pytest.approx(1.0)


def test_moves_are_per_second_of_a_session_and_unknown_if_one_is() -> None:
    pair = round_of([session(0, 2.0), session(1, 2.0, cpu=1)])
    moving = replace(pair, sessions=tuple(replace(one, migrations=at * 8) for at, one in enumerate(pair.sessions)))
    assert details_of(moving).moves_per_s == pytest.approx(2.0, rel=0.1)
    unknown = replace(moving, sessions=(moving.sessions[0], replace(moving.sessions[1], migrations=None)))
    assert details_of(unknown).moves_per_s is None

"""One run against limits and the history of its target."""

from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.limits import (
    HistoryPoint,
    Value,
    band,
    check,
    comparable,
    figure_words,
    in_maintenance,
    lasting_changes,
    point,
    unusual,
)
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.config.check_limits import CheckLimits
from dbcpu.record.figures import RunFigures
from dbcpu.record.rounds import RunRecord
from support.builders.comparison import noisy_run
from support.builders.record import record, round_of, session


def night(day: int, **how: float) -> RunRecord:
    return noisy_run(
        day,
        run_id=f"night-{day:02}",
        started_at=f"2026-11-{day:02}T04:30:00+00:00",
        speed=how.get("speed", 1.0),
        uneven=how.get("uneven", 1.0),
        connect_s=how.get("connect_s", 0.012),
        levels=(1, 2, 3, 4),
    )


@cache
def known(day: int, speed: float = 1.0, label: str = "") -> HistoryPoint:
    """A night as a history holds it: most tests look back at the same ones, which are explained once."""
    run = labelled(night(day, speed=speed), label)
    return point(run.header.run_id, run.header.started_at, figures(run), in_maintenance(run.header))


def held(run: RunRecord, *earlier: HistoryPoint, limits: CheckLimits | None = None) -> list[str]:
    return [each.text for each in check(run.header, figures(run), earlier, limits or CheckLimits())]


def figures(run: RunRecord) -> RunFigures:
    return run_figures(run, explain(run))


def labelled(run: RunRecord, label: str = "", notes: tuple[str, ...] = (), status: str = "complete") -> RunRecord:
    return RunRecord(replace(run.header, label=label, notes=notes, status=status), run.rounds)


def test_a_usual_night_is_silent() -> None:
    assert held(night(8), *(known(day) for day in range(1, 8))) == []


def test_fixed_limits_need_no_history() -> None:
    pairs = (round_of([session(0, 1.8), session(1, 3.6)], repeat=i, order=i + 1) for i in range(5))
    alone = [each for each in night(1).rounds if each.level == 1]
    lame = RunRecord(night(1).header, (*alone, *pairs))
    (slow, uneven) = held(lame)
    assert slow.startswith("slowdown at N=2 is ") and slow.endswith("above the limit of 1.25x")
    assert uneven.startswith("max/min at N=2 is 2.00x, above the limit of 1.25x")
    assert held(lame, limits=CheckLimits(slowdown=None, max_over_min=None)) == []


def test_unevenness_on_shared_cores_is_no_violation_of_the_fixed_limits() -> None:
    assert held(night(1, uneven=1.5)) == []  # N=3 and 4 on 2 cores with 2 threads


def test_slow_connects_are_told() -> None:
    (line,) = held(night(1, connect_s=2.5))
    assert line == "time to connect at N=1 is 2.50 s, above the limit of 1.00 s"


def test_lost_throughput_is_told_against_the_own_history() -> None:
    lines = held(night(8, speed=0.8), *(known(day) for day in range(1, 8)))
    assert len(lines) == 4  # alone, and at 2, 3 and 4
    assert lines[0].startswith("single-session throughput is 18.")
    assert "x the usual 22.8 Mrows/s" in lines[0]
    assert "of 7 runs" in lines[0]


def test_a_small_loss_is_no_violation_and_four_runs_are_no_history() -> None:
    assert held(night(8, speed=0.95), *(known(day) for day in range(1, 8))) == []
    assert held(night(8, speed=0.5), *(known(day) for day in range(1, 5))) == []


def test_a_lasting_change_is_named_by_its_date() -> None:
    earlier = [known(day) for day in range(1, 10)] + [known(day, 0.8) for day in range(10, 15)]
    lines = held(night(15, speed=0.8), *earlier)
    assert lines and all(line.endswith("lasting change since 2026-11-10") for line in lines)


def test_an_unfinished_run_is_a_violation_of_its_own() -> None:
    lines = held(labelled(night(1), status="interrupted"))
    assert lines == ["the run is interrupted with 24 rounds"]


@pytest.mark.parametrize(
    "marked",
    [
        labelled(night(9), label="maintenance window"),
        RunRecord(
            replace(
                night(9).header,
                database=replace(night(9).header.database, parameters={"maintenance_window": "MONDAY_WINDOW"}),
            ),
            night(9).rounds,
        ),
    ],
    ids=["label", "parameter"],
)
def test_runs_inside_a_maintenance_window_are_kept_apart(marked: RunRecord) -> None:
    assert in_maintenance(marked.header)
    usual = night(1)
    assert not in_maintenance(usual.header)
    assert not comparable(usual.header, marked.header)
    assert comparable(usual.header, night(2).header)
    slow_windows = [known(day, 0.5, "maintenance window") for day in range(1, 8)]
    assert held(night(8), *slow_windows) == []
    assert held(labelled(night(8, speed=0.5), label="maintenance window"), *slow_windows) == []


def test_only_complete_runs_of_the_same_work_and_target_are_history() -> None:
    run = night(1)
    assert not comparable(run.header, labelled(night(2), status="failed").header)
    assert not comparable(run.header, noisy_run(2, target="other").header)
    assert not comparable(run.header, noisy_run(2, cores=4).header)


def test_bands_are_robust_and_need_five() -> None:
    assert band([1.0] * 4, 4.0) is None
    flat = band([10.0] * 5, 4.0)
    assert flat is not None and (flat.low, flat.high) == (9.5, 10.5)  # at least 5 %
    spoilt = band([10.0, 10.1, 9.9, 10.0, 10.1, 500.0], 4.0)
    assert spoilt is not None and 9 < spoilt.low < spoilt.high < 11


def test_noise_alone_has_hardly_ever_a_change_point_and_a_step_has_one() -> None:
    luck = np.random.default_rng(5)

    def series(values: np.ndarray) -> list[tuple[str, float]]:
        return [(f"2026-11-{day:02}T04:30:00", float(value)) for day, value in enumerate(values, 1)]

    assert sum(bool(lasting_changes(series(luck.normal(100, 2, 15)))) for _ in range(60)) <= 4
    (found,) = lasting_changes(series(np.concatenate([luck.normal(100, 2, 8), luck.normal(90, 2, 7)])))
    assert found.since == "2026-11-09"
    assert found.ratio == pytest.approx(0.9, abs=0.02)
    assert lasting_changes([("2026-11-01", 1.0)] * 7) == ()


def test_there_and_back_are_two_changes_and_one_of_nothing_is_none() -> None:
    luck = np.random.default_rng(6)
    values = np.concatenate([luck.normal(100, 1, 8), luck.normal(90, 1, 8), luck.normal(100, 1, 8)])
    found = lasting_changes([(f"2026-11-{day:02}", float(value)) for day, value in enumerate(values, 1)])
    assert [(each.when, each.at, round(each.ratio, 1)) for each in found] == [
        ("2026-11-09", 8, 0.9), ("2026-11-17", 16, 1.1)
    ]  # fmt: skip
    between = [100.0 + day % 3 for day in range(9)] + [97.0, 95.0, 94.0] + [90.0 + day % 3 for day in range(9)]
    (late,) = lasting_changes([(f"2026-11-{day:02}", value) for day, value in enumerate(between, 1)])
    assert late.when == "2026-11-11 (95 % CI 2026-11-10 to 2026-11-12)"
    tiny = [(f"2026-11-{day:02}", 100.0 + (day > 9) * 0.1 + day * 1e-6) for day in range(1, 19)]
    assert lasting_changes(tiny) == ()


def test_what_even_a_single_session_loses_is_a_violation() -> None:
    """Its time is the baseline of all others: no slowdown shows what it waited for."""
    alone = [round_of([session(0, 1.0, 0.8)], order=at, busy_s={0: 1.8}) for at in range(3)]
    run = record(alone)
    (found,) = check(run.header, figures(run), (), CheckLimits())
    assert (found.metric, found.level, found.inconclusive) == ("slowdown", 1, False)
    assert found.seen == pytest.approx(1.8)


def test_the_slowdown_of_a_single_session_is_said_to_be_by_the_time_that_it_lost() -> None:
    """Its slowdown in the table is 1: it is compared with itself there."""
    assert figure_words(Value("slowdown", 1, 1.67)) == "slowdown of a single session, by the time that it lost,"
    assert figure_words(Value("slowdown", 2, 1.43)) == "slowdown at N=2"


def test_a_rate_has_the_unit_of_its_work() -> None:
    runs = [replace(known(day), values=(Value("solo", 0, 6.0, unit="executions/min"),)) for day in range(1, 7)]
    run = night(7)
    work = replace(run.header.plan.workload, unit="executions/min")
    run = RunRecord(replace(run.header, plan=replace(run.header.plan, workload=work)), run.rounds)
    of_run = point(run.header.run_id, run.header.started_at, figures(run))
    assert {each.unit for each in of_run.values} == {"executions/min"}
    slow = next(each for each in of_run.values if each.metric == "solo")
    text = unusual(replace(slow, value=3.0), of_run, runs, CheckLimits())[0].text
    assert "3.0 executions/min, 0.50x the usual 6.0 executions/min" in text and "Mrows" not in text

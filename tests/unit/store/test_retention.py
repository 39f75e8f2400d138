"""Old nightly runs go, and nothing else does."""

from datetime import UTC, datetime, timedelta

from dbcpu.store.retention import expired
from dbcpu.store.schema.rows import RunSummary

NOW = datetime(2026, 11, 21, 5, tzinfo=UTC)
DAY_S = 86_400.0


def run(
    days_ago: int, target: str = "box", label: str = "nightly", status: str = "complete", host: str = "h"
) -> RunSummary:
    started = (NOW - timedelta(days=days_ago)).isoformat()
    name = f"{target}-{label}-{days_ago}"
    return RunSummary(name, label, started, status, target, "sqlite", "3", host, "cartesian", "tiny", "1", 3, "0")


def test_only_what_is_both_old_and_beyond_the_newest_goes() -> None:
    runs = [run(day) for day in range(10)]
    assert expired(runs, runs[0], 3, 5.5 * DAY_S, NOW) == tuple(f"box-nightly-{day}" for day in range(6, 10))
    assert expired(runs, runs[0], 8, 5.5 * DAY_S, NOW) == ("box-nightly-8", "box-nightly-9")
    assert expired(runs, runs[0], 3, 30 * DAY_S, NOW) == ()


def test_other_targets_labels_and_running_ones_stay() -> None:
    runs = [run(0), run(50), run(60, label="before the upgrade"), run(70, target="other"), run(80, status="running")]
    assert expired(runs, runs[0], 1, DAY_S, NOW) == ("box-nightly-50",)


def test_the_nights_of_another_host_in_a_shared_store_stay() -> None:
    runs = [run(0), run(50), run(60, host="elsewhere"), run(61, host="elsewhere")]
    assert expired(runs, runs[0], 1, DAY_S, NOW) == ("box-nightly-50",)


def test_a_run_whose_time_cannot_be_read_stays() -> None:
    odd = RunSummary("odd", "nightly", "once", "complete", "box", "sqlite", "3", "h", "c", "t", "1", 3, "0")
    assert expired([run(0), odd], run(0), 1, DAY_S, NOW) == ()

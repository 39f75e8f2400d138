"""A target's figures over its runs: sparklines, marks, pictures, and the commands that show them."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.past_figures import past_figures
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.history.trend import CHANGED, GAP_MARK, LASTING, SPREAD, PastRun, Trend, trend
from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.reports import charts
from dbcpu.reports.documents import history
from dbcpu.reports.formats.base import load_format
from dbcpu.store.database import open_store
from support.builders.comparison import noisy_run
from support.forms import FORMS, TEXT_FORMS, as_last_seen

SLOWER_FROM, KERNEL_FROM, AWAY = 9, 4, ("2026-10-12", "2026-10-13", "2026-10-14")


def nights(count: int = 16, target: str = "old-box") -> Iterator[RunRecord]:
    """Weekdays at 04:30 from 1 October on, three of them left out; a new kernel, and later less speed."""
    day = datetime(2026, 10, 1, 4, 30, tzinfo=UTC)
    made = 0
    while made < count:
        if day.weekday() < 5 and f"{day:%Y-%m-%d}" not in AWAY:
            run = noisy_run(
                made + 1,
                run_id=f"{day:%Y%m%d-%H%M%S}-{made:04x}",
                started_at=day.isoformat(),
                speed=1.0 if made < SLOWER_FROM else 0.9,
                uneven=1.5,
                repeats=3,
                target=target,
                label="nightly",
            )
            assert run.header.host is not None
            host = replace(run.header.host, kernel="6.1.0" if made < KERNEL_FROM else "6.6.0")
            yield RunRecord(replace(run.header, host=host), run.rounds)
            made += 1
        day += timedelta(days=1)


def past(*runs: RunRecord) -> list[PastRun]:
    return [PastRun(each.header, past_figures(run_figures(each, explain(each)))) for each in runs]


@cache
def every_night() -> tuple[PastRun, ...]:
    return tuple(past(*nights()))


def first_nights(count: int) -> list[PastRun]:
    """``past(*nights(count))``: however many there are, the first ones are the same, and explained once."""
    return list(every_night()[:count])


@pytest.fixture(scope="module")
def found() -> Trend:
    return trend(every_night())


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_a_history_looks_as_when_somebody_last_looked(
    form: str, found: Trend, golden: Callable[[str, str], None]
) -> None:
    as_last_seen(history.document(found), form, "old_box_history", golden)


def test_figures_are_those_that_show_gives(found: Trend) -> None:
    newest = [*nights()][-1]
    analysis = explain(newest)
    assert analysis.reference is not None
    solo, together, spread = (each.values[-1] for each in found.series)
    assert solo == analysis.reference.mrows_per_s
    assert together == next(each.throughput for each in analysis.levels if each.level == 4)
    assert spread == max(each.max_over_min or 0 for each in analysis.levels)


def test_gap_new_kernel_and_lasting_change_are_marked_where_they_happened(found: Trend) -> None:
    marks = {(each.kind, each.metric): (each.index, each.text) for each in found.marks}
    assert marks[CHANGED, ""] == (KERNEL_FROM, "kernel 6.1.0 -> 6.6.0")
    assert marks[GAP_MARK, ""] == (7, "no run for 6 days before")
    for metric in ("solo", "throughput"):
        index, text = marks[LASTING, metric]
        assert (index, text) == (SLOWER_FROM, "lasting change (0.90x)")
    assert (LASTING, "max_over_min") not in marks
    assert history.sparkline(found.series[0], found)[KERNEL_FROM] == "|"


def test_a_weekend_is_no_gap_and_a_week_is_one() -> None:
    runs = [*nights(12)]
    assert not [each for each in trend(first_nights(7)).marks if each.kind == GAP_MARK]
    late = replace(runs[8].header, started_at="2026-10-23T04:30:00+00:00")
    marks = trend([*first_nights(7), *past(RunRecord(late, runs[8].rounds))]).marks
    assert [(each.index, each.text) for each in marks if each.kind == GAP_MARK] == [(7, "no run for 14 days before")]


def test_what_an_older_run_lacks_is_left_out_and_not_guessed() -> None:
    runs = first_nights(3)
    figures = runs[1].figures
    lacking = replace(figures, solo=None, levels=tuple(each for each in figures.levels if each[0] != 4))
    without = replace(runs[1], figures=lacking)
    found = trend([runs[0], without, runs[2]])
    assert [[value is None for value in each.values] for each in found.series] == [[False, True, False]] * 3
    assert history.sparkline(found.series[0], found)[1] == " "


def test_a_flat_series_is_drawn_flat() -> None:
    found = trend(first_nights(8))
    assert set(history.sparkline(found.series[0], found)) <= set("▄▅|·")


def test_a_history_without_a_change_says_how_small_one_would_not_be_seen() -> None:
    found = trend(first_nights(8))
    low, high = (f"{limit:.1f}" for limit in (found.series[0].usual.low, found.series[0].usual.high))  # type: ignore[union-attr]
    assert history.document(found).front.headline == (
        f"No lasting change shown in 8 runs; a change of Mrows/s of one session within {low} to {high} would not "
        "be seen"
    )


def test_a_newest_run_outside_the_usual_range_is_said_before_anything_else() -> None:
    """One bad night is no lasting change yet, and what the owner of many hosts looks for in the morning."""
    bad = noisy_run(
        99, run_id="bad", started_at="2026-10-20T04:30:00+00:00", speed=0.6, uneven=1.5, repeats=3, target="old-box"
    )
    worse, fine = trend([*first_nights(8), *past(bad)]), trend(past(*[*nights(8, target="new-box")]))
    assert [each.is_newest_worse for each in worse.series] == [True, True, False]
    assert not any(each.is_newest_worse for each in fine.series)
    content = history.overview_document([fine, worse])
    assert content.front.headline == "The newest run is outside its usual range on 1 of 2 targets"
    assert "old-box" in content.front.sentences[0] and "Mrows/s of one session" in content.front.sentences[0]
    assert any("the newest run is outside the usual range: " in sentence for sentence in content.verdict)
    alone = history.document(worse)
    assert alone.front.headline.startswith("The newest run is outside the usual range: Mrows/s of one session ")


def test_the_usual_range_of_max_over_min_does_not_go_below_one() -> None:
    spread = next(each for each in trend(first_nights(6)).series if each.metric == SPREAD)
    even = trend(past(*(noisy_run(at, run_id=f"r{at}", repeats=3, cores=4, threads=1) for at in range(6))))
    (flat,) = (each for each in even.series if each.metric == SPREAD)
    assert flat.usual is not None and flat.usual.low == 1.0
    assert spread.usual is not None and spread.usual.low > 1.0


@pytest.mark.parametrize("count", [1, 2])
def test_few_runs_are_shown_and_nothing_is_claimed(count: int) -> None:
    shown = history.document(trend(first_nights(count)))
    assert "a lasting change can be detected from 8 runs on" in shown.verdict[0]
    # One run has no history to draw.
    assert set(charts.drawn(shown.charts, ["svg"])["svg"]) == ({"history"} if count > 1 else set())


def test_the_picture_is_the_same_every_time_and_survives_a_time_that_is_none(found: Trend) -> None:
    first, second = (charts.drawn(history.document(found).charts, ["svg"]) for _ in range(2))
    assert first == second
    odd = replace(found, started_at=("some day", *found.started_at[1:]))
    assert history.document(odd).charts == ()


# --- commands ------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    with open_store() as store:
        for each in nights(9):
            store.save(each)
        for each in nights(2, target="new-box"):
            store.save(replace(each, header=replace(each.header, run_id=f"n{each.header.run_id}")))
    return tmp_path


def test_show_history_ends_with_the_run_and_writes_every_form(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "20261008", "--history", "--out", str(kept / "out"), "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)["history"]
    assert shown["target"] == "old-box"
    assert [each[:8] for each in shown["run_ids"]] == [f"202610{day}" for day in ("01", "02", "05", "06", "07", "08")]
    names = {file.name for file in (kept / "out").iterdir()}
    suffixes = {load_format(form).SUFFIX for form in FORMS if load_format(form).IN_FOLDER}
    assert names == {f"history{suffix}" for suffix in suffixes | {".svg", ".png"}} >= {"history.html"}


def test_list_history_has_every_target_once(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--history"]) == 0
    told = capsys.readouterr().out
    assert told.count("old-box on ") == 2 and "old-box on db1: 9 runs" in told and "new-box on db1: 2 runs" in told
    assert main(["list", "--history", "--json", "--target", "new-box"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["histories"]
    assert len(only["run_ids"]) == 2
    assert main(["list", "--history", "--host", "elsewhere"]) == 2
    assert "no run of host 'elsewhere' is kept; hosts with runs: db1" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["list", "--history", "--target", "old-box"], ["show", "last", "--history"]])
def test_runs_that_a_history_leaves_out_are_said_to_be_left_out(
    command: list[str], kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = ["--limit", "3"] if command[0] == "list" else ["--limit", "1"]
    assert main([*command, *newest]) == 0
    told = capsys.readouterr().out
    assert f": the newest {'3 runs' if newest[1] == '3' else 'run'} of cartesian" in told
    assert "`--limit 0` takes all" in told
    for limit in (["--limit", "0"], ["--limit", "9"], []):
        assert main([*command, *limit]) == 0
        told = capsys.readouterr().out
        assert "the newest" not in told.splitlines()[0]
        assert "--limit 0" not in told
    assert main([*command, *newest, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    found = data["histories"][0] if "histories" in data else data["history"]
    assert (found["older"], len(found["run_ids"])) == (True, int(newest[1]))


def test_what_does_not_go_together_is_refused(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "last", "--out", "x"]) == 2
    assert main(["show", "last", "--history", "--format", "metrics"]) == 2
    assert "a history is not shown as metrics" in capsys.readouterr().err
    assert main(["show", "last", "--limit", "3"]) == 2
    assert "--out and --limit go with --history" in capsys.readouterr().err
    assert main(["list", "--history", "--verdict"]) == 2
    assert "--verdict and --history cannot be combined" in capsys.readouterr().err


def test_figures_of_a_history_are_in_the_unit_of_their_work() -> None:
    found = [
        PastRun(replace(header, plan=replace(header.plan, workload=replace(header.plan.workload, unit=unit))), figures)
        for header, figures, unit in ((each.header, each.figures, "executions/min") for each in first_nights(3))
    ]
    made = trend(found)
    one, two = history.document(made), history.overview_document([made, trend(first_nights(3))])
    text = load_format("table").render(one)
    assert isinstance(text, str)
    assert "executions/min of one session" in text and "executions/min at N=" in text and "Mrows/s" not in text
    meant = dict(one.page[-1].terms)
    assert meant["executions/min of one session"].startswith("work per time of one session alone")
    assert "executions/min or Mrows/s at N" in dict(two.page[-1].terms)

"""Pictures of many histories are named after their targets, and no two are one file; experiments are told apart."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.past_figures import past_figures
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.history.trend import PastRun, Trend, trend
from dbcpu.cli import main
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents import history
from dbcpu.store.database import open_store
from support.builders.comparison import noisy_run
from support.builders.experiments import ALONE_S, pool, soak


def of(target: str, host: str = "db1", runs: int = 2) -> Trend:
    run = noisy_run(1, target=target, levels=(1, 2))
    assert run.header.host is not None
    header = replace(run.header, host=replace(run.header.host, hostname=host))
    days = [replace(header, started_at=f"2026-11-{day:02}T04:30:00+00:00") for day in range(1, runs + 1)]
    return trend([PastRun(each, past_figures(run_figures(run, explain(run)))) for each in days])


@pytest.mark.parametrize(
    ("trends", "names"),
    [
        ([("old-box", "db1")], ["history"]),
        ([("old-box", "db1"), ("cloud", "db2")], ["history-old-box", "history-cloud"]),
        ([("embedded", "db1"), ("embedded", "db2")], ["history-embedded-db1", "history-embedded-db2"]),
        ([("postgresql://db1/x?a=b", "db1"), ("..", "db1")], ["history-postgresql-db1-x-a-b", "history-.."]),
        ([("A b", "db1"), ("a/b", "db1"), ("a-b", "db1")], ["history-A-b", "history-a-b--2", "history-a-b--3"]),
        ([("ü", "db1"), ("x" * 99, "db1")], ["history-target", f"history-{'x' * 60}"]),
    ],
)
def test_pictures_are_named_after_targets(trends: list[tuple[str, str]], names: list[str]) -> None:
    found = history.overview_document([of(target, host) for target, host in trends])
    assert [chart.name for chart in found.charts] == names


def test_one_run_has_its_figures_and_no_history() -> None:
    """Its picture was three dots, on an axis of time that went into the future."""
    found = history.overview_document([of("box", runs=1)])
    assert not found.charts
    assert found.front.headline == "1 run: a history needs at least two"
    assert any(table.rows for section in found.page for table in section.tables)


def test_histories_of_a_resized_host_have_titles_of_their_own() -> None:
    small, large, other = of("box"), replace(of("box"), vcpus=16), replace(of("box"), cpu_model="another")
    titles = [each.title for each in history.overview_document([small, large, other]).sections]
    assert titles[1].startswith("box on db1 (16 vCPUs): ")
    assert titles[0].startswith(f"box on db1 ({small.vcpus} vCPUs, {small.cpu_model}): ")
    assert titles[2].startswith(f"box on db1 ({small.vcpus} vCPUs, another): ")
    assert history.overview_document([small]).sections[0].title.startswith("box on db1: ")


def night(run: RunRecord, day: int, name: str) -> RunRecord:
    plan = replace(run.header.plan, target="box")
    started_at = f"2026-11-{day:02}T04:30:00+00:00"
    return replace(run, header=replace(run.header, run_id=f"{name}-{day}", started_at=started_at, plan=plan))


def test_soaks_and_pools_of_a_target_are_histories_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one work on one host: only the experiment tells them apart, in the titles and in the last sentences."""
    own, calls = pool({1: 10.0, 2: 5.0}), pool({1: 20.0}, pieces=40)
    made = {
        "soak of 1 session": soak(lambda *_: ALONE_S, segments=2, sessions=1),
        "soak of 2 sessions": soak(lambda *_: ALONE_S, segments=2, sessions=2),
        "pool of 20 jobs": own,
        "pool of 40 jobs, 3 of which wait 1.00 s, over 2 connections one at a time": replace(
            calls,
            header=replace(
                calls.header,
                plan=replace(calls.header.plan, blocking=3, block_s=1.0, connections=2, one_at_a_time=True),
            ),
        ),
        "": replace(own, header=replace(own.header, plan=replace(own.header.plan, experiment="sweep", pieces=None))),
    }
    place = str(tmp_path / "runs.db")
    with open_store(place) as opened:
        for at, run in enumerate(made.values()):
            for day in (1, 2):
                opened.save(night(run, day, f"run{at}"))
    assert main(["list", "--history", "--store", place]) == 0
    said = capsys.readouterr().out
    for experiment in made:
        of = f"box on db1{f' ({experiment})' if experiment else ''}: 2 "
        assert f"{of}runs of cartesian" in said
        assert f"{of}comparable runs" in " ".join(said.split())

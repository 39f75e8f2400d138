"""Pictures of the histories of many targets are named after their targets, and no two are one file."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.trend import Trend, past_run, trend
from dbcpu.analysis.run_figures import run_figures
from dbcpu.reports.documents import history
from support.builders.comparison import noisy_run


def of(target: str, host: str = "db1") -> Trend:
    run = noisy_run(1, target=target, levels=(1, 2))
    assert run.header.host is not None
    header = replace(run.header, host=replace(run.header.host, hostname=host))
    return trend([past_run(header, run_figures(run, explain(run)))])


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

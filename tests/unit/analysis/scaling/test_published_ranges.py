"""Published figures stand beside those of a run that has them."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.analysis.scaling.published_ranges import (
    CV_CORES,
    CV_FULL,
    CV_OVER,
    CV_SHARED,
    KNEE,
    RANGES,
    YIELD,
    beside_published,
)
from dbcpu.reports.documents.run_tables import published_table
from dbcpu.simulator import preset, simulate


@pytest.fixture(scope="module")
def smt() -> Analysis:
    return explain(simulate(preset("c4.4xlarge"), (1, 4, 8, 9, 12, 16, 20), repeats=2, seed=1))


def own(analysis: Analysis) -> dict[str, float]:
    return {each.published.figure: each.own for each in beside_published(analysis)}


def test_they_stand_beside_the_figures_of_the_run(smt: Analysis) -> None:
    assert len(beside_published(smt)) == len(RANGES)
    assert list(own(smt)) == [YIELD, KNEE, CV_CORES, CV_SHARED, CV_FULL, CV_OVER]
    assert own(smt)[YIELD] == smt.scaling.smt_yield
    assert own(smt)[KNEE] == pytest.approx(1.0, abs=0.05)
    cv = {each.level: each.cv or 0.0 for each in smt.levels}
    assert own(smt)[CV_CORES] == max(cv[4], cv[8])
    assert own(smt)[CV_SHARED] == max(cv[9], cv[12])
    assert (own(smt)[CV_FULL], own(smt)[CV_OVER]) == (cv[16], cv[20])


def test_the_table_has_both_in_the_units_of_the_figure(smt: Analysis) -> None:
    table = published_table(smt)
    cells = [[column.value(row) if column.value else None for column in table.columns] for row in table.rows]
    assert [row[:3] for row in cells if row[3] == "Oracle logical reads"] == [
        [YIELD, "33 %", "40 % to 51 %"],
        [KNEE, "1.00", "0.87 to 0.99"],
    ]
    assert [row[2] for row in cells if row[3] == "Oracle SQL"] == ["20 %"]


def test_a_host_without_second_threads_has_none_of_theirs() -> None:
    analysis = explain(simulate(preset("this-vm"), (1, 2, 4), repeats=2, seed=1))
    assert not {YIELD, CV_SHARED, CV_FULL} & set(own(analysis))
    assert {CV_CORES, CV_OVER} <= set(own(analysis))


def test_a_host_that_is_not_known_has_none(smt: Analysis) -> None:
    assert beside_published(replace(smt, cores=None)) == ()
    assert published_table(replace(smt, cores=None)).rows == ()


def test_every_range_is_one_and_has_a_source() -> None:
    for each in RANGES:
        assert each.low <= each.high
        assert each.source

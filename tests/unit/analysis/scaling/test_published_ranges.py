"""Published yields stand beside the yield of a run that has one."""

from dataclasses import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.scaling.published_ranges import YIELDS, published_yields
from dbcpu.reports.documents.run_tables import published_table
from dbcpu.simulator import preset, simulate


def test_they_stand_beside_the_yield_of_the_run() -> None:
    analysis = explain(simulate(preset("c4.4xlarge"), (1, 4, 8, 9, 12, 16), repeats=2, seed=1))
    table = published_table(analysis)
    assert published_yields(analysis) == YIELDS
    assert len(table.rows) == len(YIELDS)
    assert table.notes[0].startswith("This run: 3")


def test_a_host_without_second_threads_has_none() -> None:
    analysis = explain(simulate(preset("this-vm"), (1, 2, 4), repeats=2, seed=1))
    assert published_yields(analysis) == ()
    assert published_yields(replace(analysis, cores=None)) == ()


def test_every_range_is_one_and_has_a_source() -> None:
    for each in YIELDS:
        assert each.low < each.high
        assert each.source

"""What a comparison says of times as delivered, where the runs' own pages show some at one pace."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.comparison import THROUGHPUT
from dbcpu.analysis.results.run import Analysis
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.comparison import document
from dbcpu.reports.documents.run_summary import summary
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.workflows.compare import variants_document
from support.builders.comparison import compare

HOST = SimulatedHost("box", cores=2, threads=1, noise=0.02, toggle=1.6)


def page_of(*records: RunRecord) -> tuple[str, tuple[str, ...]]:
    """The title of its findings, and its notes."""
    found = document(compare([Candidate(str(at), each) for at, each in enumerate(records)]))
    sections = {each.name: each for each in found.page}
    return sections["findings"].title, found.notes


def test_findings_are_of_times_as_delivered_where_a_run_had_a_witness() -> None:
    paced, plain = (
        [simulate(replace(HOST, pace_hz=hz), (1, 2), 3, seed, size="short") for seed in (1, 2)] for hz in (20.0, 0.0)
    )
    title, notes = page_of(*paced)
    assert title == "Findings of these runs, by times as delivered"
    assert any("The page of a single run uses times at one pace" in each for each in notes)
    title, notes = page_of(*plain)
    assert title == "Findings of these runs"
    assert not any("at one pace" in each for each in notes)


@pytest.fixture(scope="module")
def varied() -> tuple[RunRecord, Analysis]:
    """Two variants on CPUs that change their speed: at N=4 the second alone is shown at one pace."""
    host = replace(HOST, threads=2, pace_hz=20.0)
    run = simulate(host, (1, 2, 4), 6, 1, size="medium", executions=2, variants=("baseline", "smt_off"))
    found = explain(run)
    paced = {(each.variant, each.level): each.at_one_pace for each in found.levels}
    assert (paced["baseline", 4], paced["smt_off", 4]) == (False, True)
    return run, found


def test_table_and_decisions_of_variants_have_the_same_times(varied: tuple[RunRecord, Analysis]) -> None:
    """The table had -21 % where 0.76x was decided: its baseline was at one pace, and what it decided as delivered."""
    _, found = varied
    assert found.variants is not None
    first, second = found.variants.variants
    (decided,) = (each for each in second.decisions if each.summary == THROUGHPUT)
    row, base = second.row(4), first.row(4)
    assert decided.levels == "N=4" and row is not None and base is not None
    assert row.ratio == pytest.approx(decided.ratio, rel=1e-6)
    for under in found.variants.variants:
        for each in under.rows:
            taken = [
                view.elapsed_s / view.executions
                for view in found.sessions
                if (view.variant, view.level) == (under.name, each.level) and view.elapsed_s and view.executions
            ]
            assert (each.least_s, each.most_s) == (min(taken), max(taken))
            assert each.least_s <= each.median_s <= each.most_s


def test_what_is_as_delivered_of_variants_is_said_so(varied: tuple[RunRecord, Analysis]) -> None:
    run, found = varied
    made = variants_document(run, found)
    titles = [section.title for section in made.sections]
    assert "The same sessions under each variant, by times as delivered" in titles
    assert any(each.startswith("All times and rates here are as delivered.") for each in made.notes)
    assert made.verdict[0].startswith("smt_off against baseline, as delivered: throughput at N=4 ")
    pace = dict(summary(run, found))["pace"]
    assert (
        "the single-session time and the figures of N=2 under baseline and N=2,4 under smt_off exclude these changes "
        "of speed (at one pace), all others include them (as delivered)"
    ) in pace


def test_without_a_witness_variants_have_one_kind_of_times() -> None:
    run = simulate(replace(HOST, threads=2, pace_hz=0.0), (1, 4), 3, 1, size="short", variants=("baseline", "smt_off"))
    made = variants_document(run, explain(run))
    assert "delivered" not in " ".join((*made.verdict, *made.notes))

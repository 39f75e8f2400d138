"""What a comparison says of times as delivered, where the runs' own pages show some at one pace."""

from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.comparison import document
from dbcpu.simulator import SimulatedHost, simulate
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

"""Times to connect are compared where sessions connect in the same way: the start of a program is another thing."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate
from dbcpu.analysis.results.comparison import SideFigure
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.comparison import document
from support.builders.comparison import compare, noisy_run


def by(driver: str, seed: int, connect_s: float) -> RunRecord:
    run = noisy_run(seed, connect_s=connect_s)
    database = replace(run.header.database, driver=driver)
    return replace(run, header=replace(run.header, database=database))


def connecting(old: str, new: str) -> tuple[SideFigure, str]:
    """The figure of the second side, and the notes below the table."""
    found = compare([Candidate("old", by(old, 1, 0.2)), Candidate("new", by(new, 2, 0.008))])
    (table,) = (each for section in document(found).sections if section.name == "figures" for each in section.tables)
    return found.sides[1].figure("connect"), " ".join(table.notes)


def test_a_program_for_each_session_is_not_compared_with_a_package() -> None:
    """*0.04x, 95 % interval 0.02 to 0.05* was said of psql and psycopg, as of two hosts."""
    figure, notes = connecting("psql", "psycopg libpq 18.6")
    assert figure.value == pytest.approx(0.008)
    assert (figure.ratio, figure.low, figure.high) == (None, None, None)
    assert "Time to connect of new is not compared with that of old: the driver is another" in notes


def test_another_version_of_a_driver_connects_in_the_same_way() -> None:
    figure, notes = connecting("psycopg libpq 17.2", "psycopg libpq 18.6")
    assert figure.ratio is not None and round(figure.ratio, 2) == 0.04 and figure.low is not None
    assert "Time to connect" not in notes

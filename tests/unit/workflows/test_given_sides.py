"""What the sides of a comparison mean, as they are named."""

from collections import Counter
from pathlib import Path

import pytest

from dbcpu import write_record
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.workflows import given_sides
from dbcpu.workflows.compare import comparison_document
from dbcpu.workflows.import_runs import read_run


def test_variants_of_one_run_are_read_once_and_share_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their records are compared by value, which takes long for a thousand sessions that were read twice."""
    names = ("baseline", "smt_off")
    run = simulate(SimulatedHost(cores=2, threads=2), (1, 2), repeats=2, seed=1, size="tiny", variants=names)
    path = tmp_path / "run.json.gz"
    write_record(path, run)
    read: Counter[str] = Counter()

    def counted(name: str) -> tuple[RunRecord, str]:
        read[name] += 1
        return read_run(name)

    monkeypatch.setattr(given_sides, "read_run", counted)
    once = given_sides.RunsOnce(None)
    first, other = (next(given_sides.given_sides(f"{path}:{name}", once)).first for name in names)
    assert first.record is other.record
    assert (first.variant, other.variant) == names
    assert read == {str(path): 1}
    comparison_document([f"{path}:{name}" for name in names])
    assert read == {str(path): 2}

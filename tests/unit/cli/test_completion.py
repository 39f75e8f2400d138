"""What the shell is offered for a value, asked as bash asks it."""

import subprocess
import sys
from pathlib import Path

import pytest

from dbcpu.store.database import open_store
from plugins import runs


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "dbcpu.toml").write_text('[targets.old-box]\nurl = "postgresql://dba@db1/postgres"\n')
    with open_store(str(tmp_path / "runs.db")) as store:
        store.save(runs.record())
    return runs.environment(DBCPU_STORE=str(tmp_path / "runs.db"), PYTHONPATH=":".join(sys.path))


def offered(line: str, environment: dict[str, str], folder: Path) -> list[str]:
    """``line``: what is typed so far, with a space at its end where a new word begins."""
    words = line.split()
    at = len(words) - (not line.endswith(" "))
    asked = {**environment, "COMP_WORDS": line, "COMP_CWORD": str(at), "_DBCPU_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "dbcpu"], env=asked, cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.splitlines() if each]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dbcpu so", ["soak"]),
        ("dbcpu run old", ["old-box"]),
        ("dbcpu run sql", ["sqlite"]),
        ("dbcpu run --size m", ["medium"]),
        ("dbcpu run -w cartesian_c", ["cartesian_cte"]),
        ("dbcpu simulate c4.4xlarge-smt", ["c4.4xlarge-smt-off"]),
        ("dbcpu report last --format js", ["json"]),
        ("dbcpu show la", ["last"]),
    ],
)
def test_values_are_offered(line: str, expected: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    found = offered(line, environment, tmp_path)
    assert set(expected) <= set(found)
    assert [each for each in found if not each.startswith(line.split()[-1])] == []


def test_stored_runs_are_offered(environment: dict[str, str], tmp_path: Path) -> None:
    assert offered("dbcpu compare last ", environment, tmp_path) == ["last", runs.record().header.run_id]


def test_a_store_that_cannot_be_read_offers_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    environment["DBCPU_STORE"] = str(tmp_path / "nowhere" / "runs.db")
    assert offered("dbcpu show 2", environment, tmp_path) == []
    assert not (tmp_path / "nowhere").exists()

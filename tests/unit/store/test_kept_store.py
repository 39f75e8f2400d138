"""A store of schema 1, kept as it was written: every run in it is listed, shown, checked and compared.

``tests/runs/store-1.db`` has a simulated sweep, variants (of SQLite), a soak, an interrupted run and an imported one.
"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dbcpu.cli import group
from dbcpu.store import schema
from dbcpu.store.database import open_store
from support.paths import TESTS

KEPT = TESTS / "runs" / "store-1.db"
KINDS = {
    "20261122-140028-sim-2c8f9a": ("sweep", "complete", ("baseline",), 7),
    "20261122-135907-528f92-anonymous": ("sweep", "complete", ("baseline", "cpus:0"), 8),
    "20261122-135950-d97769-anonymous": ("soak", "complete", ("baseline",), 6),
    "20261122-135614-7616da-anonymous": ("sweep", "interrupted", ("baseline",), 6),
    "20250102-030405-fdf2a3": ("sweep", "complete", ("baseline",), 2),
}
every_run = pytest.mark.parametrize("run_id", KINDS)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A copy, for a store is written to by whoever opens it (journal mode, upgrades)."""
    return str(shutil.copy(KEPT, tmp_path / "runs.db"))


def command(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, catch_exceptions=False)


def test_the_schema_is_the_one_of_then() -> None:
    with closing(sqlite3.connect(f"file:{KEPT}?mode=ro&immutable=1", uri=True)) as connection:
        (version,) = connection.execute(f"select version_num from {schema.VERSION_TABLE}").fetchone()
    assert version == "0001"


def test_all_runs_are_listed(store: str) -> None:
    result = command("list", "--json", "--store", store)
    listed = {run["run_id"]: (run["status"], run["rounds"]) for run in json.loads(result.stdout)}
    assert listed == {run_id: (status, rounds) for run_id, (_, status, _, rounds) in KINDS.items()}


@every_run
def test_a_run_is_read_in_full(store: str, run_id: str) -> None:
    with open_store(store, create=False) as opened:
        record = opened.load(run_id)
    found = (record.header.plan.experiment, record.header.status, record.header.plan.variants, len(record.rounds))
    assert found == KINDS[run_id]
    assert all(session.executions for round_ in record.rounds for session in round_.sessions if session.error is None)


@every_run
def test_a_run_is_shown(store: str, run_id: str) -> None:
    result = command("show", run_id, "--store", store)
    assert result.exit_code == 0
    assert run_id in result.stdout
    assert json.loads(command("show", run_id, "--json", "--store", store).stdout)["levels"]


@every_run
def test_a_run_is_checked(store: str, run_id: str) -> None:
    result = command("check", run_id, "--json", "--store", store)
    assert result.exit_code in (0, 1)
    assert json.loads(result.stdout)["run_id"] == run_id


@pytest.mark.parametrize(
    ("base", "other"),
    [("20261122-135614-7616da-anonymous", "20261122-135907-528f92-anonymous")],
)
def test_a_run_is_compared(store: str, base: str, other: str) -> None:
    result = command("compare", f"one={base}", f"two={other}", "--store", store)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "two" in result.stdout

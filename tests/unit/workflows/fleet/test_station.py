"""What a station starts for a campaign: nothing that whoever writes into its store could choose."""

from pathlib import Path

import pytest

from dbcpu import __version__
from dbcpu.measure.workloads import sql_hash
from dbcpu.store.campaigns import PLANNED, RUNNING, Campaign, Item
from dbcpu.store.database import open_store
from dbcpu.workflows.fleet.outcome import ItemOutcome
from dbcpu.workflows.fleet.station import Assignment, _command, command_refused, measure


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        ({"url": "postgresql://me@db/x", "host": "ssh:db"}, False),
        ({"url": "shell"}, False),
        ({"url": "postgresql://me@db/x", "host": "exec:sh -s"}, True),
        ({"url": "shell:///bin/bash"}, True),
        ({"url": "shell:/bin/rm", "host": "ssh:db", "from": "there"}, True),
    ],
)
def test_programs_are_started_only_where_the_station_says_so(
    table: dict[str, str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBCPU_FLEET_EXEC", raising=False)
    assert bool(command_refused(table)) is refused
    monkeypatch.setenv("DBCPU_FLEET_EXEC", "yes")
    assert command_refused(table) == ""


def test_the_host_is_required_from_here_and_the_way_from_there() -> None:
    def words(table: dict[str, str]) -> list[str]:
        return _command(
            Assignment("q4", "2026-11-01", "1", "0", "-db", {"url": "postgresql://me@db/x", **table}, ("--aa",))
        )

    assert words({"host": "ssh:db"})[-2:] == ["--", "-db"]
    assert "--host" in words({"host": "ssh:db"})
    assert "--host" not in words({"host": "ssh:db", "from": "there"})


def test_a_target_whose_process_cannot_use_the_store_is_planned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the process' line for its station: this sentence does not begin with "the store"."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("DBCPU_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setattr("dbcpu.workflows.fleet.station._command", lambda work: ["show", "/nowhere/run.json.gz"])
    made = Campaign("q4", "2026-11-01", __version__, sql_hash(), {})
    with open_store(None) as store:
        store.campaigns.create(made, (Item("a", state=RUNNING),))
    work = Assignment("q4", made.created_at, made.tool_version, made.sql_hash, "a", {"url": "sqlite"}, ())
    found = measure(work)
    assert found == ItemOutcome(PLANNED, why=found.why)
    assert found.why.startswith("/nowhere/run.json.gz could not be read")

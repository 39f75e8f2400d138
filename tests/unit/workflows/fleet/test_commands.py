"""What a campaign asks before it saturates anything."""

from pathlib import Path
from typing import Any

import pytest

from dbcpu import __version__
from dbcpu.measure.workloads import sql_hash
from dbcpu.store.campaigns import Campaign, Item
from dbcpu.store.database import open_store
from dbcpu.workflows.fleet import commands

FINE, REFUSED = {"url": "postgresql://me@db/x"}, {"url": "shell:///bin/bash"}


class Asked(Exception):
    """With the question."""


@pytest.mark.parametrize(
    ("tables", "question"),
    [({"a": FINE, "b": REFUSED}, "This saturates 1 database, some at a time. Continue?"), ({"b": REFUSED}, "")],
)
def test_only_targets_that_are_started_are_asked_for(
    tables: dict[str, dict[str, str]], question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBCPU_FLEET_EXEC", raising=False)
    monkeypatch.setattr(commands, "_needs_dask", lambda: None)

    def driven(*_: Any) -> None:
        raise Asked("")

    def confirm(text: str, _: bool) -> None:
        raise Asked(text)

    monkeypatch.setattr(commands, "workers", driven)
    store = str(tmp_path / "runs.db")
    made = Campaign("q4", "2026-11-01", __version__, sql_hash(), {"options": [], "targets": tables, "lasts_s": {}})
    with open_store(store) as opened:
        opened.campaigns.create(made, tuple(Item(name, {}) for name in tables))
    with pytest.raises(Asked) as asked:
        commands.resume(
            "q4", confirm, failed=False, at_once=1, failures=0.0, window=None, scheduler=None, fail_on="never",
            store=store, yes=False, quiet=True,
        )  # fmt: skip
    assert str(asked.value) == question

"""From the store to the trend of one target, or of all: ``dbcpu show --history`` and ``dbcpu list --history``."""

from collections.abc import Sequence
from itertools import islice

from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.trend import Trend, past_run, trend
from dbcpu.errors import UsageError
from dbcpu.reports.document import Document
from dbcpu.reports.documents import history
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.check import earlier_runs

MAX_RUNS = 60


def history_document(run: str, store: str | None = None, most: int = MAX_RUNS) -> Document:
    """The history that ends with ``run``, a name as for ``load_run``.

    Raises:
        UsageError: there is no such run, or it is a file: a history is in a store.
        StoreError: the store cannot be read.
    """
    with open_store(store, create=False) as opened:
        newest = opened.header(run)
        return history.document(_trend(opened, [newest.run_id, *islice(earlier_runs(opened, newest), most - 1)]))


def overview_document(
    store: str | None = None, target: str | None = None, host: str | None = None, most: int = MAX_RUNS
) -> Document:
    """The histories of all targets, or of one target or host; each ends with its newest run.

    Raises as ``history_document``.
    """
    with open_store(store, create=False) as opened:
        found: list[Trend] = []
        seen: set[str] = set()
        for each in opened.list(None, target, host):
            if each.run_id in seen or each.status != "complete":
                continue
            run_ids = [each.run_id, *earlier_runs(opened, opened.header(each.run_id))]
            seen.update(run_ids)
            found.append(_trend(opened, run_ids[:most]))
    if not found:
        raise UsageError("no complete run is kept yet; dbcpu run measures one")
    return history.overview(found)


def _trend(store: Store, run_ids: Sequence[str]) -> Trend:
    """Of these runs, the newest first."""
    records = (store.load(run_id) for run_id in reversed(run_ids))
    return trend([past_run(record, explain(record)) for record in records])

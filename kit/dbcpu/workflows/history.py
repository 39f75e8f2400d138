"""From the store to the trend of one target, or of all: ``dbcpu show --history`` and ``dbcpu list --history``."""

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from dbcpu.analysis.history.trend import FIGURES, Trend, past_run, trend
from dbcpu.errors import StoreError, UsageError
from dbcpu.reports.document import Document
from dbcpu.reports.documents import history
from dbcpu.store.database import open_store
from dbcpu.workflows.check import earlier_runs
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns, none_kept

MAX_RUNS = 60
"""Of a history, where nobody asks for more."""


def history_document(run: str, store: str | None = None, most: int | None = None) -> Document:
    """The history that ends with ``run``, a name as for ``load_run``; of its newest ``most`` runs, of all for 0.

    Raises:
        UsageError: there is no such run, or it is a file: a history is in a store.
        StoreError: the store cannot be read.
    """
    most = MAX_RUNS if most is None else most
    with open_store(store, create=False) as opened:
        newest = opened.header(run)
        runs = ReadableRuns(opened)
        earlier = [each.run_id for each in islice(earlier_runs(runs, newest), most or None)]
        found = _trend(runs, KeptFigures(opened, runs), [newest.run_id, *earlier], most)
    if found is None:
        raise StoreError(f"no run of the history of {newest.run_id} can be read; dbcpu list shows what there is")
    return history.document(found)


def overview_document(
    store: str | None = None, target: str | None = None, host: str | None = None, most: int | None = None
) -> Document:
    """The histories of all targets, or of one target or host; each ends with its newest run. ``most``: as above.

    Raises as ``history_document``.
    """
    most = MAX_RUNS if most is None else most
    with open_store(store, create=False) as opened:
        found: list[Trend] = []
        seen: set[str] = set()
        runs = ReadableRuns(opened)
        kept = KeptFigures(opened, runs)
        listed = runs.list(target, host)
        for each in listed:
            if each.run_id in seen or each.status != "complete":
                continue
            header = runs.header(each.run_id)
            if header is None:
                continue
            run_ids = [each.run_id, *(earlier.run_id for earlier in earlier_runs(runs, header, listed))]
            seen.update(run_ids)
            if (made := _trend(runs, kept, run_ids, most)) is not None:
                found.append(made)
    if not found:
        raise UsageError(none_kept("complete run", target, host))
    return history.overview(found)


def _trend(runs: ReadableRuns, kept: KeptFigures, run_ids: Sequence[str], most: int) -> Trend | None:
    """Of the first ``most`` of these runs, the newest first; None where none can be read."""
    newest = run_ids[: most or None]
    known = kept.of(newest, FIGURES)
    headers = ((runs.header(run_id), known.get(run_id)) for run_id in reversed(newest))
    past = [past_run(header, figures) for header, figures in headers if header is not None and figures is not None]
    return replace(trend(past), older=len(newest) < len(run_ids)) if past else None

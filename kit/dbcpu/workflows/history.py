"""From the store to the trend of one target, or of all: ``dbcpu show --history`` and ``dbcpu list --history``."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from msgspec.structs import replace

from dbcpu.analysis.garbage_collector import no_cycles_sought
from dbcpu.analysis.history.past_figures import HISTORY_FIGURES, PastFigures, kept_past_figures, past_figures
from dbcpu.analysis.history.trend import PastRun, Trend, trend
from dbcpu.analysis.results.quote import QUOTE_METRICS, kept_notes, kept_quote
from dbcpu.errors import StoreError, UsageError
from dbcpu.record.figures import RunFigures
from dbcpu.reports.document import Document
from dbcpu.reports.documents import history
from dbcpu.store.database import RunSummary, open_store
from dbcpu.workflows.check import earlier_runs, same_before
from dbcpu.workflows.kept_figures import KeptFigures
from dbcpu.workflows.readable_runs import ReadableRuns, none_kept, refuse_unknown

MAX_RUNS = 60
"""Of a history, where nobody asks for more."""
AT_ONCE = 2000
"""Runs whose figures and headers are read before the next."""


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
        found = next(_trends(runs, KeptFigures(opened, runs), [[newest.run_id, *earlier]], most), None)
    if found is None:
        raise StoreError(f"no run of the history of {newest.run_id} can be read; dbcpu list shows what there is")
    return history.document(found)


def overview_document(
    store: str | None = None, target: str | None = None, host: str | None = None, most: int | None = None
) -> Document:
    """The histories of all targets, or of one target or host; each ends with its newest run. ``most``: as above.

    Raises:
        UsageError: there is no such target or host, or no complete run.
        StoreError: the store cannot be read, or none of these runs.
    """
    most = MAX_RUNS if most is None else most
    with open_store(store, create=False) as opened, no_cycles_sought():
        runs = ReadableRuns(opened)
        kept = KeptFigures(opened, runs)
        histories = list(_histories(runs, runs.list(target, host)))
        found = [each for some in _pieces(histories) for each in _trends(runs, kept, some, most)]
        if not found and runs.left_out:
            raise StoreError("none of the runs of this history can be read; dbcpu list shows what there is")
        if not found:
            refuse_unknown(opened, "complete run", target, host)
    if not found:
        raise UsageError(none_kept("complete run", target, host))
    return history.overview_document(found)


def _histories(runs: ReadableRuns, listed: Sequence[RunSummary]) -> Iterator[list[str]]:
    """The complete ones of these runs that belong together, the newest first, as ``earlier_runs`` finds them."""
    places: dict[tuple[str, str], list[RunSummary]] = {}
    for each in listed:
        if each.status == "complete":
            places.setdefault((each.target, each.hostname), []).append(each)
    seen: set[str] = set()
    for each in listed:
        if each.run_id in seen or each.status != "complete":
            continue
        if (key := runs.history_key(each.run_id)) is None:
            continue
        earlier = same_before(runs, key, each, places[each.target, each.hostname])
        run_ids = [each.run_id, *(other.run_id for other in earlier)]
        seen.update(run_ids)
        yield run_ids


def _pieces(histories: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Some histories at a time, so that few statements read all, and few of their figures are in memory."""
    piece: list[list[str]] = []
    for each in histories:
        piece.append(each)
        if sum(map(len, piece)) >= AT_ONCE:
            yield piece
            piece = []
    if piece:
        yield piece


def _trends(runs: ReadableRuns, kept: KeptFigures, histories: Sequence[Sequence[str]], most: int) -> Iterator[Trend]:
    """Of the first ``most`` runs of each, the newest first; none where none can be read."""
    newest = [run_ids[: most or None] for run_ids in histories]
    wanted = list(chain.from_iterable(newest))
    known, headers = kept.of(wanted, [HISTORY_FIGURES]), runs.brief_headers(wanted)
    last = [there[0] for shown in newest if (there := [each for each in shown if each in headers and each in known])]
    quoted = kept.of(last, QUOTE_METRICS)
    for shown, run_ids in zip(newest, histories, strict=True):
        there = [run_id for run_id in reversed(shown) if run_id in headers and run_id in known]
        if there:
            past = [PastRun(headers[run_id], _past(kept, run_id, known[run_id])) for run_id in there]
            of_newest = quoted[there[-1]]
            more = {"quote": kept_quote(of_newest), "quote_notes": kept_notes(of_newest)}
            yield replace(trend(past), older=len(shown) < len(run_ids), **more)


def _past(kept: KeptFigures, run_id: str, figures: RunFigures) -> PastFigures:
    """As kept in one text; of a run whose text is damaged from its single figures."""
    return kept_past_figures(figures) or past_figures(kept.of([run_id])[run_id])

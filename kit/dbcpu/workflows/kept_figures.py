"""The figures of stored runs: read where this analysis made them, else made from the record, and kept if possible."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from dbcpu.errors import StoreError
from dbcpu.record.figures import VERSION, RunFigures
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store.database import Store
from dbcpu.workflows.readable_runs import ReadableRuns

if TYPE_CHECKING:
    from dbcpu.analysis.results.run import Analysis


class KeptFigures:
    """Those of the runs of a store; a run that cannot be read has none, and is named once on standard error."""

    def __init__(self, store: Store, runs: ReadableRuns | None = None, *, compared: bool = False) -> None:
        """``compared``: those of rounds that are lost or cut off since are made anew, which names what is damaged."""
        self._store, self._runs, self._compared = store, runs or ReadableRuns(store), compared
        self._takes = True

    def of(self, run_ids: Sequence[str], metrics: Sequence[str] = ()) -> Mapping[str, RunFigures]:
        """By run, in this order; ``metrics``: which of them are needed, by default all."""
        kept = self._kept(run_ids, metrics)
        found = {}
        for run_id in run_ids:
            if run_id in kept:
                found[run_id] = kept[run_id]
            elif (record := self._runs.load(run_id)) is not None:
                found[run_id] = self._made(record)
        return found

    def of_one(self, run_id: str) -> RunFigures:
        """All of one run. Raises RecordFormatError where they have to be made and it is damaged."""
        kept = self._kept([run_id])
        return kept[run_id] if kept else self._made(self._store.load(run_id))

    def _kept(self, run_ids: Sequence[str], metrics: Sequence[str] = ()) -> Mapping[str, RunFigures]:
        kept = self._store.figures.of(run_ids, VERSION, metrics)
        others = self._store.figures.of_other_rounds([*kept], VERSION) if self._compared else ()
        return {run_id: each for run_id, each in kept.items() if run_id not in others}

    def _made(self, record: RunRecord) -> RunFigures:
        figures = figures_of(record.header, record.rounds)
        if self._takes:
            try:
                self._store.figures.keep(record.header.run_id, VERSION, figures.all, len(record.rounds))
            except StoreError:
                self._takes = False  # for reading only, or full: what was requested can be shown all the same
        return figures


class Counted:
    """Rounds, and how many of them were read."""

    def __init__(self, rounds: Iterable[Round]) -> None:
        self._rounds, self.count = rounds, 0

    def __iter__(self) -> Iterator[Round]:
        for each in self._rounds:
            self.count += 1
            yield each


def figures_of(header: Header, rounds: Iterable[Round]) -> RunFigures:
    """Those of a run whose rounds are read one by one."""
    from dbcpu.analysis.explain import explain_rounds  # large; who reads kept figures needs none of it
    from dbcpu.analysis.history.run_figures import run_figures

    counted = Counted(rounds)
    record, analysis = explain_rounds(header, counted)
    return run_figures(record, analysis, counted.count)


def keep_figures(store: Store, run_id: str, figures: RunFigures) -> None:
    """Of a run that is over; where the store does not take them, they are made when they are requested."""
    with suppress(StoreError):
        store.figures.keep(run_id, VERSION, figures.all, int(figures.value("rounds") or 0))


def keep_run(
    store: Store, record: RunRecord, explain: "Callable[[], tuple[RunRecord, Analysis]] | None" = None
) -> bool:
    """Save a whole run and its figures; False when the very same run is there already.

    ``explain``: of a caller that shows the run as well, and need not explain it twice. Raises as ``Store.save``.
    """
    from dbcpu.analysis.history.run_figures import run_figures

    if not store.save(record):
        return False
    header, rounds = record.header, record.rounds
    if header.status != "running":
        figures = run_figures(*explain(), len(rounds)) if explain else figures_of(header, rounds)
        keep_figures(store, header.run_id, figures)
    return True

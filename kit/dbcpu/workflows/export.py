"""Runs as files: a record, a trace, or the tables of many runs. What ``dbcpu export`` writes."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec import Struct

from dbcpu import __version__
from dbcpu.config.writable_place import why_not_writable
from dbcpu.config.written_files import is_descriptor
from dbcpu.errors import RecordFormatError, StoreError, UsageError
from dbcpu.formatting import plural
from dbcpu.record.header import Header
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.store import anonymise, record_file
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.readable_runs import refuse_unknown, say_left_out

TRACES = (".pftrace", ".trace.json", ".trace.json.gz")


class Selection(Struct, frozen=True):
    """Runs of the store, as ``dbcpu list`` selects them: all, or those of a target and a host. Of these the newest
    ``limit``, or all if it is 0."""

    every: bool = False
    target: str | None = None
    host: str | None = None
    limit: int | None = None

    def __bool__(self) -> bool:
        return self.every or self.target is not None or self.host is not None


class _Run(Struct, frozen=True):
    """A run whose rounds are read one by one, from the start at each call of ``rounds``."""

    header: Header
    rounds: Callable[[], Iterable[Round]]

    def without_names(self, names: anonymise.Names) -> "_Run":
        """Anonymised; it is in memory then."""
        record = anonymise.anonymised(RunRecord(self.header, tuple(self.rounds())), names)
        return _Run(record.header, lambda: record.rounds)


def export(
    names: Sequence[str],
    folders: dict[str, Path],
    selection: Selection,
    *,
    wanted_round: str | None = None,
    force: bool = False,
    anonymised: bool = False,
    store: str | None = None,
) -> None:
    """``names`` are a run and a file, or with ``folders`` (by form of tables) runs, if there is no ``selection``.

    Raises:
        UsageError: these do not go together, a file exists already (unless ``force``), or there is no such run.
        StoreError: a run cannot be read, or a file not be written.
    """
    if folders:
        if wanted_round is not None:
            raise UsageError("--round chooses what a trace shows; tables hold every round, so leave it out")
        _refuse_both(names, folders)
        if bool(names) == bool(selection) or (names and selection.limit is not None):
            raise UsageError(
                "give either RUNs, or --all, --target or --host (--limit: the newest of them), with --parquet or --csv"
            )
        found = _runs(names, selection, store)
        _export_tables(found, folders, force=force, anonymised=anonymised, leave_out=bool(selection))
        return
    if selection or selection.limit is not None:
        raise UsageError("--all, --target and --host select runs for --parquet DIR or --csv DIR; give one of these")
    if len(names) != 2:
        raise UsageError("give a RUN and a FILE, or RUNs and --parquet DIR or --csv DIR")
    name, file = names
    _refuse_file(file, force=force)
    is_trace = file.endswith(TRACES)
    if wanted_round is not None and not is_trace:
        raise UsageError(f"--round chooses what a trace shows, and {file} is none; name it .pftrace or .trace.json")
    for each in _runs([name], selection, store):  # one, and its store is open meanwhile
        run = each.without_names(anonymise.Names()) if anonymised else each
        if is_trace:
            _export_trace(run, Path(file), wanted_round)
        else:
            record_file.write(file, run.header, run.rounds())


def _refuse_both(names: Sequence[str], folders: dict[str, Path]) -> None:
    """Raises UsageError where the last of the names is of a file that would be written, beside tables."""
    file = names[-1] if len(names) > 1 else ""
    trace = file.endswith(TRACES)
    if trace or (file.endswith(record_file.SUFFIXES) and not Path(file).exists()):
        what = "a trace" if trace else "the record of a run (no such file is there to read)"
        tables = " and ".join(f"--{form} {folder}" for form, folder in folders.items())
        raise UsageError(
            f"{file} is {what}, and {tables} asks for tables: dbcpu export writes one or the other; give one"
        )


def _refuse_file(file: str, *, force: bool) -> None:
    """Raises UsageError where neither a record nor a trace is to be written there, or can be."""
    # Path.is_file raises, up to Python 3.13, where a folder may not be looked at.
    there = file != "-" and os.path.isfile(file) and not is_descriptor(Path(file))  # noqa: PTH113
    if there and not force:
        raise UsageError(f"{file} exists already; give another name, or --force to replace it")
    if not file.endswith(TRACES) and not record_file.takes_record(file):
        forms = f"{' or '.join(record_file.SUFFIXES)} (a record), {' or '.join(TRACES[:2])} (a trace)"
        raise UsageError(f"{file} does not end in {forms}; name the file so")
    if file != "-" and (why := why_not_writable(Path(file), makes_folders=False)):
        raise UsageError(f"{file} cannot be written: {why}; give another place")


def _export_trace(run: _Run, file: Path, wanted: str | None) -> None:
    from dbcpu.reports.trace import chrome, perfetto
    from dbcpu.reports.trace.events import chosen_rounds, traced_rounds

    pieces = perfetto.pieces if file.suffix == ".pftrace" else chrome.pieces
    traced = traced_rounds(run.header, chosen_rounds(run.rounds(), wanted))
    record_file.write_file(file, pieces(run.header, traced))
    sys.stderr.write(f"open {file} in https://ui.perfetto.dev: the page reads it in the browser, and it stays here\n")


def _export_tables(
    runs: Iterable[_Run], folders: dict[str, Path], *, force: bool, anonymised: bool, leave_out: bool
) -> None:
    """``leave_out``: a run that cannot be read is named and left out."""
    from dbcpu.analysis.explain import explain_rounds
    from dbcpu.reports.tables.table import ExplainedRun
    from dbcpu.reports.tables.write import written_tables

    names, seen = anonymise.Names(), set[str]()
    with ExitStack() as opened:
        files = [opened.enter_context(written_tables(at, form, replace=force)) for form, at in folders.items()]
        for each in runs:
            try:
                run = each.without_names(names) if anonymised else each
                explained = ExplainedRun(run.header, explain_rounds(run.header, run.rounds())[1], __version__)
            except RecordFormatError as error:
                if not leave_out:
                    raise
                say_left_out(each.header.run_id, error)
                continue
            if run.header.run_id in seen:
                raise UsageError(f"run {run.header.run_id} was given twice; give it once")
            seen.add(run.header.run_id)
            for tables in files:
                tables.add(explained, run.rounds())
        if not seen:
            raise StoreError("no run could be read, so nothing was written; dbcpu list shows what there is")
    where = " and ".join(dict.fromkeys(map(str, folders.values())))
    sys.stderr.write(f"{plural(len(seen), 'run')} in the tables of {where}; docs/data.md explains the columns\n")


def _runs(names: Sequence[str], selection: Selection, store: str | None) -> Iterator[_Run]:
    """By name, or as selected, newest first. Of those selected one that cannot be read is named and left out."""
    if names and all(record_file.is_file_name(name) for name in names):
        yield from map(_of_file, names)
        return
    with open_store(store, create=False) as opened:
        if names:
            yield from (_of_file(name) if record_file.is_file_name(name) else _stored(opened, name) for name in names)
            return
        found = opened.list(selection.limit or None, selection.target, selection.host)
        if not found:
            refuse_unknown(opened, "run", selection.target, selection.host)
            raise UsageError("no run is kept of what was selected; dbcpu list shows those there are")
        for each in found:
            try:
                yield _stored(opened, each.run_id)
            except RecordFormatError as error:
                say_left_out(each.run_id, error)


def _of_file(name: str) -> _Run:
    record = record_file.read(name)
    return _Run(record.header, lambda: record.rounds)


def _stored(opened: Store, name: str) -> _Run:
    header = opened.header(name)
    return _Run(header, partial(opened.rounds, header.run_id))

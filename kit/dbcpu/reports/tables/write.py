"""The tables of any number of runs as files: CSV, or Parquet, one file per table. Run by run: memory does not grow.

Parquet is written by DuckDB from rows that were written as CSV before, into files without a name in the same folder.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from dbcpu.config.written_files import draft_of, folder_for_files
from dbcpu.errors import StoreError, UsageError
from dbcpu.formatting import plain
from dbcpu.record.rounds import Round
from dbcpu.reports.extra_packages import not_installed
from dbcpu.reports.formats.csv import FORMULA_STARTS
from dbcpu.reports.tables.of_run import LEVELS, RUNS
from dbcpu.reports.tables.of_sessions import CALLS, EXECUTIONS, RESIDENCY, SESSIONS
from dbcpu.reports.tables.table import ExplainedRun, ExportedColumn, ExportedTable, Type

TABLES = (RUNS, LEVELS, SESSIONS, EXECUTIONS, RESIDENCY, CALLS)
MEMORY = "512MB"
"""What DuckDB may use."""


class TableRows:
    """Takes runs one after the other and writes their rows."""

    def __init__(self, streams: Mapping[str, IO[str]], text: Callable[[str], str]) -> None:
        """``text`` is how a text is written."""
        self._writers = {name: csv.writer(stream, lineterminator="\n") for name, stream in streams.items()}
        self._cells = {table.name: [_cell(column, text) for column in table.columns] for table in TABLES}
        for table in TABLES:
            self._writers[table.name].writerow(column.name for column in table.columns)

    def add(self, run: ExplainedRun, rounds: Iterable[Round]) -> None:
        """Write one run; ``rounds`` are read once, one by one."""
        for table in TABLES:
            self._write(table, table.of_run(run))
        for each in rounds:
            for table in TABLES:
                self._write(table, table.of_round(run, each))

    def _write(self, table: ExportedTable, rows: Iterable[Any]) -> None:
        cells = self._cells[table.name]
        self._writers[table.name].writerows([cell(row) for cell in cells] for row in rows)


@contextmanager
def written_tables(folder: Path, form: str, *, replace: bool = False) -> Iterator[TableRows]:
    """To be given the runs; the files are in ``folder`` when the block ends well, else nothing there is changed.

    Raises:
        UsageError: a file is there already (unless ``replace``), or Parquet cannot be written without DuckDB.
        StoreError: a file could not be written.
        UntrustedFile: the way to the folder leads through a link of another user.
    """
    paths = {table.name: folder / f"{table.name}.{form}" for table in TABLES}
    convert = _converter() if form == "parquet" else None
    try:
        there = next((path for path in paths.values() if path.exists()), None)
        if there is not None and not replace:
            raise UsageError(f"{there} exists already; give another folder, or --force to replace it")
        with folder_for_files(folder), ExitStack() as open_files:
            targets = {name: open_files.enter_context(draft_of(path)) for name, path in paths.items()}
            raw = {name: open_files.enter_context(TemporaryFile(dir=folder)) for name in paths} if convert else targets
            streams = {name: TextIOWrapper(stream, "utf-8", newline="") for name, stream in raw.items()}
            yield TableRows(streams, _text if convert else _sheet_text)
            for stream in streams.values():
                stream.flush()
            if convert:
                for table in TABLES:
                    convert(table, raw[table.name], targets[table.name])
            for stream in streams.values():
                stream.detach()
    except OSError as error:
        raise StoreError(f"{error.filename or folder} could not be written: {error.strerror or error}") from None


def _cell(column: ExportedColumn, text: Callable[[str], str]) -> Callable[[Any], Any]:
    """What is written of a row: None is an empty cell, and a number has all of its digits."""
    value = column.value
    if column.type is Type.BOOLEAN:
        return lambda row: _BOOLEAN[value(row)]
    if column.type is Type.TEXT:
        return lambda row: None if (found := value(row)) is None else text(found)
    return value


_BOOLEAN = {True: "true", False: "false", None: None}


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """On one line. An empty text is unknown, too."""
    return plain(value)


def _sheet_text(value: str) -> str:
    """The same; what a spreadsheet would take for a formula is led by an apostrophe."""
    text = _text(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _converter() -> Callable[[ExportedTable, IO[bytes], IO[bytes]], None]:
    """Writes the CSV of a table as Parquet. Raises UsageError where DuckDB is not installed."""
    try:
        import duckdb
    except ImportError:
        raise not_installed("Parquet", "duckdb", "data", "--csv") from None

    def convert(table: ExportedTable, source: IO[bytes], target: IO[bytes]) -> None:
        types = ", ".join(f"'{column.name}': '{column.type}'" for column in table.columns)
        # Files are named by descriptor: no path is looked up again, and none is taken for a pattern. One thread, so
        # that rows are passed on as they come.
        statement = f"""copy (
            select * from read_csv('/proc/self/fd/{source.fileno()}', header = true, auto_detect = false, delim = ',',
                quote = '"', escape = '"', nullstr = '', new_line = '\\n', columns = {{{types}}})
        ) to '/proc/self/fd/{target.fileno()}' (format parquet, compression zstd, use_tmp_file false)"""  # noqa: S608 - names of columns
        try:
            with duckdb.connect(config=_SETTINGS) as connection:
                connection.execute(statement)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:300]
            raise StoreError(f"{table.name}.parquet could not be written: DuckDB says {reason}") from None

    return convert


_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Nothing is fetched from the network."""

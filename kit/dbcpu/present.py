"""Shows a finished run: explained, on standard output, and as a report in a folder."""

import sys
from pathlib import Path

from dbcpu.analysis.base import Analysis
from dbcpu.analysis.explain import explain_rounds
from dbcpu.findings import reached
from dbcpu.record import RunRecord
from dbcpu.registry import load
from dbcpu.reporting import write_report
from dbcpu.store import record_file
from dbcpu.store.database import Store, open_store


def explained(name: str, url: str | None = None) -> tuple[RunRecord, Analysis]:
    """A run from a file or the store at ``url``, explained, and the record that its pictures are drawn of.

    Of a soak the rounds are read one by one and only some are kept. Raises as ``Store.load``.
    """
    if record_file.is_file_name(name):
        record = record_file.read(name)
        return explain_rounds(record.header, record.rounds)
    with open_store(url, create=False) as store:
        header = store.header(name)
        return explain_rounds(header, store.rounds(header.run_id))


def present(store: Store, run_id: str, out: Path | None, json_file: str | None, fail_on: str, *, quiet: bool) -> int:
    """Print the table (or, for ``json_file`` '-', the record) and write the report; returns the exit code.

    ``out``: folder of the report, by default reports/<run>. Raises StoreError where a file cannot be written.
    """
    record, analysis = explain_rounds(store.header(run_id), store.rounds(run_id))
    if json_file is not None:
        record_file.write_record(json_file, store.load(run_id))
    table = load("renderers", "table")
    if json_file == "-":
        pass
    elif sys.stdout.isatty():
        from rich.console import Console

        table.show(record, analysis, Console())
    else:
        sys.stdout.write(table.render(record, analysis))
    folder = out or Path("reports") / record.header.run_id
    write_report(record, analysis, folder)
    if not quiet:
        sys.stderr.write(f"report: {folder}/report.html   again: dbcpu show {record.header.run_id}\n")
    return int(reached(analysis.findings, fail_on))

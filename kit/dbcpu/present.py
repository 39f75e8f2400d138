"""Shows a finished run: explained, on standard output, and as a report in a folder."""

import sys
from pathlib import Path

from dbcpu.explaining import explained
from dbcpu.findings import reached
from dbcpu.record import RunRecord
from dbcpu.registry import load
from dbcpu.reporting import write_report


def present(record: RunRecord, out: Path | None, json_file: str | None, fail_on: str, *, quiet: bool) -> int:
    """Print the table (or, for ``json_file`` '-', the record) and write the report; returns the exit code.

    ``out``: folder of the report, by default reports/<run>. Raises StoreError where a file cannot be written.
    """
    from dbcpu.store.record_file import write_record

    analysis = explained(record)
    if json_file is not None:
        write_record(json_file, record)
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

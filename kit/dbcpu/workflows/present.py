"""Shows a finished run: explained, on standard output, and as a report in a folder."""

import sys
from pathlib import Path

from dbcpu.findings import reached
from dbcpu.record import RunRecord
from dbcpu.registry import load
from dbcpu.reports.write import write_report
from dbcpu.store import record_file
from dbcpu.store.database import load_run
from dbcpu.workflows.compare import variants_sheet, write_sheet
from dbcpu.workflows.explain import explained, explained_run


def present(
    run_id: str, store: str | None, out: Path | None, json_file: str | None, fail_on: str, *, quiet: bool
) -> int:
    """Print the table (or, for ``json_file`` '-', the record) and write the report; returns the exit code.

    ``out``: folder of the report, by default reports/<run>. Raises StoreError where a file cannot be written.
    """
    record, analysis = explained_run(run_id, store)
    if json_file is not None:
        record_file.write_record(json_file, load_run(run_id, store))
    table = load("reports.formats", "table")
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


def present_variants(record: RunRecord, out: Path | None, json_file: str | None, fail_on: str, *, quiet: bool) -> int:
    """The same for a run of several variants: the comparison is printed, and written beside the report."""
    analysis, sheet = explained(record), variants_sheet(record)
    if json_file is not None:
        record_file.write_record(json_file, record)
    if json_file != "-":
        sys.stdout.write(load("reports.comparison_formats", "table").render(sheet))
    folder = out or Path("reports") / record.header.run_id
    write_report(record, analysis, folder)
    write_sheet(sheet, folder)
    if not quiet:
        run_id = record.header.run_id
        sys.stderr.write(
            f"report: {folder}/report.html   again: dbcpu compare {run_id}   causes: dbcpu show {run_id}\n"
        )
    return int(reached(analysis.findings, fail_on))

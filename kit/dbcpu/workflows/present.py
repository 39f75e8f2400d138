"""Shows a run that has just been measured: explained, on standard output, and as a report in a folder."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from dbcpu.findings import reached
from dbcpu.record import Header, Round
from dbcpu.reports.documents import run as of_run
from dbcpu.reports.write import report_folder, write_document
from dbcpu.store import record_file
from dbcpu.workflows.compare import variants_document
from dbcpu.workflows.explain import explained
from dbcpu.workflows.show import print_document


def present(
    header: Header,
    rounds: Callable[[], Iterable[Round]],
    *,
    out: Path | None,
    json_file: str | None,
    fail_on: str,
    quiet: bool,
) -> int:
    """Print the table (or, for ``--json -``, the record) and write the report; returns the exit code.

    Of several variants the comparison is printed, and written beside the report. ``rounds`` gives those of the run,
    from the start each time. ``out``: folder of the report, by default reports/<run>.

    Raises:
        StoreError: a file cannot be written.
    """
    run_id = header.run_id
    record, analysis = explained(header, rounds())
    if json_file is not None:
        record_file.write(json_file, header, rounds())
    document = shown = of_run.document(record, analysis)
    again = f"dbcpu show {run_id}"
    if analysis.variants is not None:
        shown, again = variants_document(record, analysis), f"dbcpu compare {run_id} (causes: dbcpu show {run_id})"
    if json_file != "-":
        print_document(shown)
    folder = out or report_folder(record)
    write_document(document, folder)
    if shown is not document:
        write_document(shown, folder)
    if not quiet:
        sys.stderr.write(f"Report: {folder}/report.html\nShow again: {again}\n")
    return int(reached(analysis.findings, fail_on))

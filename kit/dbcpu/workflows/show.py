"""Shows a document: on standard output in one format, and in a folder in every usual one."""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from dbcpu.errors import UsageError
from dbcpu.formatting import encodable
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.formats.base import load_format, rendered
from dbcpu.workflows.terminal import asked_width, coloured

if TYPE_CHECKING:
    from dbcpu.reports.document import Document
    from dbcpu.store.database import Store


def show(document: "Document", form: str = "table", out: Path | None = None) -> None:
    """Print it; with ``out`` write its files there too and name them. Raises UsageError, StoreError."""
    print_document(document, form)
    if out is not None:
        from dbcpu.reports.write import write_document

        for path in write_document(document, out):
            click.echo(path, err=True)


def run_document(run: str, store: str | None, licences: Sequence[str] = ()) -> "Document":
    """A kept run, explained. Raises as ``explained_run``."""
    from dbcpu.reports.documents.run import document
    from dbcpu.workflows.explain import explained_run

    return document(*explained_run(run, store, licences))


def keep_and_show(
    record: RunRecord,
    store: "Store | None",
    json_file: str | None,
    out: Path | None = None,
    formats: Sequence[str] = (),
) -> None:
    """A record at hand: kept with its figures, written, and shown unless ``json_file`` is standard output.

    With ``out`` or ``formats`` its report is written as well. Both show it beside the runs of its target before it.

    Raises as ``Store.save`` and ``explained``; StoreError: a file cannot be written.
    """
    from dbcpu.reports.documents.run import document
    from dbcpu.store import record_file
    from dbcpu.workflows.explain import compared_with_history, explained
    from dbcpu.workflows.kept_figures import keep_run

    explain = cache(lambda: explained(record.header, record.rounds))
    if store is not None:
        keep_run(store, record, explain)
    if json_file:
        record_file.write_record(json_file, record)
    to_write = out is not None or bool(formats)
    if json_file == "-" and not to_write:
        return
    made = document(*explain(), compared_with_history(store, *explain()) if store is not None else None)
    if json_file != "-":
        print_document(made)
    if to_write:
        sys.stderr.write(write_report([made], record, out, formats))


def write_report(documents: "Sequence[Document]", record: RunRecord, out: Path | None, formats: Sequence[str]) -> str:
    """The report of a run in ``out`` or reports/<run>; no folder for the format ``none``.

    Returns:
        The line that says where it is, or ''. Raises as ``write_document``.
    """
    from dbcpu.reports.write import report_folder, write_document

    if not has_report(formats):
        return ""
    folder = out or report_folder(record)
    written = [path for each in documents for path in write_document(each, folder, formats)]
    page = folder / "report.html"
    return f"Report: {page if page in written else folder}\n"


def has_report(formats: Sequence[str]) -> bool:
    """Whether these ask for files."""
    from dbcpu.reports.write import NO_REPORT

    return tuple(formats) != (NO_REPORT,)


def print_document(document: "Document", form: str = "table") -> None:
    """In the width and colours of ``terminal``, if the format can. Raises UsageError."""
    member: Any = load_format(form)
    if member.BINARY:
        raise UsageError(f"{form} is no text; give --out DIR, or dbcpu report --format {form}")
    console = coloured(document.width) if hasattr(member, "show") else None
    if console is not None:
        member.show(document, console)
    else:
        shown = replace(document, width=asked_width() or document.width)
        content = rendered(form, member, shown)
        click.echo(content if isinstance(content, bytes) else encodable(content.rstrip("\n")))

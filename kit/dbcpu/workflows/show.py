"""Shows a document: on standard output in one format, and in a folder in every usual one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbcpu.errors import UsageError
from dbcpu.formatting import encodable
from dbcpu.record import RunRecord
from dbcpu.reports.formats.base import load_format
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


def keep_and_show(record: RunRecord, store: "Store | None", json_file: str | None) -> None:
    """A record at hand: kept with its figures, written, and shown unless ``json_file`` is standard output.

    Raises as ``Store.save`` and ``explained``; StoreError: the file cannot be written.
    """
    from dbcpu.reports.documents.run import document
    from dbcpu.store import record_file
    from dbcpu.workflows.explain import explained
    from dbcpu.workflows.kept_figures import keep_run

    explain = cache(lambda: explained(record.header, record.rounds))
    if store is not None:
        keep_run(store, record, explain)
    if json_file:
        record_file.write_record(json_file, record)
    if json_file != "-":
        print_document(document(*explain()))


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
        click.echo(encodable(member.render(shown).rstrip("\n")))

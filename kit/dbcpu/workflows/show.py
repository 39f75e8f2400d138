"""Prints what is kept: a run, explained, or the history of targets. What is slow to load is loaded on use."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dbcpu import registry
from dbcpu.errors import UsageError

if TYPE_CHECKING:
    from dbcpu.reports.document import Sheet


def show_run(run: str, store: str | None, form: str, licences: Sequence[str] = ()) -> None:
    """Print one run in a form of the renderers. Raises as ``load_run`` and ``explained``."""
    from dbcpu.workflows.explain import explained_run

    _print(registry.load("reports.formats", form), *explained_run(run, store, licences))


def show_history(run: str, store: str | None, form: str, out: Path | None) -> None:
    """Print the history that ends with ``run``; with ``out`` write every form and the picture there too."""
    from dbcpu.workflows.history import history_sheet

    _show_sheet(history_sheet(run, store), form, out)


def show_overview(store: str | None, target: str | None, host: str | None, form: str, out: Path | None) -> None:
    """Print the history of every target; otherwise as ``show_history``."""
    from dbcpu.workflows.history import overview_sheet

    _show_sheet(overview_sheet(store, target, host), form, out)


def _show_sheet(sheet: "Sheet", form: str, out: Path | None) -> None:
    from dbcpu.workflows.compare import FORMS, write_sheet

    if form not in FORMS:
        raise UsageError(f"a history is not shown as {form}; there are: {', '.join(FORMS)}")
    _print(registry.load("reports.comparison_formats", form), sheet)
    for path in write_sheet(sheet, out, "history") if out else ():
        click.echo(path, err=True)


def _print(member: Any, *shown: Any) -> None:
    """In the width and colours of a terminal, if there is one and the form can."""
    if hasattr(member, "show") and sys.stdout.isatty():
        from rich.console import Console

        member.show(*shown, Console())
    else:
        click.echo(member.render(*shown).rstrip("\n"))

"""``dbcpu list``: the runs in the store, or the history of every target."""

from pathlib import Path

import click

from dbcpu.cli._options import json_flag, out_option, store_option

MOST = 1_000_000_000


@click.command(short_help="List the stored runs, or their figures over time.")
@click.option(
    "--limit", type=click.IntRange(0, MOST), default=20, show_default=True, metavar="N", help="At most N; 0 for all."
)
@click.option("--target", metavar="NAME", help="Only runs of this target.")
@click.option("--host", metavar="NAME", help="Only runs on this host.")
@click.option("--history", is_flag=True, help="Show the history of each target instead of the runs.")
@out_option("With --history: also write history.html, the other formats and the charts there.")
@json_flag
@store_option
def command(
    limit: int, target: str | None, host: str | None, history: bool, out: Path | None, as_json: bool, store: str | None
) -> None:
    """List the stored runs, newest first.

    Examples: dbcpu list --target embedded --limit 5; dbcpu list --history
    """
    from dbcpu.workflows import list_runs

    if out and not history:
        raise click.UsageError("--out goes with --history")
    if history:
        from dbcpu.workflows.history import overview_document
        from dbcpu.workflows.show import show

        show(overview_document(store, target, host), "json" if as_json else "table", out)
    else:
        list_runs.list_runs(store, target, host, limit, as_json=as_json)

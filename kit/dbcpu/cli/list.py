"""``dbcpu list``: the runs in the store, or the history of every target."""

from pathlib import Path

import click

from dbcpu.cli._options import json_flag, newest_option, out_option, store_option


@click.command
@newest_option("At most N runs, with --history of each target; 0 for all.  [default: 20, with --history 60]")
@click.option("--target", metavar="NAME", help="Only runs of this target.")
@click.option("--host", metavar="NAME", help="Only runs on this host.")
@click.option("--history", is_flag=True, help="Show the history of each target instead of the runs.")
@click.option("--verdict", is_flag=True, help="Show the answer of each run.")
@out_option("Also write a page there, runs.html, and the other formats; with --history history.html, and charts.")
@json_flag
@store_option
def command(
    limit: int | None, target: str | None, host: str | None, history: bool, verdict: bool, out: Path | None,
    as_json: bool, store: str | None,
) -> None:  # fmt: skip
    """List the stored runs, newest first.

    Examples: dbcpu list --target embedded --limit 5; dbcpu list --verdict; dbcpu list --history --out pictures
    """
    from dbcpu.workflows import list_runs

    if verdict and history:
        raise click.UsageError("--verdict and --history cannot be combined; leave one out")
    if history:
        from dbcpu.workflows.history import overview_document
        from dbcpu.workflows.show import show

        show(overview_document(store, target, host, limit), "json" if as_json else "table", out)
    else:
        list_runs.list_runs(store, target, host, limit, as_json=as_json, with_verdict=verdict, out=out)

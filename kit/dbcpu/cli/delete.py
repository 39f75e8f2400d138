"""``dbcpu delete``: runs out of the store."""

import click

from dbcpu.cli.options import confirm, store_option, yes_option


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@yes_option
@store_option
def command(runs: tuple[str, ...], yes: bool, store: str | None) -> None:
    """Delete RUNs from the store, for good. RUN is a run_id, the beginning of one, or last.

    \b
    Example: dbcpu delete 20250101 --yes
    """
    from dbcpu.store.database import open_store

    with open_store(store, create=False) as opened:
        run_ids = list(dict.fromkeys(opened.resolve(run) for run in runs))
        confirm(f"Delete {', '.join(run_ids)}?", yes)
        for run_id in run_ids:
            opened.delete(run_id)
            click.echo(f"deleted {run_id}", err=True)

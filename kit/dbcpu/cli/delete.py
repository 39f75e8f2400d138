"""``dbcpu delete``: delete runs from the store."""

import click

from dbcpu.cli._completion import offering, runs
from dbcpu.cli._option_values import Duration
from dbcpu.cli._options import confirm, store_option, yes_option


@click.command
@click.argument("runs", metavar="[RUN...]", nargs=-1, shell_complete=offering(runs))
@click.option("--like", metavar="RUN", help="Delete old runs with the target and label of RUN.")
@click.option("--keep", type=click.IntRange(1), default=30, show_default=True, metavar="N",
              help="With --like: keep the newest N, whatever their age.")  # fmt: skip
@click.option("--older-than", "older_than_s", type=Duration(max_s=36_525 * 86_400.0), default="90d", show_default=True,
              metavar="TIME", help="With --like: keep younger runs.")  # fmt: skip
@yes_option
@store_option
def command(
    runs: tuple[str, ...], like: str | None, keep: int, older_than_s: float, yes: bool, store: str | None
) -> None:
    """Delete each RUN from the store. This cannot be undone. RUN is a run_id, the beginning of one, or last.

    \b
    Examples: dbcpu delete 20250101 --yes
              dbcpu delete --like last --keep 30 --older-than 90d --yes
    """
    from dbcpu.formatting import plain
    from dbcpu.store.database import open_store

    if bool(runs) == bool(like):
        raise click.UsageError("give either RUNs or --like RUN")
    with open_store(store, create=False) as opened:
        named = opened.expired(like, keep, older_than_s) if like else map(opened.resolve, runs)
        run_ids = list(dict.fromkeys(named))
        confirm(f"Delete {plain(', '.join(run_ids))}?", yes or not run_ids)
        for run_id in run_ids:
            opened.delete(run_id)
            click.echo(f"deleted {plain(run_id)}", err=True)

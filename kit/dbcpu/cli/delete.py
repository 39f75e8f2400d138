"""``dbcpu delete``: runs out of the store."""

import click

from dbcpu.cli._options import Duration, confirm, store_option, yes_option


@click.command()
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@click.option("--like", metavar="RUN", help="Old runs of the same target and label as RUN, instead of named ones.")
@click.option("--keep", type=click.IntRange(1), default=30, show_default=True, metavar="N",
              help="With --like: the newest N stay, however old.")  # fmt: skip
@click.option("--older-than", "older_than_s", type=Duration(most_s=36_525 * 86_400.0), default="90d", show_default=True,
              metavar="TIME", help="With --like: what is younger stays.")  # fmt: skip
@yes_option
@store_option
def command(
    runs: tuple[str, ...], like: str | None, keep: int, older_than_s: float, yes: bool, store: str | None
) -> None:
    """Delete RUNs from the store, for good. RUN is a run_id, the beginning of one, or last.

    \b
    Examples: dbcpu delete 20250101 --yes
              dbcpu delete --like last --keep 30 --older-than 90d --yes
    """
    from dbcpu.store.database import open_store

    if bool(runs) == bool(like):
        raise click.UsageError("give either RUNs or --like RUN")
    with open_store(store, create=False) as opened:
        if like:
            run_ids = list(opened.expired(like, keep, older_than_s))
        else:
            run_ids = list(dict.fromkeys(opened.resolve(run) for run in runs))
        confirm(f"Delete {', '.join(run_ids)}?", yes or not run_ids)
        for run_id in run_ids:
            opened.delete(run_id)
            click.echo(f"deleted {run_id}", err=True)

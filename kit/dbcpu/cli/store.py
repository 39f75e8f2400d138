"""``dbcpu store``: maintain the store of runs."""

import click

from dbcpu.cli._options import store_option


@click.group
def command() -> None:
    """Maintain the store of runs."""


@command.command()
@store_option
def upgrade(store: str | None) -> None:
    """Create or upgrade the tables of a store.

    A SQLite store upgrades itself, after a backup. A store on a server, which others may use, needs this command.
    \b
    Example: dbcpu store upgrade --store postgresql://dba@results/dbcpu
    """
    from dbcpu.formatting import plain
    from dbcpu.store.database import upgrade_store

    click.echo(plain(upgrade_store(store)))


@command.command()
@click.option("--drop", is_flag=True, help="Delete the figures of all runs. The runs themselves stay.")
@click.option("--scheduler", metavar="URL", help="Make them by the workers of a Dask cluster, tls://HOST:PORT.")
@store_option
def figures(drop: bool, scheduler: str | None, store: str | None) -> None:
    """Make the figures of all runs that lack them, on all CPUs: after an update, or an import of many runs.

    \b
    Example: dbcpu store figures
    """
    from dbcpu.workflows.store_figures import drop_figures, make_figures

    click.echo(drop_figures(store, scheduler) if drop else make_figures(store, scheduler))

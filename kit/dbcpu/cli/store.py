"""``dbcpu store``: maintain the store of runs."""

import click

from dbcpu.cli._options import store_option


@click.group(short_help="Maintain the store of runs.")
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
    from dbcpu.store.database import upgrade_store

    click.echo(upgrade_store(store))

"""``dbcpu store``: care of the store itself."""

import click

from dbcpu.cli._options import store_option


@click.group()
def command() -> None:
    """Care of the place where runs are kept."""


@command.command()
@store_option
def upgrade(store: str | None) -> None:
    """Create or bring up to date the tables of a store.

    A SQLite store does this by itself, after a backup; a server that others may use only here.

    \b
    Example: dbcpu store upgrade --store postgresql://dba@results/dbcpu
    """
    from dbcpu.store.database import upgrade_store

    click.echo(upgrade_store(store))

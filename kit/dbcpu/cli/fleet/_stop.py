"""``dbcpu fleet stop``: end a campaign that is driven elsewhere."""

import click

from dbcpu.cli._options import store_option
from dbcpu.cli.fleet._options import name_argument


@click.command("stop")
@name_argument
@click.option("--now", is_flag=True, help="Interrupt what is measured, too; finished rounds are kept.")
@store_option
def command(name: str, now: bool, store: str | None) -> int:
    """Begin no more targets of CAMPAIGN; those that are measured go on to their end.

    \b
    Example: dbcpu fleet stop q4
    """
    from dbcpu.workflows.fleet import commands

    return commands.stop(name, now=now, store=store)

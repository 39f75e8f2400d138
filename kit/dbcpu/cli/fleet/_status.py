"""``dbcpu fleet status``: how far a campaign is."""

import click

from dbcpu.cli._options import store_option
from dbcpu.cli.fleet._options import name_argument


@click.command("status")
@name_argument
@click.option("--all", "everything", is_flag=True, help="Every target, also those that are done or planned.")
@click.option("--watch", is_flag=True, help="Again every two seconds, until all targets have ended.")
@store_option
def command(name: str, everything: bool, watch: bool, store: str | None) -> int:
    """How far CAMPAIGN is, and which targets were not measured, and why.

    \b
    Example: dbcpu fleet status q4 --watch
    """
    from dbcpu.workflows.fleet import commands

    return commands.status(name, everything=everything, watch=watch, store=store)

"""``dbcpu fleet status``: how far a campaign is."""

import click

from dbcpu.cli._options import store_option
from dbcpu.cli.fleet import _options as options


@click.command("status", short_help="Show how far a campaign is.")
@options.campaign_argument
@click.option("--watch", is_flag=True, help="Print it again whenever it changes, until nothing is under way.")
@store_option
def command(campaign: str, watch: bool, store: str | None) -> int:
    """Show how far campaign NAME is, and why targets were not measured. Exit code 3 while some are not.

    \b
    Example: dbcpu fleet status q4
    """
    from dbcpu.workflows.fleet.commands import status

    return status(campaign, store, watch=watch)

"""``dbcpu fleet sync``: deliver what was measured while the store was out of reach."""

import click

from dbcpu.cli._options import store_option
from dbcpu.cli.fleet import _options as options


@click.command("sync", short_help="Deliver runs that were kept while the store was out of reach.")
@options.campaign_argument
@store_option
def command(campaign: str, store: str | None) -> int:
    """Deliver the runs of campaign NAME that this machine kept while the store was out of reach.

    A run is delivered once, however often this is called. Exit code 3 if some stay.

    \b
    Example: dbcpu fleet sync q4 --store postgresql://me@results/dbcpu
    """
    from dbcpu.workflows.fleet.commands import sync

    return sync(campaign, store)

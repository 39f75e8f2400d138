"""``dbcpu fleet stop``: end a campaign's driver."""

import click

from dbcpu.cli._options import store_option
from dbcpu.cli.fleet import _options as options


@click.command("stop", short_help="Start no more targets of a campaign.")
@options.campaign_argument
@click.option("--now", "at_once", is_flag=True, help="Cancel what is being measured, too; finished rounds are kept.")
@store_option
def command(campaign: str, at_once: bool, store: str | None) -> None:
    """Start no more targets of campaign NAME; its driver hears of it within 10 s.

    \b
    Example: dbcpu fleet stop q4
    """
    from dbcpu.workflows.fleet.commands import stop

    click.echo(stop(campaign, store, at_once=at_once))

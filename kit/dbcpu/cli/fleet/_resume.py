"""``dbcpu fleet resume``: go on with a campaign."""

from typing import Any

import click

from dbcpu.cli._options import confirm
from dbcpu.cli.fleet import _options as options


@click.command("resume", short_help="Go on with a campaign.")
@options.campaign_argument
@click.option("--failed", is_flag=True, help="Measure again what was refused, partial, unknown or cancelled.")
@options.limit_options
@options.place_options
def command(campaign: str, **given: Any) -> int:
    """Go on with campaign NAME: runs that went on meanwhile are recognised, and the rest is measured.

    What is not given is as it was at the campaign's beginning.

    \b
    Example: dbcpu fleet resume q4 --failed
    """
    from dbcpu.workflows.fleet.commands import resume

    return resume(campaign, confirm, **given)

"""``dbcpu fleet run``: begin a campaign."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._options import confirm, from_option, plan_options, plan_words
from dbcpu.cli.fleet import _options as options


@click.command("run", short_help="Begin a campaign: measure all targets of an inventory.")
@options.listing_options
@from_option
@click.option("--campaign", required=True, metavar="NAME", help="What the campaign is called.")
@options.limit_options
@click.option("--dry-run", is_flag=True, help="Show targets, time and CPU-hours; measure and keep nothing.")
@options.place_options
@plan_options
@click.pass_context
def command(ctx: click.Context, /, inventory: Path, select: str | None, url: str | None, **given: Any) -> int:
    """Measure all targets of INVENTORY by one plan, some at a time, into one store.

    The first target is measured alone, then 2, 4, ... up to --at-once. Targets of a group take turns. Ctrl-C starts no
    more and waits for those under way; a second one cancels them.

    \b
    Example: dbcpu fleet run fleet.toml --campaign q4 --store postgresql://me@results/dbcpu --repeats 6
    """
    from dbcpu.workflows.fleet.commands import begin

    return begin(inventory, select, url, plan_words(ctx), confirm, **given)

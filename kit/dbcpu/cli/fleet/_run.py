"""``dbcpu fleet run``: begin a campaign, and go on to its end."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from dbcpu.cli._options import confirm, fail_on_option, work_options, yes_option
from dbcpu.cli.fleet._options import Share, as_given, driving_options, inventory_argument, select_option


@click.command("run")
@inventory_argument
@click.option("--campaign", "name", metavar="NAME", required=True, help="Name of the campaign, kept in the store.")
@select_option
@driving_options
@click.option("--failures", type=Share(), default="10%", show_default=True, metavar="SHARE",
              help="Begin no more targets once a larger share was refused.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show targets, time and cost, and measure nothing.")
@yes_option
@work_options
@fail_on_option
@click.pass_context
def command(ctx: click.Context, /, inventory: Path | None, name: str, select: str, **given: Any) -> int:
    """Measure every target of INVENTORY once: dbcpu.toml (default), JSON of ansible-inventory --list, or CSV.

    \b
    Example: dbcpu fleet run hosts.csv --campaign q4 --store postgresql://dba@results/dbcpu --repeats 6
    """
    from dbcpu.workflows.fleet import commands
    from dbcpu.workflows.measure_run import Choices

    work = {each.name for each in fields(Choices)}
    choices = Choices(**{key: given.pop(key) for key in tuple(given) if key in work})
    options = as_given(ctx, lambda name: name in work or name == "fail_on")
    given.pop("fail_on")
    share = given.pop("failures")
    return commands.run(inventory, name, select, options, choices, failures_share=share, confirm=confirm, **given)

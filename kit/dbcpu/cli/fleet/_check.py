"""``dbcpu fleet check``: can every target be measured?"""

from pathlib import Path

import click

from dbcpu.cli.fleet._options import at_once_option, inventory_argument, select_option


@click.command("check")
@inventory_argument
@select_option
@at_once_option
def command(inventory: Path | None, select: str, at_once: int | None) -> int:
    """Check every target of INVENTORY as dbcpu doctor does, without loading it.

    \b
    Example: dbcpu fleet check hosts.csv --select region=eu
    """
    from dbcpu.workflows.fleet import check, commands

    return check.check(inventory, select, at_once or commands.default_at_once(), commands.say)

"""``dbcpu more``: add rounds to a stored run."""

from typing import Any

import click

from dbcpu.cli import _options as options
from dbcpu.cli._completion import offering, targets


@click.command
@options.run_argument
@click.argument("target", required=False, shell_complete=offering(targets))
@click.option("--rounds", type=click.IntRange(1, 1000), metavar="N",
              help="More rounds of each level.  [default: as many as would decide]")  # fmt: skip
@click.option("--sessions", metavar="N", help="Levels of the run to measure again.  [default: those inconclusive]")
@options.host_option
@options.store_option
@options.out_option("Folder of the report.  [default: reports/<run>]")
@options.report_option
@options.record_option
@options.yes_option
@options.talking_options
@options.fail_on_option
def command(run: str, target: str | None, **given: Any) -> int:
    """Add rounds to RUN, under its plan: what an interrupted run has left, else what would probably decide. TARGET
    is needed where the run's name of it is not enough. Host, database and SQL must be those of the run.

    \b
    Examples: dbcpu more last
              dbcpu more last --sessions 4,8 --rounds 6
    """
    from dbcpu.workflows.launch import Delivery
    from dbcpu.workflows.more_rounds import Asked, add_rounds

    asked = Asked(*(given.pop(name) for name in ("rounds", "sessions", "host")))
    return add_rounds(run, target, asked, Delivery(**given), options.confirm)

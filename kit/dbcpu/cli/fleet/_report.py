"""``dbcpu fleet report``: ranking, twins, kinds of hosts, failures."""

from pathlib import Path

import click

from dbcpu.cli._options import format_option, out_option, store_option
from dbcpu.cli.fleet._options import name_argument


@click.command("report")
@name_argument
@format_option
@out_option("Also write fleet.html, the other formats and the picture there.")
@store_option
def command(name: str, form: str, out: Path | None, store: str | None) -> None:
    """Rank the hosts of CAMPAIGN, and name those that are slower than hosts like them.

    \b
    Example: dbcpu fleet report q4 --out pages
    """
    from dbcpu.workflows.fleet.report import fleet_document
    from dbcpu.workflows.show import show

    show(fleet_document(name, store), form, out)

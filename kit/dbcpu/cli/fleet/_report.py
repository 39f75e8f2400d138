"""``dbcpu fleet report``: ranking, twins, kinds of hosts, failures, sizing."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._options import format_option, licence_option, out_option, store_option
from dbcpu.cli._written_path import WrittenPath
from dbcpu.cli.fleet._options import campaign_argument


@click.command("report")
@campaign_argument
@format_option
@out_option("Also write fleet.html, the other formats and the picture there.")
@click.option("--parquet", type=WrittenPath(file_okay=False, path_type=Path), metavar="DIR",
              help="Also write the tables of all runs there, as Parquet: docs/data.md.")  # fmt: skip
@click.option("--with", "repeats", multiple=True, metavar="CAMPAIGN",
              help="Count the runs of this campaign as further runs of the same targets. Can be repeated.")  # fmt: skip
@click.option("--size-on", "shapes", multiple=True, metavar="[NAME=]RUN",
              help="Sizing: what the work of all targets needs on the host of RUN. Can be repeated.")  # fmt: skip
@licence_option("Licence rule; TARGET=RULE for one of the targets. Can be repeated.")
@store_option
def command(campaign: str, form: str, out: Path | None, parquet: Path | None, store: str | None, **given: Any) -> None:
    """Rank the hosts of CAMPAIGN, and name those that are unlike hosts of their kind.

    \b
    Examples: dbcpu fleet report q4 --out pages
              dbcpu fleet report q4 --with q3 --size-on new=last --licence oracle-cloud-ee
    """
    from dbcpu.workflows.fleet.report import export_runs, fleet_document
    from dbcpu.workflows.show import show

    show(fleet_document(campaign, store, **given), form, out)
    if parquet is not None:
        export_runs(campaign, parquet, store)

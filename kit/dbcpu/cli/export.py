"""``dbcpu export``: write runs to files."""

from pathlib import Path
from typing import Any

import click

from dbcpu.cli._completion import offering, runs
from dbcpu.cli._options import folder_option, newest_option, store_option


@click.command
@click.argument("names", metavar="RUN... [FILE]", nargs=-1, shell_complete=offering(runs))
@folder_option("--parquet", help_text="Tables of the RUNs there, as Parquet: docs/data.md.")
@folder_option("--csv", help_text="The same tables, as CSV.")
@click.option("--all", "every", is_flag=True, help="Tables of all runs in the store instead of RUNs.")
@click.option("--target", metavar="NAME", help="Tables of all runs of this target.")
@click.option("--host", metavar="NAME", help="Tables of all runs on this host.")
@newest_option("Of these the newest N; 0 for all.  [default: all]")
@click.option("--round", "wanted_round", metavar="N[:ROUND]", help="Of a trace: only rounds of N sessions, or one.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--anonymise", "anonymised", is_flag=True, help="Replace names of hosts, users, databases, groups ...")
@store_option
def command(
    names: tuple[str, ...], parquet: Path | None, csv: Path | None, every: bool, target: str | None, host: str | None,
    limit: int | None, **given: Any,
) -> None:  # fmt: skip
    """Write the record of RUN to FILE (.json, or .json.gz for compression; - is standard output), a trace for
    ui.perfetto.dev (FILE.pftrace, FILE.trace.json: docs/trace.md), or the tables of several RUNs to a folder.

    \b
    Examples: dbcpu export last before-upgrade.json.gz
              dbcpu export last lanes.pftrace --round 9
              dbcpu export --all --parquet data
    """
    from dbcpu.workflows.export import Selection, export

    folders = {form: folder for form, folder in (("parquet", parquet), ("csv", csv)) if folder is not None}
    export(names, folders, Selection(every, target, host, limit), **given)

"""``dbcpu fleet check``: the doctor of every target."""

from pathlib import Path

import click

from dbcpu.cli._written_path import WrittenPath
from dbcpu.cli.fleet import _options as options


@click.command("check", short_help="Check all targets of an inventory, without loading them.")
@options.listing_options
@click.option("--at-once", type=click.IntRange(1, 100), default=8, show_default=True, help="Targets at the same time.")
@click.option("--write", "written", type=WrittenPath(dir_okay=False, path_type=Path), metavar="FILE.toml",
              help="Write an inventory of what can be measured, and from where.")  # fmt: skip
def command(inventory: Path, select: str | None, url: str | None, at_once: int, written: Path | None) -> int:
    """Check all targets of INVENTORY by dbcpu doctor: can they be reached and measured, and what would distort it?

    What cannot be measured from here, and has a way to a shell as its host, is tried from there: by the dbcpu on that
    host, then by the shell kit. Exit code 3 if some target cannot be examined, 1 if one has a problem.

    \b
    Example: dbcpu fleet check fleet.toml --select 'region=eu kind=oracle'
    """
    from dbcpu.workflows.fleet.check import check

    return check(inventory, select, url, at_once, written)

"""``dbcpu fleet resume``: go on with a campaign."""

from typing import Any

import click

from dbcpu.cli.fleet._options import driving_options, name_argument


@click.command("resume")
@name_argument
@click.option("--failed", is_flag=True, help="Measure those again that were refused, are partial or unknown.")
@driving_options
def command(name: str, failed: bool, **given: Any) -> int:
    """Go on with CAMPAIGN: what was measured stays, what was not begun is measured.

    After a driver that was killed, measurements that go on are waited for and not begun again.

    \b
    Example: dbcpu fleet resume q4 --failed
    """
    from dbcpu.workflows.fleet import commands

    return commands.resume(name, failed=failed, **given)

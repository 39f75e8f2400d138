"""``dbcpu fleet``: one plan over many targets."""

import click

from dbcpu.cli.fleet import _check, _report, _resume, _run, _status, _stop, _sync


@click.group
def command() -> None:
    """Measure many databases by one plan: a campaign over the targets of an inventory (docs/fleet.md)."""


for _module in (_check, _run, _status, _resume, _stop, _sync, _report):
    command.add_command(_module.command)

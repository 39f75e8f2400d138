"""``dbcpu restore``: restore settings that a killed run changed, and end a server that it left."""

import click

from dbcpu.cli._completion import offering, targets


@click.command
@click.argument("target", required=False, shell_complete=offering(targets))
@click.option("--dry-run", is_flag=True, help="Show what would be restored, and change nothing.")
def command(target: str | None, dry_run: bool) -> int:
    """Restore settings that a killed run changed on this host, or in the database TARGET.

    An embedded server that it left is ended, too. Every run and its guard process restore settings automatically, and
    one that starts an embedded server ends those that were left; this command shows it. Exit code 3: not all was
    restored.

    \b
    Examples: dbcpu restore --dry-run
              dbcpu restore 'oracle+oracledb://system@db1/?service_name=orclpdb1'
    """
    from dbcpu.formatting import plain
    from dbcpu.workflows.restore import put_back

    restored = put_back(target, dry_run=dry_run)
    for line in restored.lines or ("nothing to restore",):
        click.echo(plain(line))
    return 3 if restored.failures else 0

"""``dbcpu restore``: undo what a killed run left changed."""

import click


@click.command()
@click.argument("target", required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be put back, and change nothing.")
def command(target: str | None, dry_run: bool) -> int:
    """Put back what a killed run left changed on this host, or in the database TARGET.

    Every run and the guard process do this by themselves; here it can be seen. Exit code 3: something is left.

    \b
    Examples: dbcpu restore --dry-run
              dbcpu restore 'oracle+oracledb://system@db1/?service_name=orclpdb1'
    """
    from dbcpu.workflows.vary import put_back

    restored = put_back(target, dry_run=dry_run)
    for line in restored.lines or ("nothing was left changed",):
        click.echo(line)
    return 3 if restored.failures else 0

"""``dbcpu run``: measure a target at several concurrency levels, store the run, write a report."""

from typing import Any

import click

from dbcpu.cli._completion import offering, targets
from dbcpu.cli._options import confirm, fail_on_option, measuring_options


@click.command
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=offering(targets))
@measuring_options
@click.option("--together", is_flag=True, help="Load several targets at once: how much does each slow the others?")
@click.option("--dry-run", is_flag=True, help="Show levels, rounds and time, and measure nothing.")
@click.option("--cpus", multiple=True, metavar="CPUS", help="With --together: pin each target's processes to these.")
@fail_on_option
def command(targets: tuple[str, ...], together: bool, dry_run: bool, cpus: tuple[str, ...], **given: Any) -> int:
    """Measure TARGET: release N sessions together into a CPU-only SQL, for N from 1 to twice the vCPUs.

    TARGET is a name from dbcpu.toml, a SQLAlchemy URL, postgresql (libpq's environment, as psql), oracle (TWO_TASK),
    sqlite, shell (no database: increment, gzip_pipe), or embedded (default): a temporary PostgreSQL started by dbcpu.

    \b
    Examples: dbcpu run postgresql://dba@db1/postgres --sessions 1-32 --repeats 6
              dbcpu run 'oracle+oracledb://bench@db1/?service_name=orclpdb1' --size medium
              dbcpu run embedded embedded --together --sessions 2:8 --cpus 0-3 --cpus 4-7
    """
    from dbcpu.config.targets import resolve
    from dbcpu.workflows.foresee import say
    from dbcpu.workflows.launch import adaptive, launch, launch_together, split_options

    choices, delivery = split_options(**given)
    if together and not dry_run:
        return launch_together(targets, choices, delivery, confirm, cpus=cpus)
    if len(targets) > 1 or cpus or together:
        raise click.UsageError("several targets, or --cpus, need --together, which has no --dry-run; give one target")
    request = resolve((*targets, "embedded")[0])
    return say(request, choices) if dry_run else launch(request, choices, delivery, confirm, planner=adaptive)

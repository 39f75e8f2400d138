"""``dbcpu run``: measure a target at several concurrency levels, store the run, write a report."""

from typing import Any

import click

from dbcpu.cli._completion import offering, targets
from dbcpu.cli._options import confirm, fail_on_option, from_option, measuring_options, plan_words


@click.command
@click.argument("targets", metavar="[TARGET]...", nargs=-1, shell_complete=offering(targets))
@measuring_options()
@from_option
@click.option("--together", is_flag=True, help="Load several targets at once: how much does each slow the others?")
@click.option("--dry-run", is_flag=True, help="Show levels, rounds and time, and measure nothing.")
@click.option("--if-quiet", is_flag=True, help="Stop with exit code 4 where the host is busy, with --yes too.")
@click.option("--cpus", multiple=True, metavar="CPUS", help="With --together: pin each target's processes to these.")
@fail_on_option
@click.pass_context
def command(ctx: click.Context, /, targets: tuple[str, ...], origin: str | None, **given: Any) -> int:
    """Measure TARGET: run the same CPU-only SQL in N sessions that start together, for N from 1 to twice the vCPUs.

    TARGET is a name from dbcpu.toml, a SQLAlchemy URL, postgresql (libpq's environment, as psql), oracle (TWO_TASK),
    sqlite, shell (no database: increment, gzip_pipe), or embedded (default): a temporary PostgreSQL started by dbcpu.

    \b
    Examples: dbcpu run postgresql://dba@db1/postgres --sessions 1-32 --repeats 6
              dbcpu run 'oracle+oracledb://bench@db1/?service_name=orclpdb1' --size medium
              dbcpu run embedded embedded --together --sessions 2:8 --cpus 0-3 --cpus 4-7
    """
    from dbcpu.workflows.launch_run import launch_run

    return launch_run(targets, origin, plan_words(ctx), confirm, **given)

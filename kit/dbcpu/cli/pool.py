"""``dbcpu pool``: M jobs through a pool of K sessions."""

from typing import Any

import click

from dbcpu.cli import _options as options
from dbcpu.cli._options import JOBS, job_options


@click.command
@options.target_argument
@job_options
@options.workload_option
@options.size_option
@options.repeats_option()
@options.watching_options()
@click.option("--dry-run", is_flag=True, help="Show sizes, rounds and time, and measure nothing.")
@options.fail_on_option
def command(target: str, active: str, dry_run: bool, **given: Any) -> int:
    """Run M jobs on TARGET through pools of different size: how many active sessions are enough?

    Each session takes the next job as soon as it is free, as in a connection or thread pool. The verdict is the
    smallest pool that is fast enough; tables have times, memory, and with --connections the times of a call over TCP.

    \b
    Examples: dbcpu pool --work 100 --blocking 30 --active 2,4,10,30
              dbcpu pool --work 100 --connections 100 --active 10,100
              dbcpu pool --work 100 --connections 10 --one-at-a-time --active 2,10
    """
    from dbcpu.workflows.launch import launch_pool, split_options

    jobs = {name: given.pop(name) for name in JOBS}
    choices, delivery = split_options(sessions=active, **given)
    return launch_pool(target, choices, delivery, options.confirm, dry_run=dry_run, **jobs)

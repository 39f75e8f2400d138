"""``dbcpu pool``: M jobs through a pool of K sessions."""

from typing import Any

import click

from dbcpu.cli import _options as options


@click.command
@options.target_argument
@click.option("--work", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="M",
              help="Number of jobs (executions) in total.")  # fmt: skip
@click.option("--active", default="auto", show_default=True, metavar="K",
              help="Pool sizes (active sessions): 10,100 or 1-8; auto: near the vCPUs, 10, and M.")  # fmt: skip
@click.option("--blocking", type=click.IntRange(0, 1_000_000), default=0, metavar="B",
              help="B of the jobs only wait, as for a lock or a disk.")  # fmt: skip
@click.option("--block-for", "block_s", type=options.Duration(3600.0), default=1.0, metavar="TIME",
              help="How long each of these waits.  [default: 1s]")  # fmt: skip
@click.option("--connections", type=click.IntRange(0, 1000), default=0, metavar="N", help="Called over N connections.")
@click.option("--one-at-a-time", is_flag=True,
              help="Over each the next call comes when the last is answered.  [default: all at once]")  # fmt: skip
@options.workload_option
@options.size_option
@options.repeats_option
@options.watching_options()
@click.option("--dry-run", is_flag=True, help="Show sizes, rounds and time, and measure nothing.")
@options.fail_on_option
def command(target: str, active: str, **given: Any) -> int:
    """Run M jobs on TARGET through pools of different size: how many active sessions are enough?

    Each session takes the next job as soon as it is free, as in a connection or thread pool. The verdict is the
    smallest pool that is fast enough; tables have times, memory, and with --connections the times of a call over TCP.

    \b
    Examples: dbcpu pool --work 100 --blocking 30 --active 2,4,10,30
              dbcpu pool --work 100 --connections 100 --active 10,100
              dbcpu pool --work 100 --connections 10 --one-at-a-time --active 2,10
    """
    from dbcpu.workflows.launch import launch_pool, split_options

    own = ("work", "blocking", "block_s", "connections", "one_at_a_time", "dry_run")
    jobs = {name: given.pop(name) for name in own}
    choices, delivery = split_options(sessions=active, **given)
    return launch_pool(target, choices, delivery, options.confirm, **jobs)

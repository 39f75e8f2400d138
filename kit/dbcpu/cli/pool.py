"""``dbcpu pool``: M pieces of work through K sessions at a time."""

from typing import Any

import click

from dbcpu.cli._options import fail_on_option, repeats_option, size_option, watching_options, workload_option


@click.command()
@click.argument("target", default="embedded")
@click.option("--work", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="M",
              help="Pieces of work: executions in all.")  # fmt: skip
@click.option("--active", default="auto", show_default=True, metavar="K",
              help="Sessions that share them: 10,100 or 1-8; auto: around the vCPUs, 10, all.")  # fmt: skip
@workload_option
@size_option
@repeats_option
@watching_options()
@fail_on_option
def command(target: str, work: int, active: str, **given: Any) -> int:
    """Do the same CPU work on TARGET through K sessions, for several K: how many active sessions are enough?

    Each session takes the next piece as soon as it is free, as the threads of a pool do. Shown for each K: total
    time, time per piece, memory, processes, context switches; then the pool size that is enough, and why.

    \b
    Examples: dbcpu pool --work 100 --active 10,100
              dbcpu pool postgresql://dba@db1/postgres --size medium
    """
    from dbcpu.cli._options import confirm
    from dbcpu.workflows.launch import launch_pool, split_options

    choices, delivery = split_options(sessions=active, **given)
    return launch_pool(target, choices, delivery, confirm, work=work)

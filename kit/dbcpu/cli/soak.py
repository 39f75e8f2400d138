"""``dbcpu soak``: a constant number of sessions for a long time."""

from typing import Any

import click

from dbcpu.cli import _options as options
from dbcpu.cli._option_values import Duration
from dbcpu.cli._options import refuse_both
from dbcpu.record.plan import MAX_SESSIONS


@click.command
@options.target_argument
@click.option("--sessions", "-n", type=click.IntRange(1, MAX_SESSIONS), default=8, show_default=True, metavar="N",
              help="Concurrent sessions.")  # fmt: skip
@click.option("--for", "for_s", type=Duration(), default="10m", show_default=True, metavar="TIME",
              help="Duration: 10m, 8h, 2d.")  # fmt: skip
@options.workload_option
@options.size_option
@click.option("--sizes", metavar="LIST", help="Alternate these sizes, to compare short and long SQL: tiny,medium,long.")
@options.watching_options(hz=5.0)
@options.fail_on_option
@refuse_both("size", "sizes", "--sizes names all sizes that take turns")
def command(target: str, sessions: int, for_s: float, sizes: str | None, **given: Any) -> int:
    """Run N sessions on TARGET for a long time: do times drift, or fall into two groups?

    Every segment (a minute, less in a short soak) is stored when it ends; Ctrl-C keeps the finished ones. If the
    database is restarted, the soak continues after a gap.

    \b
    Examples: dbcpu soak --sessions 3 --for 10m
              dbcpu soak postgresql://dba@db1/postgres --sessions 12 --for 8h --size medium
              dbcpu soak --sessions 3 --sizes tiny,medium,long
    """
    from dbcpu.workflows.launch import launch_soak, split_options

    choices, delivery = split_options(sessions=str(sessions), **given)
    return launch_soak(target, choices, delivery, options.confirm, for_s=for_s, sizes=sizes)

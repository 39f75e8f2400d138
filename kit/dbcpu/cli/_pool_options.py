"""The options of ``dbcpu pool`` that say what its jobs are and how they come."""

import click

from dbcpu.cli._option_values import Duration
from dbcpu.cli._options import together

JOBS = ("work", "blocking", "block_s", "connections", "one_at_a_time")
"""The names of their parameters."""

job_options = together(
    click.option("--work", type=click.IntRange(1, 1_000_000), default=100, show_default=True, metavar="M",
                 help="Number of jobs (executions) in total."),
    click.option("--active", default="auto", show_default=True, metavar="K",
                 help="Pool sizes (active sessions): 10,100 or 1-8; auto: near the vCPUs, 10, and M."),
    click.option("--blocking", type=click.IntRange(0, 1_000_000), default=0, metavar="B",
                 help="B of the jobs only wait, as for a lock or a disk."),
    click.option("--block-for", "block_s", type=Duration(3600.0), metavar="TIME",
                 help="How long each of these waits.  [default: 1s]"),
    click.option("--connections", type=click.IntRange(0, 1000), default=0, metavar="N",
                 help="Send the jobs over N TCP connections."),
    click.option("--one-at-a-time", is_flag=True,
                 help="A connection sends its next call after the previous one is answered.  [default: all at once]"),
)  # fmt: skip

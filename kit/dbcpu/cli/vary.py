"""``dbcpu vary``: the same levels under several variants, restored afterwards."""

from typing import Any

import click

from dbcpu.cli._command_groups import CommandWithVariants
from dbcpu.cli._option_values import SessionsPerCpu
from dbcpu.cli._options import confirm, fail_on_option, measuring_options, refuse_both, target_argument
from dbcpu.record.plan import NORMAL


@click.command(cls=CommandWithVariants)
@target_argument
@click.option("--variants", metavar="LIST", required=True, help="Such as baseline,one_per_core,cpus:0-3; see above.")
@click.option("--per-cpu", type=SessionsPerCpu(), default=(), metavar="S,...|auto",
              help="Scaling test: S sessions per CPU; of several the best counts; auto: 1,2,4,8.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be changed and how long it takes; change nothing.")
@measuring_options(NORMAL)
@fail_on_option
@refuse_both("per_cpu", "sessions", "--per-cpu says how many sessions each number of CPUs has")
def command(target: str, variants: str, per_cpu: tuple[int, ...], dry_run: bool, **given: Any) -> int:
    """Measure TARGET under several variants, alternating, and compare each with the first.

    What is changed is written down first and put back at any end; after kill -9 by a guard process, the next
    command or dbcpu restore. With --per-cpu a bare number behind cpus: says how many. --sessions auto means few here.

    \b
    Examples: dbcpu vary --variants one_per_core,spread,pack --sessions 1-4
              dbcpu vary db1 --variants cpus:1,cpus:2,cpus:4 --per-cpu 2
    """
    from dbcpu.workflows.vary import preview_changes, vary

    if dry_run:
        click.echo("\n".join(preview_changes(target, variants, per_cpu, given)))
        return 0
    return vary(target, variants, per_cpu, given, confirm)

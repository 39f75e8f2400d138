"""``dbcpu doctor`` of a target that is measured from elsewhere: can it be, and what would distort it?"""

from collections.abc import Sequence

import click

from dbcpu.config.origins import THERE
from dbcpu.findings import as_json_text
from dbcpu.workflows.origins.far_dbcpu import doctor_there
from dbcpu.workflows.origins.far_program import FarProgram
from dbcpu.workflows.origins.far_target import FarTarget
from dbcpu.workflows.origins.kit_orders import look_orders


def doctor_from(target: FarTarget, options: Sequence[str]) -> int:
    """Print what the dbcpu there finds; of the shell kit, whether it has what it needs. Returns the exit code.

    Args:
        options: those of ``dbcpu doctor``, as words, without --host.

    Raises:
        DbcpuError: it cannot be measured so.
    """
    if target.origin == THERE:
        return doctor_there(target, options)
    orders = look_orders(target)
    with FarProgram(target.way, {}, orders.lines) as program:
        list(program.lines())
        if program.code:
            raise program.failure()
    there = f"{orders.script} can measure {target.name} on {program.hostname}; what would distort it was not examined"
    click.echo(as_json_text(()) if "--json" in options else there)
    return 0

"""``dbcpu run`` and ``dbcpu doctor`` of a target that is measured from elsewhere."""

from collections.abc import Sequence

import click
from msgspec.structs import replace

from dbcpu.config.origins import THERE
from dbcpu.errors import UsageError
from dbcpu.record.findings import as_json_text
from dbcpu.store.database import open_store
from dbcpu.workflows.launch import TO_STDOUT, Confirm, Delivery
from dbcpu.workflows.measure_run import Choices
from dbcpu.workflows.origins.far_dbcpu import doctor_there, measure_there
from dbcpu.workflows.origins.far_program import FarProgram
from dbcpu.workflows.origins.far_target import FarTarget
from dbcpu.workflows.origins.kit_orders import look_orders
from dbcpu.workflows.origins.shell_kit import measure_by_kit


def launch_from(target: FarTarget, words: Sequence[str], choices: Choices, delivery: Delivery, confirm: Confirm) -> int:
    """Measure, keep here, explain and show; returns the exit code.

    Args:
        words: the options that say what is measured and how, as the user gave them, but --host.

    Raises:
        UsageError: options that do not go with it.
        DbcpuError: as ``measure_there`` and ``measure_by_kit``.
    """
    if delivery.store == TO_STDOUT:
        raise UsageError("--store - and --from cannot be combined; leave one out")
    watcher = delivery.watcher(confirm, keeps=True)
    try:
        with open_store(delivery.store) as store:
            confirm(f"This saturates {target.name} on {target.way.name} for minutes. Continue?", delivery.yes)
            if target.origin == THERE:
                asked = (*words, "--if-quiet") if delivery.if_quiet else words
                run_id = measure_there(target, asked, store, watcher)
            else:
                run_id = measure_by_kit(target, replace(choices, host=None), store, watcher)
            return delivery.present(store, run_id, lambda: watcher.rounds)
    finally:
        watcher.close()


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

"""From the options of ``dbcpu run`` to a finished run that was measured from elsewhere."""

from collections.abc import Sequence

from msgspec.structs import replace

from dbcpu.config.origins import THERE
from dbcpu.errors import UsageError
from dbcpu.store.database import open_store
from dbcpu.workflows.launch import TO_STDOUT, Confirm, Delivery
from dbcpu.workflows.measure_run import Choices
from dbcpu.workflows.origins.far_dbcpu import measure_there
from dbcpu.workflows.origins.far_target import FarTarget
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
        raise UsageError("--store - and --from do not go with each other; leave one out")
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

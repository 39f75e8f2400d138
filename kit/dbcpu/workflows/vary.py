"""What ``dbcpu vary`` does: measure under variants, and show the comparison."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.store.database import open_store
from dbcpu.variants._selection import select_variants
from dbcpu.workflows.launch import Confirm, Delivery, split_options
from dbcpu.workflows.measure_run import Choices, Watcher, preview_run, run
from dbcpu.workflows.progress import described


def vary(target: str, variants: str, per_cpu: tuple[int, ...], given: Mapping[str, Any], confirm: Confirm) -> int:
    """Measure and show; returns the exit code. ``given``: the measuring options. Raises as ``measure_run.run``."""
    choices, delivery = _choices(variants, per_cpu, given)
    watcher = delivery.watcher(confirm, keeps=True)
    with open_store(delivery.store) as store:
        try:
            run_id = run(resolve(target), choices, store, watcher, forced=delivery.yes)
        finally:
            watcher.close()
        return delivery.present(store, run_id, lambda: watcher.rounds)


def preview_changes(target: str, variants: str, per_cpu: tuple[int, ...], given: Mapping[str, Any]) -> tuple[str, ...]:
    """What would be measured, and changed, a line each. The target is opened and one session calibrated, no more.

    Raises as ``measure_run.run``.
    """
    choices, _ = _choices(variants, per_cpu, given)
    preview = preview_run(resolve(target), choices, Watcher())
    changes = (f"would be changed and restored: {line}" for line in preview.changes)
    return (*described(preview), *changes)


def _choices(variants: str, per_cpu: tuple[int, ...], given: Mapping[str, Any]) -> tuple[Choices, Delivery]:
    if given["aa"]:
        raise UsageError("--aa measures the same twice, --variants other things; give one of them")
    selected = select_variants(variants, bool(per_cpu))
    choices, delivery = split_options(**given, variants=selected, per_cpu=per_cpu)
    return (replace(choices, sessions="few") if choices.sessions == "auto" else choices), delivery

"""What ``dbcpu vary`` does: measure under variants, and show the comparison."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.store.database import open_store
from dbcpu.variants._selection import select_variants
from dbcpu.workflows.launch import split_options
from dbcpu.workflows.measure_run import Choices, Watcher, preview_run, run
from dbcpu.workflows.present import present
from dbcpu.workflows.progress import ProgressWatcher


def vary(
    target: str, variants: str, per_cpu: int | None, given: Mapping[str, Any], confirm: Callable[[str], None]
) -> int:
    """Measure and show; returns the exit code. ``given``: the measuring options. Raises as ``measure_run.run``."""
    watcher = ProgressWatcher(confirm, quiet=given["quiet"], keeps=True)
    with open_store(given["store"]) as store:
        try:
            run_id = run(resolve(target), _choices(variants, per_cpu, given), store, watcher, forced=given["yes"])
        finally:
            watcher.close()
        shown = {name: given[name] for name in ("out", "formats", "json_file", "fail_on", "quiet")}
        return present(store, run_id, lambda: watcher.rounds, **shown)


def preview_changes(target: str, variants: str, per_cpu: int | None, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What would be changed, a line per variant. The target is opened and one session calibrated, no more.

    Raises as ``measure_run.run``.
    """
    preview = preview_run(resolve(target), _choices(variants, per_cpu, given), Watcher())
    return (*preview.left_out, *preview.changes)


def _choices(variants: str, per_cpu: int | None, given: Mapping[str, Any]) -> Choices:
    if given["aa"]:
        raise UsageError("--aa measures the same twice, --variants other things; give one of them")
    choices, _ = split_options(**given, variants=select_variants(variants, per_cpu is not None), per_cpu=per_cpu)
    return replace(choices, sessions="few") if choices.sessions == "auto" else choices

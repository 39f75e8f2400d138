"""``dbcpu run``: which of its ways a run takes."""

from collections.abc import Sequence
from typing import Any

from dbcpu.config.request import Request
from dbcpu.config.targets import resolve
from dbcpu.errors import UsageError
from dbcpu.workflows.launch import (
    TO_STDOUT,
    Confirm,
    adaptively,
    launch,
    launch_to_stdout,
    launch_together,
    split_options,
)
from dbcpu.workflows.origins.far_target import far_target


def launch_run(
    targets: Sequence[str],
    origin: str | None,
    words: Sequence[str],
    confirm: Confirm,
    *,
    together: bool,
    dry_run: bool,
    cpus: Sequence[str],
    **given: Any,
) -> int:
    """Measure or foresee; returns the exit code.

    Args:
        origin: --from, None for what the configuration says.
        words: the options that say what is measured and how, as the user gave them, but --host.

    Raises:
        UsageError: options contradict each other.
        DbcpuError: as ``launch``, ``launch_from``.
    """
    choices, delivery = split_options(**given)
    if together and not dry_run:
        return launch_together(targets, choices, delivery, confirm, cpus=cpus)
    if together:
        raise UsageError("--together has no --dry-run; leave one of them out")
    if len(targets) > 1:
        raise UsageError(f"{len(targets)} targets need --together; add it, or give one target")
    if cpus:
        raise UsageError(
            "--cpus needs --together and a target for each; to pin one target: dbcpu vary --variants cpus:CPUS"
        )
    target = (*targets, "embedded")[0]
    far = far_target(target, origin, choices.host)
    if far is not None and not dry_run:
        from dbcpu.workflows.origins.launch import launch_from

        return launch_from(far, words, choices, delivery, confirm)
    request = Request(far.name, far.kind) if far else resolve(target, here=True)
    if dry_run:
        from dbcpu.workflows.foresee import say

        return say(request, choices)
    if delivery.store == TO_STDOUT:
        return launch_to_stdout(request, choices, delivery, confirm)
    return launch(request, choices, delivery, confirm, planner=adaptively)

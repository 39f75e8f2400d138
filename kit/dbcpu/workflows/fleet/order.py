"""Which targets of a campaign are measured next: a pure function of how far it is.

One target first; then as many more as have ended, up to the limit, so that what is wrong everywhere is seen on one.
Targets of one group share hardware, and are never measured at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

FEWEST_REFUSED = 1
"""So many refused targets never stop a campaign, however few targets it has."""


@dataclass(frozen=True, slots=True)
class Limits:
    """``failures_share``: with a larger share of all targets refused none is begun any more.

    ``window_end_s``: none is begun that may last beyond it, at ``longest_s`` for each; None: at any time.
    """

    at_once: int
    failures_share: float
    longest_s: float = 0.0
    window_end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Targets as (name, group; '' for none) in the order of the inventory; ``refused`` are among the ``ended``."""

    waiting: Sequence[tuple[str, str]]
    running: Sequence[tuple[str, str]]
    ended: int = 0
    refused: int = 0

    @property
    def total(self) -> int:
        return len(self.waiting) + len(self.running) + self.ended


def next_targets(progress: Progress, limits: Limits, now_s: float) -> tuple[str, ...]:
    """Those to begin now, in the order of the inventory; () where none may be."""
    if why_stopped(progress, limits, now_s):
        return ()
    free = min(limits.at_once, 1 + progress.ended) - len(progress.running)
    busy = {group for _, group in progress.running if group}
    chosen: list[str] = []
    for name, group in progress.waiting:
        if len(chosen) >= free:
            break
        if group and group in busy:
            continue
        busy.add(group)
        chosen.append(name)
    return tuple(chosen)


def why_stopped(progress: Progress, limits: Limits, now_s: float) -> str:
    """Why no target is begun any more, in words; '' where one may be."""
    if progress.refused > max(FEWEST_REFUSED, limits.failures_share * progress.total):
        return f"{progress.refused} of {progress.total} targets were refused, more than --failures allows"
    if limits.window_end_s is not None and now_s + limits.longest_s > limits.window_end_s:
        return "the longest measurement does not fit into the rest of the window any more"
    return ""

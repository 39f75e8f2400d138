"""How far a campaign is whose driver was killed: by its runs in the store, and by the processes that measured.

Nothing is measured twice: a target whose measurement may still be running is waited for, and one of which nothing is
known stays unknown until a user says otherwise.
"""

from collections.abc import Mapping

from dbcpu.hosts import driver_process
from dbcpu.store.campaigns import CANCELLED, DONE, PARTIAL, PLANNED, REFUSED, RUNNING, UNKNOWN, Item
from dbcpu.store.schema.rows import RunSummary
from dbcpu.workflows.fleet.station import LOST, Outcome

FINDINGS, BUSY_HOST, INTERRUPTED = 1, 4, 130
"""Exit codes of a run that was measured, and of one that was stopped."""


def state_after(item: Item, run: RunSummary | None, outcome: Outcome) -> tuple[str, str]:
    """(state, why) of a target whose measurement ended; ``run``: what the store has of it."""
    of_now = run if run is not None and run.started_at >= item.started_at else None
    if of_now is not None and of_now.status == "complete":
        return DONE, ""
    if outcome.code == LOST:
        return found_later(item, run)
    if of_now is not None and of_now.rounds:
        return PARTIAL, outcome.said or f"{of_now.status} after {of_now.rounds} rounds"
    if outcome.code == INTERRUPTED or outcome.code < 0:
        return CANCELLED, outcome.said or "stopped before a round was finished"
    return REFUSED, outcome.said or f"ended with exit code {outcome.code}, and said nothing"


def found_later(item: Item, run: RunSummary | None) -> tuple[str, str]:
    """The same of a target that nobody watches any more: RUNNING where its measurement may still go on."""
    of_now = run if run is not None and run.started_at >= item.started_at else None
    if of_now is not None and of_now.status == "running":
        return RUNNING, ""
    if of_now is not None and of_now.status == "complete":
        return DONE, ""
    if of_now is not None and of_now.rounds:
        return PARTIAL, f"{of_now.status} after {of_now.rounds} rounds"
    if item.driver is None:
        return PLANNED, ""
    if not driver_process.is_gone(item.driver):
        if driver_process.is_here(item.driver) and not _may_have_started(item):
            return RUNNING, ""
        return UNKNOWN, f"nothing is known of its measurement by process {item.driver.pid} on {item.station}"
    if _may_have_started(item):
        return UNKNOWN, "who started it was ended at that moment; it may have been measured"
    return PLANNED, ""


def _may_have_started(item: Item) -> bool:
    """Whether all that is known is who was about to start it (see ``station``): a run's own process has no version."""
    return item.driver is not None and bool(item.driver.python)


def recovered(items: Mapping[str, Item], runs: Mapping[str, RunSummary], *, failed: bool) -> dict[str, tuple[str, str]]:
    """Target -> (state, why) of those that are another than is kept. ``failed``: refused and the like begin again."""
    again = (REFUSED, PARTIAL, UNKNOWN, CANCELLED) if failed else (CANCELLED,)
    found = {}
    for target, item in items.items():
        state, why = (item.state, item.why)
        if state in (RUNNING, UNKNOWN):
            state, why = found_later(item, runs.get(target))
        if state in again:
            state, why = PLANNED, ""
        if (state, why) != (item.state, item.why):
            found[target] = state, why
    return found

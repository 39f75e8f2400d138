"""Which runs a nightly job may delete: old ones of the same target, host and label, never the newest ones. Pure.

The host counts because a shared store holds the nights of many, and every one of them may be called ``embedded``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dbcpu.formatting import moment
from dbcpu.store.schema.rows import RunSummary


def expired(
    runs: Sequence[RunSummary], like: RunSummary, keep: int, older_than_s: float, now: datetime
) -> tuple[str, ...]:
    """run_ids with the target, host and label of ``like`` that may go, the oldest last.

    Of these the newest ``keep`` stay whatever their age, and so does what started less than ``older_than_s`` ago or
    is still running. A run whose time cannot be read stays.
    """
    alike = [run for run in runs if _of_whom(run) == _of_whom(like)]
    alike.sort(key=lambda run: (run.started_at, run.run_id), reverse=True)
    before = now - timedelta(seconds=older_than_s)
    old = (run for run in alike[keep:] if run.status != "running" and _started(run) < before)
    return tuple(run.run_id for run in old)


def _of_whom(run: RunSummary) -> tuple[str, str, str]:
    return run.target, run.hostname, run.label


def _started(run: RunSummary) -> datetime:
    return moment(run.started_at) or datetime.max.replace(tzinfo=UTC)

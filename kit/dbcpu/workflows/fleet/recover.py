"""What a driver finds when it takes up a campaign: runs that went on without it, and those that wait in a spool."""

from collections.abc import Callable, Collection
from pathlib import Path

from dbcpu.errors import DbcpuError, StoreError
from dbcpu.hosts import driver_process
from dbcpu.store.campaigns import AGAIN, DONE, PARTIAL, PLANNED, RUNNING, UNKNOWN, Item
from dbcpu.store.database import Store, open_store
from dbcpu.workflows.fleet.outcome import campaign_folder, settle

UNSEEN = "its process is not seen from this machine"


def take_up(store: Store, campaign: str, only: Collection[str] | None = None) -> tuple[str, ...]:
    """Settle every item that was under way; returns the targets whose processes still measure here.

    Whoever calls has the lease; ``only``: of these targets alone. An item without a process goes back to planned: a
    station that comes late finds itself taken over. One whose process cannot be seen from here stays unknown, unless
    its run is complete.

    Raises:
        StoreError.
    """
    measuring = []
    for item in store.campaigns.items(campaign):
        if item.state not in (RUNNING, UNKNOWN) or (only is not None and item.target not in only):
            continue
        if item.pid is None:
            if item.state == RUNNING:
                store.campaigns.change(campaign, item.target, was=(RUNNING,), was_pid=0, state=PLANNED)
        elif driver_process.is_gone(item.process):
            settle(store, campaign, item)
        elif driver_process.is_here(item.process):
            store.campaigns.change(campaign, item.target, was_pid=item.pid, state=RUNNING)
            measuring.append(item.target)
        else:
            _settle_unseen(store, campaign, item)
    return tuple(measuring)


def _settle_unseen(store: Store, campaign: str, item: Item) -> None:
    found = store.campaigns.run_of(campaign, item)
    run_id, status = found[:2] if found else (None, "running")
    state = {"complete": DONE, "running": UNKNOWN}.get(status, PARTIAL)
    why = "" if state == DONE else UNSEEN if state == UNKNOWN else item.why or status
    store.campaigns.change(campaign, item.target, was_pid=item.pid, state=state, run_id=run_id, why=why)


def plan_again(store: Store, campaign: str) -> tuple[str, ...]:
    """Plan what failed or was cancelled once more, and return its targets.

    A process that may run on another machine keeps its target unknown.

    Raises StoreError. Whoever calls has the lease, and has settled what is over.
    """
    again = [
        each
        for each in store.campaigns.items(campaign)
        if each.state in AGAIN and not (each.state == UNKNOWN and each.pid is not None and each.why == UNSEEN)
    ]
    for each in again:
        store.campaigns.change(
            campaign, each.target, was=(each.state,), state=PLANNED, why="", pid=None, station=None,
            boot_id=None, start_ticks=None, started_at=None, ended_at=None, run_id=None,
        )  # fmt: skip
    return tuple(each.target for each in again)


def deliver(store: Store, campaign: str, say: Callable[[str], None]) -> int:
    """Bring what this station spooled for one campaign into the store, and remove it; returns how many targets.

    What is still being measured, or cannot be read, stays, and a sentence says so. Raises StoreError.
    """
    created_at = store.campaigns.load(campaign).created_at
    done = 0
    for spool in sorted(campaign_folder(campaign).glob("*.db")):
        try:
            _deliver_one(store, campaign, created_at, spool)
            done += 1
        except DbcpuError as error:
            say(f"{spool} stays: {error}")
    return done


def _deliver_one(store: Store, campaign: str, created_at: str, spool: Path) -> None:
    with open_store(str(spool), create=False) as kept:
        if kept.campaigns.load(campaign).created_at != created_at:
            raise StoreError(f"it is of another campaign called {campaign}; give --store of that one")
        for item in kept.campaigns.items(campaign):
            if item.state == RUNNING and item.pid is None:  # a station that comes late finds itself taken over
                kept.campaigns.change(campaign, item.target, was=(RUNNING,), was_pid=0, state=PLANNED)
            elif item.state == RUNNING:
                if not driver_process.is_gone(item.process):
                    raise StoreError(f"{item.target} is still being measured by process {item.pid}")
                settle(kept, campaign, item)
        for run in kept.list():
            store.save(kept.load(run.run_id))
        for item in kept.campaigns.items(campaign):
            values = {name: getattr(item, name) for name in _DELIVERED}
            store.campaigns.change(campaign, item.target, was=(PLANNED, RUNNING, UNKNOWN), was_pid=0, **values)
    for suffix in ("", "-wal", "-shm"):
        spool.with_name(spool.name + suffix).unlink(missing_ok=True)


_DELIVERED = ("state", "run_id", "why", "station", "pid", "boot_id", "start_ticks", "started_at", "ended_at")

"""Who drives a campaign: one process at a time. That of a killed one here is free at once, else when it is over."""

from dbcpu.errors import MeasureError
from dbcpu.hosts import driver_process
from dbcpu.record.header import Driver
from dbcpu.store.campaigns import CampaignTable
from dbcpu.store.schema.rows import driver_at, driver_place

LASTS_S = 60.0
RENEWED_S = 10.0


def own_name() -> str:
    """This process: pid, start, host name and place, as a lease has them."""
    own = driver_process.this_process()
    return f"{own.pid} {own.start_ticks or '-'} {own.hostname} {driver_place(own) or ''}".strip()


def owner_of(text: str) -> Driver | None:
    """The process that ``own_name`` named; None for another text."""
    parts = text.split(" ", 3)
    if len(parts) < 3 or not parts[0].isdecimal():
        return None
    ticks = int(parts[1]) if parts[1].isdecimal() else None
    return driver_at(parts[2], int(parts[0]), ticks, parts[3] if len(parts) > 3 else "")


def take(campaigns: CampaignTable, name: str, own: str) -> None:
    """Become the driver of the campaign.

    Raises:
        MeasureError: another process is, which is named.
        UnknownName, StoreError: as ``campaigns.load``.
    """
    if campaigns.take_lease(name, own, LASTS_S):
        return
    other = campaigns.load(name).lease_owner or ""
    drove = owner_of(other)
    if drove and driver_process.is_gone(drove) and campaigns.take_lease(name, own, LASTS_S, instead_of=other):
        return
    drove = owner_of(campaigns.load(name).lease_owner or other)  # another may have been quicker
    by = f"process {drove.pid} on {drove.hostname}" if drove else "another process"
    raise MeasureError(
        f"campaign {name} is driven by {by}; wait for it, or end it by dbcpu fleet stop {name}; "
        f"a driver that was killed on another machine is given up after {LASTS_S:.0f} s"
    )

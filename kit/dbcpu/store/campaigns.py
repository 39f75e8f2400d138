"""The tables ``campaign`` and ``campaign_item`` of a store: one plan over many targets, and what became of each.

An item's state changes by compare-and-set, so that of two drivers, or a driver and a late station, only one succeeds.
The lease of a campaign does the same for its driver.
"""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, Connection, Engine, Row, exc, func, insert, literal, or_, select, update

from dbcpu.errors import StoreError, UnknownName, UsageError
from dbcpu.record.header import Driver
from dbcpu.store.engine import Location, translated_errors
from dbcpu.store.schema.rows import driver_at
from dbcpu.store.schema.tables import campaign, campaign_item, run

PLANNED, RUNNING, DONE, REFUSED = "planned", "running", "done", "refused"
PARTIAL, UNKNOWN, CANCELLED = "partial", "unknown", "cancelled"
STATES = (PLANNED, RUNNING, DONE, REFUSED, PARTIAL, UNKNOWN, CANCELLED)
"""``refused``: nothing was measured, ``why`` says the reason. ``partial``: some rounds are stored. ``unknown``: nobody
can say whether it was measured. ``cancelled``: stopped by the user before it was complete."""
FAILED = (REFUSED, PARTIAL, UNKNOWN)
AGAIN = (*FAILED, CANCELLED)
"""What ``resume --failed`` measures again."""
GO_ON, STOP, STOP_NOW = "", "stop", "now"
"""What is asked of the driver: nothing; to start no more; to cancel what is measured, too."""
MAX_NAME = 64
SIMULATED = "simulated"


class Item(Struct, frozen=True):
    """One target of a campaign. Times are UTC, ISO 8601.

    ``station``, ``pid``, ``boot_id`` and ``start_ticks`` name the process that measures as the table ``run`` does:
    ``boot_id`` has its pid namespace and machine too, where they are known.
    """

    target: str
    tags: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    state: str = PLANNED
    run_id: str | None = None
    why: str = ""
    station: str | None = None
    pid: int | None = None
    boot_id: str | None = None
    start_ticks: int | None = None
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def process(self) -> Driver:
        """Raises ValueError where none was started."""
        if self.pid is None:
            raise ValueError(f"no process was started for {self.target}")
        return driver_at(self.station or "", self.pid, self.start_ticks, self.boot_id or "")


class Campaign(Struct, frozen=True):
    """One plan over many targets. ``plan`` is JSON: options of ``run``, limits, and how each target is reached.

    ``lease_until_s``: seconds since 1970 by the clock of the database's server; None: nobody drives it.
    """

    name: str
    created_at: str
    tool_version: str
    sql_hash: str
    plan: Mapping[str, Any]
    stop: str = GO_ON
    lease_owner: str | None = None
    lease_until_s: float | None = None


_ITEM = tuple(campaign_item.c["group_name" if name == "group" else name] for name in Item.__struct_fields__)
_CAMPAIGN = tuple(campaign.c[name] for name in Campaign.__struct_fields__)


class CampaignTable:
    """That of an open store. ``there`` False: the store is older, cannot be written to, and has none.

    All methods raise StoreError when the database fails.
    """

    def __init__(self, location: Location, reading: Engine, *, there: bool) -> None:
        self._location, self._reading, self._there = location, reading, there
        self._writing = reading.execution_options(writes=True)

    def create(self, made: Campaign, items: Sequence[Item]) -> None:
        """Keep a new campaign with its items, all or nothing. Raises UsageError if the name is taken."""
        with translated_errors(self._location), self._writing.begin() as connection:
            try:
                connection.execute(insert(campaign).values(_campaign_values(made)))
            except exc.IntegrityError:
                raise UsageError(
                    f"the store has a campaign {made.name!r} already; go on with it by dbcpu fleet resume "
                    f"{made.name}, or give another --campaign"
                ) from None
            rows = [{"campaign": made.name, "place": at, **_named(asdict(each))} for at, each in enumerate(items)]
            connection.execute(insert(campaign_item), rows)

    def names(self) -> tuple[str, ...]:
        """Of all campaigns, the newest first."""
        if not self._there:
            return ()
        with translated_errors(self._location), self._reading.connect() as connection:
            return tuple(connection.scalars(select(campaign.c.name).order_by(campaign.c.created_at.desc())))

    def load(self, name: str) -> Campaign:
        """Raises UnknownName where there is none; StoreError where its plan is no JSON table."""
        found = None
        if self._there:
            with translated_errors(self._location), self._reading.connect() as connection:
                found = connection.execute(select(*_CAMPAIGN).where(campaign.c.name == name)).first()
        if found is None:
            raise UnknownName("campaign", name, self.names())
        values = dict(zip(Campaign.__struct_fields__, found, strict=True))
        return Campaign(**{**values, "plan": _table(values["plan"], f"the plan of campaign {name}")})

    def items(self, name: str) -> tuple[Item, ...]:
        """Those of one campaign, in the order of its inventory; () for an unknown one."""
        if not self._there:
            return ()
        wanted = select(*_ITEM).where(campaign_item.c.campaign == name).order_by(campaign_item.c.place)
        with translated_errors(self._location), self._reading.connect() as connection:
            return tuple(map(_item, connection.execute(wanted)))

    def change(
        self, name: str, target: str, *, was: Collection[str] = STATES, was_pid: int | None = None, **values: Any
    ) -> bool:
        """Set ``values`` (fields of Item) of one item whose state is in ``was``, by one statement.

        Args:
            was_pid: also only if no process was named so far (0), or exactly this one.

        Returns whether it was so; if not, nothing is changed.
        """
        same = (
            (campaign_item.c.campaign == name)
            & (campaign_item.c.target == target)
            & campaign_item.c.state.in_(was)
        )  # fmt: skip
        if was_pid is not None:
            same &= campaign_item.c.pid == was_pid if was_pid else campaign_item.c.pid.is_(None)
        with translated_errors(self._location), self._writing.begin() as connection:
            return bool(connection.execute(update(campaign_item).where(same).values(_named(values))).rowcount)

    def run_of(self, name: str, item: Item) -> tuple[str, str, int] | None:
        """run_id, status as stored and number of rounds of the run that the item's process measured, if it kept one.

        A simulated run names no process: that with the label of the item is it.
        """
        same = (run.c.driver_pid == item.pid) & (run.c.driver_hostname == item.station)
        same &= run.c.driver_boot_id == item.boot_id
        if item.start_ticks is not None:
            same &= run.c.driver_start_ticks == str(item.start_ticks)
        same |= (run.c.database_kind == SIMULATED) & (run.c.label == label_of(name, item.target))
        wanted = select(run.c.run_id, run.c.status, run.c.rounds).where(same).order_by(run.c.started_at.desc())
        with translated_errors(self._location), self._reading.connect() as connection:
            found = connection.execute(wanted).first()
        return (str(found[0]), str(found[1]), int(found[2] or 0)) if found else None

    # --- who drives it

    def take_lease(self, name: str, owner: str, for_s: float, instead_of: str | None = None) -> bool:
        """Become its driver, or stay so, for so long from now. False while another is.

        Args:
            instead_of: an owner that is known to be gone.
        """
        with translated_errors(self._location), self._writing.begin() as connection:
            now_s = _now_s(connection)
            free = or_(campaign.c.lease_owner.is_(None), campaign.c.lease_owner == owner)
            free = or_(free, campaign.c.lease_until_s < now_s)
            if instead_of is not None:
                free = or_(free, campaign.c.lease_owner == instead_of)
            taken = update(campaign).where((campaign.c.name == name) & free)
            return bool(connection.execute(taken.values(lease_owner=owner, lease_until_s=now_s + for_s)).rowcount)

    def release_lease(self, name: str, owner: str) -> None:
        """No more drive it; another owner's lease is left alone."""
        own = (campaign.c.name == name) & (campaign.c.lease_owner == owner)
        with translated_errors(self._location), self._writing.begin() as connection:
            connection.execute(update(campaign).where(own).values(lease_owner=None, lease_until_s=None))

    def ask_to_stop(self, name: str, wish: str) -> None:
        """``GO_ON``, ``STOP`` or ``STOP_NOW``; the driver looks at it every few seconds. Raises UnknownName."""
        with translated_errors(self._location), self._writing.begin() as connection:
            found = connection.execute(update(campaign).where(campaign.c.name == name).values(stop=wish)).rowcount
        if not found:
            raise UnknownName("campaign", name, self.names())


def label_of(name: str, target: str) -> str:
    """Of the runs of a target in a campaign."""
    return f"{name}/{target}"


def now() -> str:
    """UTC, ISO 8601, as the items have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _now_s(connection: Connection) -> ColumnElement[float]:
    """By the clock that all drivers of this store share: the server's; a file is on one machine."""
    if connection.dialect.name == "postgresql":
        return func.pg_catalog.date_part("epoch", func.pg_catalog.clock_timestamp())
    return literal(time.time())


def _campaign_values(made: Campaign) -> dict[str, Any]:
    values = asdict(made)
    return {**values, "plan": json.dumps(made.plan, allow_nan=False)}


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of Item as columns."""
    unknown = set(values) - set(Item.__struct_fields__)
    assert not unknown, unknown
    made = {("group_name" if name == "group" else name): value for name, value in values.items()}
    if "tags" in made:
        made["tags"] = json.dumps(dict(made["tags"]), sort_keys=True)
    if made.get("start_ticks") is not None:
        made["start_ticks"] = str(made["start_ticks"])
    return made


def _item(row: Row[Any]) -> Item:
    values = dict(zip(Item.__struct_fields__, row, strict=True))
    ticks = values["start_ticks"]
    tags = _table(values["tags"], f"the tags of {values['target']}")
    known = values["state"] if values["state"] in STATES else UNKNOWN
    return Item(**{
        **values, "tags": tags, "group": values["group"] or "", "why": values["why"] or "", "state": known,
        "start_ticks": int(ticks) if isinstance(ticks, str) and ticks.isdecimal() else None,
    })  # fmt: skip


def _table(text: object, what: str) -> dict[str, Any]:
    """A column of SQLite may hold a value of any type."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StoreError(f"{what} in the store cannot be read: it is no JSON table; measure under another --campaign")
    return found

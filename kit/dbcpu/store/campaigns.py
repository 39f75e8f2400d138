"""The tables ``campaign`` and ``campaign_item`` of a store: one plan over many targets, and how far each of them is.

Who drives a campaign holds its lease; a second one is refused until it is released, or was not renewed for a while.
The runs of a campaign are ordinary runs, which are found by their label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, Row, exc, insert, or_, select, update

from dbcpu.errors import StoreError, UnknownName, UsageError
from dbcpu.record import Driver
from dbcpu.store import codec
from dbcpu.store.engine import Location, translated_errors
from dbcpu.store.schema import rows
from dbcpu.store.schema.rows import RunSummary
from dbcpu.store.schema.tables import campaign, campaign_item, run

PLANNED, RUNNING = "planned", "running"
DONE, REFUSED, PARTIAL, UNKNOWN, CANCELLED = "done", "refused", "partial", "unknown", "cancelled"
STATES = (PLANNED, RUNNING, DONE, REFUSED, PARTIAL, UNKNOWN, CANCELLED)
"""Of an item. Refused: nothing was measured, and ``why`` says what the run said. Partial: the finished rounds are kept.
Unknown: who watched the measurement is gone. Cancelled: stopped before a round was finished."""
NO_NEW, NOW = "no new", "now"
"""What is wished of a campaign that is driven: start nothing more; or stop what is measured as well."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """One plan. ``options`` are those of ``dbcpu run``; ``failures_share``: with more refused targets none is begun."""

    name: str
    created_at: str
    tool_version: str
    options: tuple[str, ...]
    at_once: int
    failures_share: float
    stop: str | None = None
    lease_owner: str | None = None
    lease_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One target of a campaign.

    ``request`` has url, host, password_env and password_file as an inventory has them. ``driver`` is the process that
    measures it, on ``station``.
    """

    target: str
    request: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    state: str = PLANNED
    run_id: str | None = None
    why: str = ""
    station: str = ""
    driver: Driver | None = None
    started_at: str = ""
    ended_at: str = ""


class CampaignTable:
    """Those of an open store. All methods raise StoreError when the database fails."""

    def __init__(self, location: Location, reading: Engine) -> None:
        self._location, self._reading = location, reading
        self._writing = reading.execution_options(writes=True)

    def begin(self, made: Campaign, items: Sequence[Item]) -> None:
        """Keep a new campaign. Raises UsageError if there is one of that name."""
        values = {each: getattr(made, each) for each in ("name", "created_at", "tool_version", "at_once")}
        values |= {"failures_share": made.failures_share, "options": codec.dumps(list(made.options))}
        with translated_errors(self._location), self._writing.begin() as connection:
            try:
                connection.execute(insert(campaign).values(values))
            except exc.IntegrityError:
                raise UsageError(
                    f"there is a campaign {made.name!r} in the store {self._location.shown} already; go on with it by "
                    f"dbcpu fleet resume {made.name}, or give another --campaign"
                ) from None
            connection.execute(
                insert(campaign_item), [_item_values(made.name, at, each) for at, each in enumerate(items)]
            )

    def load(self, name: str) -> Campaign:
        """Raises UnknownName, which lists what there is."""
        with translated_errors(self._location), self._reading.connect() as connection:
            row = connection.execute(select(campaign).where(campaign.c.name == name)).first()
            known = connection.scalars(select(campaign.c.name).order_by(campaign.c.created_at.desc()).limit(20)).all()
        if row is None:
            raise UnknownName("campaign", name, map(str, known))
        source = f"campaign {name} in the store {self._location.shown}"
        options = codec.loads(_text(row.options) or "[]", source)
        if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
            raise codec.damaged(source, "its options are no list of texts")
        return Campaign(
            name, _text(row.created_at), _text(row.tool_version), tuple(options), _whole(row.at_once),
            _number(row.failures_share) or 0.0, row.stop if isinstance(row.stop, str) else None,
            row.lease_owner if isinstance(row.lease_owner, str) else None, _number(row.lease_until_s),
        )  # fmt: skip

    def items(self, name: str, target: str | None = None) -> tuple[Item, ...]:
        """In the order of the inventory; only that of ``target`` if one is given."""
        wanted = select(campaign_item).where(campaign_item.c.campaign == name).order_by(campaign_item.c.position)
        wanted = wanted if target is None else wanted.where(campaign_item.c.target == target)
        with translated_errors(self._location), self._reading.connect() as connection:
            found = connection.execute(wanted).all()
        return tuple(self._item(row) for row in found)

    def change(self, name: str, target: str, **values: str | Driver | None) -> None:
        """Set ``state``, ``run_id``, ``why``, ``station``, ``driver``, ``started_at`` or ``ended_at`` of one item."""
        written = {key: _driver_text(each) if isinstance(each, Driver) else each for key, each in values.items()}
        same = (campaign_item.c.campaign == name) & (campaign_item.c.target == target)
        with translated_errors(self._location), self._writing.begin() as connection:
            if not connection.execute(update(campaign_item).where(same).values(written)).rowcount:
                raise StoreError(f"campaign {name} has no target {target!r} any more; was it deleted meanwhile?")

    def runs(self, name: str, target: str | None = None) -> Mapping[str, RunSummary]:
        """Target -> its newest run in this campaign; only that of ``target`` if one is given."""
        prefix = f"{name}/"
        fits = run.c.label.startswith(prefix, autoescape=True) if target is None else run.c.label == label(name, target)
        wanted = select(*rows.SUMMARY_COLUMNS).where(fits)
        with translated_errors(self._location), self._reading.connect() as connection:
            found = [rows.summary(row) for row in connection.execute(wanted.order_by(run.c.started_at))]
        # SQLite's LIKE takes a for A.
        return {each.label.removeprefix(prefix): each for each in found if each.label.startswith(prefix)}

    def take(self, name: str, owner: str, now_s: float, until_s: float) -> bool:
        """Take or renew the lease; False where another owner has it. ``now_s`` is time of day, as all leases are."""
        free = or_(campaign.c.lease_owner.is_(None), campaign.c.lease_owner == owner, campaign.c.lease_until_s < now_s)
        wanted = update(campaign).where((campaign.c.name == name) & free)
        with translated_errors(self._location), self._writing.begin() as connection:
            return bool(connection.execute(wanted.values(lease_owner=owner, lease_until_s=until_s)).rowcount)

    def release(self, name: str, owner: str) -> None:
        """Give the lease back, if ``owner`` has it."""
        mine = (campaign.c.name == name) & (campaign.c.lease_owner == owner)
        with translated_errors(self._location), self._writing.begin() as connection:
            connection.execute(update(campaign).where(mine).values(lease_owner=None, lease_until_s=None))

    def wish(self, name: str, stop: str | None) -> None:
        """What who drives it shall do: ``NO_NEW``, ``NOW``, or None to go on."""
        with translated_errors(self._location), self._writing.begin() as connection:
            connection.execute(update(campaign).where(campaign.c.name == name).values(stop=stop))

    def _item(self, row: Row[Any]) -> Item:
        source = f"target {row.target} of campaign {row.campaign} in the store {self._location.shown}"
        driver = codec.decode(Driver, codec.loads(row.driver, source), source) if _text(row.driver) else None
        state = _text(row.state)
        if state not in STATES:
            raise codec.damaged(source, f"its state is {state[:40]!r}")
        return Item(
            _text(row.target), _texts(row.request, source), _texts(row.tags, source), _text(row.exclusive_group), state,
            _text(row.run_id) or None, _text(row.why), _text(row.station), driver, _text(row.started_at),
            _text(row.ended_at),
        )  # fmt: skip


def now_text() -> str:
    """As runs have the time at which they began, so that both can be compared as texts."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def label(name: str, target: str) -> str:
    """Of the runs of a target in a campaign."""
    return f"{name}/{target}"


def _item_values(name: str, position: int, item: Item) -> dict[str, Any]:
    return {
        "campaign": name,
        "target": item.target,
        "position": position,
        "request": codec.dumps(dict(item.request)),
        "tags": codec.dumps(dict(item.tags)),
        "exclusive_group": item.group,
        "state": item.state,
        "why": item.why,
    }


def _driver_text(driver: Driver) -> str:
    return codec.dumps(codec.encode(driver))


def _texts(value: object, source: str) -> Mapping[str, str]:
    found = codec.loads(_text(value) or "{}", source)
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise codec.damaged(source, "its request or tags are no texts")
    return found


def _text(value: object) -> str:
    """A column of SQLite may hold a value of any type."""
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None

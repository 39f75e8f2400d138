"""The store's tables. ``run`` has the columns that people query; the rest is in the JSON texts.

``figure`` is made from these two, and can be made again: see ``dbcpu.record.figures``. ``campaign`` and
``campaign_item`` say which run is whose in a fleet: see ``dbcpu.store.campaigns``.
"""

from sqlalchemy import Column, Float, ForeignKey, Integer, LargeBinary, MetaData, String, Table, Text

metadata = MetaData()

_ID = 64
_LARGE = 2**31 - 1
_LONG_TEXT = Text().with_variant(Text(_LARGE), "mysql", "mariadb")
"""Only MySQL and its like look at the length: their plain BLOB and TEXT end at 64 kB."""

run = Table(
    "run",
    metadata,
    Column("run_id", String(_ID), primary_key=True),
    Column("label", Text),
    Column("started_at", String(32), index=True),
    Column("status", String(16)),
    Column("target", Text),
    Column("database_kind", Text),
    Column("database_version", Text),
    Column("hostname", Text),
    Column("workload", Text),
    Column("size", Text),
    Column("levels", Text),
    Column("rounds", Integer),
    Column("tool_version", Text),
    # Who writes this run: a run that is 'running' without its driver was interrupted.
    Column("driver_hostname", Text),
    Column("driver_boot_id", Text),  # then, where they are known, pid namespace and machine, after a space each
    Column("driver_pid", Integer),
    Column("driver_start_ticks", Text),
    Column("header", _LONG_TEXT),
)

round_ = Table(
    "round",
    metadata,
    Column("run_id", String(_ID), ForeignKey("run.run_id", ondelete="CASCADE"), primary_key=True),
    Column("order", Integer, primary_key=True, autoincrement=False),
    Column("level", Integer),
    Column("repeat", Integer),
    Column("variant", Text),
    Column("body", LargeBinary(_LARGE)),
)

figure = Table(
    "figure",
    metadata,
    Column("run_id", String(_ID), ForeignKey("run.run_id", ondelete="CASCADE"), primary_key=True),
    Column("analysis", Integer, primary_key=True, autoincrement=False),
    Column("metric", String(64), primary_key=True),
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("variant", String(128), primary_key=True),
    Column("value", Float(53)),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("text", Text),
    sqlite_with_rowid=False,  # the key is most of a row: kept once, not twice
)

campaign = Table(
    "campaign",
    metadata,
    Column("name", String(_ID), primary_key=True),
    Column("created_at", String(32)),
    Column("tool_version", Text),
    Column("sql_hash", String(64)),
    Column("plan", _LONG_TEXT),
    Column("stop", String(8)),
    # Who drives it, and until when, in seconds since 1970 by the clock of the database's server.
    Column("lease_owner", Text),
    Column("lease_until_s", Float(53)),
)

campaign_item = Table(
    "campaign_item",
    metadata,
    Column("campaign", String(_ID), ForeignKey("campaign.name", ondelete="CASCADE"), primary_key=True),
    Column("target", String(128), primary_key=True),
    Column("place", Integer),
    Column("tags", Text),
    Column("group_name", Text),
    Column("state", String(16)),
    Column("run_id", String(_ID)),
    Column("why", Text),
    # The process that measures, as ``run`` names its driver: it is looked for when its station is gone.
    Column("station", Text),
    Column("pid", Integer),
    Column("boot_id", Text),
    Column("start_ticks", Text),
    Column("started_at", String(32)),
    Column("ended_at", String(32)),
)

"""Campaigns name the process that measures each target, and keep their whole plan.

Those of revision 0003 cannot be gone on with, and are dropped; their runs stay.
"""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, String, Text

from dbcpu.store.schema.grants import grant_as_runs

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.drop_table("campaign_item")
    op.drop_table("campaign")
    op.create_table(
        "campaign",
        Column("name", String(64), primary_key=True),
        Column("created_at", String(32)),
        Column("tool_version", Text),
        Column("sql_hash", String(64)),
        Column("plan", Text().with_variant(Text(2**31 - 1), "mysql", "mariadb")),
        Column("stop", String(8)),
        Column("lease_owner", Text),
        Column("lease_until_s", Float(53)),
    )
    op.create_table(
        "campaign_item",
        Column("campaign", String(64), ForeignKey("campaign.name", ondelete="CASCADE"), primary_key=True),
        Column("target", String(128), primary_key=True),
        Column("place", Integer),
        Column("tags", Text),
        Column("group_name", Text),
        Column("state", String(16)),
        Column("run_id", String(64)),
        Column("why", Text),
        Column("station", Text),
        Column("pid", Integer),
        Column("boot_id", Text),
        Column("start_ticks", Text),
        Column("started_at", String(32)),
        Column("ended_at", String(32)),
    )
    grant_as_runs(op.get_bind(), op.get_context().version_table_schema, "campaign", "campaign_item")

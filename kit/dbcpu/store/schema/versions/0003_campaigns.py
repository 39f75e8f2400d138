"""Campaigns: one plan over many targets, and how far each of them is."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, String, Text

from dbcpu.store.schema.grants import grant_as_runs

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "campaign",
        Column("name", String(64), primary_key=True),
        Column("created_at", String(32)),
        Column("tool_version", Text),
        Column("options", Text),
        Column("at_once", Integer),
        Column("failures_share", Float(53)),
        Column("stop", String(16)),
        Column("lease_owner", Text),
        Column("lease_until_s", Float(53)),
    )
    op.create_table(
        "campaign_item",
        Column("campaign", String(64), ForeignKey("campaign.name", ondelete="CASCADE"), primary_key=True),
        Column("target", String(128), primary_key=True),
        Column("position", Integer),
        Column("request", Text),
        Column("tags", Text),
        Column("exclusive_group", Text),
        Column("state", String(16)),
        Column("run_id", String(64)),
        Column("why", Text),
        Column("station", Text),
        Column("driver", Text),
        Column("started_at", String(32)),
        Column("ended_at", String(32)),
    )
    grant_as_runs(op.get_bind(), op.get_context().version_table_schema, "campaign", "campaign_item")

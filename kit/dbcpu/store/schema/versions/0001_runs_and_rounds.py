"""The two tables of record schema 1."""

from alembic import op
from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, String, Text

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "run",
        Column("run_id", String(64), primary_key=True),
        Column("label", Text),
        Column("started_at", String(32)),
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
        Column("driver_hostname", Text),
        Column("driver_boot_id", Text),
        Column("driver_pid", Integer),
        Column("driver_start_ticks", Text),
        Column("header", Text().with_variant(Text(2**31 - 1), "mysql", "mariadb")),
    )
    op.create_index("ix_run_started_at", "run", ["started_at"])
    op.create_table(
        "round",
        Column("run_id", String(64), ForeignKey("run.run_id", ondelete="CASCADE"), primary_key=True),
        Column("order", Integer, primary_key=True, autoincrement=False),
        Column("level", Integer),
        Column("repeat", Integer),
        Column("variant", Text),
        Column("body", LargeBinary(2**31 - 1)),
    )

"""The figures of analysed runs, for who charts and queries them. They are made again from the rounds at any time."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, String, Text

from dbcpu.store.schema.grants import grant_as_runs

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "figure",
        Column("run_id", String(64), ForeignKey("run.run_id", ondelete="CASCADE"), primary_key=True),
        Column("analysis", Integer, primary_key=True, autoincrement=False),
        Column("metric", String(64), primary_key=True),
        Column("level", Integer, primary_key=True, autoincrement=False),
        Column("variant", String(128), primary_key=True),
        Column("value", Float(53)),
        Column("low", Float(53)),
        Column("high", Float(53)),
        Column("text", Text),
        sqlite_with_rowid=False,
    )
    grant_as_runs(op.get_bind(), op.get_context().version_table_schema, "figure")

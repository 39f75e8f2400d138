"""The figures of analysed runs, for who charts and queries them. They are made again from the rounds at any time."""

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, String, Text, text

revision = "0002"
down_revision = "0001"

_GRANTEES = """
select distinct pg_catalog.quote_ident(role.rolname), acl.privilege_type
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace,
       pg_catalog.aclexplode(c.relacl) acl
  join pg_catalog.pg_roles role on role.oid operator(pg_catalog.=) acl.grantee
 where c.relname operator(pg_catalog.=) 'run' and n.nspname operator(pg_catalog.=) :schema
   and acl.grantee operator(pg_catalog.<>) c.relowner and acl.privilege_type in ('SELECT', 'INSERT')
"""
_RIGHTS = {"SELECT": "select", "INSERT": "insert, update, delete"}


def upgrade() -> None:
    where = op.get_context().version_table_schema
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
    if op.get_bind().dialect.name == "postgresql":
        # Who may read or write runs may do so with their figures: a host must not fail after the upgrade.
        table = f'"{where}".figure' if where else "figure"
        for grantee, privilege in op.get_bind().execute(text(_GRANTEES), {"schema": where}).all():
            op.execute(f"grant {_RIGHTS[privilege]} on {table} to {grantee}")

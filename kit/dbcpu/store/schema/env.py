"""Run by Alembic: applies migrations within the transaction that ``schema.upgrade`` has begun.

On a server the search path does not hold the schema of the tables. New tables are made there by themselves; what
changes tables or rows has to name it: ``schema=op.get_context().version_table_schema``.
"""

from alembic import context

from dbcpu.store.engine import schema_of
from dbcpu.store.schema import VERSION_TABLE

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    version_table=VERSION_TABLE,
    version_table_schema=schema_of(connection),
    # SQLite's DDL is transactional once BEGIN is sent by us, as the store does.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

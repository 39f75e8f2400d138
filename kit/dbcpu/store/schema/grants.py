"""Rights on tables that an upgrade adds to a store on PostgreSQL."""

from sqlalchemy import Connection, text

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


def grant_as_runs(connection: Connection, schema: str | None, *tables: str) -> None:
    """Who may read or write runs may do so with these: a host that stores its runs must not fail after the upgrade."""
    if connection.dialect.name != "postgresql":
        return
    for grantee, privilege in connection.execute(text(_GRANTEES), {"schema": schema}).all():
        for name in tables:
            table = f'"{schema}".{name}' if schema else name
            grant = f"grant {_RIGHTS[privilege]} on {table} to {grantee}"
            connection.execute(text(grant.replace(":", "\\:")))

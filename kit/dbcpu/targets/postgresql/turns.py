"""One driver measures a database at a time: an advisory lock, which ends with the connection that holds it.

Any user of the database may take that lock. Its holder is named by its role, which the server vouches for, and by its
application_name, which is whatever the session says; every user may read both.
Source: PostgreSQL documentation, "Advisory Locks" (chapter Explicit Locking), "pg_locks" and "pg_stat_activity".
"""

from datetime import UTC, datetime

from psycopg import pq

from dbcpu.hosts.driver_process import this_process
from dbcpu.targets.postgresql.connection import query, single

_LOCK = 0x64626370
"""The ASCII codes of dbcp."""
_HOST = 22
"""Characters of the host's name: PostgreSQL cuts an application_name at 63 bytes (NAMEDATALEN - 1)."""
_NAME = "select set_config('application_name', $1, false)"
_TAKE = f"select pg_try_advisory_lock({_LOCK}, 0)"
_HOLDER = f"""select l.pid, coalesce(a.usename, ''), coalesce(a.application_name, '')
  from pg_locks l left join pg_stat_activity a using (pid)
 where l.locktype = 'advisory' and l.granted and (l.classid, l.objid, l.objsubid) = ({_LOCK}, 0, 2)
   and l.database = (select oid from pg_database where datname = current_database())"""  # noqa: S608
_TRIES = 3


def take_turn(control: pq.abc.PGconn) -> str | None:
    """Take the database for this driver, as long as the connection lasts; None, or in words who has it.

    Raises ServerError.
    """
    me = this_process()
    own = f"dbcpu {me.pid}@{me.hostname[:_HOST]} since "
    query(control, _NAME, f"{own}{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    for _ in range(_TRIES):
        if single(control, _TAKE) == "t":
            return None
        for pid, role, name in query(control, _HOLDER):
            if str(name).startswith(own):
                return None  # by another connection of this driver: a target that is given twice
            by_itself = f'"{name}", as its session calls itself,' if name else "a session without a name"
            return f"{by_itself} of role {role or 'unknown'} (server process {pid})"
    return None  # taken and given back meanwhile, again and again: nobody keeps it

"""A PostgreSQL server as a target, for every way of reaching or starting it.

One driver measures a database at a time: it holds an advisory lock, which ends with its connection. Any user of the
database may take that lock. Its holder is named by its role, which the server vouches for, and by its
application_name, which is whatever the session says; every user may read both.
Source: PostgreSQL documentation, "Advisory Locks" (chapter Explicit Locking), "pg_locks" and "pg_stat_activity".
"""

import time
from datetime import UTC, datetime
from typing import Self

from psycopg import pq

from dbcpu.errors import ConnectError
from dbcpu.formatting import plural
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.driver_process import this_process
from dbcpu.hosts.local import LocalHost
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock
from dbcpu.record.service_remedies import not_visible
from dbcpu.targets.base import CLOCK_PROBES, Work
from dbcpu.targets.postgresql.connection import GRANTED_SINCE, dial, may_set, pairs, query, single, single_number
from dbcpu.targets.postgresql.host_over_sql import look_for
from dbcpu.targets.postgresql.session import LibpqSession

# The settings that decide how much CPU a session gets, or how the measured SQL is run.
_PARAMETERS = """select name, current_setting(name) from pg_settings where name = any(array[
  'max_connections', 'superuser_reserved_connections', 'reserved_connections', 'shared_buffers', 'work_mem',
  'jit', 'max_parallel_workers_per_gather', 'max_worker_processes', 'io_method', 'huge_pages', 'autovacuum',
  'track_activities', 'session_preload_libraries', 'shared_preload_libraries', 'update_process_title',
  'server_encoding'])"""

# Of the server, and of role and database, whose limits a superuser does not have. An ordinary user does not see the
# kind of a process; the server's own ones have no database. Source: PostgreSQL documentation, CREATE ROLE and CREATE
# DATABASE, CONNECTION LIMIT.
_FREE = """select least(current_setting('max_connections')::int
  - coalesce((select sum(setting::int) from pg_settings
               where name in ('superuser_reserved_connections', 'reserved_connections')
                 and current_setting('is_superuser') = 'off'), 0)
  - (select count(*) from pg_stat_activity
      where coalesce(backend_type, 'client backend') = 'client backend' and datid is not null),
  (select rolconnlimit - (select count(*) from pg_stat_activity where usesysid = r.oid)
     from pg_roles r where rolname = session_user and rolconnlimit >= 0 and not rolsuper),
  (select datconnlimit - (select count(*) from pg_stat_activity where datid = d.oid)
     from pg_database d where datname = current_database() and datconnlimit >= 0
      and current_setting('is_superuser') = 'off'))"""

_BUSY = """select count(*) from pg_stat_activity
 where state = 'active' and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend'"""

# Each row: what this user may not see or set, and the statement that grants it, '' before the version that has it.
_UNCHECKED = """select 'whether sessions of other users are active',
       case when exists (select from pg_roles where rolname = 'pg_read_all_stats')
            then format('grant pg_read_all_stats to %I;', current_user) else '' end
 where not coalesce((select pg_has_role(oid, 'usage') from pg_roles where rolname = 'pg_read_all_stats'),
                    current_setting('is_superuser') = 'on')
 union all
select 'whether temporary files were written',
       case when current_setting('server_version_num')::int >= {since}
            then format('grant set on parameter temp_file_limit to %I;', current_user) else '' end
 where not ({may_set})"""


class LibpqTarget:
    """See ``targets.base.Target``."""

    kind = "postgresql"
    blocks_by = "pg_sleep"

    def __init__(self, conninfo: str, *, private: bool = False) -> None:
        self.private = private
        self._conninfo = conninfo
        self._control: pq.abc.PGconn | None = None

    def __enter__(self) -> Self:
        self._control = dial(self._conninfo, 10.0)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._control is not None:
            self._control.finish()
            self._control = None

    def connect(self, ordinal: int, timeout_s: float) -> LibpqSession:
        return LibpqSession(ordinal, dial(self._conninfo, timeout_s))

    def describe(self) -> Database:
        control = self._connection()
        parameters = pairs(control, _PARAMETERS)
        version = single(control, "select current_setting('server_version')")
        library = pq.version()
        return Database(
            kind=self.kind,
            version=version,
            parameters=parameters,
            driver=f"psycopg libpq {library // 10000}.{library % 10000}",
            driver_on_host=self.host() is not None,
            not_checked=self._unchecked(),
        )

    def explain(self, work: Work) -> str | None:
        """Operators of the plan, outermost first, as EXPLAIN names them under the settings of a session."""
        session = self.connect(0, 10.0)
        try:
            session.prepare(work)
            lines = session.explain(work.sql)
        finally:
            session.close()
        marked = [line.replace("->", "  ").split("  (")[0] for line in lines]
        operators = [line.strip() for line in marked if ":" not in line and not line.strip().startswith("CTE ")]
        return " > ".join(operator.split(" on ")[0] for operator in operators)

    def clock(self) -> Clock:
        control = self._connection()
        best = (float("inf"), 0.0)
        for _ in range(CLOCK_PROBES):
            sent_s, sent_epoch_s = time.perf_counter(), time.time()
            server_s = single_number(control, "select extract(epoch from clock_timestamp())")
            trip_s = time.perf_counter() - sent_s
            best = min(best, (trip_s, server_s - (sent_epoch_s + trip_s / 2)))
        return Clock("server", offset_s=best[1], uncertainty_s=best[0] / 2)

    def connections_free(self) -> int | None:
        return int(single_number(self._connection(), _FREE))

    def host(self) -> Host | None:
        """This machine when the connection stays on it; the verification of each process decides."""
        rows = query(
            self._connection(),
            "select inet_server_addr() is null, host(inet_server_addr()) = host(inet_client_addr())",
        )
        return LocalHost() if rows and "t" in rows[0] else None

    def files_host(self) -> tuple[RemoteHost | None, str]:
        """The server's host as a separate session may read it, and the function it uses; or None and the reason."""
        connection = dial(self._conninfo, 10.0)
        try:
            host, how = look_for(connection)
        except BaseException:
            connection.finish()
            raise
        if host is None:
            connection.finish()
        return host, how

    def vcpus(self) -> tuple[int, str] | None:
        return None

    def findings(self) -> tuple[Finding, ...]:
        control = self._connection()
        found: list[Finding] = []
        busy = int(single_number(control, _BUSY))
        if busy:
            found.append(noted("database-busy", f"{plural(busy, 'other session')} executing statements"))
        if single(control, "select pg_is_in_recovery()") == "t":
            found.append(noted("standby", "the server is a standby"))
        if unchecked := not_visible([self._unchecked()]):
            found.append(unchecked)
        return tuple(found)

    def take_turn(self) -> str | None:
        """See ``targets.base.TakesTurns``."""
        return None if self.private else take_turn(self._connection())

    def _unchecked(self) -> dict[str, str]:
        control = self._connection()
        return pairs(control, _UNCHECKED.format(since=GRANTED_SINCE, may_set=may_set(control, "'temp_file_limit'")))

    def _connection(self) -> pq.abc.PGconn:
        if self._control is None or self._control.status == pq.ConnStatus.BAD:
            raise ConnectError("the server closed the connection; see its log for the reason, then run again")
        return self._control


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

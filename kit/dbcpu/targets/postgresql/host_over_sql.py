"""The server's host as a PostgreSQL session sees it: files by pg_read_binary_file, or processes by pg_proctab.

The session is one of its own, so that reading never waits for what is measured. Its server process is
dbcpu's own, and its CPU time is what this way of watching costs.
Source: PostgreSQL documentation, "System Administration Functions", section Generic File Access Functions
"""

import json
import posixpath
import threading
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase

from psycopg import pq

from dbcpu.errors import HostError, ServerError
from dbcpu.hosts.base import Finished, HostPoll, Reading
from dbcpu.hosts.proc import ProcessStat, SchedStat
from dbcpu.targets.postgresql.connection import prepare, query, query_prepared

USER_HZ = 100
"""Of every Linux that PostgreSQL is packaged for; the server cannot be asked."""
STAMP_GRAIN_S = 1e-6
STATEMENT_TIMEOUT_S = 30
_FILES_AT_ONCE = 400
_MAX_BYTES = 1 << 20
_POLL = b"dbcpu_poll"

GRANTS = (
    "grant pg_read_server_files to {user}; grant execute on function "
    "pg_read_binary_file(text, bigint, bigint, boolean), pg_ls_dir(text, boolean, boolean) to {user}"
)

_MAY = """select current_user,
       count(*) filter (where p.oid is not null and has_function_privilege(p.oid, 'execute')) = 2,
       coalesce((select pg_has_role(oid, 'usage') from pg_roles where rolname = 'pg_read_server_files'), true)
  from (values ('pg_read_binary_file(text,bigint,bigint,boolean)'), ('pg_ls_dir(text,boolean,boolean)')) f(name)
  left join pg_proc p on p.oid = to_regprocedure('pg_catalog.' || f.name)"""

# The extension's own function, as a superuser made it: one of that name may be anybody's, and would run as this user.
_PROCTAB = """select quote_ident(n.nspname)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  join pg_extension e on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid and e.extname = 'pg_proctab'
  join pg_roles o on o.oid = p.proowner and o.rolsuper
 where p.proname = 'pg_proctab' and p.pronargs = 0
   and has_function_privilege(p.oid, 'execute') and has_schema_privilege(n.oid, 'usage') limit 1"""

_READ = f"""select pg_read_binary_file(f, 0, {_MAX_BYTES}, true) from json_array_elements_text($1::json) f"""  # noqa: S608 - a number of its own

_READ_POLL = """select extract(epoch from clock_timestamp()), null::bytea, null::bytea
 union all
select null, pg_read_binary_file(f || '/stat', 0, 1024, true), pg_read_binary_file(f || '/schedstat', 0, 80, true)
  from json_array_elements_text($1::json) f
 union all
select null, pg_read_binary_file('/proc/stat', 0, 131072, true), null where $2::boolean"""

# The columns of proc(5) stat up to rss, then thirteen that pg_proctab leaves out, then the rest.
_PROCTAB_STATS = """select concat_ws(' ', pid, '(' || comm || ')', state, ppid, pgrp, session, tty_nr, tpgid, flags,
  minflt, cminflt, majflt, cmajflt, utime, stime, cutime, cstime, priority, nice, num_threads, itrealvalue,
  starttime, vsize, rss, '0 0 0 0 0 0 0 0 0 0 0 0 0', exit_signal, processor, rt_priority, policy,
  delayacct_blkio_ticks), fullcomm
  from {schema}.pg_proctab()"""

_PROCTAB_POLL = (
    """select extract(epoch from clock_timestamp())::text, null
 union all """  # noqa: S608 - two constants
    + _PROCTAB_STATS
)


class _SqlHost:
    """What both ways of reading share. See ``hosts.base.RemoteHost``."""

    over = "sql"
    live = True
    clock_ticks = USER_HZ

    def __init__(self, connection: pq.abc.PGconn) -> None:
        self.name = "sql"
        self.own_pids: tuple[int, ...] = (connection.backend_pid,)
        self._connection = connection
        self._lock = threading.Lock()
        self._folders: tuple[str, ...] = ()
        self._query(
            "select set_config(name, value, false) from json_each_text($1::json) as w(name, value)",
            json.dumps({"bytea_output": "hex", "jit": "off", "statement_timeout": f"{STATEMENT_TIMEOUT_S}s"}),
        )

    def close(self) -> None:
        """End the session."""
        with self._lock:
            self._connection.finish()

    def write(self, path: str, text: str) -> None:
        raise HostError(f"{path} was not written: through the database its host can only be read; use --host ssh:NAME")

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        raise HostError(f"{argv[0]} was not run: through the database its host can only be read; use --host ssh:NAME")

    def clock(self) -> float:
        """The server's clock: seconds since the epoch, for a session sees no other."""
        return float(self._query("select extract(epoch from clock_timestamp())")[0][0] or 0)

    def _query(self, sql: str, *values: str) -> list[tuple[str | None, ...]]:
        """Raises ServerError for what cannot be read, HostError when the session is gone."""
        with self._lock:
            try:
                return query(self._connection, sql, *values)
            except ServerError as error:
                self._check(error)
                raise

    def _run_poll(self, *values: str) -> tuple[float, float, list[tuple[str | None, ...]]]:
        with self._lock:
            sent_s = time.monotonic()
            try:
                rows = query_prepared(self._connection, _POLL, *values)
            except ServerError as error:
                self._check(error)
                raise
            return sent_s, time.monotonic(), rows

    def _check(self, error: ServerError) -> None:
        if self._connection.status == pq.ConnStatus.BAD:
            raise HostError(f"the session that reads the server's host was lost: {error}") from None


class FilesHost(_SqlHost):
    """Every file that the server's operating system user can read."""

    def __init__(self, connection: pq.abc.PGconn) -> None:
        super().__init__(connection)
        prepare(connection, _POLL, _READ_POLL)

    def read(self, path: str) -> str:
        found = self.read_all([path])
        if path not in found:
            raise FileNotFoundError(path)
        return found[path]

    def list(self, path: str) -> tuple[str, ...]:
        try:
            rows = self._query("select pg_ls_dir($1, true, false)", path)
        except ServerError:
            return ()
        return tuple(sorted(str(name) for (name,) in rows))

    def read_all(self, paths: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for at in range(0, len(paths), _FILES_AT_ONCE):
            found |= self._read(paths[at : at + _FILES_AT_ONCE])
        return found

    def _read(self, paths: Sequence[str]) -> dict[str, str]:
        """One file that fails (a process that ends meanwhile) fails the statement: then each half by itself."""
        try:
            rows = self._query(_READ, json.dumps(list(paths)))
        except ServerError:
            if len(paths) < 2:
                return {}
            middle = len(paths) // 2
            return self._read(paths[:middle]) | self._read(paths[middle:])
        return {path: _text(value) for path, (value,) in zip(paths, rows, strict=True) if value is not None}

    def read_matching(self, patterns: Sequence[str]) -> dict[str, str]:
        listed: dict[str, tuple[str, ...]] = {}

        def names(folder: str) -> tuple[str, ...]:
            if folder not in listed:
                listed[folder] = self.list(folder)
            return listed[folder]

        found: list[str] = []
        for pattern in patterns:
            paths = ["/"]
            for part in pattern.strip("/").split("/"):
                wild = "*" in part or "[" in part
                paths = [
                    posixpath.join(path, name)
                    for path in paths
                    for name in ((entry for entry in names(path) if fnmatchcase(entry, part)) if wild else (part,))
                ]
            found += paths
        return self.read_all(found)

    def process_stats(self) -> tuple[str, ...]:
        pids = [name for name in self.list("/proc") if name.isdecimal()]
        return tuple(self.read_all([f"/proc/{pid}/stat" for pid in pids]).values())

    def watch(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)

    def poll(self, cpus: bool) -> HostPoll:
        try:
            sent_s, received_s, rows = self._run_poll(json.dumps(self._folders), str(cpus).lower())
        except ServerError:
            # A process ended between its file's opening and reading: from now on without it.
            there = self.read_all([f"{folder}/stat" for folder in self._folders])
            rest = [folder if f"{folder}/stat" in there else "/nowhere" for folder in self._folders]
            sent_s, received_s, rows = self._run_poll(json.dumps(rest), str(cpus).lower())
        readings = tuple(_reading(stat, counted) for _, stat, counted in rows[1 : 1 + len(self._folders)])
        text = _text(rows[-1][1]) if cpus else ""
        return HostPoll(sent_s, received_s, float(rows[0][0] or 0), STAMP_GRAIN_S, readings, text)


class ProctabHost(_SqlHost):
    """The server's own processes, as the extension pg_proctab shows them: no other file of the host."""

    def __init__(self, connection: pq.abc.PGconn, schema: str) -> None:
        super().__init__(connection)
        self._stats = _PROCTAB_STATS.format(schema=schema)
        prepare(connection, _POLL, _PROCTAB_POLL.format(schema=schema))

    def read(self, path: str) -> str:
        found = self.read_all([path])
        if path not in found:
            raise FileNotFoundError(path)
        return found[path]

    def list(self, path: str) -> tuple[str, ...]:
        return ()

    def read_all(self, paths: Sequence[str]) -> dict[str, str]:
        wanted = set(paths)
        if not any(path.startswith("/proc/") and path.endswith(("/stat", "/cmdline")) for path in wanted):
            return {}
        found: dict[str, str] = {}
        for stat, command in self._query(self._stats):
            folder = f"/proc/{(stat or '').partition(' ')[0]}"
            found |= {f"{folder}/stat": f"{stat}\n", f"{folder}/cmdline": command or ""}
        return {path: text for path, text in found.items() if path in wanted}

    def read_matching(self, patterns: Sequence[str]) -> dict[str, str]:
        return {}

    def process_stats(self) -> tuple[str, ...]:
        return tuple(str(stat) for stat, _ in self._query(self._stats))

    def watch(self, folders: Sequence[str]) -> None:
        self._folders = tuple(folders)

    def poll(self, cpus: bool) -> HostPoll:
        sent_s, received_s, rows = self._run_poll()
        by_pid = {f"/proc/{(stat or '').partition(' ')[0]}": stat for stat, _ in rows[1:]}
        readings = tuple(_of_stat(by_pid.get(folder), "") for folder in self._folders)
        return HostPoll(sent_s, received_s, float(rows[0][0] or 0), STAMP_GRAIN_S, readings, "")


def look_for(connection: pq.abc.PGconn) -> tuple[FilesHost | ProctabHost | None, str]:
    """The best way in which this session may see its host, and which; or None, and what would have to be granted.

    Raises ServerError.
    """
    ((user, granted, may_read),) = query(connection, _MAY)
    if granted == "t" and may_read == "t":
        host = FilesHost(connection)
        if host.read_all(["/proc/self/stat"]):
            return host, "pg_read_binary_file"
        return None, "the server's host has no Linux /proc"
    schema = query(connection, _PROCTAB)
    if schema:
        return ProctabHost(connection, str(schema[0][0])), "pg_proctab"
    return (
        None,
        f"user {user} may not read the server's /proc (`{GRANTS.format(user=user)}`, or the extension pg_proctab)",
    )


def _text(value: str | None) -> str:
    """bytea as PostgreSQL writes it; NUL, as in /proc/PID/cmdline, becomes a blank."""
    raw = bytes.fromhex((value or "")[2:])
    return raw.replace(b"\0", b" ").decode("utf-8", "replace")


def _reading(stat: str | None, counted: str | None) -> Reading | None:
    return None if stat is None else _of_stat(_text(stat), _text(counted))


def _of_stat(stat: str | None, schedstat: str) -> Reading | None:
    if not stat or ")" not in stat:
        return None
    found, counted = ProcessStat.parse(stat), SchedStat.parse(schedstat)
    run_ns, run_delay_ns = (counted.run_ns, counted.run_delay_ns) if counted else (None, None)
    return Reading(found.state, found.cpu, found.start_ticks, run_ns, run_delay_ns)

"""What can be made to go wrong. Everything is off by default: the double is then a well-behaved server."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

from msgspec import Struct


def settings(pairs: Iterable[str]) -> dict[str, Any]:
    """``name=value`` texts as a dict; a value is JSON, or text if it is not."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


class Faults(Struct, frozen=True):
    """Fault switches; each has a test of its own.

    Connections are counted from 0 in the order they were accepted; ``from_connection`` is the first that the four
    switches above it apply to, so that a control connection may come through. ``sessions`` says which sessions
    the switches below it apply to (None: all), by their index among the sessions that execute work: each
    takes the smallest free one at its first workload statement and frees it when it ends. ``cpus`` uses the same
    index: session i is pinned to ``cpus[i]``, beyond its end not at all.
    """

    connect_delay_s: float = 0.0
    """The listener answers so much later."""
    silent: bool = False
    """The connection is accepted and nothing is ever sent."""
    refuse: int | None = None
    """The listener refuses with this ORA number: 12514, 12505, 12516, 12520 ..."""
    most_sessions: int | None = None
    """Beyond so many sessions at once the listener refuses with ORA-12516."""
    from_connection: int = 0

    logon_warning: int = 0
    """The logon succeeds with this ORA number: 28002, a password that is about to expire."""
    error: int | None = None
    """The n-th execution of work (``at_execution``) ends with this ORA number, half-way."""
    kill: bool = False
    """In the n-th execution the server process kills itself, half-way."""
    endless: bool = False
    """The n-th execution ends only when it is told to; it takes no CPU meanwhile."""
    wrong_count: bool = False
    """From the n-th execution on, the answer is one too high."""
    odd_plan: bool = False
    """The sessions report another plan_hash_value than the rest."""
    skips_work: bool = False
    """From the n-th execution on, the right answer is given without work, as by an optimizer that multiplies."""
    nested_loops: bool = False
    """The plan of ``cartesian`` has nested loops, as where each view is estimated at one row and hints are ignored."""
    groups_early: bool = False
    """The plan groups below its joins, so that few rows are joined: work is a tenth, and the answer is right."""
    at_execution: int = 1
    """Executions are counted from 1 per session and text of work; parsing and other statements do not count."""
    least_n: int = 0
    """Texts with a smaller n do not count: those of the warm-up, of which there are as many as a moment holds."""
    sessions: tuple[int, ...] | None = None

    cpus: tuple[int, ...] = ()
    ahead: bool = False
    """Sessions that work are served before the machine's other work, where that is permitted: for a busy machine."""
    server: str = "DEDICATED"
    """v$session.server of every session: DEDICATED, SHARED, POOLED."""
    started_ahead_s: float = 0.0
    """Server processes are so much older than their sessions, as prespawned ones are: LOGON_TIME is shifted."""
    shared_spid: bool = False
    """v$process shows one spid for all sessions."""
    one_process: bool = False
    """v$process shows the process of the first session for all, as it is where sessions are threads of one."""
    threaded: bool = False
    """threaded_execution: the session is served by a thread, v$process.stid, of a process ora_u005_SID."""
    ungranted: tuple[str, ...] = ()
    """Views (``v$session``) and actions (``alter system``, ``create table``) without privilege; ``all`` for all.

    What PUBLIC may read (V$RSRC_PLAN) stays readable with ``all``, and goes with ``public``, as in a hardened database.

    Packages that are not executable: ``dbms_sql``, ``dbms_output``, ``dbms_utility``; ``all`` does not mean them.
    """
    down: tuple[int, ...] = ()
    """Instances that the listener does not know: sessions go to the others."""
    cluster_views_fail: int = 0
    """Queries of GV$ views end with this ORA number: 12850, where an instance joins or leaves the cluster."""
    refused_settings: tuple[str, ...] = ()
    """ALTER SESSION of these (``result_cache_mode``, ``parallel query``) ends with ORA-01031: a lockdown profile."""
    ignored_settings: tuple[str, ...] = ()
    """ALTER SESSION of these has no effect and no error (LOCKDOWN_ERRORS = suppress)."""
    traced: bool = False
    """A logon trigger traces the sessions that work: V$SESSION.SQL_TRACE."""
    spilled: int = 0
    """Work areas that each execution of work reports as onepass."""
    missing_columns: tuple[str, ...] = ()
    """Columns that this version's views lack: ``v$process.stid``."""
    missing_statistics: tuple[str, ...] = ()
    """Rows that this platform's V$OSSTAT lacks: ``IDLE_TIME``."""
    old_metrics: bool = False
    """V$RSRCPDBMETRIC has no new rows."""
    frozen_statistics: bool = False
    """V$OSSTAT is not refreshed: its times stay what they are."""
    notices_gone_client: bool = False
    """A running statement ends when its client is gone. A real server goes on, and so does the double."""
    ignores_break: bool = False
    """A running statement is not cancelled by a break (a firewall that drops urgent data, a stuck server)."""
    extra_io: int = 0
    """Physical reads that each execution of work reports: work that was not free of IO."""
    resource_manager_wait_s: float = 0.0
    """Each execution of work waits so long for ``resmgr:cpu quantum``, asleep."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Lists become tuples again."""
        fitting: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fitting)

    @classmethod
    def from_text(cls, pairs: Iterable[str]) -> Self:
        """``name=value`` each, the value as JSON or, if it is none, as text."""
        return cls.from_json(settings(pairs))

    def affects(self, index: int | None) -> bool:
        """Whether the switches that ``sessions`` limits apply to the session with this index."""
        return self.sessions is None or index in self.sessions

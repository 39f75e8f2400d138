"""What an Oracle database offers a measurement."""

import contextlib
import math
import platform
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Self

from msgspec.structs import replace

from dbcpu.errors import ConnectError, DbcpuError, ServerError
from dbcpu.hosts.base import Host
from dbcpu.hosts.local import LocalHost
from dbcpu.record.findings import Finding
from dbcpu.record.header import RDS, UNSET, Database
from dbcpu.record.rounds import Clock
from dbcpu.targets.base import CLOCK_PROBES, HostReading, Work
from dbcpu.targets.oracle import caging, leftovers, preflight, privileges, settings, statements, vcpus
from dbcpu.targets.oracle import driver as oracle_driver
from dbcpu.targets.oracle.address import Address, same_host
from dbcpu.targets.oracle.caging import Cage, checked_name, same_name
from dbcpu.targets.oracle.connections import tightest_limit
from dbcpu.targets.oracle.counters import host_reading, numbers
from dbcpu.targets.oracle.driver import Connection, Dialer, Views, query
from dbcpu.targets.oracle.facts import Facts, read_facts, unknown_for
from dbcpu.targets.oracle.identity import in_container, server_process
from dbcpu.targets.oracle.leftovers import FromControl, Leftover, Unended
from dbcpu.targets.oracle.plans import active_between, is_query, shape, sql_id
from dbcpu.targets.oracle.session import BATCH_S, OracleSession
from dbcpu.targets.oracle.settings import Applied
from dbcpu.targets.oracle.standby import MAKES_NO_TABLE, NO_TABLE

CONNECT_TIMEOUT_S = 20.0
_BUSY_QUERIES = 40
_OWN_TABLE = "dbcpu_logical_io"
_NOTHING = "0" * 13
_LATELY_S = 60.0
"""Longer than preparing a session takes: the plan of a text that it has just parsed is not older."""
_ASKED_LATER: dict[str, dict[str, str | int]] = {
    "counters": {},
    "time_model": {},
    "waits": {},
    "session_limits": {},
    "packages": {},
    "cursor_plans": {"sql_id": _NOTHING, "oldest_s": 0, "newest_s": 0},
    "plan_operators": {"sql_id": _NOTHING, "child_number": 0},
}
_CLUSTER = {True: "ON", False: None, None: "unknown"}
"""As the record has it; nothing of a single instance."""
_DROP_TRIES = 5
_SLEEPS_FROM = 18


def call_s(limits: Mapping[str, int]) -> float:
    """How long a call goes on with new executions: half of what the profile's CPU_PER_CALL allows, or ``BATCH_S``.

    The last execution of a call begins before that. The limit is in hundredths of a second.
    Source: Oracle Database SQL Language Reference, CREATE PROFILE
    """
    return min(BATCH_S, limits.get("CPU_PER_CALL", math.inf) / 200)


class OracleTarget:
    """See ``targets.base.Target``."""

    kind = "oracle"
    private = False

    def __init__(self, address: Address, password: str | None) -> None:
        self._another_dialer = partial(Dialer, address, password, leftovers.own_tag())
        self._dialer = self._another_dialer()
        self._views = Views()
        self._control: Connection | None = None
        self._facts = Facts()
        self._leftovers: tuple[Leftover, ...] = ()
        self._offset_s = 0.0
        self._made_table = False
        self._here = platform.node()
        self._contained = False
        self._settings = Applied({})
        self._cages: dict[str, Cage] = {}
        self._stack = contextlib.ExitStack()
        self._left: list[Unended] = []

    @property
    def blocks_by(self) -> str:
        """See ``targets.base.HasBlockingJobs``: before 18c only DBMS_LOCK could sleep, which is granted to nobody."""
        first = self._facts.version.partition(".")[0]
        return "dbms_session.sleep" if first.isdecimal() and int(first) >= _SLEEPS_FROM else ""

    def __enter__(self) -> Self:
        self._control = control = self._dialer.connect(CONNECT_TIMEOUT_S)
        try:
            self._facts = read_facts(control, self._views)
            if not same_host(self._facts.server_host, self._here):
                self._contained = in_container(server_process(control, self._views), LocalHost(), self._busy)
            facts = self._facts
            self._leftovers = leftovers.end_leftovers(control, self._views, facts)
            # One instance is one host. Gateways and proxies know no instance by name: a single one is not asked for,
            # and none of an Autonomous Database. Where sessions really came to is looked at after the run.
            held = facts.several_instances and facts.instance_name and not facts.autonomous
            if held and not self._dialer.pinned:
                self._dialer.pin(facts.instance_name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        if self._control is not None:
            if self._made_table:
                self._drop_table(self._control)
            oracle_driver.close(self._control)
            self._control = None

    def connect(self, ordinal: int, timeout_s: float) -> OracleSession:
        connection = self._dialer.connect(timeout_s)
        here = self._facts.server_host if self._contained else self._here
        elsewhere = FromControl(self._connection, lambda: self._facts, self._left.append)
        return OracleSession(
            ordinal,
            connection,
            self._views,
            lambda: self._offset_s,
            here,
            self._making,
            elsewhere,
            self._hygiene,
            call_s(self._facts.limits),
        )

    def describe(self) -> Database:
        facts = self._facts
        named = {
            UNSET: settings.words(self._settings.missing),
            "dynamic_sql": "native" if "packages" in self._views.denied else None,
            "edition": facts.product,
            "instance_name": facts.instance_name,
            "service_name": facts.service,
            "server_host": facts.server_host,
            "container": facts.container,
            "platform": facts.platform or "unknown",
            "cloud_service": facts.cloud_service,
            "managed_service": RDS if facts.rds else None,
            "autonomous": "ON" if facts.autonomous else None,
            "database_role": facts.role if facts.role != "PRIMARY" else None,
            "root_plan": "ON" if facts.root_plan else None,
            "managed_cpus": str(facts.managed) if facts.managed is not None else None,
            "server": facts.server,
            "consumer_group": facts.consumer_group,
            "resource_plan": facts.plan[0] if facts.plan else None,
            "cpu_managed": ("ON" if facts.plan[1] else "OFF") if facts.plan else None,
            "instance_caging": ("ON" if facts.caged else "OFF") if facts.plan else None,
            "cpu_scope": facts.cpu_scope or None,
            "maintenance_window": facts.window[0] if facts.window else None,
            "other_runs": "unknown" if "tagged_sessions" in self._views.denied else None,
            "cpu_count_set": "ON" if facts.count_set else None,
            "cluster": _CLUSTER[facts.cluster],
            "instances": str(facts.instances) if facts.instances else None,
            **{name.lower(): f"{number:.0f}" for name, number in facts.osstat.items() if name.startswith("NUM_")},
        }
        return Database(
            kind=self.kind,
            version=facts.version,
            parameters={**{name: value for name, value in named.items() if value}, **facts.parameters},
            driver=oracle_driver.version(),
            driver_on_host=self.host() is not None,
            not_checked=privileges.unchecked(
                self._denied, facts.user, facts.rds, cloud=facts.autonomous, read=privileges.reads(facts.version)
            ),
        )

    def explain(self, work: Work) -> str | None:
        """Operators of the plan, from the cursor that a session parsed; None without V$SQL and V$SQL_PLAN."""
        if not is_query(work.sql):
            return None
        session = self.connect(0, CONNECT_TIMEOUT_S)
        try:
            session.prepare(work)
            found = self._operators(work.sql)
            if found is None and "cursor_plans" not in self._views.denied:
                # Not yet listed, being parsed only: the same text at its smallest size has the same operators.
                session.warm()
                found = self._operators(work.warm_sql)
            return found
        finally:
            session.close()

    def _operators(self, sql: str) -> str | None:
        control, identifier = self._connection(), sql_id(sql)
        cursor = self._views.one(control, "cursor_plans", active_between(identifier, _LATELY_S, self._facts.ahead_s))
        if cursor is None:
            return None
        binds = {"sql_id": identifier, "child_number": cursor[1]}
        return shape(self._views.rows(control, "plan_operators", binds) or ())

    def clock(self) -> Clock:
        control = self._connection()
        best = (float("inf"), 0.0)
        text = statements.text("clock")
        for _ in range(CLOCK_PROBES):
            sent_s, sent_epoch_s = time.perf_counter(), time.time()
            server_s = float(query(control, text)[0][0])
            trip_s = time.perf_counter() - sent_s
            best = min(best, (trip_s, server_s - (sent_epoch_s + trip_s / 2)))
        self._offset_s = best[1]
        return Clock("server", offset_s=best[1], uncertainty_s=best[0] / 2)

    def connections_free(self) -> int | None:
        found = self._room()
        return found[0] if found else None

    def connection_limit(self) -> str:
        """See ``targets.base.NamesItsLimit``."""
        found = self._room()
        return found[1] if found else ""

    def _room(self) -> tuple[int, str] | None:
        return tightest_limit(self._views.rows(self._connection(), "session_limits") or (), self._facts)

    def host(self) -> Host | None:
        """This machine when the server runs on it or in a container of it; each process is verified besides."""
        return LocalHost() if self._contained or same_host(self._facts.server_host, self._here) else None

    def vcpus(self) -> tuple[int, str] | None:
        return vcpus.usable(self._facts)

    def take_turn(self) -> str | None:
        """See ``targets.base.TakesTurns``: every session is tagged at its logon, so that of two the later sees one."""
        return leftovers.measured_by(self._leftovers, self._facts.instance)

    def still_working(self) -> str:
        """See ``targets.base.LeavesWork``."""
        return leftovers.goes_on(self._left, rds=self._facts.rds)

    def host_reading(self) -> HostReading | None:
        """See ``targets.base.CountsItsHost``."""
        asked_s = time.monotonic()
        rows = self._views.rows(self._connection(), "osstat")
        at_s = (asked_s + time.monotonic()) / 2
        return None if rows is None else host_reading(numbers(rows), at_s, self._facts.server_host)

    def findings(self) -> tuple[Finding, ...]:
        # What sessions will ask is tried here once, so that all missing grants are reported at once.
        for name, binds in _ASKED_LATER.items():
            self._views.rows(self._connection(), name, binds)
        self._hygiene(settings.apply(self._connection(), self._views))
        self._facts = replace(self._facts, denied=self._denied, settings=self._settings.missing)
        report = preflight.report(self._facts, self.vcpus())
        return (*report, *preflight.findings(self._facts), *leftovers.findings(self._leftovers, rds=self._facts.rds))

    def parameter(self, name: str, instance: str = "") -> str:
        return self._caged(instance).read(name)

    def set_parameter(self, name: str, value: str, instance: str = "") -> None:
        self._caged(instance).write(name, value)

    # --- see ``variants._settings.Parameters``

    def why_kept(self, name: str, value: str) -> str:
        return caging.why_kept(name, value)

    def passes(self, name: str, value: str) -> bool:
        return caging.passes(name, value)

    def without_effect(self, instance: str = "") -> str:
        return self._caged(instance).without_effect()

    def next_window(self) -> tuple[str, float] | None:
        try:
            row = self._views.one(self._connection(), "next_window")
        except ServerError:  # a variant of anything else needs no window
            if not oracle_driver.is_healthy(self._connection()):
                raise
            row = None
        return None if row is None else (f"scheduler window {row[0]} with resource plan {row[1]}", float(row[2]))

    def perhaps_one_of_several(self) -> str:
        """See ``variants._settings.Parameters``."""
        facts = self._facts
        return facts.instance_name if facts.several_instances or facts.cluster is None else ""

    def _caged(self, instance: str) -> Cage:
        wanted = instance or self._facts.instance_name
        if wanted not in self._cages:
            made = partial(Cage, instance=wanted, pluggable=self._facts.pluggable, ahead_s=self._facts.ahead_s)
            if same_name(wanted, self._facts.instance_name):
                self._cages[wanted] = made(self._connection, self._views)
            else:
                other = self._stack.enter_context(self._another(wanted))
                self._cages[wanted] = made(lambda: other, Views())
        return self._cages[wanted]

    @contextlib.contextmanager
    def _another(self, instance: str) -> Iterator[Connection]:
        """A connection to that instance. Raises ServerError where it is not reached, or another one answers."""
        dialer = self._another_dialer()
        dialer.pin(checked_name(instance))
        try:
            connection = dialer.connect(CONNECT_TIMEOUT_S)
        except ConnectError as error:
            # Its advice is about an instance that the URL names.
            raise ServerError(f"instance {instance} is not reached: {str(error).partition('; ')[0]}") from None
        try:
            found = Views().one(connection, "context")
            name = str(found[2]) if found else "unknown"
            if not same_name(name, instance):
                raise ServerError(f"instance {instance} is not reached: {name} answers there")
            yield connection
        finally:
            oracle_driver.close(connection)

    def _busy(self) -> None:
        """Some work in the control session, so that its server process can be recognised."""
        for _ in range(_BUSY_QUERIES):
            query(self._connection(), statements.text("clock"))

    def _connection(self) -> Connection:
        if self._control is None:
            raise ConnectError("the connection to the database is closed; run again")
        return self._control

    @property
    def _denied(self) -> dict[str, str]:
        return unknown_for(self._views.denied, self._facts.cluster)

    def _hygiene(self, applied: Applied) -> None:
        self._settings = Applied({**self._settings.missing, **applied.missing}, applied.traced)

    def _making(self, statement: str) -> None:
        if _OWN_TABLE in statement.lower():
            if self._facts.role in MAKES_NO_TABLE:
                raise ServerError(NO_TABLE)
            self._made_table = True

    def _drop_table(self, control: Connection) -> None:
        """Rows of a session that is just logging off keep the table for a moment (ORA-14452)."""
        for attempt in range(_DROP_TRIES):
            try:
                query(control, statements.text("drop_logical_io"))
                return
            except DbcpuError as error:
                if "ORA-14452" not in str(error):
                    return
                time.sleep(0.1 * (attempt + 1))

"""What is known of an Oracle database before a run: read once, each part None or empty where it may not be read."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from dbcpu.errors import ServerError
from dbcpu.formatting import version_numbers
from dbcpu.targets.oracle.counters import numbers
from dbcpu.targets.oracle.driver import Block, Connection, Views, is_healthy
from dbcpu.targets.oracle.error_messages import codes, one_line
from dbcpu.targets.oracle.identity import server_process, zone_s

ROOT = "CDB$ROOT"
PHYSICAL_STANDBY, TRUE_CACHE = "PHYSICAL STANDBY", "TRUE CACHE"
_APPLYING = (PHYSICAL_STANDBY, TRUE_CACHE)
"""Roles in which redo is applied to a database that can be open meanwhile."""
AUTONOMOUS = frozenset({"OLTP", "DWCS", "JDCS", "JSON"})
"""What SYS_CONTEXT calls the kinds of Autonomous Database; other services of Oracle's cloud have others (``paas``)."""
_NO_CONTAINERS = frozenset({"ORA-00904", "ORA-02003"})
"""Before 12.1 views have no CON_ID, and sessions none."""
_PDB_METRIC_SINCE = (12, 2)
_CPU_SCOPE_SINCE = (23,)
_PDB_STANDBY_SINCE = (21,)
"""From this version on Data Guard may protect a pluggable database alone: its target is in a primary."""
_MAX_METRIC_AGE_S = 180.0
"""An interval is a minute long; the process that closes it may be late on a busy host."""
_BEFORE_NOW_S = -60.0
_NAMED = re.compile("aix|linux|win", re.IGNORECASE)


class Facts(Struct, frozen=True):
    """Plain values, so that what follows from them can be tested without a database.

    ``server``: how the control session is served, None if it may not be seen. ``ahead_s``: see ``identity.zone_s``.
    ``plan``: (name, CPU managed,
    caging) of the active resource plan. ``window``: (name, resource plan) of the open maintenance window.
    ``container``: None in a database that is no container database. ``cluster``: whether it is RAC, None unknown.
    ``platform``: the operating system, '' where it may not be asked. ``role``: PRIMARY, or a kind of standby.
    ``open_mode``: of a physical standby or a True Cache, '' where it may not be read. ``pdb_mode``: of a pluggable
    database in a primary, from 21c on.
    ``count_set``: CPU_COUNT was set since the instance started, and is not the number of the host's CPUs.
    ``count_given``: it was set at all, in the parameter file or since.
    ``managed``: of a pluggable database, the CPUs that Resource Manager lets it use; None where it does not say.
    ``metric_age_s``: how old its figures are, where they are too old to count.
    ``managed_wait_ms``: how long its sessions waited for those in the last minute. ``managed_session``: whether
    Resource Manager manages the control session, whichever plan does it.
    ``cpu_scope``: of the active plan, from 23ai on: OFF where it manages no CPU, INSTANCE_ONLY or SERVER_WIDE.
    ``instances``: open ones of a cluster, 1 outside of one, None unknown. ``instance``: the number of this one.
    ``may_end``: whether sessions can be ended.
    ``limits``: of the user's profile, where they hold. ``logon_warning``: of a logon that succeeds.
    ``denied``: statement -> error code. ``settings``: those that a session cannot set for itself.
    """

    version: str = ""
    product: str = ""
    user: str = ""
    as_sysdba: bool = False
    service: str = ""
    instance_name: str = ""
    server_host: str = ""
    container: str | None = None
    cloud_service: str | None = None
    rds: bool = False
    server: str | None = None
    threads: bool = False
    ahead_s: float = 0.0
    consumer_group: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    osstat: Mapping[str, float] = field(default_factory=dict)
    plan: tuple[str, bool, bool] | None = None
    window: tuple[str, str] | None = None
    instance: int | None = None
    instances: int | None = None
    cluster: bool | None = False
    platform: str = ""
    role: str = ""
    open_mode: str = ""
    pdb_mode: str = ""
    count_set: bool = False
    count_given: bool = False
    managed: int | None = None
    managed_wait_ms: float = 0.0
    metric_age_s: float | None = None
    managed_session: bool = False
    cpu_scope: str = ""
    busy: int | None = None
    may_end: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    logon_warning: str = ""
    denied: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def caged(self) -> bool:
        return self.plan is not None and self.plan[2]

    @property
    def autonomous(self) -> bool:
        return (self.cloud_service or "").upper() in AUTONOMOUS

    @property
    def several_instances(self) -> bool:
        """Whether sessions may come to other instances, and so to other hosts; False also where that is unknown."""
        return bool(self.cluster) or (self.instances or 0) > 1

    @property
    def pluggable(self) -> bool:
        return self.container not in (None, ROOT)

    @property
    def plan_visible(self) -> bool:
        """Whether any plan that limits this database is seen: that of the root is not, in another container."""
        refused = self.denied.get("resource_plan")
        asked = refused is None or (refused in _NO_CONTAINERS and "resource_plan_11" not in self.denied)
        return asked and not self.pluggable

    @property
    def root_plan(self) -> bool:
        """Whether a plan of the root is seen to be active from within a pluggable database.

        One of its own that manages CPU switches on DEFAULT_CDB_PLAN where the root has none; without any there are no
        fewer CPUs than the host's, no waits, and no session is managed.
        Source: Oracle Database Reference, RESOURCE_MANAGER_PLAN, V$RSRC_SESSION_INFO
        """
        fewer = self.managed is not None and self.managed < self.osstat.get("NUM_CPUS", 0)
        own = self.plan is not None and any(self.plan[1:])
        return self.pluggable and (own or fewer or self.managed_session or self.managed_wait_ms > 0)


def read_facts(connection: Connection, views: Views) -> Facts:
    """Ask everything once, over the control connection. Raises ServerError when the connection is lost."""

    def one(name: str) -> tuple[Any, ...] | None:
        return views.one(connection, name)

    def pairs(name: str) -> dict[str, Any]:
        return {str(row[0]): row[1] for row in views.rows(connection, name) or () if row[1] is not None}

    context = one("context")
    if context is None:
        raise ServerError(f"the database does not answer SYS_CONTEXT ({views.denied.get('context', 'no row')})")
    texts = [str(value or "") for value in context]
    process = server_process(connection, views)
    products = [str(row[0]).strip() for row in views.rows(connection, "edition") or ()]
    plan, window, instance = active_plan(connection, views), one("maintenance_window"), one("instance")
    cluster = _is_cluster(connection, views, instance)
    open_instances = one("cluster_instances") if cluster else None
    container, cloud, rds, busy = one("container"), one("cloud_service"), one("rds"), one("busy_sessions")
    may_end, role, state = one("may_end_sessions"), one("database_role"), one("resource_state")
    ends_rds = one("may_end_rds") if rds and rds[0] else None
    mode = one("open_mode") if role and role[0] in _APPLYING else None
    # Without a container database CON_NAME is the name of the database.
    container_name = str(container[0]) if container and container[1] else None
    release, inside = version_numbers(connection.version, 2), container_name not in (None, ROOT)
    pdb_mode = one("pdb_open_mode") if inside and release >= _PDB_STANDBY_SINCE and role == ("PRIMARY",) else None
    ahead_s = zone_s(process, 0.0)
    managed, metric_age_s = _recent(one("pdb_cpus") if inside and release >= _PDB_METRIC_SINCE else None, ahead_s)
    scope = one("cpu_scope") if release >= _CPU_SCOPE_SINCE else None
    osstat = numbers(views.rows(connection, "osstat") or ())
    known = views.rows(connection, "parameters") or ()
    parameters = {str(name): str(value) for name, value, *_ in known if value is not None}
    limits = pairs("profile_limits") if parameters.get("resource_limit", "TRUE") == "TRUE" else {}
    return Facts(
        version=connection.version,
        product=next((name for name in products if "database" in name.lower()), products[0] if products else ""),
        user=texts[6],
        as_sysdba=texts[7] == "TRUE",
        service=texts[4],
        instance_name=texts[2],
        server_host=texts[3],
        container=container_name,
        cloud_service=cloud[0] if cloud else None,
        rds=bool(rds and rds[0]),
        server=str(process[0]) if process else None,
        ahead_s=ahead_s,
        threads=bool(process and process[3] == "THREAD"),
        consumer_group=process[5] if process else None,
        parameters=parameters,
        osstat=osstat,
        plan=plan,
        window=(str(window[0]), str(window[1] or "")) if window else None,
        cluster=cluster,
        platform=_platform(connection, views, products),
        role=str(role[0] or "") if role else "",
        open_mode=str(mode[0] or "") if mode else "",
        pdb_mode=str(pdb_mode[0] or "") if pdb_mode else "",
        count_set=_count_set(known, osstat),
        count_given=any(name == "cpu_count" and (by, since) != ("TRUE", "FALSE") for name, _, by, since in known),
        managed=managed_cpus(managed, osstat.get("NUM_CPUS")),
        managed_wait_ms=float(managed[3] or 0),
        metric_age_s=metric_age_s,
        managed_session=state is not None and state[0] not in (None, "NOT MANAGED"),
        cpu_scope=str(scope[0] or "") if scope else "",
        instance=int(texts[1]) if texts[1].isdecimal() else None,
        instances=int(open_instances[0]) if open_instances else (1 if cluster is False else None),
        busy=int(busy[0]) if busy else None,
        may_end=bool(may_end and may_end[0]) or bool(ends_rds and ends_rds[0]),
        limits={name: int(limit) for name, limit in limits.items() if str(limit).isdecimal()},
        logon_warning=one_line(str(connection.warning)) if connection.warning else "",
        denied=unknown_for(views.denied, cluster),
    )


def unknown_for(denied: Mapping[str, str], cluster: bool | None) -> dict[str, str]:
    """Of the statements that were refused those that left something unknown: V$INSTANCE only says what is known."""
    return {name: code for name, code in denied.items() if name != "instance" or cluster is None}


def active_plan(connection: Connection, views: Views) -> tuple[str, bool, bool] | None:
    """Name, CPU managed and caging of this container's active resource plan; None where it may not be read."""
    plan = views.one(connection, "resource_plan")
    if views.denied.get("resource_plan") in _NO_CONTAINERS:
        plan = views.one(connection, "resource_plan_11")
    return (str(plan[0]), plan[1] == "ON", plan[2] == "ON") if plan else None


def _is_cluster(connection: Connection, views: Views, instance: tuple[Any, ...] | None) -> bool | None:
    """None where neither V$INSTANCE (``instance``, its row) may be read nor DBMS_UTILITY executed."""
    if instance is not None and instance[4] is not None:
        return bool(instance[4] == "YES")
    block = Block(connection, "is_cluster", {"answer": (int, 0)})
    try:
        block.run()
        return bool(block.value("answer"))
    except ServerError as error:
        if not is_healthy(connection):
            raise
        views.denied["is_cluster"] = next(iter(codes(str(error))), "no code")
        return None
    finally:
        block.close()


def _platform(connection: Connection, views: Views, products: Iterable[str]) -> str:
    """``AIX``, whose CPU time means something else, by that name alone; the text of any other.

    By PORT_STRING, whose words on AIX no page gives; else by a row of the products (up to 12.2), else by V$DATABASE.
    """
    row = views.one(connection, "platform")
    names = [str(row[0] or "") if row else "", *(name for name in products if name.upper().startswith("TNS FOR "))]
    if not _NAMED.search(" ".join(names)):
        names += [str(row[0] or "") for row in views.rows(connection, "platform_name") or ()]
    if any("AIX" in name.upper() for name in names):
        return "AIX"
    named = (name for name in names if _NAMED.search(name))
    # What V$DATABASE says is a name also where it is none of these.
    return next(named, next(filter(None, reversed(names)), ""))


def _count_set(parameters: Iterable[tuple[Any, ...]], osstat: Mapping[str, float]) -> bool:
    """From rows of parameters.sql. One that is put back to not set has the value of the host, and stays modified."""
    return any(
        name == "cpu_count" and modified == "SYSTEM_MOD" and float(value or 0) != osstat.get("NUM_CPUS")
        for name, value, _, modified in parameters
    )


def _recent(row: tuple[Any, ...] | None, ahead_s: float) -> tuple[tuple[Any, ...], float | None]:
    """Of a row of pdb_cpus.sql what counts, and its age where it is too old to count: then no metrics are computed.

    ``ahead_s``: see ``identity.zone_s``.
    """
    nothing = (None, None, None, 0)
    if row is None:
        return nothing, None
    *metric, age_s = row
    age_s = None if age_s is None else float(age_s) - ahead_s
    if age_s is None or _BEFORE_NOW_S <= age_s <= _MAX_METRIC_AGE_S:
        return tuple(metric), None
    return nothing, age_s


def managed_cpus(metric: tuple[Any, ...], cpus: float | None) -> int | None:
    """The least of the limits in pdb_cpus.sql, where 0 and null are none; a part of a CPU counts as one.

    ``cpus``: of the host, None where that is not known.
    """
    count, running, percent, _ = metric
    limits = [count, running, percent * cpus / 100 if percent and cpus else None]
    found = [float(limit) for limit in limits if limit]
    return max(1, round(min(found))) if found else None

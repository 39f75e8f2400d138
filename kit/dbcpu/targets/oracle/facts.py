"""What is known of an Oracle database before a run: read once, each part None or empty where it may not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbcpu.errors import ServerError
from dbcpu.targets.oracle.driver import Connection, Views
from dbcpu.targets.oracle.error_messages import one_line
from dbcpu.targets.oracle.host_counters import numbers
from dbcpu.targets.oracle.identity import server_process

ROOT = "CDB$ROOT"


@dataclass(frozen=True, slots=True)
class Facts:
    """Plain values, so that what follows from them can be tested without a database.

    ``server``: how the control session is served, None if it may not be seen. ``plan``: (name, CPU managed,
    caging) of the active resource plan. ``window``: (name, resource plan) of the open maintenance window.
    ``container``: None in a database that is no container database. ``cluster``: whether it is RAC.
    ``platform``: the operating system, '' where it may not be asked.
    ``instances``: of a cluster, 1 outside of one, None unknown. ``instance``: the number of the one connected to.
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
    consumer_group: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    osstat: Mapping[str, float] = field(default_factory=dict)
    plan: tuple[str, bool, bool] | None = None
    window: tuple[str, str] | None = None
    instance: int | None = None
    instances: int | None = None
    cluster: bool = False
    platform: str = ""
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
    def plan_visible(self) -> bool:
        """Whether any plan that limits this database is seen: that of the root is not, in another container."""
        return "resource_plan" not in self.denied and self.container in (None, ROOT)


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
    plan, window, instance = one("resource_plan"), one("maintenance_window"), one("instance")
    cluster = one("cluster_instances") if instance and instance[4] == "YES" else None
    container, cloud, rds, busy = one("container"), one("cloud_service"), one("rds"), one("busy_sessions")
    may_end, platform = one("may_end_sessions"), one("platform")
    parameters = {name: str(value) for name, value in pairs("parameters").items()}
    limits = pairs("profile_limits") if parameters.get("resource_limit", "TRUE") == "TRUE" else {}
    return Facts(
        version=connection.version,
        product=next((name for name in products if "database" in name.lower()), products[0] if products else ""),
        user=texts[6],
        as_sysdba=texts[7] == "TRUE",
        service=texts[4],
        instance_name=texts[2],
        server_host=texts[3],
        # Without a container database CON_NAME is the name of the database.
        container=container[0] if container and container[1] else None,
        cloud_service=cloud[0] if cloud else None,
        rds=bool(rds and rds[0]),
        server=str(process[0]) if process else None,
        threads=bool(process and process[3] == "THREAD"),
        consumer_group=process[5] if process else None,
        parameters=parameters,
        osstat=numbers(views.rows(connection, "osstat") or ()),
        plan=(str(plan[0]), plan[1] == "ON", plan[2] == "ON") if plan else None,
        window=(str(window[0]), str(window[1] or "")) if window else None,
        cluster=bool(instance and instance[4] == "YES"),
        platform=_platform(str(platform[0] or "")) if platform else "",
        instance=int(instance[0]) if instance and instance[0] is not None else None,
        instances=int(cluster[0]) if cluster else (1 if instance and instance[4] == "NO" else None),
        busy=int(busy[0]) if busy else None,
        may_end=bool(rds and rds[0]) or bool(may_end and may_end[0]),
        limits={name: int(limit) for name, limit in limits.items() if str(limit).isdecimal()},
        logon_warning=one_line(str(connection.warning)) if connection.warning else "",
        denied=dict(views.denied),
    )


def _platform(text: str) -> str:
    """``AIX``, whose CPU time means something else, by that name alone; the text of any other."""
    return "AIX" if "AIX" in text.upper() else text

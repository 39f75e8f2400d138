"""What in an Oracle database would distort a measurement, as findings: pure functions of ``Facts``.

Sources: Oracle Database Administrator's Guide, Managing Resources with Oracle Database Resource Manager and
Managing Automated Database Maintenance Tasks; Reference, CPU_COUNT, STATISTICS_LEVEL, CURSOR_SHARING; Using
Oracle Autonomous Database Serverless, Database Service Names.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from dbcpu.formatting import plural
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding, noted
from dbcpu.record.header import AUTONOMOUS, RDS
from dbcpu.record.service_remedies import IN_THE_ROOT, instance_name, plan_to_restore, value_to_restore, where
from dbcpu.targets.oracle import privileges, standby
from dbcpu.targets.oracle.driver import NOT_OURS
from dbcpu.targets.oracle.facts import Facts
from dbcpu.targets.oracle.identity import refusal
from dbcpu.targets.oracle.session import BATCH_S
from dbcpu.targets.oracle.settings import words
from dbcpu.targets.oracle.vcpus import FREE_CPUS, cap_of, count_limits, cpu_count, group_cpus, processor_group

_CPUS_UNKNOWN = "the number of CPUs that it may use is unknown"
_LISTED = "the next dbcpu command lists them with the statements that end them (with {} it ends them itself)"
_UNSEEN = (
    "it limits the CPU only while a resource plan is active, in a pluggable database one of the root, which is not "
    "seen here"
)
_EFFECT = {
    True: "the database uses no more CPUs than that: levels and ideal throughput count only these",
    False: "no resource plan enforces it, and without one it limits no session's CPU: levels and ideal throughput "
    "count the host's CPUs, or those that Resource Manager leaves",
    None: f"{_UNSEEN}: how many CPUs the database may use is unknown",
}
"""What a CPU_COUNT below the host's CPUs does, by ``vcpus.count_limits``."""
_GROUP_EFFECT = {
    True: "levels and ideal throughput count only these",
    False: "CPU_COUNT was set, and the group may have more: how many CPUs the database may use is unknown, unless "
    "Resource Manager or the edition enforces CPU_COUNT",
}
"""What a processor group does to the figures, by whether CPU_COUNT is its number of CPUs."""
_WINDOWS = re.compile("windows|win_nt", re.IGNORECASE)
_WINDOWS_THREADS = (
    "nothing: on Windows sessions are threads of one process, in every version; from 21c on `threaded_execution` is "
    "there, and has to stay true"
)
"""Source: Database Reference, THREADED_EXECUTION; Release Changes for Windows, 21c."""
_PARALLEL_LEVEL = re.compile(r"_(high|medium)(_ro)?(_tls)?$")
"""Dedicated infrastructure has a second service of each level for TLS; a refreshable or standby copy may be read-only.

Source: Autonomous Database on Dedicated Exadata Infrastructure, Predefined Database Service Names
"""
_CLUSTER_WIDE = {
    "cluster_instances": "the number of instances is",
    "tagged_sessions_cluster": "what killed runs left on other instances is",
}
_NOT_HELD = (
    "each instance runs on its own host, and the service of an Autonomous Database may know no instance by name; each "
    "session says where it came to, and a run over several instances gives no answer"
)
_CPU_SCOPE_SINCE = 23
_IDLE_LIMITS = ("max_idle_time", "max_idle_blocker_time")


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All findings about the database, in no particular order."""
    found = [finding for check in CHECKS for finding in check(facts)]
    read = privileges.reads(facts.version)
    found += privileges.findings(facts.denied, facts.user, facts.rds, cloud=facts.autonomous, read=read)
    service = AUTONOMOUS if facts.autonomous else RDS if facts.rds else ""
    return tuple(where(finding, service) for finding in found)


def report(facts: Facts, vcpus: tuple[int, str] | None) -> tuple[Finding, ...]:
    """For information: the database, how many CPUs it may use, and what a killed run leaves behind."""
    where = f"instance {facts.instance_name}, service {facts.service}"
    where += f", container {facts.container}" if facts.container else ""
    served = {None: "kind of server unknown (no privilege)", "DEDICATED": "dedicated servers"}
    seen = (
        f"{facts.product or 'Oracle Database'} {facts.version}, {where}, on {facts.server_host or 'an unknown host'}; "
        f"{served.get(facts.server, f'{facts.server} servers')}"
    )
    cpus = f"it may use {plural(vcpus[0], 'CPU')}, limited by {vcpus[1]}{_cores(facts)}" if vcpus else _CPUS_UNKNOWN
    left = f"after kill -9 each session continues for one execution, or for {BATCH_S:g} s of shorter ones"
    right = "EXECUTE on RDSADMIN.RDSADMIN_UTIL" if facts.rds else "ALTER SYSTEM"
    ends = "the next dbcpu command on this machine ends them" if facts.may_end else _LISTED.format(right)
    return noted("oracle", seen, cpus=cpus), noted("after-a-kill", left, ends=ends)


def _cores(facts: Facts) -> str:
    names = {"NUM_CPU_CORES": "core", "NUM_CPU_SOCKETS": "socket"}
    known = [plural(int(facts.osstat[key]), name) for key, name in names.items() if facts.osstat.get(key)]
    return f" ({', '.join(known)})" if known else ""


def _served(facts: Facts) -> Iterator[Finding]:
    if facts.server is not None and facts.server != "DEDICATED":
        yield noted("not-dedicated", f"this service uses {facts.server} servers", refusal=refusal(facts.server))
    if facts.server is None:
        views = privileges.IDENTITY
        read = privileges.reads(facts.version)
        given = privileges.grants(views, facts.user, facts.rds, cloud=facts.autonomous, read=read)
        seen = "whether each session has its own server process is unknown (no privilege)"
        yield noted("not-identified", seen, grants=" ".join(given))
    if facts.threads:
        found = noted("threaded-execution", "sessions are threads of a few processes (threaded_execution)")
        yield replace(found, remedy=_WINDOWS_THREADS) if _WINDOWS.search(facts.platform) else found


def _user(facts: Facts) -> Iterator[Finding]:
    if facts.as_sysdba or facts.user in ("SYS", "SYSTEM"):
        yield noted("privileged-user", f"the sessions run as {facts.user}{' as SYSDBA' if facts.as_sysdba else ''}")


def _resource_manager(facts: Facts) -> Iterator[Finding]:
    instance, count = instance_name(facts.instance_name), facts.parameters.get("cpu_count", "unknown")
    if facts.caged:
        yield noted(
            "instance-caging",
            f"instance caging limits the instance to cpu_count = {count}",
            instance=instance,
            count=value_to_restore(facts.parameters, "cpu_count"),
        )
    elif facts.plan and facts.plan[1]:
        yield noted(
            "resource-manager",
            f"resource plan {facts.plan[0]} manages CPU (consumer group {facts.consumer_group or 'not visible'})",
            instance=instance,
            plan=plan_to_restore(facts.parameters, facts.plan[0]),
        )
    elif facts.managed is not None and facts.managed < facts.osstat.get("NUM_CPUS", 0):
        used = f"{plural(facts.managed, 'CPU')} of the host's {facts.osstat['NUM_CPUS']:.0f}"
        seen = f"Resource Manager lets {facts.container} use {used} (V$RSRCPDBMETRIC)"
        # A plan of the root: none of its own is seen that could be cleared.
        yield replace(noted("resource-manager", seen, instance="", plan=""), remedy=IN_THE_ROOT)
    yield from _cpu_count(facts)
    yield from _cpu_scope(facts)
    if facts.window:
        yield noted(
            "maintenance-window",
            f"maintenance window {facts.window[0]} is open"
            + (f" with resource plan {facts.window[1]}" if facts.window[1] else ""),
        )


def _cpu_scope(facts: Facts) -> Iterator[Finding]:
    """SERVER_WIDE is the default on Autonomous Database, also where neither V$PARAMETER nor V$RSRC_PLAN is seen.

    Source: Oracle Database Reference 23ai, RESOURCE_MANAGER_CPU_SCOPE, V$RSRC_PLAN (CPU_SCOPE)
    """
    scope, first = facts.parameters.get("resource_manager_cpu_scope"), facts.version.partition(".")[0]
    if scope == "SERVER_WIDE":
        yield noted("server-wide-cpu", "resource_manager_cpu_scope is SERVER_WIDE")
    elif facts.cpu_scope == "SERVER_WIDE":
        yield noted("server-wide-cpu", "CPU_SCOPE of the active plan is SERVER_WIDE (V$RSRC_PLAN)")
    elif facts.cpu_scope == "INSTANCE_ONLY":
        return
    elif scope is None and facts.autonomous and first.isdecimal() and int(first) >= _CPU_SCOPE_SINCE:
        yield noted("server-wide-cpu", "resource_manager_cpu_scope is not seen; SERVER_WIDE is the default there")


def _cpu_count(facts: Facts) -> Iterator[Finding]:
    # An edition with a cap sets cpu_count to it by itself: then the edition is what limits.
    cap, own, limits = cap_of(facts), cpu_count(facts), count_limits(facts)
    most = min(facts.osstat.get("NUM_CPUS", 0), cap[0] if cap else math.inf)
    if own is None or own >= most:
        return
    seen = f"cpu_count is {own}, the host has {plural(int(facts.osstat['NUM_CPUS']), 'CPU')}"
    if group := processor_group(facts):
        effect = _GROUP_EFFECT[group_cpus(facts) is not None]
        yield noted("processor-group", f"processor_group_name is {group}: {seen}", effect=effect)
    if group or facts.caged:
        return
    level = Level.INFO if limits is False else Level.WARNING
    instance = instance_name(facts.instance_name)
    effect = _EFFECT[limits]
    if limits is None and facts.metric_age_s is not None:
        effect = f"{_UNSEEN}: how many CPUs the database may use is unknown, {_old_metrics(facts.metric_age_s)}"
    metrics = ""
    if "pdb_cpus" in facts.denied:  # asked in a pluggable database from 12.2 on alone
        metrics = (
            f", and `{_grant('V_$RSRCPDBMETRIC', facts)}` lets dbcpu see what it leaves to this pluggable database"
        )
    yield noted("cpu-count", seen, level, effect=effect, instance=instance, count=own, metrics=metrics)


def _grant(view: str, facts: Facts) -> str:
    """The statement that lets this user read one object of SYS."""
    read = privileges.reads(facts.version)
    return " ".join(privileges.grants((view,), facts.user, facts.rds, cloud=facts.autonomous, read=read))


def _edition(facts: Facts) -> Iterator[Finding]:
    cap = cap_of(facts)
    cpus = facts.osstat.get("NUM_CPUS")
    if cap is None or (cpus is not None and cpus <= cap[0]) or (cpus is None and cap[0] > FREE_CPUS):
        return
    of_them = f" of the host's {cpus:.0f}" if cpus is not None else "; how many the host has is unknown"
    yield noted("edition-cap", f"{facts.product} uses at most {plural(cap[0], 'CPU')}{of_them}")


def _settings(facts: Facts) -> Iterator[Finding]:
    value = {name: text.upper() for name, text in facts.parameters.items()}
    if value.get("sql_trace") == "TRUE":
        instance = instance_name(facts.instance_name)
        yield noted("sql-trace", "SQL trace is on for the whole instance", instance=instance)
    if value.get("statistics_level") == "ALL":
        yield noted("statistics-level", "statistics_level is ALL")
    if value.get("statistics_level") == "BASIC":
        metrics = f"; {_old_metrics(facts.metric_age_s)}" if facts.metric_age_s is not None else ""
        yield noted(
            "statistics-basic",
            f"statistics_level of the instance is BASIC{metrics}",
            instance=instance_name(facts.instance_name),
        )
    elif facts.metric_age_s is not None:
        yield noted("metrics-old", _old_metrics(facts.metric_age_s))
    if value.get("cursor_sharing", "EXACT") != "EXACT":
        yield noted("cursor-sharing", f"cursor_sharing is {value['cursor_sharing']}")
    if value.get("parallel_degree_policy", "MANUAL") != "MANUAL" and value.get("parallel_max_servers") != "0":
        yield noted(
            "parallel-servers",
            f"parallel_degree_policy is {value['parallel_degree_policy']}, with up to "
            f"{value.get('parallel_max_servers', 'unknown')} parallel servers",
        )
    if idle := {name: value[name] for name in _IDLE_LIMITS if value.get(name, "0") != "0"}:
        yield _idle_limits(idle, instance_name(facts.instance_name))
    if value.get("shared_servers", "0") != "0":
        yield noted("shared-servers", f"shared_servers is {value['shared_servers']}")


def _old_metrics(age_s: float) -> str:
    when = f"{age_s / 60:.0f} min old" if age_s > 0 else "of the future"
    new = "it has a new row each minute while metrics are computed"
    return f"the figures of V$RSRCPDBMETRIC are {when} and not used: {new}"


def _idle_limits(limits: Mapping[str, str], instance: str) -> Finding:
    """``limits``: minutes by parameter."""
    statement = "alter system set {} = {} scope = memory sid = '{}'"
    return noted(
        "idle-limits",
        ", ".join(f"{name} is {minutes} min" for name, minutes in limits.items()),
        changes="`, `".join(statement.format(name, 0, instance) for name in limits),
        back="`, `".join(statement.format(name, minutes, instance) for name, minutes in limits.items()),
    )


def _session(facts: Facts) -> Iterator[Finding]:
    if facts.settings:
        yield noted("setting-refused", f"a session cannot set {words(facts.settings)}")
    if "packages" in facts.denied:
        given = privileges.package_grants(facts.user, facts.rds)
        yield noted("packages-revoked", f"{facts.user} may not execute DBMS_SQL or DBMS_OUTPUT", grants=" ".join(given))


def _account(facts: Facts) -> Iterator[Finding]:
    if facts.logon_warning:
        yield noted("logon-warning", f"the logon succeeded with {facts.logon_warning}")
    if facts.limits:
        limits = ", ".join(f"{name} {_limit(name, limit)}" for name, limit in sorted(facts.limits.items()))
        user, account = privileges.identifier(facts.user), privileges.literal(facts.user)
        yield noted("profile-limits", f"the profile of {facts.user} has {limits}", user=user, account=account)


def _limit(name: str, limit: int) -> str:
    """CPU is limited in hundredths of a second, times in minutes, reads in blocks."""
    if name.startswith("CPU"):
        return f"{limit / 100:g} s"
    return f"{limit} min" if name.endswith("TIME") else plural(limit, "block") if "READS" in name else str(limit)


def _managed(facts: Facts) -> Iterator[Finding]:
    if facts.autonomous:
        service = facts.service.lower().split(".")[0]
        seen = f"Autonomous Database ({facts.cloud_service}), service {facts.service}"
        parallel = _PARALLEL_LEVEL.search(service) is not None
        yield noted("autonomous-parallel", seen) if parallel else noted("autonomous", seen)
    if (found := standby.finding(facts)) is not None:
        yield found
    if facts.rds:
        yield noted("rds", "Amazon RDS: no access to the host")
    yield from _cluster(facts)


def _cluster(facts: Facts) -> Iterator[Finding]:
    if facts.cluster is None:
        grant = _grant("V_$INSTANCE", facts)
        yield noted("cluster-unknown", "whether the database is a cluster is not known", grant=grant)
    if not facts.several_instances:
        return
    # A grant that is missing is said by its own finding; here what failed although it is granted.
    failed = {name: facts.denied[name] for name in _CLUSTER_WIDE if facts.denied.get(name) not in (None, *NOT_OURS)}
    several = f"a cluster of {plural(facts.instances, 'open instance')}" if facts.instances else "a cluster"
    if failed:
        several += f"; GV$ views did not answer ({', '.join(dict.fromkeys(failed.values()))})"
        several += "".join(f", so {_CLUSTER_WIDE[name]} not known" for name in failed)
    if facts.autonomous:
        found = noted("cluster", f"{several}; sessions go where its service sends them")
        yield replace(found, meaning=_NOT_HELD, remedy="")
        return
    yield noted("cluster", f"{several}; all sessions use {facts.instance_name}")


def _container(facts: Facts) -> Iterator[Finding]:
    if facts.pluggable and not facts.autonomous:
        yield noted("one-container", f"the container {facts.container} shows its own sessions and resource plans alone")


def _activity(facts: Facts) -> Iterator[Finding]:
    if facts.busy:
        yield noted("instance-busy", f"{plural(facts.busy, 'other session')} executing statements")


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _served,
    _user,
    _resource_manager,
    _edition,
    _settings,
    _session,
    _account,
    _managed,
    _container,
    _activity,
)

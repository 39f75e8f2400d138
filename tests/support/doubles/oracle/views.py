"""Rows of the v$ views, from the double's own processes and this host's /proc.

Each function gives the rows of one view as dicts. DATE columns are days and TIMESTAMP columns seconds since 1970,
so that differences come out in the database's units.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from support.doubles.oracle.plans import operators
from support.doubles.oracle.session import CPU_QUANTUM, FROM_CLIENT, SLEEP, TO_CLIENT, Session
from support.doubles.oracle.sessions import OF_THE_DATABASE, Entry

Row = Mapping[str, int | float | str | None]
DAY_S = 86400
ROOT_ID = 1
MAINTENANCE_PLAN = "DEFAULT_MAINTENANCE_PLAN"
CPU_PLANS = ("DEFAULT_PLAN", "DEFAULT_CDB_PLAN", MAINTENANCE_PLAN)
"""Plans with CPU directives that every database has."""
_METRICS_STOPPED_S = 3600
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
_WAIT_CLASSES = {FROM_CLIENT: "Idle", SLEEP: "Idle", TO_CLIENT: "Network", CPU_QUANTUM: "Scheduler"}
_STATISTICS = (
    "CPU used by this session", "session logical reads", "physical reads", "physical writes",
    "physical reads direct temporary tablespace", "physical writes direct temporary tablespace", "redo size",
    "parse count (total)", "parse count (hard)", "sorts (disk)", "queries parallelized", "user calls",
    "session pga memory max", "execute count", "workarea executions - optimal", "workarea executions - onepass",
    "workarea executions - multipass",
)  # fmt: skip
_TIME_MODEL = ("DB time", "DB CPU", "sql execute elapsed time", "parse time elapsed", "hard parse elapsed time",
               "PL/SQL execution elapsed time")  # fmt: skip


def _address(entry: Entry) -> str:
    return f"{0x7F0000000000 + 4096 * entry['number']:016X}"


def _here(me: Session) -> list[Entry]:
    """Sessions of this instance: each has its own processes, cursors and limits."""
    return [entry for entry in me.server.table.entries() if entry["instance"] == me.entry["instance"]]


def sessions(me: Session) -> Iterable[Row]:
    """Of this instance; those of others are in GV$SESSION."""
    return (row for row in every_session(me) if row.get("inst_id", me.entry["instance"]) == me.entry["instance"])


def every_session(me: Session) -> Iterable[Row]:
    now_s, mine, own = time.time(), me.settings, me.entry["number"]
    faults, instance = me.server.faults, me.server.instance
    yield {"sid": 1, "serial#": 1, "type": "BACKGROUND", "status": "ACTIVE", "server": "DEDICATED", "paddr": "00",
           "program": "oracle (PMON)", "logon_time": int(me.server.started_s) / DAY_S, "last_call_et": 0}  # fmt: skip
    for number, (username, program, *idle) in enumerate(instance.foreign_sessions):
        yield {"sid": 5000 + number, "serial#": 1, "type": "USER", "status": "ACTIVE", "server": "DEDICATED",
               "state": "WAITING", "wait_class": idle[0] if idle else "User I/O", "username": username,
               "program": program, "module": program, "paddr": "FF",
               "logon_time": int(me.server.started_s) / DAY_S, "last_call_et": 0}  # fmt: skip
    for entry in me.server.table.entries():
        yield {
            **{name: entry.get(name) or None for name in (
                "username", "program", "machine", "osuser", "terminal", "process", "module", "action",
                "client_identifier", "client_info", "sql_id", "prev_sql_id")},
            "prev_child_number": 0,
            "sid": entry["sid"], "serial#": entry["serial"], "inst_id": entry["instance"], "type": "USER",
            "status": entry["status"], "state": "WAITED SHORT TIME", "wait_class": "Network",
            "server": faults.server, "paddr": _address(entry),
            "logon_time": int(entry["logon_s"] + faults.started_ahead_s + instance.dates_ahead_s) / DAY_S,
            "last_call_et": int(now_s - entry["call_s"]),
            "schemaname": entry.get("username"), "resource_consumer_group": "OTHER_GROUPS" if instance.plan else None,
            "pq_status": mine.get("parallel query", "ENABLED") if entry["number"] == own else "ENABLED",
            "sql_trace": "ENABLED" if faults.traced else "DISABLED",
        }  # fmt: skip


def processes(me: Session) -> Iterable[Row]:
    faults, listener = me.server.faults, str(me.server.listener_pid)
    yield {"addr": "00", "spid": listener, "stid": listener, "pname": "PMON", "execution_type": "PROCESS"}
    first = me.server.table.process_of_all({entry["pid"] for entry in _here(me)}) if faults.one_process else 0
    for entry in _here(me):
        pid = listener if faults.shared_spid else str(first if faults.one_process else entry["pid"])
        yield {
            "addr": _address(entry), "inst_id": entry["instance"], "spid": pid,
            "stid": pid if faults.shared_spid else str(entry["tid"]), "pname": None, "background": None,
            "execution_type": "THREAD" if faults.threaded else "PROCESS", "program": "oracle (LOCAL=NO)",
        }  # fmt: skip


def statistic_names(me: Session) -> Iterable[Row]:
    return ({"statistic#": number, "name": name} for number, name in enumerate(_STATISTICS))


def my_statistics(me: Session) -> Iterable[Row]:
    return (
        {"sid": me.sid, "statistic#": number, "value": round(me.statistics[name])}
        for number, name in enumerate(_STATISTICS)
    )


def time_model(me: Session) -> Iterable[Row]:
    """It stands still where the instance has STATISTICS_LEVEL = BASIC, whatever the session sets."""
    if _is_basic(me):
        return ({"sid": me.sid, "stat_name": name, "value": 0} for name in _TIME_MODEL)
    return ({"sid": me.sid, "stat_name": name, "value": round(me.time_model_us[name])} for name in _TIME_MODEL)


def _is_basic(me: Session) -> bool:
    return me.server.instance.parameters.get("statistics_level", "").upper() == "BASIC"


def _is_timed(me: Session) -> bool:
    """TIMED_STATISTICS in this session: false by default under BASIC, and TYPICAL switches it on."""
    by_level = me.value_of("statistics_level", "TYPICAL") != "BASIC"
    return me.value_of("timed_statistics", str(by_level)) == "TRUE"


def session_events(me: Session) -> Iterable[Row]:
    """Without TIMED_STATISTICS waits are counted and have no time."""
    timed = _is_timed(me)
    for event, (count, waited_us) in me.waits.items():
        waited_us *= timed
        yield {"sid": me.sid, "event": event, "wait_class": _WAIT_CLASSES.get(event, "Other"), "total_waits": count,
               "time_waited": round(waited_us / 1e4), "time_waited_micro": round(waited_us)}  # fmt: skip


def os_statistics(me: Session) -> Iterable[Row]:
    """From /proc, in hundredths of a second; cores and sockets as told by ``Instance.osstat`` only."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    fields = dict(zip(names, map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:]), strict=False))
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    hundredths = {name: value * 100 / _CLOCK_TICKS for name, value in fields.items()}
    idle = hundredths["idle"] + hundredths["iowait"]
    values = {
        "NUM_CPUS": os.cpu_count() or 1,
        "LOAD": os.getloadavg()[0],
        "BUSY_TIME": round(sum(hundredths.values()) - idle),
        "IDLE_TIME": round(idle),
        "USER_TIME": round(hundredths["user"]),
        "SYS_TIME": round(hundredths["system"]),
        "NICE_TIME": round(hundredths["nice"]),
        "IOWAIT_TIME": round(hundredths["iowait"]),
        "RSRC_MGR_CPU_WAIT_TIME": round(me.waits.get(CPU_QUANTUM, [0, 0.0])[1] / 1e4),
        "PHYSICAL_MEMORY_BYTES": int(memory["MemTotal"].split()[0]) * 1024,
        "FREE_MEMORY_BYTES": int(memory["MemAvailable"].split()[0]) * 1024,
        **me.server.instance.osstat,
    }
    known = {name: value for name, value in values.items() if name not in me.server.faults.missing_statistics}
    if me.server.faults.frozen_statistics:
        known = {name: 0 if name.endswith("_TIME") else value for name, value in known.items()}
    return ({"stat_name": name, "value": value, "cumulative": "YES" if name.endswith("_TIME") else "NO"}
            for name, value in known.items())  # fmt: skip


def parameters(me: Session) -> Iterable[Row]:
    """The instance's, under what this session altered; name, value and whether the value is the default."""
    instance = me.server.instance
    defaults = {
        "cpu_count": str(len(instance.processor_group) or os.cpu_count() or 1),
        "resource_manager_plan": instance.plan, "parallel_max_servers": "40",
        "parallel_degree_policy": "MANUAL", "threaded_execution": str(me.server.faults.threaded).upper(),
        "shared_servers": "1", "statistics_level": "TYPICAL", "sql_trace": "FALSE",
        "timed_statistics": str(_is_timed(me)).upper(),
        "result_cache_mode": "MANUAL", "cursor_sharing": "EXACT", "plsql_optimize_level": "2",
        "plsql_code_type": "INTERPRETED", "processes": "1024", "sessions": "1560", "sga_target": "0",
        "memory_target": "0", "pga_aggregate_target": "1073741824", "use_large_pages": "TRUE",
        "optimizer_features_enable": ".".join(me.server.profile.version_text.split(".")[:3]), "db_block_size": "8192",
        "optimizer_capture_sql_plan_baselines": "FALSE",
        "compatible": me.server.profile.release, "max_idle_time": "0", "max_idle_blocker_time": "0",
        "control_management_pack_access": "DIAGNOSTIC+TUNING",
        **({"processor_group_name": "grp"} if instance.processor_group else {}),
        **({"optimizer_ignore_hints": "FALSE"} if me.server.profile.version[0] >= 18 else {}),
        **({"resource_manager_cpu_scope": "INSTANCE_ONLY"} if me.server.profile.version[0] >= 23 else {}),
    }  # fmt: skip
    number = me.entry["instance"]
    altered = me.server.table.altered(number)
    own = {**instance.parameters, **instance.parameters_of.get(str(number), {})}
    shown = {name: value for name, value in altered.items() if (name, value) != ("cpu_count", "0")}
    values = {**defaults, **own, **shown, **me.settings}
    if altered.get("cpu_count") == "0":
        values["cpu_count"] = defaults["cpu_count"]
    return (
        {"name": name, "value": value, "isdefault": str(name not in own).upper(),
         "ismodified": "SYSTEM_MOD" if name in altered else "MODIFIED" if name in me.settings else "FALSE"}
        for name, value in values.items()
    )  # fmt: skip


def instances(me: Session) -> Iterable[Row]:
    instance, count = me.server.instance, me.server.instance.instances
    for number in range(1, count + 1):
        name = instance.name + (str(number) if count > 1 else "")
        yield {"inst_id": number, "instance_number": number, "status": "OPEN", "instance_name": name, "host_name":
               instance.host_name or os.uname().nodename, "version": me.server.profile.release,
               "parallel": "YES" if count > 1 else "NO", "startup_time": int(me.server.started_s) / DAY_S}  # fmt: skip


def my_instance(me: Session) -> Iterable[Row]:
    return (row for row in instances(me) if row["inst_id"] == me.entry["instance"])


def versions(me: Session) -> Iterable[Row]:
    profile = me.server.profile
    banner = f"{profile.product} {me.server.instance.edition} Release {profile.release} - Production"
    yield {"banner": banner, "banner_full": f"{banner}\nVersion {profile.version_text}", "con_id": 0}


def components(me: Session) -> Iterable[Row]:
    """VERSION_FULL is there from 18c on."""
    profile = me.server.profile
    full = {"version_full": profile.version_text} if profile.version[0] >= 18 else {}
    system = (f"TNS for {me.server.instance.product_system}: ",) if profile.version[0] < 18 else ()
    for product in (f"{profile.product} {me.server.instance.edition} ", "PL/SQL ", *system):
        yield {"product": product, "version": profile.release, "status": "Production", **full}


def resource_plans(me: Session) -> Iterable[Row]:
    """Of the own container; in the root first those of the others."""
    instance, own = me.server.instance, container_id(me)
    on = {True: "ON", False: "OFF"}
    altered = me.server.table.altered(me.entry["instance"])
    plan = altered.get("resource_manager_plan", instance.plan).rpartition(":")[2]
    managed = instance.cpu_managed if plan == instance.plan else plan in CPU_PLANS
    # ``instance_caging`` says what it is at the start; from then on it follows both parameters.
    count = instance.parameters.get("cpu_count", "0") if "resource_manager_plan" in altered else "0"
    set_here = own <= ROOT_ID and altered.get("cpu_count", count) != "0"
    caged = instance.instance_caging or (set_here and bool(plan))
    scope = instance.parameters.get("resource_manager_cpu_scope", "INSTANCE_ONLY")
    scoped = me.server.profile.version[0] >= 23
    for number in (4, 3) if own == ROOT_ID else ():
        yield {"name": f"PLAN_OF_{number}", "is_top_plan": "TRUE", "cpu_managed": "ON", "instance_caging": "ON",
               "con_id": number, **({"cpu_scope": scope} if scoped else {})}  # fmt: skip
    yield {"name": plan or "INTERNAL_PLAN", "is_top_plan": "TRUE", "cpu_managed": on[managed],
           "instance_caging": on[caged], "con_id": own,
           **({"cpu_scope": scope if managed else "OFF"} if scoped else {})}  # fmt: skip


def container_id(me: Session) -> int:
    """0 outside of a container database."""
    return {"": 0, "CDB$ROOT": ROOT_ID}.get(me.server.instance.container, ROOT_ID + 2)


def managed_sessions(me: Session) -> Iterable[Row]:
    """Waits of the own session alone."""
    instance = me.server.instance
    count, waited_us = me.waits.get(CPU_QUANTUM, (0, 0.0))
    for entry in _here(me):
        own = entry["number"] == me.entry["number"]
        yield {"sid": entry["sid"], "state": "RUNNING" if instance.root_plan or instance.cpu_managed else "NOT MANAGED",
               "cpu_wait_time": round(waited_us / 1e3) if own else 0, "cpu_waits": count if own else 0,
               "con_id": container_id(me)}  # fmt: skip


def pluggable_metrics(me: Session) -> Iterable[Row]:
    """Of the own container; with a plan of the root CPU_COUNT limits it. There from 12.2 on.

    Without metrics, as under BASIC, the row is that of the start, when no plan was there yet.
    """
    cpus = next(int(row["value"] or 0) for row in os_statistics(me) if row["stat_name"] == "NUM_CPUS")
    count = next(int(row["value"] or 0) for row in parameters(me) if row["name"] == "cpu_count")
    old_s = _METRICS_STOPPED_S if _is_basic(me) or me.server.faults.old_metrics else 0
    most = min(cpus, count) if me.server.instance.root_plan and not old_s else cpus
    ended_s = int(time.time() + me.server.instance.dates_ahead_s) - old_s
    yield {"con_id": container_id(me), "end_time": ended_s / DAY_S, "num_cpus": cpus,
           "running_sessions_limit": most, "cpu_utilization_limit": 100 * most / cpus, "cpu_wait_time": 0}  # fmt: skip


def database(me: Session) -> Iterable[Row]:
    instance = me.server.instance
    yield {"name": instance.name, "platform_name": instance.platform_name, "database_role": instance.role,
           "open_mode": instance.open_mode, "con_id": 0}  # fmt: skip


def pluggable_databases(me: Session) -> Iterable[Row]:
    """The own one; in the root all. A target of Data Guard per PDB is read-only in a primary."""
    if container_id(me) > ROOT_ID:
        instance = me.server.instance
        yield {"con_id": container_id(me), "name": instance.container, "open_mode": instance.pdb_mode}


def windows(me: Session) -> Iterable[Row]:
    instance = me.server.instance
    open_window = me.server.table.altered(OF_THE_DATABASE).get("window", instance.window)
    for name in dict.fromkeys(("MONDAY_WINDOW", "SATURDAY_WINDOW", *([open_window] if open_window else []))):
        later_s = 0 if name == "MONDAY_WINDOW" else DAY_S
        yield {"window_name": name, "resource_plan": MAINTENANCE_PLAN, "enabled": "TRUE",
               "active": str(name == open_window).upper(),
               "next_start_date": time.time() + instance.next_window_s + later_s}  # fmt: skip


def resource_limits(me: Session) -> Iterable[Row]:
    """Of the whole instance: in a pluggable database there is no row."""
    if me.server.instance.container not in ("", "CDB$ROOT"):
        return
    used = len(_here(me))
    for name, limit in (("processes", "1024"), ("sessions", "1560")):
        text = me.server.instance.parameters.get(name, limit)
        yield {
            "resource_name": name,
            "current_utilization": used,
            "max_utilization": used,
            "limit_value": f"{text:>10}",
        }


def profile_limits(me: Session) -> Iterable[Row]:
    names = ("COMPOSITE_LIMIT", "SESSIONS_PER_USER", "CPU_PER_SESSION", "CPU_PER_CALL", "LOGICAL_READS_PER_SESSION",
             "LOGICAL_READS_PER_CALL", "IDLE_TIME", "CONNECT_TIME", "PRIVATE_SGA")  # fmt: skip
    return ({"resource_name": name, "limit": me.server.instance.limits.get(name, "UNLIMITED")} for name in names)


def users(me: Session) -> Iterable[Row]:
    names = [*(name.upper() for name in me.server.users), "SYS", "SYSTEM"]
    return ({"username": name} for name in [*names, *(["RDSADMIN"] if me.server.instance.rds else [])])


def accessible_objects(me: Session) -> Iterable[Row]:
    """Of RDSADMIN alone: who may not execute its package does not see it."""
    seen = me.server.instance.rds and me.granted("rdsadmin_util")
    row = {"owner": "RDSADMIN", "object_name": "RDSADMIN_UTIL", "object_type": "PACKAGE"}
    return (row,) if seen else ()


def cursors(me: Session) -> Iterable[Row]:
    """One row per statement and plan, over all sessions that are alive."""
    children: dict[tuple[str, int], dict[str, float]] = {}
    for entry in (*(e for e in _here(me) if e["number"] != me.entry["number"]), me.entry):
        for sql_id, seen in entry["sql"].items():
            total = children.setdefault(
                (sql_id, seen["plan"]), {"executions": 0, "cpu_us": 0, "elapsed_us": 0, "gets": 0}
            )
            for name in ("executions", "cpu_us", "elapsed_us", "gets"):
                total[name] += seen[name]
            total["active_s"] = max(total.get("active_s", 0.0), seen["active_s"])
    known: list[str] = []
    ahead_s = me.server.instance.dates_ahead_s
    for (sql_id, plan), total in children.items():
        child = known.count(sql_id)
        known.append(sql_id)
        yield {"sql_id": sql_id, "child_number": child, "plan_hash_value": plan, "executions": total["executions"],
               "cpu_time": total["cpu_us"], "elapsed_time": total["elapsed_us"], "buffer_gets": total["gets"],
               "disk_reads": 0, "direct_writes": 0, "px_servers_executions": 0,
               "last_active_time": (total["active_s"] + ahead_s) / DAY_S}  # fmt: skip
    for sql_id, plan in children if me.server.instance.old_plan else ():
        known.append(sql_id)
        yield {"sql_id": sql_id, "child_number": known.count(sql_id) - 1, "plan_hash_value": plan + 7, "executions": 5,
               "cpu_time": 1, "elapsed_time": 1, "buffer_gets": 0, "disk_reads": 0, "direct_writes": 0,
               "px_servers_executions": 0, "last_active_time": (time.time() + ahead_s) / DAY_S - 1}  # fmt: skip


def plan_lines(me: Session) -> Iterable[Row]:
    names = {sql_id: seen["name"] for entry in _here(me) for sql_id, seen in entry["sql"].items()}
    names |= {sql_id: seen["name"] for sql_id, seen in me.entry["sql"].items()}
    for cursor in cursors(me):
        plan = operators(me, names.get(str(cursor["sql_id"]), ""))
        for line, (operation, options) in enumerate(plan):
            yield {"sql_id": cursor["sql_id"], "child_number": cursor["child_number"], "id": line,
                   "operation": operation, "options": options}  # fmt: skip


def numerics(me: Session) -> Iterable[Row]:
    default = ",." if me.server.instance.decimal_comma else ".,"
    yield {"parameter": "NLS_NUMERIC_CHARACTERS", "value": me.settings.get("nls_numeric_characters", default)}


def privileges(me: Session) -> Iterable[Row]:
    names = {"CREATE SESSION": "", "CREATE TABLE": "create table", "ALTER SYSTEM": "alter system"}
    return [{"privilege": name} for name, action in names.items() if not action or me.granted(action)]


def dual(me: Session) -> Iterable[Row]:
    return ({"dummy": "X"},)


VIEWS: dict[str, Callable[[Session], Iterable[Row]]] = {
    "dual": dual,
    "v$session": sessions,
    "v$process": processes,
    "v$statname": statistic_names,
    "v$mystat": my_statistics,
    "v$sess_time_model": time_model,
    "v$session_event": session_events,
    "v$osstat": os_statistics,
    "v$parameter": parameters,
    "v$instance": my_instance,
    "gv$instance": instances,
    "gv$session": every_session,
    "v$version": versions,
    "product_component_version": components,
    "v$rsrc_plan": resource_plans,
    "v$rsrc_session_info": managed_sessions,
    "v$rsrcpdbmetric": pluggable_metrics,
    "v$database": database,
    "v$pdbs": pluggable_databases,
    "all_scheduler_windows": windows,
    "v$resource_limit": resource_limits,
    "all_users": users,
    "all_objects": accessible_objects,
    "user_resource_limits": profile_limits,
    "session_privs": privileges,
    "nls_session_parameters": numerics,
    "v$sql": cursors,
    "v$sql_plan": plan_lines,
}
IF_EMPTY = {
    "v$pdbs": ("con_id", "name", "open_mode"),
    "all_objects": ("owner", "object_name", "object_type"),
    "v$session_event": ("sid", "event", "wait_class", "total_waits", "time_waited", "time_waited_micro"),
    "v$sql": ("sql_id", "child_number", "plan_hash_value", "executions", "cpu_time", "elapsed_time", "buffer_gets",
              "disk_reads", "direct_writes", "px_servers_executions", "last_active_time"),
    "v$sql_plan": ("sql_id", "child_number", "id", "operation", "options"),
    "v$resource_limit": ("resource_name", "current_utilization", "max_utilization", "limit_value"),
}  # fmt: skip
"""Columns of the views that may have no row."""
PUBLIC = frozenset({
    "dual", "product_component_version", "all_scheduler_windows", "all_users", "all_objects", "session_privs",
    "nls_session_parameters", "user_resource_limits",
})  # fmt: skip
"""Views that need no privilege."""
SINCE = {"v$rsrcpdbmetric": (12, 2), "v$pdbs": (12, 1)}
"""The version with which a view came."""

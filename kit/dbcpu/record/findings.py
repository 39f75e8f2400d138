"""Findings: what a DBA should know, as data, and the catalogue of all of them by code.

Code that finds something gives the code and the observed figures; the words that do not depend on the run are here
once, and docs/findings.md is made from them. A remedy names a command or a setting, between backticks, and is
understood without the rest: reports also show it alone. Words in braces are replaced by values of the run.
"""

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import asdict

from dbcpu.record.finding_entry import (
    INFO,
    OF_TARGET,
    PROBLEM,
    WARNING,
    Concerns,
    Entry,
    Level,
    RunEntry,
    RunTopic,
    Topic,
)
from dbcpu.record.run_findings import ENOUGH_FOR_VARIANTS, RUN_ENTRIES, RUN_TOPICS


class Finding(Struct, frozen=True):
    """One observation with its consequence.

    ``code`` is stable and kebab-case (``driver-on-host``); ``seen`` carries the numbers;
    ``meaning`` says what follows from them; ``remedy`` is a command or a setting, or ''.
    """

    code: str
    level: Level
    seen: str
    meaning: str
    remedy: str = ""

    @property
    def concerns(self) -> Concerns:
        """What it is of; what is found before a run is of its target."""
        entry = RUN_ENTRIES.get(self.code)
        return entry.concerns if entry else OF_TARGET


UNANSWERED = ("inconclusive", "no-solo-round", "incomplete-run")
"""Findings of a run that does not answer whether every session gets the same CPU."""


def reached(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether any finding is at or above ``fail_on``: never, info, warning or problem; inconclusive: see UNANSWERED."""
    return any(fails(finding.code, finding.level, fail_on) for finding in findings)


def fails(code: str, level: Level, fail_on: str) -> bool:
    """Whether a finding of that code and level is at or above ``fail_on``; see ``reached``."""
    if fail_on == "inconclusive":
        return code in UNANSWERED or level >= Level.PROBLEM
    return fail_on != "never" and level >= Level[fail_on.upper()]


def as_json_text(findings: Iterable[Finding]) -> str:
    """The findings as a JSON list, levels by name."""
    return json.dumps([{**asdict(finding), "level": finding.level.label} for finding in findings], indent=2)


def noted(code: str, seen: str, level: Level | None = None, **values: object) -> Finding:
    """The finding ``code`` with the figures ``seen``; ``level`` if it depends on the case."""
    entry = ENTRIES[code]
    return Finding(code, level or entry.level, seen, entry.meaning.format(**values), entry.remedy.format(**values))


BEFORE = Topic("Before a run (dbcpu doctor)", {
    "host-busy": Entry(WARNING, "other work on the host before the run",
        "it competes with the sessions: the result will be worse than what the host can do",
        "find the other processes with `top -d 1` and stop them, or measure at a quieter time"),
    "plug-in-ignored": Entry(WARNING, "an installed package offers a name that is taken",
        "dbcpu's own member is used, or none where two packages offer the same name",
        "`pip uninstall` the package, or another name in its `[project.entry-points]`"),
    "equal-preference": Entry(WARNING, "two samplers with the same PREFERENCE",
        "where both can be used, dbcpu's own is taken, else the first by name",
        "name one by `--sampler`, or give that of the package another `PREFERENCE`"),
    "sampled": Entry(INFO, "the sampler that will be used", "the cause of a slowdown can be determined"),
    "exact-placement": Entry(INFO, "a host whose kernel can be traced",
        "the processes that ran while a session waited can be named",
        "`dbcpu run --sampler trace`"),
    "no-exact-placement": Entry(INFO, "a host whose kernel cannot be traced from here",
        "placement is from polls, and other processes are known by the CPU time that they used",
        "nothing, if that is enough; else `--sampler trace` as root, or over ssh where `sudo -n sh` is permitted"),
    "no-schedstat": Entry(WARNING, "a kernel without /proc/PID/schedstat",
        "run-queue wait and steal cannot be separated; CPU time has a resolution of 10 ms",
        "use a kernel with `CONFIG_SCHEDSTATS` or `CONFIG_TASK_DELAY_ACCT`"),
    "no-migration-count": Entry(INFO, "a kernel without /proc/PID/sched",
        "CPU migrations between two samples are neither seen nor counted",
        "use a kernel with `CONFIG_SCHED_DEBUG`, or raise `--hz`"),
    "cpu-quota": Entry(WARNING, "a CPU quota",
        "sessions beyond it are throttled, which looks like slow CPUs from inside the database",
        "raise or remove `cpu.max` (systemd: `CPUQuota=`), unless the quota is what you want to measure"),
    "fewer-cpus": Entry(INFO, "an affinity or a cpuset that excludes CPUs",
        "levels and ideal throughput count only the usable CPUs",
        "change `AllowedCPUs=` of the unit, or `cpuset.cpus`, to use all of them"),
    "hidden-processes": Entry(INFO, "a host whose /proc does not list all its processes, as inside a container",
        "other work on the node is seen as busy CPUs, and not by name",
        "reach the node itself (`--host ssh:NODE`) to name it"),
    "smt": Entry(INFO, "cores with several hardware threads (SMT)",
        "with more sessions than cores some sessions share a core and run slower",
        "`cat /sys/devices/system/cpu/smt/control` shows whether SMT can be switched off"),
    "smt-unknown": Entry(INFO, "a guest to which one thread per core is reported",
        "the hypervisor may hide SMT, which the throughput curve will show",
        "`dbcpu run --sessions auto` measures that curve"),
    "governor": Entry(WARNING, "a frequency governor that saves power",
        "CPUs may run below their full frequency, and differently in each run",
        "`cpupower frequency-set -g performance`"),
    "driver-here": Entry(INFO, "dbcpu on the database's own host",
        "its own CPU use is measured and shown; it is below a few per cent of one CPU",
        "run dbcpu on another machine: `dbcpu run URL` there"),
    "no-realtime": Entry(INFO, "no permission for real-time priority",
        "with many sessions on few CPUs the release takes longer: see the skew in the results",
        "run as root, or allow it: `ulimit -r 1`"),
    "database-busy": Entry(WARNING, "other sessions that execute statements",
        "this takes CPU from the measured sessions and appears as a slowdown",
        "list the other sessions: `select pid, query from pg_stat_activity where state = 'active'`; measure when they "
        "have ended"),
    "standby": Entry(INFO, "a standby server",
        "replaying the primary's changes takes CPU from the sessions",
        "measure the primary; or pause the replay for the run: `select pg_wal_replay_pause()`, afterwards `select "
        "pg_wal_replay_resume()`, as a superuser or with EXECUTE on them, which a managed service may not grant"),
    "left-changed": Entry(WARNING, "host settings that a killed `dbcpu vary` did not restore",
        "everything is measured under these settings until they are restored",
        "restore the settings, as the user who ran `dbcpu vary`: `dbcpu restore`"),
    "autogroup": Entry(WARNING, "a variant with a scheduling policy, while autogroup is on",
        "nice values and the idle policy count only within one process session, and each server process of PostgreSQL "
        "or of a SQLite run has its own: between sessions nothing changes",
        "switch autogroup off for the measurement: `sysctl kernel.sched_autogroup_enabled=0`"),
    "too-few-rounds": Entry(WARNING, "variants with fewer rounds than a comparison needs",
        "figures are shown, but no difference between variants, however large, can be distinguished from chance",
        ENOUGH_FOR_VARIANTS),
    "memory-not-bound": Entry(INFO, "a variant with a NUMA node, without numactl",
        "memory that the server has already allocated stays where it is; new memory of the sessions comes from the "
        "node on which they run",
        "start the server with `numactl --cpunodebind=N --membind=N` to bind CPUs and memory"),
})  # fmt: skip

ORACLE = Topic("Before a run on Oracle (dbcpu doctor)", {
    "oracle": Entry(INFO, "the database, how its sessions are served, and how many CPUs it may use",
        "{cpus}",
        "`--vcpus N` if the number is wrong"),
    "after-a-kill": Entry(INFO, "what remains after `kill -9`",
        "a busy server process does not notice that its client is gone; {ends}",
        "stop a run by Ctrl-C, or by `kill` without -9: its sessions are cancelled at once"),
    "oracle-privileges": Entry(INFO, "views that the user may not read (a warning if nothing can be sampled)",
        "not available without them: {lost}",
        "`{grants}`"),
    "packages-revoked": Entry(INFO, "DBMS_SQL or DBMS_OUTPUT, which the user may not execute",
        "executions loop on the server by native dynamic SQL instead: the text is parsed again at each execution, and "
        "what ran before a cancel is not known",
        "`{grants}`"),
    "profile-limits": Entry(WARNING, "limits in the user's profile",
        "sessions beyond them are refused (ORA-02391) or ended (ORA-02390, ORA-02392, ORA-02394, ORA-02396, "
        "ORA-02399), also while they wait at the gate; limits of a call end that call (ORA-02393, ORA-02395): a call "
        "lasts at least one execution, otherwise half of CPU_PER_CALL; a run of more sessions than SESSIONS_PER_USER "
        "does not begin",
        "measure with a user without limits: `create profile dbcpu limit cpu_per_call unlimited`, with the same for "
        "the other limits, and with the password rules of the old profile (a hardened database checks them), then "
        "`alter user {user} profile dbcpu`, afterwards `alter user {user} profile OLD`, where OLD is what `select "
        "profile from dba_users where username = '{account}'` said before; then `drop profile dbcpu`"),
    "logon-warning": Entry(WARNING, "a logon that succeeds with a warning",
        "sessions are measured; after the grace period they are refused",
        "give the user a new password before that: `alter user ... identified by ...`"),
    "cpu-count": Entry(WARNING, "a cpu_count below the CPUs of the host",
        "{effect}",
        "`--vcpus N` says how many count; `show parameter resource_manager_plan`, in the root too, whether a plan is "
        "active{metrics}. In a test window: `alter system set cpu_count = 0 scope = memory sid = '{instance}'`, "
        "afterwards `alter system set cpu_count = {count} scope = memory sid = '{instance}'`, in a pluggable database "
        "for it alone; parallel servers and the optimizer's costs follow CPU_COUNT and change too"),
    "processor-group": Entry(WARNING, "an instance in a processor group of the operating system, on Linux or Solaris",
        "all its processes are bound to the CPUs of that group and run on these alone; {effect}",
        "nothing, if it is meant; `--vcpus N` says how many CPUs count, and server processes that are sampled show it. "
        "Without a group: the DBA takes `processor_group_name` out of the parameter file and restarts the instance"),
    "one-container": Entry(INFO, "a pluggable database",
        "other pluggable databases on this instance, their sessions (those of another dbcpu too) and the plan of the "
        "root container are not seen here: a busy session, plan or window there is not reported. PROCESSES belongs "
        "to the whole container database: how many are free is unknown",
        "where `v$osstat` is granted and no process is sampled, each round shows what others used; else ask in the "
        "root, as SYS or as a common user with `alter user c##bench set container_data = all container = current` "
        "(others see the root alone): `select inst_id, con_id, count(*) from gv$session "
        "where type = 'USER' and status = 'ACTIVE' group by inst_id, con_id`"),
    "not-dedicated": Entry(PROBLEM, "a service with shared or pooled servers",
        "{refusal}",
        "use a service or port with dedicated servers: `lsnrctl services` lists them"),
    "not-identified": Entry(INFO, "sessions whose server process the user may not see",
        "dedicated servers were requested, but this cannot be verified; with shared servers the sessions would queue "
        "for a few processes",
        "`{grants}`"),
    "threaded-execution": Entry(INFO, "sessions that are threads of a few processes",
        "each session is identified and sampled by its thread number",
        "nothing, if threads are meant: they are sampled as well; for a process per session, in a test window, since "
        "the whole instance is restarted: `alter system set threaded_execution = false scope = spfile sid = '*'`, as "
        "SYS with a password (with threads the operating system authenticates nobody), in the root of a container "
        "database (no pluggable database can set it); then restart every instance, of a cluster too, where all need "
        "the same value. Where listener.ora has `DEDICATED_THROUGH_BROKER_LISTENER = ON` (behind the last _ its "
        "listener's name), remove the line and `lsnrctl reload`. Afterwards put both back: the line, and `alter system "
        "set threaded_execution = true scope = spfile sid = '*'`, then restart. Without an spfile edit the pfile"),
    "privileged-user": Entry(WARNING, "SYS, SYSTEM or a SYSDBA as the measured user",
        "the resource manager treats these users differently from an application",
        "measure as an ordinary user: `create user bench ...; grant create session to bench`"),
    "instance-caging": Entry(WARNING, "instance caging",
        "sessions beyond it wait for the resource manager, not for a CPU; more sessions do not increase throughput",
        "nothing, if the cage is meant; without it, in a test window, since all applications then get more CPUs, and "
        "parallel servers and the optimizer's costs follow CPU_COUNT: `alter system set cpu_count = 0 scope = memory "
        "sid = '{instance}'`, afterwards `alter system set cpu_count = {count} scope = memory sid = '{instance}'`, in "
        "a pluggable database for it alone; a VALUE there is what `show parameter cpu_count` says before"),
    "count-changed": Entry(WARNING, "a CPU_COUNT that ALTER SYSTEM has set since the instance started, before a cage",
        "it may be temporary, set by another test or by a run of dbcpu that was killed; the variant cage puts "
        "this value back, and it stays until somebody sets another",
        "ask who has set it, and until when; what a killed run of dbcpu has set is put back by `dbcpu restore TARGET` "
        "on its machine"),
    "resource-manager": Entry(WARNING, "a resource plan that manages CPU",
        "sessions may have to wait although CPUs are idle; such waits get the cause resource_manager",
        "nothing, if the plan is meant; without it, which frees all applications from the plan, so in a test window: "
        "`alter system set resource_manager_plan = '' scope = memory sid = '{instance}'`, afterwards `alter system set "
        "resource_manager_plan = '{plan}' scope = memory sid = '{instance}'`, in a pluggable database for "
        "its own plan alone, not for that of the root (see there: `show parameter resource_manager_plan`); a scheduler "
        "window may set it again (dba_scheduler_windows)"),
    "server-wide-cpu": Entry(INFO, "CPU managed across the instances of a server (RESOURCE_MANAGER_CPU_SCOPE, 23ai)",
        "Resource Manager puts sessions into control groups of Linux, which enforce shares and limits of CPU; what a "
        "session loses to them need not be a wait for resmgr, and looks like run-queue wait, steal or a quota where "
        "its server process is not sampled",
        "nothing, if it is meant: compare runs under the same setting; on a host of your own sample the server "
        "processes (without `--host none`), whose throttling is counted by the kernel"),
    "maintenance-window": Entry(WARNING, "an open maintenance window",
        "maintenance tasks use CPU and a resource plan may be active; the run is marked accordingly",
        "measure outside the window: `select window_name, active, next_start_date from dba_scheduler_windows`"),
    "edition-cap": Entry(WARNING, "an edition that uses fewer CPUs than the host has",
        "sessions beyond this limit do not increase throughput: the edition is measured, not the host",
        "use Enterprise Edition to measure the host; `--vcpus` is set to the limit of the edition already"),
    "sql-trace": Entry(WARNING, "SQL trace for the whole instance",
        "every measured call also writes to a trace file",
        "ask who traces; in a test window, since it ends the tracing of all sessions by this parameter: `alter system "
        "set sql_trace = false scope = memory sid = '{instance}'`, afterwards `alter system set sql_trace = true scope "
        "= memory sid = '{instance}'`; traces by DBMS_MONITOR and by events go on: `select * "
        "from dba_enabled_traces`, `oradebug eventdump system`"),
    "idle-limits": Entry(WARNING, "limits of the instance on how long a session may be idle",
        "sessions that wait at the gate and, in a soak, the driver's own connection, are ended "
        "(MAX_IDLE_BLOCKER_TIME: those that hold what others wait for, and all where SESSIONS or PROCESSES are "
        "nearly used up). Idle limits of a resource plan (MAX_IDLE_TIME of a directive) do the same and are not read",
        "before a soak or a run of many sessions, in a test window: `{changes}`, afterwards `{back}`, in a pluggable "
        "database for it alone"),
    "statistics-level": Entry(INFO, "statistics_level = ALL",
        "it costs CPU for each row; the measured sessions set it to TYPICAL for themselves",
        "nothing to do: `statistics_level = typical` is set in each measured session"),
    "statistics-basic": Entry(WARNING, "statistics_level = BASIC for the whole instance",
        "V$SESS_TIME_MODEL stands still, so DB CPU and DB time of the sessions are unknown, and what needs them: a "
        "shared core, time off the CPU, the load of others. Metrics may not be computed, which V$RSRCPDBMETRIC needs. "
        "A session cannot switch these on for itself",
        "sample the server processes (without `--host none`), or in a test window: `alter system set statistics_level "
        "= typical scope = memory sid = '{instance}'`, afterwards `alter system set statistics_level = basic scope = "
        "memory sid = '{instance}'`"),
    "metrics-old": Entry(WARNING, "metrics of the database that are no longer computed",
        "how many CPUs a plan of the root leaves to the pluggable database is unknown",
        "ask the DBA why MMON computes none (its trace and the alert log), and give the CPUs by `--vcpus N` meanwhile"),
    "cursor-sharing": Entry(INFO, "cursor_sharing other than EXACT",
        "it replaces literals in the statements of other sessions; the measured sessions set EXACT for themselves",
        "nothing to do: `cursor_sharing = exact` is set in each measured session; setting-refused says where it does "
        "not hold"),
    "parallel-servers": Entry(INFO, "automatic parallelism",
        "the measured sessions switch parallel query off for themselves; other sessions may still use these servers",
        "nothing to do: `alter session disable parallel query` is sent in each measured session"),
    "shared-servers": Entry(INFO, "configured shared servers",
        "every measured session requests a dedicated server, and the run stops if it does not get one",
        "nothing to do: `server=dedicated` is in every connect string that dbcpu uses"),
    "autonomous": Entry(INFO, "Autonomous Database, at a serial service level",
        "the host is not visible; the service level and auto-scaling limit the CPU, and the limit may change during a "
        "run. `_tpurgent` has a larger share of the CPU than `_tp`, and `_low` a smaller one. A session that is idle "
        "for more than 5 minutes may be ended where others need what it holds",
        "switch auto-scaling off for the run: `oci db autonomous-database update --autonomous-database-id OCID "
        "--is-auto-scaling-enabled false`, afterwards the same with `true` if it was on"),
    "autonomous-parallel": Entry(PROBLEM, "Autonomous Database, at service level HIGH or MEDIUM",
        "these levels run statements in parallel and queue them: this does not measure the CPU of one session. With "
        "fewer than 4 ECPUs or 2 OCPUs they run none in parallel, unless that is requested",
        "connect to the service ending in `_tp` (`_tp_tls`), or in `_low` where tnsnames.ora has no `_tp`"),
    "data-guard-standby": Entry(WARNING, "a standby of Data Guard",
        "{applying}; workload logical_io makes a table, which a standby refuses, or a physical one from 18c on creates "
        "in its primary database: dbcpu does not send it to a physical standby",
        "measure the primary{stop}. `--workload cartesian` makes no table"),
    "true-cache": Entry(WARNING, "a True Cache (26ai)",
        "applying redo uses CPU beside the sessions, as much as the primary writes; workload logical_io makes a table, "
        "which dbcpu does not send here",
        "measure the primary, or a True Cache whose primary is not written to meanwhile. `--workload cartesian` makes "
        "no table"),
    "pluggable-read-only": Entry(WARNING, "a pluggable database that is open read-only in a primary (21c or newer)",
        "it may be a standby of its own (Data Guard per PDB) or a refreshable clone: redo may be applied to it, which "
        "uses CPU, as much as its source writes; V$DATABASE does not say so, its container database is a primary. "
        "Workload logical_io makes a table, which is refused (ORA-16000)",
        "ask whether it is one: `show pluggable database NAME at DATABASE` in dgmgrl (role and apply state), `select "
        "refresh_mode from dba_pdbs` in it; measure the source, or while it is not written to. `--workload cartesian` "
        "makes no table"),
    "rds": Entry(INFO, "Amazon RDS",
        "elapsed times, the throughput curve and database counters are available; which sessions share a core is not "
        "visible, and burstable classes (`db.t*`) slow down when their CPU credits are used up",
        "for full attribution measure the same instance type on EC2: `dbcpu run` there"),
    "cluster": Entry(INFO, "a cluster of several instances",
        "all sessions use one instance, since each instance runs on its own host",
        "choose another instance with `?instance_name=NAME` in the URL"),
    "cluster-unknown": Entry(WARNING, "whether the database is a cluster is not known",
        "V$INSTANCE may not be read and DBMS_UTILITY not be executed, so sessions are not held on one instance; where "
        "they come to several, the run gives no answer, and the variant cage is refused",
        "`{grant}`, or in a cluster name one instance: `?instance_name=NAME` in the URL"),
    "instance-busy": Entry(WARNING, "other sessions that execute statements",
        "this takes CPU from the measured sessions and appears as a slowdown",
        "list the other sessions: `select sid, program, sql_id from v$session where type = 'USER' and status = "
        "'ACTIVE'`; measure when they have ended"),
    "leftovers-ended": Entry(INFO, "sessions of a killed run, which dbcpu has ended",
        "this CPU time is available again",
        "stop a run by Ctrl-C, or by `kill` without -9: its sessions are cancelled at once"),
    "leftovers": Entry(WARNING, "sessions of a killed run that are still executing",
        "this takes CPU from the measured sessions until the call returns",
        "end these sessions: `{statements}`"),
    "other-run": Entry(WARNING, "another dbcpu that is connected to the same database",
        "if it measures, the two runs take CPU from each other; `dbcpu doctor` has one session and measures nothing",
        "wait until the other run has finished, or stop it by `kill` without -9, which also ends its sessions"),
})  # fmt: skip


TOPICS: tuple[Topic | RunTopic, ...] = (*RUN_TOPICS, BEFORE, ORACLE)
ENTRIES: Mapping[str, Entry | RunEntry] = {code: entry for topic in TOPICS for code, entry in topic.entries.items()}

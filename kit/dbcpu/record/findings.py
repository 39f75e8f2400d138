"""Findings: what a DBA should know, as data, and the catalogue of all of them by code.

Code that finds something gives the code and the observed figures; the words that do not depend on the run are here
once, and docs/findings.md is made from them. A remedy names a command or a setting, between backticks, and is
understood without the rest: reports also show it alone. Words in braces are replaced by values of the run.
"""

import json
from collections.abc import Iterable, Mapping
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import asdict

FOREIGN_SHARE = 0.05
"""Of all vCPUs: what other processes use is a finding above it, and may be why something is slow."""
STEAL_SHARE = 0.01
"""Of the vCPUs' time: steal is a finding above it."""
THROTTLED_SHARE = 0.01
"""Of the time of a round: below it an exhausted quota is no finding, and bends no curve."""


class Level(IntEnum):
    """How much a finding matters; ``--fail-on`` compares against it."""

    INFO = 10
    WARNING = 20
    PROBLEM = 30

    @property
    def label(self) -> str:
        return self.name.lower()


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


INFO, WARNING, PROBLEM = Level.INFO, Level.WARNING, Level.PROBLEM


class Entry(Struct, frozen=True):
    """``when`` describes the observation in the catalogue; a finding itself has the figures in ``seen``."""

    level: Level
    when: str
    meaning: str
    remedy: str = ""


class Topic(Struct, frozen=True):
    """A heading of the catalogue and its entries by code."""

    title: str
    entries: Mapping[str, Entry]


def noted(code: str, seen: str, level: Level | None = None, **values: object) -> Finding:
    """The finding ``code`` with the figures ``seen``; ``level`` if it depends on the case."""
    entry = ENTRIES[code]
    return Finding(code, level or entry.level, seen, entry.meaning.format(**values), entry.remedy.format(**values))


MEASURE_AGAIN = "measure again: `dbcpu run`"
WITH_A_SINGLE_SESSION = "measure again with level 1 included: `--sessions 1,...`"
LONGER_EXECUTIONS = "a longer `--size`, or more `--executions`"
LONGER_ROUNDS = "more `--executions`, or a longer `--size`"
SHORTER_ROUNDS = "shorter rounds (`--executions`, `--size`)"
ENOUGH_REPEATS = "`--repeats 6`, or `--repeats 10` to compare hosts"
ENOUGH_FOR_VARIANTS = "`--repeats 6`, or `--repeats 10` for small differences"
"""What other commands than ``dbcpu run`` do by options of their own (``analysis.conclusions.remedy_commands``)."""
ALL_LEVELS = "measure all levels (`--sessions auto`)"
LONGER = "longer executions (`--size long`)"
QUIETER = f"{LONGER}, or a quieter host"
MORE_ROUNDS = "more rounds (on its host: `dbcpu more RUN`, {repeats} of each level in all)"
ONE_PER_CORE = "run one session per core: fewer sessions (a pool of {cores})"
SMT_OFF = (
    "SMT off (`echo off > /sys/devices/system/cpu/smt/control`, EC2 `ThreadsPerCore=1`, RDS `threadsPerCore=1`), or "
    "more vCPUs"
)
"""Parts of remedies that a check puts together in another way where a run says more."""

WORK = Topic("Was the work done?", {
    "wrong-answer": Entry(PROBLEM, "sessions that returned a wrong answer",
        "a session with a wrong answer did not do the same work as the others and is excluded from every verdict",
        "run the workload's file below `sql/` by hand and compare its answer with the header of the file"),
    "work-not-done": Entry(PROBLEM, "sessions whose answer is right, but with more rows per second, or per CPU second, "
        "than a CPU can count, with CPU times that differ 20 times, or with another plan than the workload's",
        "the answer came from a cache, a rewritten text or an optimizer that multiplied: these sessions are excluded, "
        "and the run does not answer whether sessions get the same CPU",
        "use a workload without an optimizer (`--workload arithmetic`), and switch off what answers without work: "
        "`result_cache_mode = manual` (Oracle), query rewriting by a proxy or a plug-in"),
    "failed-session": Entry(PROBLEM, "sessions that ended with an error (a warning where their level has whole rounds)",
        "the remaining sessions had more CPU than this level gives: such a round has no throughput, and its times "
        "count only if the level has no other",
        "read the error in the database's log; `dbcpu doctor TARGET` checks what can prevent a run"),
    "failed-round": Entry(PROBLEM, "rounds in which every session failed",
        "failed rounds are not used",
        "`dbcpu doctor TARGET` checks what can prevent a run"),
    "incomplete-run": Entry(WARNING, "a run that was interrupted (or, as a problem, failed)",
        "some levels have fewer rounds than planned, or none",
        MEASURE_AGAIN),
    "parallel-plan": Entry(PROBLEM, "an execution plan with parallel workers",
        "one session then uses several processes, and its times and CPU times are not those of one process",
        "switch parallel query off for this user: `alter role NAME set max_parallel_workers_per_gather = 0` "
        "(PostgreSQL, also a managed one; afterwards `alter role NAME reset max_parallel_workers_per_gather`), "
        "`alter session disable parallel query` (Oracle)"),
    "temp-spill": Entry(PROBLEM, "temporary files written by sessions",
        "this is I/O, and it needs more CPU for the same rows: the run is not a pure CPU test",
        "raise `work_mem` (`alter role NAME set work_mem = '256MB'`, also on a managed PostgreSQL; afterwards `alter "
        "role NAME reset work_mem`), or use a workload with constant memory: `--workload cartesian`"),
})  # fmt: skip

TRUST = Topic("How far can the figures be trusted?", {
    "no-solo-round": Entry(WARNING, "no valid single-session round",
        "the slowdown cannot be computed without a baseline: if all sessions are equally slow, it does not show",
        WITH_A_SINGLE_SESSION),
    "noisy-reference": Entry(WARNING, "times of sessions that share nothing which vary by more than 10 % (three robust "
        "standard deviations), or a single session that was measured only once",
        "a slowdown of one session of less than {tolerance} cannot be distinguished from noise",
        "measure on a quieter host, or with longer executions: `--size long`"),
    "unsteady-cpu": Entry(WARNING, "sessions with a core of their own whose CPU times vary, which explains most of the "
        "variation in their elapsed times",
        "the same work does not always need the same CPU time: the clock frequency may change, or another tenant may "
        "use the SMT sibling, which is invisible to a guest",
        "in a cloud: use a dedicated host, or a size with whole cores (`ThreadsPerCore=1`); on your own hardware: "
        "`cpupower frequency-set -g performance`; otherwise repeat the run at different times and compare "
        "(`dbcpu show last --history`)"),
    "strangers-on-siblings": Entry(WARNING, "two speeds of the CPUs of a virtual machine, by the witness, also with at "
        "most one session at work",
        "another tenant uses the cores of these vCPUs from time to time: sessions are slower while it does, "
        "whatever this run does",
        "use a dedicated host, a size with whole cores (`ThreadsPerCore=1`), or another size or family"),
    "solo-drift": Entry(WARNING, "single-session times at the start, middle and end that differ by more than the "
        "tolerance",
        "the host changed during the run: levels that were measured at different times cannot be compared well",
        "measure again; check CPU credits (`aws cloudwatch get-metric-statistics --namespace AWS/EC2 --metric-name "
        "CPUCreditBalance ...`), temperature (`sensors`) and neighbours"),
    "noise-floor": Entry(INFO, "an A/A test: the same configuration measured twice, interleaved (`dbcpu run --aa`)",
        "smaller differences between two such runs on this host are noise",
        "to detect smaller differences: `--repeats 10`, or a longer `--size`"),
    "not-sampled": Entry(WARNING, "rounds without data from the host",
        "it is known which sessions got less CPU, but not why: causes are inferred from groups of equal times, "
        "the throughput curve and database counters",
        "run `dbcpu doctor` on the database's own host: it lists what can be sampled there and which privileges that "
        "needs. After `--host none`: leave that out. A managed service has no such host"),
    "not-checked": Entry(INFO, "checks that the database user's privileges do not permit",
        "these were not checked, so problems there may go unreported",
        "`{grants};`"),
    "moves-unseen": Entry(INFO, "CPU migrations that the kernel counted and the sampler missed",
        "the placement of sessions is approximate; times are not affected",
        "raise the sampling rate: `--hz 50`"),
    "trace-incomplete": Entry(INFO, "rounds with an incomplete kernel trace",
        "placement in these rounds is from polls, and which processes ran instead is unknown",
        f"{SHORTER_ROUNDS}, or `--sampler procfs`"),
    "few-polls": Entry(INFO, "rounds with fewer than ten samples",
        "the placement of sessions is approximate; run delay, CPU time and migration counts are exact",
        f"make rounds longer: {LONGER_ROUNDS}"),
    "gate-skew": Entry(WARNING, "a release that took more than 1 % of an execution",
        "the earliest sessions ran without contention for that time",
        f"make executions longer: {LONGER_EXECUTIONS}"),
    "not-settled": Entry(WARNING, "other processes that were active before a round",
        "other processes probably ran during the round as well, and took CPU from the sessions",
        "find the other processes with `top -d 1`, and measure when they have ended"),
    "quick-run": Entry(INFO, "fewer than six repeats of a level",
        "exploratory only: too few repeats for a statistical test against another run",
        ENOUGH_REPEATS),
    "coarse-clock": Entry(WARNING, "server times that are multiples of a millisecond or more, for short executions",
        "the clock of these times has this step, as that of Windows or of plain sh: times of executions are rounded to "
        "it, and differences between short ones may be steps",
        "use a longer size: `--size long`"),
    "client-clock": Entry(INFO, "a database that does not report when a statement ended, on a host whose CPUs are all "
        "busy",
        "the driver may see an answer late: its own delay is added to the uncertainty of the times",
        "run the driver on another machine: `dbcpu run URL` there"),
})  # fmt: skip

HOST = Topic("What else was on the host?", {
    "driver-on-host": Entry(WARNING, "driver and sampler that used more than 5 % of one CPU of the measured host",
        "the sessions did not have this CPU time",
        "run the driver on another machine, use a longer `--size`, or lower `--hz`"),
    "foreign-load": Entry(WARNING, f"other processes that used more than {100 * FOREIGN_SHARE:g} % of all vCPUs",
        "part of the slowdown is caused by these processes, not by the sessions of this run",
        "stop the other processes (`systemctl stop UNIT`), keep them off the database's CPUs "
        "(`systemctl set-property UNIT AllowedCPUs=...`), or measure at another time"),
    "steal": Entry(WARNING, f"CPU steal above {100 * STEAL_SHARE:g} % of the vCPUs' time",
        "the hypervisor runs other guests on the physical CPUs of this guest",
        "use a dedicated host (EC2 `Tenancy=dedicated`) or a CPU reservation in the hypervisor (VMware "
        "`sched.cpu.min`), pin vCPUs to physical CPUs (`virsh vcpupin`), or move noisy neighbours away"),
    "steal-unseen": Entry(INFO, "a hypervisor that does not report steal to its guests, or may not",
        "a steal of 0 is then unknown, and not zero: time that the hypervisor gave to others counts as CPU time of the "
        "sessions, so causes that rest on CPU time (shared core, slower CPU) are of lower confidence",
        "VMware: `stealclock.enable = TRUE` in the configuration of the VM (hardware version 13, Linux 5.7). Else look "
        "at the hypervisor meanwhile: `esxtop` (%RDY, %CSTP), on Hyper-V `Get-Counter '\\Hyper-V Hypervisor Virtual "
        "Processor(*)\\CPU Wait Time Per Dispatch'`. In a cloud that shows neither: a dedicated host"),
    "interrupts": Entry(WARNING, "interrupts that took more than 5 % of a CPU",
        "the sessions on that CPU got less CPU time, and no session setting changes this",
        "move the interrupts to other CPUs (`/proc/irq/N/smp_affinity_list`, `irqbalance`), or keep sessions off this "
        "CPU (`dbcpu vary --variants irq:away` measures the difference, where it can)"),
    "throttled": Entry(WARNING, "control groups of the sessions that used up their CPU quota",
        "the kernel stopped the sessions for part of the time, even if CPUs were idle",
        "raise `cpu.max` (systemd: `CPUQuota=`, containers: `--cpus`), or run no more sessions than the quota allows"),
    "hidden-quota": Entry(WARNING, "a control group that had work and no CPU, without a quota of its own or other load",
        "a limit not visible here, such as that of a pod or a slice, may have stopped the sessions even if CPUs "
        "were idle",
        "read `cpu.max` and `cpu.stat` of the groups above it on the node itself, and the limits of the pod"),
})  # fmt: skip

RESULT = Topic("What was found", {
    "inconclusive": Entry(WARNING, "levels up to the vCPUs at which it is inconclusive whether sessions get equal CPU "
        "at full speed",
        "this run does not answer that (`--fail-on inconclusive`: exit code 1)",
        f"{MORE_ROUNDS}, {QUIETER}"),
    "baseline-too-slow": Entry(WARNING, "more throughput than so many sessions alone would reach, by more than 10 %",
        "something, perhaps only noise, slowed the single-session rounds: slowdown and efficiency of these levels are "
        "not reliable",
        "measure again on a quieter host; compare the single-session times in `dbcpu show RUN --json`"),
    "uneven-sessions": Entry(WARNING, "levels at which the slowest session took longer than the fastest, beyond chance "
        "or as the kernel counted (equal: no)",
        "sessions that did the same work at the same time did not get the same CPU",
        "look at the causes of the sessions (`dbcpu show RUN`), and at the remedies of the other findings"),
    "memory-remote": Entry(WARNING, "sessions that all ran on another NUMA node than those that their memory is bound "
        "to",
        "memory of another node is slower; what that costs here is not measured, since no session ran beside its "
        "memory",
        "bind the database to one node if the CPUs of that node are enough for it: `numactl --cpunodebind=N "
        "--membind=N`, or spread its memory over all nodes: `numactl --interleave=all`; measure again to see the "
        "difference"),
    "slow-together": Entry(WARNING, "sessions of which most are slow, although there is a CPU for each",
        "possible reasons: SMT hidden by the hypervisor, CPU steal, a quota, other processes, a lower clock frequency",
        "see the causes of the sessions (`dbcpu show RUN`); `dbcpu topology` shows quotas and SMT siblings"),
    "misplaced": Entry(WARNING, "sessions that shared a core while another core was idle, or waited in a run queue "
        "while another CPU was idle",
        "this slowdown is avoidable: the scheduler could have used the idle core or CPU",
        "use a kernel whose scheduler balances over SMT (mainline 6.6, or a distribution kernel with these changes: "
        "`uname -r`), or pin the sessions (`taskset -cp CPUS PID`, `cpuset.cpus`)"),
    "shared-cores": Entry(INFO, "sessions that shared a core while no core was idle",
        "no placement avoids SMT sharing at this load; a newer scheduler can only distribute it more fairly",
        f"{ONE_PER_CORE}, {SMT_OFF}"),
    "shared-core-cost": Entry(INFO, "the speed of a session while another session runs on the same core, over the "
        "whole run",
        "this is what the second hardware thread of a core takes from the first (95 % confidence interval, by "
        "regression over all rounds)",
        "where this matters, run one session per core: `echo off > /sys/devices/system/cpu/smt/control`, EC2 "
        "`ThreadsPerCore=1`, or `taskset -cp CPUS PID`"),
    "oversubscribed": Entry(INFO, "more sessions than vCPUs",
        "the sessions time-share the CPUs, regardless of placement",
        "run no more than {sessions} (size of the connection pool; with Oracle Enterprise Edition "
        "`resource_manager_plan`), or {more}"),
    "sticky-placement": Entry(INFO, "an imbalance close to that of a fully pinned placement",
        "the scheduler rarely migrates sessions while all cores are busy: a session that starts on a shared core "
        "stays there for most of its statement",
        "use a kernel whose scheduler balances more often (`uname -r`), one thread per core (`ThreadsPerCore=1`), or "
        "shorter statements"),
    "cores-fewer-than-shown": Entry(WARNING, "throughput that scales like fewer cores than the kernel reports "
        "(level info where steal, CPU quotas and other processes were not measured: they have the same effect)",
        "the hypervisor hides SMT or overcommits the CPUs, or a power limit holds: plan with {scaled} cores, not "
        "{shown}",
        "give each vCPU a core of its own in the hypervisor (`lscpu -e` there shows the siblings, `virsh vcpupin` pins "
        "them); in a cloud use another instance type or `ThreadsPerCore=1`"),
    "smt-like-cores": Entry(INFO, "hardware threads that scale like whole cores",
        "the reported topology is not the real one, or this workload leaves room for both threads of a core; SMT off "
        "would cost throughput",
        "leave `smt/control` as it is, and plan with {shown} vCPUs for this kind of work"),
})  # fmt: skip

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

COUNTERS = Topic("Did the database only compute? (from its own counters)", {
    "plans-differ": Entry(PROBLEM, "more than one plan hash value for the measured statement",
        "sessions with another plan did different work: their times cannot be compared",
        "`select * from v$sql_shared_cursor where sql_id = ...` shows the reason; give all sessions the same settings"),
    "physical-io": Entry(PROBLEM, "20 or more blocks read or written by a session",
        "this is I/O: the run is not a pure CPU test",
        "use `--workload cartesian`, which needs no table, or give the instance more memory"),
    "resource-manager-waits": Entry(WARNING, "waits for the database's resource manager",
        "the CPU is distributed by a resource plan or instance caging, not by the operating system",
        "nothing, if the plan is meant; without it, which frees all applications from the plan, so in a test window: "
        "`alter system set resource_manager_plan = '' scope = memory sid = '{instance}'`, afterwards `alter system set "
        "resource_manager_plan = '{plan}' scope = memory sid = '{instance}'`; a VALUE there is what `show parameter "
        "resource_manager_plan` says before. A plan of the root stays. For instance caging see `instance-caging`"),
    "parallel-query": Entry(PROBLEM, "sessions that ran in parallel, according to the database's counters",
        "one session then uses several processes, and its times and CPU times are not those of one process",
        "connect to a service without automatic parallelism: on Autonomous Database `_tp`, or `_low` where the wallet "
        "has no `_tp`"),
    "hard-parses": Entry(WARNING, "hard parses during the measured call",
        "the statement was optimized anew, and sessions wait for each other meanwhile: it was aged out of the shared "
        "pool, invalidated, or optimized again after feedback from its first execution",
        "`select * from v$sql_shared_cursor where sql_id = ...` shows why there are several cursors; one that was aged "
        "out needs more shared pool: `shared_pool_size`"),
    "several-instances": Entry(PROBLEM, "sessions on more than one instance of a cluster",
        "each instance runs on its own host: these sessions did not share CPUs, N overstates the load, and the vCPUs "
        "are those of one host, so there is no answer",
        "connect to one instance: `?instance_name=NAME` in the URL"),
    "setting-refused": Entry(WARNING, "session settings that were refused or ignored, read back from the session",
        "results may come from a cache, in parallel, by another plan or with statistics per row; whether the work was "
        "done is checked besides (work-not-done). With OPTIMIZER_CAPTURE_SQL_PLAN_BASELINES the measured text keeps a "
        "plan baseline after the run (dba_sql_plan_baselines)",
        "allow these settings in the lockdown profile, as a common user in the root, for every pluggable database that "
        "has it: `alter lockdown profile NAME enable statement = ('ALTER SESSION') clause = ('SET') option = "
        "('RESULT_CACHE_MODE')`, an option for each setting; parallel query by itself: `alter lockdown profile NAME "
        "enable statement = ('ALTER SESSION') clause = ('DISABLE PARALLEL QUERY')`. Or measure in a database "
        "without the profile: a setting of the whole instance changes every application's plans and caches"),
    "session-traced": Entry(WARNING, "measured sessions that are traced, by a logon trigger or by DBMS_MONITOR",
        "each call also writes to a trace file, which costs time and CPU",
        "`exec dbms_monitor.serv_mod_act_trace_disable(...)`, or no logon trigger for this user; "
        "`select * from dba_enabled_traces` lists what is traced"),
    "scaled-cpu-time": Entry(INFO, "a database on AIX, whose CPU time is scaled by the use of the core (PURR)",
        "DB CPU does not rise where a core is shared, so neither causes nor the load of others are concluded from it: "
        "what it would show is unknown",
        "`mpstat -s` on the host shows which threads of a core were used"),
    "platform-unknown": Entry(INFO, "a database whose operating system is unknown, on a host that was not seen",
        "on AIX DB CPU does not rise where a core is shared; this may be AIX, so neither causes nor the load of others "
        "are concluded from it",
        "`grant read on sys.v_$database` (before 12.1.0.2 `grant select`) lets dbcpu read the operating system"),
    "work-area-spill": Entry(PROBLEM, "work areas (sorts, buffers of joins) that did not fit into memory",
        "this is I/O, and it needs more CPU for the same rows: the run is not a pure CPU test",
        "raise `pga_aggregate_target`, or run fewer sessions"),
    "in-maintenance-window": Entry(WARNING, "a run during an open maintenance window",
        "maintenance tasks and their resource plan may have used CPU; do not compare this run with others",
        "measure outside the window: `select window_name, active, next_start_date from dba_scheduler_windows`"),
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


TOPICS = (WORK, COUNTERS, TRUST, HOST, RESULT, BEFORE, ORACLE)
ENTRIES: Mapping[str, Entry] = {code: entry for topic in TOPICS for code, entry in topic.entries.items()}

"""The catalogue of what is found of a run that was measured; what is found before one is in ``findings``."""

from dbcpu.record.finding_entry import (
    INFO,
    OF_COMPARISON,
    OF_HOST,
    OF_TARGET,
    PROBLEM,
    WARNING,
    RunEntry,
    RunTopic,
)

FOREIGN_SHARE = 0.05
"""Of all vCPUs: what other processes use is a finding above it, and may be why something is slow."""
STEAL_SHARE = 0.01
"""Of the vCPUs' time: steal is a finding above it."""
THROTTLED_SHARE = 0.01
"""Of the time of a round: below it an exhausted quota is no finding, and bends no curve."""
MEASURE_AGAIN = "measure again: `dbcpu run`"
WITH_A_SINGLE_SESSION = "measure again with level 1 included: `--sessions 1,...`"
LONGER_EXECUTIONS = "a longer `--size`, or more `--executions`"
LONGER_ROUNDS = "more `--executions`, or a longer `--size`"
SHORTER_ROUNDS = "shorter rounds (`--executions`, `--size`)"
ENOUGH_REPEATS = "`--repeats 6`, or `--repeats 10` to compare hosts"
ENOUGH_FOR_VARIANTS = "`--repeats 6`, or `--repeats 10` for small differences"
"""What other commands than ``dbcpu run`` do by options of their own (``analysis.conclusions.remedy_commands``)."""
AS_JSON = "`dbcpu show RUN --json`"
"""RUN is the run that it is said of, where the record names it."""
AS_QUOTA_ALLOWS = "run no more sessions than the quota allows"
"""Of work that waits the finding gives the number, which nobody sees from the quota."""
DEDICATED = "use a dedicated host"
"""Helps against what other tenants do, in more than one way; advice has it once."""
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

WORK = RunTopic("Was the work done?", {
    "wrong-answer": RunEntry(PROBLEM, OF_TARGET, "sessions that returned a wrong answer",
        "a session with a wrong answer did not do the same work as the others and is excluded from every verdict",
        "run the workload's file below `sql/` by hand and compare its answer with the header of the file"),
    "work-not-done": RunEntry(PROBLEM, OF_TARGET,
        "sessions whose answer is right, but with more rows per second, or per CPU second, "
        "than a CPU can count, with CPU times that differ 20 times, or with another plan than the workload's",
        "the answer came from a cache, a rewritten text or an optimizer that multiplied: these sessions are excluded, "
        "and the run does not answer whether sessions get the same CPU",
        "use a workload without an optimizer (`--workload arithmetic`), and switch off what answers without work: "
        "`result_cache_mode = manual` (Oracle), query rewriting by a proxy or a plug-in"),
    "failed-session": RunEntry(PROBLEM, OF_TARGET,
        "sessions that ended with an error (a warning where their level has whole rounds)",
        "the remaining sessions had more CPU than this level gives: such a round has no throughput, and its times "
        "count only if the level has no other",
        "read the error in the database's log; `dbcpu doctor TARGET` checks what can prevent a run"),
    "failed-round": RunEntry(PROBLEM, OF_TARGET, "rounds in which every session failed",
        "failed rounds are not used",
        "`dbcpu doctor TARGET` checks what can prevent a run"),
    "incomplete-run": RunEntry(WARNING, OF_TARGET, "a run that was interrupted (or, as a problem, failed)",
        "some levels have fewer rounds than planned, or none",
        MEASURE_AGAIN),
    "parallel-plan": RunEntry(PROBLEM, OF_TARGET, "an execution plan with parallel workers",
        "one session then uses several processes, and its times and CPU times are not those of one process",
        "switch parallel query off for this user: `alter role NAME set max_parallel_workers_per_gather = 0` "
        "(PostgreSQL, also a managed one; afterwards `alter role NAME reset max_parallel_workers_per_gather`), "
        "`alter session disable parallel query` (Oracle)"),
    "temp-spill": RunEntry(PROBLEM, OF_TARGET, "temporary files written by sessions",
        "this is I/O, and it needs more CPU for the same rows: the run is not a pure CPU test",
        "raise `work_mem` (`alter role NAME set work_mem = '256MB'`, also on a managed PostgreSQL; afterwards `alter "
        "role NAME reset work_mem`), or use a workload with constant memory: `--workload cartesian`"),
})  # fmt: skip

COUNTERS = RunTopic("Did the database only compute? (from its own counters)", {
    "plans-differ": RunEntry(PROBLEM, OF_TARGET, "more than one plan hash value for the measured statement",
        "sessions with another plan did different work: their times cannot be compared",
        "`select * from v$sql_shared_cursor where sql_id = ...` shows the reason; give all sessions the same settings"),
    "physical-io": RunEntry(PROBLEM, OF_TARGET, "20 or more blocks read or written by a session",
        "this is I/O: the run is not a pure CPU test",
        "use `--workload cartesian`, which needs no table, or give the instance more memory"),
    "resource-manager-waits": RunEntry(WARNING, OF_TARGET, "waits for the database's resource manager",
        "the CPU is distributed by a resource plan or instance caging, not by the operating system",
        "nothing, if the plan is meant; without it, which frees all applications from the plan, so in a test window: "
        "`alter system set resource_manager_plan = '' scope = memory sid = '{instance}'`, afterwards `alter system set "
        "resource_manager_plan = '{plan}' scope = memory sid = '{instance}'`; a VALUE there is what `show parameter "
        "resource_manager_plan` says before. A plan of the root stays. For instance caging see `instance-caging`"),
    "parallel-query": RunEntry(PROBLEM, OF_TARGET,
        "sessions that ran in parallel, according to the database's counters",
        "one session then uses several processes, and its times and CPU times are not those of one process",
        "connect to a service without automatic parallelism: on Autonomous Database `_tp`, or `_low` where the wallet "
        "has no `_tp`"),
    "hard-parses": RunEntry(WARNING, OF_TARGET, "hard parses during the measured call",
        "the statement was optimized anew, and sessions wait for each other meanwhile: it was aged out of the shared "
        "pool, invalidated, or optimized again after feedback from its first execution",
        "`select * from v$sql_shared_cursor where sql_id = ...` shows why there are several cursors; one that was aged "
        "out needs more shared pool: `shared_pool_size`"),
    "several-instances": RunEntry(PROBLEM, OF_TARGET, "sessions on more than one instance of a cluster",
        "each instance runs on its own host: these sessions did not share CPUs, N overstates the load, and the vCPUs "
        "are those of one host, so there is no answer",
        "connect to one instance: `?instance_name=NAME` in the URL"),
    "setting-refused": RunEntry(WARNING, OF_TARGET,
        "session settings that were refused or ignored, read back from the session",
        "results may come from a cache, in parallel, by another plan or with statistics per row; whether the work was "
        "done is checked besides (work-not-done). With OPTIMIZER_CAPTURE_SQL_PLAN_BASELINES the measured text keeps a "
        "plan baseline after the run (dba_sql_plan_baselines)",
        "allow these settings in the lockdown profile, as a common user in the root, for every pluggable database that "
        "has it: `alter lockdown profile NAME enable statement = ('ALTER SESSION') clause = ('SET') option = "
        "('RESULT_CACHE_MODE')`, an option for each setting; parallel query by itself: `alter lockdown profile NAME "
        "enable statement = ('ALTER SESSION') clause = ('DISABLE PARALLEL QUERY')`. Or measure in a database "
        "without the profile: a setting of the whole instance changes every application's plans and caches"),
    "session-traced": RunEntry(WARNING, OF_TARGET,
        "measured sessions that are traced, by a logon trigger or by DBMS_MONITOR",
        "each call also writes to a trace file, which costs time and CPU",
        "`exec dbms_monitor.serv_mod_act_trace_disable(...)`, or no logon trigger for this user; "
        "`select * from dba_enabled_traces` lists what is traced"),
    "scaled-cpu-time": RunEntry(INFO, OF_TARGET,
        "a database on AIX, whose CPU time is scaled by the use of the core (PURR)",
        "DB CPU does not rise where a core is shared, so neither causes nor the load of others are concluded from it: "
        "what it would show is unknown",
        "`mpstat -s` on the host shows which threads of a core were used"),
    "platform-unknown": RunEntry(INFO, OF_TARGET,
        "a database whose operating system is unknown, on a host that was not seen",
        "on AIX DB CPU does not rise where a core is shared; this may be AIX, so neither causes nor the load of others "
        "are concluded from it",
        "`grant read on sys.v_$database` (before 12.1.0.2 `grant select`) lets dbcpu read the operating system"),
    "work-area-spill": RunEntry(PROBLEM, OF_TARGET, "work areas (sorts, buffers of joins) that did not fit into memory",
        "this is I/O, and it needs more CPU for the same rows: the run is not a pure CPU test",
        "raise `pga_aggregate_target`, or run fewer sessions"),
    "in-maintenance-window": RunEntry(WARNING, OF_TARGET, "a run during an open maintenance window",
        "maintenance tasks and their resource plan may have used CPU; do not compare this run with others",
        "measure outside the window: `select window_name, active, next_start_date from dba_scheduler_windows`"),
})  # fmt: skip

TRUST = RunTopic("How far can the figures be trusted?", {
    "no-solo-round": RunEntry(WARNING, OF_COMPARISON, "no valid single-session round",
        "the slowdown cannot be computed without a baseline: if all sessions are equally slow, it does not show",
        WITH_A_SINGLE_SESSION),
    "noisy-reference": RunEntry(WARNING, OF_COMPARISON,
        "times of sessions that share nothing which vary by more than 10 % (three robust "
        "standard deviations), or a single session that was measured only once",
        "a slowdown of one session of less than {tolerance} cannot be distinguished from noise",
        "measure on a quieter host, or with longer executions: `--size long`"),
    "unsteady-cpu": RunEntry(WARNING, OF_COMPARISON,
        "sessions with a core of their own whose CPU times vary, which explains most of the "
        "variation in their elapsed times",
        "the same work does not always need the same CPU time: the clock frequency may change, or another tenant may "
        "use the SMT sibling, which is invisible to a guest",
        f"in a cloud: {DEDICATED}, or a size with whole cores (`ThreadsPerCore=1`); on your own hardware: "
        "`cpupower frequency-set -g performance`; otherwise repeat the run at different times and compare "
        "(`dbcpu show last --history`)"),
    "strangers-on-siblings": RunEntry(WARNING, OF_HOST,
        "two speeds of the CPUs of a virtual machine, by the witness, also with at "
        "most one session at work",
        "another tenant uses the cores of these vCPUs from time to time: sessions are slower while it does, "
        "whatever this run does",
        f"{DEDICATED}, a size with whole cores (`ThreadsPerCore=1`), or another size or family"),
    "solo-drift": RunEntry(WARNING, OF_COMPARISON,
        "single-session times at the start, middle and end that differ by more than the "
        "tolerance",
        "the host changed during the run: levels that were measured at different times cannot be compared well",
        "measure again; check CPU credits (`aws cloudwatch get-metric-statistics --namespace AWS/EC2 --metric-name "
        "CPUCreditBalance ...`), temperature (`sensors`) and neighbours"),
    "noise-floor": RunEntry(INFO, OF_COMPARISON,
        "an A/A test: the same configuration measured twice, interleaved (`dbcpu run --aa`)",
        "smaller differences between two such runs on this host are noise",
        "to detect smaller differences: `--repeats 10`, or a longer `--size`"),
    "not-sampled": RunEntry(WARNING, OF_HOST, "rounds without data from the host",
        "it is known which sessions got less CPU, but not why: causes are inferred from groups of equal times, "
        "the throughput curve and database counters",
        "run `dbcpu doctor` on the database's own host: it lists what can be sampled there and which privileges that "
        "needs. After `--host none`: leave that out. A managed service has no such host"),
    "not-checked": RunEntry(INFO, OF_TARGET, "checks that the database user's privileges do not permit",
        "these were not checked, so problems there may go unreported",
        "`{grants};`"),
    "moves-unseen": RunEntry(INFO, OF_HOST, "CPU migrations that the kernel counted and the sampler missed",
        "the placement of sessions is approximate; times are not affected",
        "raise the sampling rate: `--hz 50`"),
    "trace-incomplete": RunEntry(INFO, OF_HOST, "rounds with an incomplete kernel trace",
        "placement in these rounds is from polls, and which processes ran instead is unknown",
        "{shorter_rounds}, or leave out `--sampler trace`"),
    "few-polls": RunEntry(INFO, OF_HOST, "rounds with fewer than ten samples",
        "the placement of sessions is approximate; run delay, CPU time and migration counts are exact",
        f"make rounds longer: {LONGER_ROUNDS}"),
    "gate-skew": RunEntry(WARNING, OF_COMPARISON, "a release that took more than 1 % of an execution",
        "the earliest sessions ran without contention for that time",
        f"make executions longer: {LONGER_EXECUTIONS}"),
    "not-settled": RunEntry(WARNING, OF_HOST, "other processes that were active before a round",
        "other processes probably ran during the round as well, and took CPU from the sessions",
        "find the other processes with `top -d 1`, and measure when they have ended"),
    "quick-run": RunEntry(INFO, OF_COMPARISON, "fewer than six repeats of a level",
        "exploratory only: too few repeats for a statistical test against another run",
        ENOUGH_REPEATS),
    "coarse-clock": RunEntry(WARNING, OF_TARGET,
        "server times that are multiples of a millisecond or more, for short executions",
        "the clock of these times has this step, as that of Windows or of plain sh: times of executions are rounded to "
        "it, and differences between short ones may be steps",
        "use a longer size: `--size long`"),
    "client-clock": RunEntry(INFO, OF_TARGET,
        "a database that does not report when a statement ended, on a host whose CPUs are all "
        "busy",
        "the driver may see an answer late: its own delay is added to the uncertainty of the times",
        "run the driver on another machine: `dbcpu run URL` there"),
})  # fmt: skip

HOST = RunTopic("What else was on the host?", {
    "driver-on-host": RunEntry(WARNING, OF_HOST,
        "driver and sampler that used more than 5 % of one CPU of the measured host",
        "the sessions did not have this CPU time",
        "run the driver on another machine, use a longer `--size`, or lower `--hz`"),
    "foreign-load": RunEntry(WARNING, OF_HOST,
        f"other processes that used more than {100 * FOREIGN_SHARE:g} % of all vCPUs",
        "part of the slowdown is caused by these processes, not by the sessions of this run",
        "stop the other processes (`systemctl stop UNIT`), keep them off the database's CPUs "
        "(`systemctl set-property UNIT AllowedCPUs=...`), or measure at another time"),
    "steal": RunEntry(WARNING, OF_HOST, f"CPU steal above {100 * STEAL_SHARE:g} % of the vCPUs' time",
        "the hypervisor runs other guests on the physical CPUs of this guest",
        f"{DEDICATED} (EC2 `Tenancy=dedicated`) or a CPU reservation in the hypervisor (VMware "
        "`sched.cpu.min`), pin vCPUs to physical CPUs (`virsh vcpupin`), or move noisy neighbours away"),
    "steal-unseen": RunEntry(INFO, OF_HOST, "a hypervisor that does not report steal to its guests, or may not",
        "a steal of 0 is then unknown, and not zero: time that the hypervisor gave to others counts as CPU time of the "
        "sessions, so causes that rest on CPU time (shared core, slower CPU) are of lower confidence",
        "VMware: `stealclock.enable = TRUE` in the configuration of the VM (hardware version 13, Linux 5.7). Else look "
        "at the hypervisor meanwhile: `esxtop` (%RDY, %CSTP), on Hyper-V `Get-Counter '\\Hyper-V Hypervisor Virtual "
        "Processor(*)\\CPU Wait Time Per Dispatch'`. In a cloud that shows neither: a dedicated host"),
    "interrupts": RunEntry(WARNING, OF_HOST, "interrupts that took more than 5 % of a CPU",
        "the sessions on that CPU got less CPU time, and no session setting changes this",
        "move the interrupts to other CPUs (`/proc/irq/N/smp_affinity_list`, `irqbalance`), or keep sessions off this "
        "CPU (`dbcpu vary --variants irq:away` measures the difference, where it can)"),
    "throttled": RunEntry(WARNING, OF_HOST, "control groups of the sessions that used up their CPU quota",
        "the kernel stopped the sessions for part of the time, even if CPUs were idle",
        f"raise `cpu.max` (systemd: `CPUQuota=`, containers: `--cpus`), or {AS_QUOTA_ALLOWS}"),
    "hidden-quota": RunEntry(WARNING, OF_HOST,
        "a control group that had work and no CPU, without a quota of its own or other load",
        "a limit not visible here, such as that of a pod or a slice, may have stopped the sessions even if CPUs "
        "were idle",
        "read `cpu.max` and `cpu.stat` of the groups above it on the node itself, and the limits of the pod"),
})  # fmt: skip

RESULT = RunTopic("What was found", {
    "inconclusive": RunEntry(WARNING, OF_COMPARISON,
        "levels up to the vCPUs at which it is inconclusive whether sessions get equal CPU "
        "at full speed",
        "this run does not answer that (`--fail-on inconclusive`: exit code 1)",
        f"{MORE_ROUNDS}, {QUIETER}"),
    "baseline-too-slow": RunEntry(WARNING, OF_COMPARISON,
        "more throughput than so many sessions alone would reach, by more than 10 %",
        "something, perhaps only noise, slowed the single-session rounds: slowdown and efficiency of these levels are "
        "not reliable",
        f"measure again on a quieter host; compare the single-session times in {AS_JSON}"),
    "uneven-sessions": RunEntry(WARNING, OF_COMPARISON,
        "levels at which the slowest session took longer than the fastest, beyond chance "
        "or as the kernel counted (equal: no)",
        "sessions that did the same work at the same time did not get the same CPU",
        "look at the causes of the sessions (`dbcpu show RUN`), and at the remedies of the other findings"),
    "memory-remote": RunEntry(WARNING, OF_COMPARISON,
        "sessions that all ran on another NUMA node than those that their memory is bound "
        "to",
        "memory of another node is slower; what that costs here is not measured, since no session ran beside its "
        "memory",
        "bind the database to one node if the CPUs of that node are enough for it: `numactl --cpunodebind=N "
        "--membind=N`, or spread its memory over all nodes: `numactl --interleave=all`; measure again to see the "
        "difference"),
    "slow-together": RunEntry(WARNING, OF_COMPARISON,
        "sessions of which most are slow, although there is a CPU for each",
        "possible reasons: SMT hidden by the hypervisor, CPU steal, a quota, other processes, a lower clock frequency",
        "see the causes of the sessions (`dbcpu show RUN`); `dbcpu topology` shows quotas and SMT siblings"),
    "misplaced": RunEntry(WARNING, OF_COMPARISON,
        "sessions that shared a core while another core was idle, or waited in a run queue "
        "while another CPU was idle",
        "this slowdown is avoidable: the scheduler could have used the idle core or CPU",
        "use a kernel whose scheduler balances over SMT (mainline 6.6, or a distribution kernel with these changes: "
        "`uname -r`), or pin the sessions (`taskset -cp CPUS PID`, `cpuset.cpus`)"),
    "shared-cores": RunEntry(INFO, OF_COMPARISON, "sessions that shared a core while no core was idle",
        "no placement avoids SMT sharing at this load; a newer scheduler can only distribute it more fairly",
        f"{ONE_PER_CORE}, {SMT_OFF}"),
    "shared-core-cost": RunEntry(INFO, OF_COMPARISON,
        "the speed of a session while another session runs on the same core, over the "
        "whole run",
        "this is what the second hardware thread of a core takes from the first (95 % confidence interval, by "
        "regression over all rounds)",
        "where this matters, run one session per core: `echo off > /sys/devices/system/cpu/smt/control`, EC2 "
        "`ThreadsPerCore=1`, or `taskset -cp CPUS PID`"),
    "oversubscribed": RunEntry(INFO, OF_COMPARISON, "more sessions than vCPUs",
        "the sessions time-share the CPUs, regardless of placement",
        "run no more than {sessions} (size of the connection pool; with Oracle Enterprise Edition "
        "`resource_manager_plan`), or {more}"),
    "sticky-placement": RunEntry(INFO, OF_COMPARISON, "an imbalance close to that of a fully pinned placement",
        "the scheduler rarely migrates sessions while all cores are busy: a session that starts on a shared core "
        "stays there for most of its statement",
        "use a kernel whose scheduler balances more often (`uname -r`), one thread per core (`ThreadsPerCore=1`), or "
        "shorter statements"),
    "cores-fewer-than-shown": RunEntry(WARNING, OF_COMPARISON,
        "throughput that scales like fewer cores than the kernel reports "
        "(level info where steal, CPU quotas and other processes were not measured: they have the same effect)",
        "the hypervisor hides SMT or overcommits the CPUs, or a power limit holds: plan with {scaled} cores, not "
        "{shown}",
        "give each vCPU a core of its own in the hypervisor (`lscpu -e` there shows the siblings, `virsh vcpupin` pins "
        "them); in a cloud use another instance type or `ThreadsPerCore=1`"),
    "smt-like-cores": RunEntry(INFO, OF_COMPARISON, "hardware threads that scale like whole cores",
        "the reported topology is not the real one, or this workload leaves room for both threads of a core; SMT off "
        "would cost throughput",
        "leave `smt/control` as it is, and plan with {shown} vCPUs for this kind of work"),
})  # fmt: skip

RUN_TOPICS = (WORK, COUNTERS, TRUST, HOST, RESULT)
RUN_ENTRIES = {code: entry for topic in RUN_TOPICS for code, entry in topic.entries.items()}

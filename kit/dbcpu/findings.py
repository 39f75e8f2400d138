"""Findings: what a DBA should know, as data, and the catalogue of all of them by code.

Code that finds something gives the code and what was seen; the words that do not depend on the run stand here
once, and docs/findings.md is made from them. A remedy names a command or a setting, between backticks. Words in
braces are filled in when it is found.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum


class Level(IntEnum):
    """How much a finding matters; ``--fail-on`` compares against it."""

    INFO = 10
    WARNING = 20
    PROBLEM = 30

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation with its consequence.

    ``code`` is stable and kebab-case (``driver-on-host``); ``seen`` carries the numbers;
    ``meaning`` says what follows from them; ``remedy`` is a command or a setting, or ''.
    """

    code: str
    level: Level
    seen: str
    meaning: str
    remedy: str = ""


def reached(findings: Iterable[Finding], fail_on: str) -> bool:
    """Whether any finding is at or above ``fail_on``: never, info, warning or problem."""
    return fail_on != "never" and any(finding.level >= Level[fail_on.upper()] for finding in findings)


def as_text(findings: Iterable[Finding]) -> str:
    """A paragraph per finding, for a terminal or a log."""
    return "\n".join(
        f"{finding.level.label:8} {finding.code}: {finding.seen}; {finding.meaning}"
        + (f"\n         remedy: {finding.remedy}" if finding.remedy else "")
        for finding in findings
    )


def as_json_text(findings: Iterable[Finding]) -> str:
    """The findings as a JSON list, levels by name."""
    return json.dumps([{**asdict(finding), "level": finding.level.label} for finding in findings], indent=2)


INFO, WARNING, PROBLEM = Level.INFO, Level.WARNING, Level.PROBLEM


@dataclass(frozen=True, slots=True)
class Entry:
    """``when`` says in the catalogue what is looked at; a finding itself says what was ``seen``."""

    level: Level
    when: str
    meaning: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """A heading of the catalogue and its entries by code."""

    title: str
    entries: Mapping[str, Entry]


def noted(code: str, seen: str, level: Level | None = None, **values: object) -> Finding:
    """The finding ``code`` with what was seen; ``level`` where it depends on the case."""
    entry = ENTRIES[code]
    return Finding(code, level or entry.level, seen, entry.meaning.format(**values), entry.remedy.format(**values))


WORK = Topic("Was the work done?", {
    "wrong-answer": Entry(PROBLEM, "sessions whose answer is not the expected one",
        "they did not do the work that the others did; they are left out of every verdict",
        "run the workload's file below `sql/` by hand and compare its answer with the file's header"),
    "failed-session": Entry(PROBLEM, "sessions that ended with an error",
        "the sessions beside them had more CPU than their level means: such rounds count only where there is no other",
        "see the database's log for the error; `dbcpu doctor TARGET` looks for what prevents a run"),
    "failed-round": Entry(PROBLEM, "rounds that failed as a whole",
        "nothing of these rounds is used",
        "`dbcpu doctor TARGET` looks for what prevents a run"),
    "incomplete-run": Entry(WARNING, "a run that was interrupted (or, as a problem, failed)",
        "levels may rest on fewer rounds than others, or be missing",
        "measure again: `dbcpu run`"),
    "parallel-plan": Entry(PROBLEM, "a plan with parallel workers",
        "a session then uses several processes, and none of these figures means what it says",
        "switch it off for this user: `max_parallel_workers_per_gather = 0` (PostgreSQL), "
        "`alter session disable parallel query` (Oracle)"),
    "temp-spill": Entry(PROBLEM, "temporary files written by sessions",
        "that is IO, and more CPU for the same rows: not a pure CPU test",
        "raise `work_mem`, or take a workload with flat memory: `--workload cartesian`"),
})  # fmt: skip

TRUST = Topic("How far can the figures be trusted?", {
    "no-solo-round": Entry(WARNING, "no valid session that ran alone",
        "slowdown and losses cannot be told; if all sessions are equally slow, nothing here shows it",
        "measure again with level 1 among the levels: `--sessions 1,...`"),
    "noisy-reference": Entry(WARNING, "solo sessions that differ by more than 10 % (three robust standard deviations)",
        "losses below {tolerance} are not told from noise",
        "measure on a quieter host, or longer: `--size long`"),
    "unsteady-cpu": Entry(WARNING, "sessions with nothing to share whose CPU times differ by most of that",
        "the CPU itself is faster and slower from time to time: its clock changes, or somebody runs on the other "
        "hardware thread of its core, whom a guest does not see and cannot count",
        "in a cloud: a dedicated host, or a size with whole cores (ThreadsPerCore=1); on hardware of your own: "
        "`cpupower frequency-set -g performance`; else several runs at different times (`dbcpu show last --history`)"),
    "solo-drift": Entry(WARNING, "solo rounds at start, middle and end that differ by more than the tolerance",
        "the host changed during the run, so levels measured at different times compare badly",
        "measure again; look for CPU credits (`aws cloudwatch get-metric-statistics --metric-name CPUCreditBalance`), "
        "heat (`sensors`) and neighbours"),
    "noise-floor": Entry(INFO, "two interleaved halves of the same thing (`dbcpu run --aa`)",
        "smaller differences between two such runs on this host are chance",
        "to see smaller ones: `--repeats 10`, or a longer size"),
    "not-sampled": Entry(WARNING, "rounds without evidence from the host",
        "who got less CPU is known, why is not: causes are inferred from groups, curve and database counters at best",
        "`dbcpu doctor` on the database's own host says what can be sampled there and what it takes"),
    "moves-unseen": Entry(INFO, "moves between CPUs that the kernel counted and no poll saw",
        "where sessions ran is known a little less well than the times",
        "a higher `--hz` shows more of them"),
    "few-polls": Entry(INFO, "rounds shorter than ten polls",
        "placement is known roughly; the counters behind the loss split stay exact",
        "more `--executions`, or a longer `--size`"),
    "gate-skew": Entry(WARNING, "a release that took more than 1 % of an execution",
        "the first had the host to themselves for that time",
        "a longer `--size`, or more `--executions`"),
    "not-settled": Entry(WARNING, "a host that did not become quiet before a round",
        "other work ran beside the sessions",
        "see who with `top -d 1`, and measure when it has ended"),
    "quick-run": Entry(INFO, "fewer than six repeats of a level",
        "good for a look; no statistical test can decide between two such runs",
        "`--repeats 6`, or `--repeats 10` to compare hosts"),
    "client-clock": Entry(INFO, "a database that does not tell when a statement ended, with all CPUs busy",
        "the driver itself can be late, so times carry its delay as uncertainty",
        "drive from another machine: `dbcpu run URL` there"),
})  # fmt: skip

HOST = Topic("What else was on the host?", {
    "driver-on-host": Entry(WARNING, "driver and sampler that used more than 5 % of a CPU of the measured host",
        "that CPU was missing to the sessions",
        "drive from another machine, take a longer `--size`, or lower `--hz`"),
    "foreign-load": Entry(WARNING, "other processes that used more than 5 % of all vCPUs",
        "sessions lost CPU to them, not to each other",
        "stop them (`systemctl stop UNIT`), keep them off the database's CPUs (`systemctl set-property UNIT "
        "AllowedCPUs=...`), or measure at another time"),
    "steal": Entry(WARNING, "a hypervisor that took more than 1 % of the vCPUs' time",
        "this guest does not have its CPUs to itself",
        "dedicated hosts (`--tenancy dedicated` on AWS), CPU reservations in the hypervisor "
        "(`virsh vcpupin`, VMware `sched.cpu.min`), or quieter neighbours"),
    "throttled": Entry(WARNING, "control groups of the sessions that used up their CPU quota",
        "sessions stood still although CPUs were free",
        "raise `cpu.max` (systemd: `CPUQuota=`, containers: `--cpus`), or run no more sessions than it allows"),
})  # fmt: skip

RESULT = Topic("What was found", {
    "uneven-sessions": Entry(WARNING, "levels at which the slowest took more than 1.25 times as long as the fastest",
        "sessions doing the same work at the same time did not get the same CPU",
        "what helps depends on the regime (misplaced, shared-cores, oversubscribed); "
        "`dbcpu show RUN --json` has the cause of each session"),
    "slow-together": Entry(WARNING, "sessions that are equal, slow, and no more than there are CPUs",
        "they are equally short of CPU: hidden shared cores, steal, a quota or falling frequency",
        "the sessions' causes say which; `dbcpu topology` shows quotas and siblings"),
    "misplaced": Entry(WARNING, "sessions on a shared core beside an idle core, or queued beside an idle CPU",
        "the scheduler could have done better: a better placement alone gives this time back",
        "a scheduler that balances over SMT (mainline 6.6, and distribution kernels that took it over: `uname -r`), "
        "or pinning (`taskset -cp CPUS PID`, `cpuset.cpus`)"),
    "shared-cores": Entry(INFO, "sessions on shared cores with no idle core to go to",
        "every placement is as good as any other: what a newer scheduler can do is let them take turns, not make room",
        "one session per core: fewer sessions (a pool of {cores}), SMT off "
        "(`echo off > /sys/devices/system/cpu/smt/control`, EC2 `ThreadsPerCore=1`, RDS `threadsPerCore=1`), "
        "or more vCPUs"),
    "shared-core-cost": Entry(INFO, "the speed of a session beside another on its core, over the whole run",
        "what a second hardware thread on a core takes from the first (95 % interval, by regression over all rounds)",
        "where it matters, one session per core: `echo off > /sys/devices/system/cpu/smt/control`, EC2 "
        "`ThreadsPerCore=1`, or `taskset -cp CPUS PID`"),
    "oversubscribed": Entry(INFO, "more sessions than vCPUs",
        "sessions wait in turn for a CPU, however they are placed",
        "no more than {vcpus} busy sessions (the pool's size, Oracle `resource_manager_plan`), or more vCPUs"),
    "sticky-placement": Entry(INFO, "a spread near that of a placement that never changes",
        "who shares a core shares it while all cores are busy: the unlucky ones stay so for most of their statement",
        "a kernel whose scheduler lets them take turns (`uname -r`), one thread per core (`ThreadsPerCore=1`), or "
        "statements cut into shorter ones"),
    "cores-fewer-than-shown": Entry(WARNING, "a throughput curve of fewer cores than the kernel shows",
        "hidden hardware threads, CPUs promised more than once, or a power limit: size by {told} cores, not {shown}",
        "on the hypervisor one vCPU per core (`virsh vcpupin`, `lscpu -e` there), in a cloud another instance type or "
        "`ThreadsPerCore=1`"),
    "smt-like-cores": Entry(INFO, "hardware threads that scale like cores of their own",
        "the topology shown is not the one the host has, or this work leaves room for both threads; SMT off would "
        "cost half of the throughput",
        "leave `smt/control` as it is, and size by {shown} vCPUs for work of this kind"),
})  # fmt: skip

BEFORE = Topic("Before a run (dbcpu doctor)", {
    "host-busy": Entry(WARNING, "other work on the host before the run",
        "it competes with the sessions, and the result will be worse than the host",
        "see who with `top -d 1` and stop it, or measure at a quieter time"),
    "plug-in-ignored": Entry(WARNING, "an installed package that offers a name which is taken",
        "dbcpu's own member is used, or none where two packages offer the same name",
        "`pip uninstall` the package, or another name in its `[project.entry-points]`"),
    "sampled": Entry(INFO, "which sampler will be used", "each loss can be traced"),
    "no-schedstat": Entry(WARNING, "a kernel without /proc/PID/schedstat",
        "time on the run queue cannot be told from steal; CPU time has a resolution of 10 ms",
        "a kernel with `CONFIG_SCHEDSTATS` or `CONFIG_TASK_DELAY_ACCT`"),
    "no-migration-count": Entry(INFO, "a kernel without /proc/PID/sched",
        "moves between two polls stay unseen and uncounted",
        "a kernel with `CONFIG_SCHED_DEBUG`, or a higher `--hz`"),
    "cpu-quota": Entry(WARNING, "a CPU quota",
        "sessions beyond it are throttled, which looks like slow CPUs from inside the database",
        "raise or remove `cpu.max` (systemd: `CPUQuota=`) if it is not meant to be measured"),
    "fewer-cpus": Entry(INFO, "an affinity or cpuset that leaves out CPUs",
        "levels and ideals count only those",
        "`AllowedCPUs=` of the unit, or `cpuset.cpus`, if all are meant"),
    "smt": Entry(INFO, "hardware threads that share cores",
        "beyond one session per core some share a core and run slower",
        "`cat /sys/devices/system/cpu/smt/control` shows whether it can be switched off"),
    "smt-unknown": Entry(INFO, "a guest that is shown one thread per core",
        "the hypervisor may hide that CPUs share a core; the throughput curve will tell",
        "`dbcpu run --sessions auto` measures that curve"),
    "governor": Entry(WARNING, "a frequency governor that saves power",
        "CPUs may run below their full frequency, and differently from run to run",
        "`cpupower frequency-set -g performance`"),
    "driver-here": Entry(INFO, "dbcpu on the database's own host",
        "its own use of CPU is measured and shown; it is below a few per cent of one CPU",
        "from another machine: `dbcpu run URL` there"),
    "no-realtime": Entry(INFO, "real-time priority that is not permitted",
        "with many sessions on few CPUs the release takes longer: see the skew in the results",
        "run as root, or allow it: `ulimit -r 1`"),
    "database-busy": Entry(WARNING, "other sessions that execute statements",
        "their CPU is taken from the measured sessions and shows up as their loss",
        "`select pid, query from pg_stat_activity where state = 'active'` shows them; measure when they have ended"),
    "standby": Entry(INFO, "a standby server",
        "replaying the primary's changes uses CPU that the sessions compete with",
        "pause it for the run: `select pg_wal_replay_pause()`"),
    "left-changed": Entry(WARNING, "settings of the host that a killed `dbcpu vary` left changed",
        "everything measured now is measured under them",
        "as the user who ran it: `dbcpu restore`"),
    "autogroup": Entry(WARNING, "a scheduling policy to be varied where autogroup is on",
        "nice and the idle policy count within one process session only, and each server process of PostgreSQL is one "
        "of its own: between them nothing changes",
        "`sysctl kernel.sched_autogroup_enabled=0` for the time of the measurement"),
    "memory-not-bound": Entry(INFO, "a memory node to be varied without numactl",
        "memory that the server has already stays where it is; what sessions take anew is taken where they run",
        "`numactl --cpunodebind=N --membind=N` before the server's own command binds both"),
})  # fmt: skip

COUNTERS = Topic("Did the database compute and nothing else? (by its own counters)", {
    "plans-differ": Entry(PROBLEM, "more than one plan hash value for the measured statement",
        "sessions with another plan did other work: their times do not compare",
        "`select * from v$sql_shared_cursor where sql_id = ...` says why; give all sessions the same settings"),
    "physical-io": Entry(PROBLEM, "20 or more blocks read or written by a session",
        "that is IO, not CPU: not a pure CPU test",
        "take `--workload cartesian`, which needs no table, or give the instance more memory"),
    "resource-manager-waits": Entry(WARNING, "waits for the database's resource manager",
        "a plan or a cage decides who computes, not the operating system",
        "`alter system set resource_manager_plan = ''`; for a cage `alter system set cpu_count = 0`"),
    "parallel-query": Entry(PROBLEM, "sessions that ran in parallel by the database's count",
        "a session then uses several processes, and none of these figures means what it says",
        "connect to a service without automatic parallelism: `_tp` or `_low` on Autonomous Database"),
    "hard-parses": Entry(WARNING, "hard parses during the measured call",
        "the statement fell out of the shared pool meanwhile; parsing is serialised between sessions",
        "use a longer `--size`, or give the shared pool more memory"),
    "several-instances": Entry(WARNING, "sessions on more than one instance of a cluster",
        "each instance is a host of its own: levels count sessions that did not share CPUs",
        "pin one: `?instance_name=NAME` in the URL"),
    "in-maintenance-window": Entry(WARNING, "a run that was made while a maintenance window was open",
        "maintenance tasks and their resource plan may have taken CPU; not to be compared with other runs",
        "measure outside of the window: `select * from dba_scheduler_windows`"),
})  # fmt: skip

ORACLE = Topic("Before a run on Oracle (dbcpu doctor)", {
    "oracle": Entry(INFO, "which database this is, how its sessions are served, and how many CPUs it may use",
        "{cpus}",
        "`--vcpus N` if it is another number"),
    "after-a-kill": Entry(INFO, "what a killed run would leave behind",
        "a server process that computes does not notice that its client is gone; {ends}",
        "Ctrl-C, or `kill` without -9, cancels them at once"),
    "oracle-privileges": Entry(INFO, "views that the user may not read (a warning where nothing can be sampled)",
        "not known without: {lost}",
        "`{grants}`"),
    "not-dedicated": Entry(PROBLEM, "a service that gives shared or pooled servers",
        "sessions would queue for few processes: {refusal}",
        "name a service or port that gives dedicated servers: `lsnrctl services` lists them"),
    "not-identified": Entry(INFO, "sessions whose server process may not be seen",
        "a dedicated one was asked for; with shared servers the sessions would queue for few processes",
        "`grant select` on `v_$session` and `v_$process`"),
    "threaded-execution": Entry(INFO, "sessions that are threads of few processes",
        "each is told from the others by its thread and sampled as one",
        "`threaded_execution = false` makes them processes"),
    "privileged-user": Entry(WARNING, "SYS, SYSTEM or a SYSDBA as measured user",
        "the resource manager treats these users unlike any application",
        "measure as an ordinary user: `create user bench ...; grant create session to bench`"),
    "instance-caging": Entry(WARNING, "instance caging",
        "sessions beyond it wait for the resource manager, not for a CPU; more sessions cannot do more",
        "`alter system set cpu_count = 0`, or take it as part of what is measured"),
    "resource-manager": Entry(WARNING, "a resource plan that manages CPU",
        "sessions may be held back although CPUs are idle; such waits get the cause resource_manager",
        "`alter system set resource_manager_plan = ''`"),
    "maintenance-window": Entry(WARNING, "an open maintenance window",
        "maintenance tasks take CPU and a resource plan may be on; the run is labelled so",
        "measure outside of the window: `select * from dba_scheduler_windows`"),
    "edition-cap": Entry(WARNING, "an edition that uses fewer CPUs than the host has",
        "sessions beyond that cannot do more work: this measures the edition, not the host",
        "measure Enterprise Edition to learn about the host; `--vcpus` is the cap already"),
    "sql-trace": Entry(WARNING, "SQL trace for the whole instance",
        "every call writes to a file while it is measured",
        "`alter system set sql_trace = false`"),
    "statistics-level": Entry(INFO, "statistics_level = ALL",
        "it costs CPU for each row; the measured sessions set it to TYPICAL for themselves",
        "`alter system set statistics_level = typical` for the others"),
    "cursor-sharing": Entry(INFO, "cursor_sharing other than EXACT",
        "the server rewrites the measured text, so that its plan is not found",
        "`alter system set cursor_sharing = exact`"),
    "parallel-servers": Entry(INFO, "automatic parallelism",
        "the measured sessions switch parallel query off for themselves; other work may still use these servers",
        "`alter system set parallel_degree_policy = manual` for the others"),
    "shared-servers": Entry(INFO, "configured shared servers",
        "each session asks for a dedicated one and is refused if it does not get it",
        "`server=dedicated` is in every connect string that dbcpu uses"),
    "autonomous": Entry(INFO, "Autonomous Database, at a serial service level",
        "no view of the host; the service level and auto-scaling share out CPU, and may change it meanwhile",
        "switch auto-scaling off for the run: `oci db autonomous-database update --is-auto-scaling-enabled false`"),
    "autonomous-parallel": Entry(PROBLEM, "Autonomous Database, at service level HIGH or MEDIUM",
        "these run statements in parallel and queue them: not a test of one session's CPU",
        "connect to the service ending in `_tp` or `_low`"),
    "rds": Entry(INFO, "Amazon RDS",
        "elapsed times, the curve and the database's own counters; who shares a core cannot be seen, and burstable "
        "classes (`db.t*`) slow down when their credits are gone",
        "the same instance type on EC2 can be measured whole: `dbcpu run` there"),
    "cluster": Entry(INFO, "a cluster of several instances",
        "one instance is one host: a mixture would compare hosts",
        "choose another with `?instance_name=NAME` in the URL"),
    "instance-busy": Entry(WARNING, "other sessions that execute statements",
        "their CPU is taken from the measured sessions and shows up as their loss",
        "`select sid, program, sql_id from v$session where status = 'ACTIVE'` shows them; "
        "measure when they have ended"),
    "leftovers-ended": Entry(INFO, "sessions of a killed run, which could be ended",
        "their CPU is free again",
        "Ctrl-C, or `kill` without -9, cancels them by itself"),
    "leftovers": Entry(WARNING, "sessions of a killed run that are still computing",
        "they take CPU from the measured sessions until their call returns",
        "`{statements}`"),
    "other-run": Entry(WARNING, "another dbcpu that measures the same database",
        "the two take CPU from each other",
        "let it end first; `kill` without -9 ends it and its sessions"),
})  # fmt: skip


def page() -> str:
    """docs/findings.md."""
    parts = [
        "# Findings",
        "Every finding that dbcpu can make, by its code. `dbcpu doctor` and `dbcpu run` show them with what was seen; "
        "`--fail-on LEVEL` makes an exit code of them. A *problem* spoils the verdict, a *warning* limits it or is "
        "one, an *info* is good to know. Words in braces are filled in. Made from `kit/dbcpu/findings.py`.",
    ]
    for topic in TOPICS:
        parts.append(f"## {topic.title}")
        for code, entry in topic.entries.items():
            remedy = f"\n- What helps: {entry.remedy}." if entry.remedy else ""
            seen = f"- Level: {entry.level.label}\n- Seen: {entry.when}."
            parts.append(f"### {code}\n\n{seen}\n- Meaning: {entry.meaning}.{remedy}")
    return "\n\n".join(parts) + "\n"


TOPICS = (WORK, COUNTERS, TRUST, HOST, RESULT, BEFORE, ORACLE)
ENTRIES: Mapping[str, Entry] = {code: entry for topic in TOPICS for code, entry in topic.entries.items()}

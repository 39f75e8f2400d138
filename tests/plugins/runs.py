"""Runs for tests: a small one, and one in which every field of the record is set."""

import os
from typing import Any

from msgspec.structs import replace

from dbcpu.record.header import (
    Cache,
    Cpu,
    Database,
    Driver,
    Header,
    HostInfo,
    Limits,
    Party,
    Plan,
    Topology,
    WorkloadInfo,
)
from dbcpu.record.rounds import (
    Call,
    CgroupUse,
    Clock,
    CpuPace,
    CpuPressure,
    CpuSeries,
    Execution,
    Foreign,
    Gate,
    HostCounters,
    KitCost,
    NodeMemory,
    RanInstead,
    Residency,
    Round,
    RunRecord,
    Server,
    ServerUse,
    Session,
    Trace,
    Wait,
    WakeUps,
    Witness,
)

ELSEWHERE = Driver(
    "elsewhere.example", 4711, 123456, "3.11.7", "0d1e5b5c-0000-4000-8000-000000000000", "pid:[4026531836]"
)
_WORKLOAD = WorkloadInfo("cartesian", "short", 50, 6_250_000, "select count(*) ...", "ab" * 32, "6250000", "Aggregate")


def header(run_id: str = "20250102-030405-abcd", **changed: Any) -> Header:
    """A header; ``changed`` are fields that differ, those of the plan too."""
    plan = Plan("embedded", _WORKLOAD, (1, 2, 3, 8), 3, 7, 1, None, "procfs", 20.0, 2, "host")
    in_plan = {name: changed.pop(name) for name in list(changed) if name in {"target", "levels", "repeats"}}
    given = Header(
        run_id=run_id,
        label="",
        started_at="2025-01-02T03:04:05.250000+00:00",
        status="complete",
        tool_version="0.1.0",
        plan=replace(plan, **in_plan),
        host=None,
        database=Database("postgresql", "18.4"),
        driver=ELSEWHERE,
    )
    return replace(given, **changed)


def round_of(level: int, order: int, **changed: Any) -> Round:
    """A round of ``level`` sessions, each with one execution and one stretch on CPU ``ordinal % 2``."""
    sessions = tuple(
        Session(
            ordinal=ordinal,
            server=Server(1000 + ordinal, start_ticks=5, verified=True, how="command and work"),
            connect_s=0.004,
            executions=(Execution(0.0, 0.5 + ordinal / 3),),
            answer_ok=True,
            cpu_s=0.49,
            run_delay_s=0.01,
            residency=(Residency(ordinal % 2, "R", 0.0, 0.5, 0.49, 0.01),),
        )
        for ordinal in range(level)
    )
    given = Round(
        level, 0, "baseline", order, "2025-01-02T03:04:06+00:00", 100.5, Gate(level, level, level, 0.0, False), sessions
    )
    return replace(given, **changed)


def record(run_id: str = "20250102-030405-abcd", rounds: int = 2, **changed: Any) -> RunRecord:
    """A small run."""
    return RunRecord(header(run_id, **changed), tuple(round_of(order + 1, order) for order in range(rounds)))


def full_record() -> RunRecord:
    """A run in which every field has a value of its own, awkward text included."""
    topology = Topology(
        cpus=(Cpu(0, 0, 0, 0, (0, 1)), Cpu(1, 0, 0, 0, (0, 1)), Cpu(2, -1, -1, -1, (), online=False)),
        caches=(Cache(3, "unified", 32 << 20, (0, 1)), Cache(1, "data", None, (0,))),
        smt_active=True,
        smt_control="on",
        node_memory_bytes=(8 << 30,),
    )
    host = HostInfo(
        hostname="db1",
        kernel="6.1.0",
        cpu_model='AMD "EPYC" 7B13 \N{SUPERSCRIPT TWO}',
        topology=topology,
        limits=Limits((0, 1), 1.5, "/sys/fs/cgroup/db.slice/cpu.max", 6 << 30),
        hypervisor="kvm",
        container="none",
        governor="performance",
        memory_bytes=8 << 30,
        clock_ticks=100,
        facts={"tuned": "throughput-performance", "boot": "mitigations=off"},
    )
    plan = Plan(
        "embedded", _WORKLOAD, (1, 2), 1, 42, None, 2.5, "procfs", 20.0, 2, "host", ("baseline", "spread"), rounds=2,
        experiment="together", segment_s=60.0, pieces=100,
        sizes=(replace(_WORKLOAD, size="long", unit="loops/s"),),
        parties=(Party("embedded-1", Database("postgresql", "18.4", {"jit": "off"}, "psycopg 3.3.9", True),
                       _WORKLOAD, 2, (0, 1)),),
        cores=1,
        blocking=3,
        block_s=0.5,
        connections=2,
        one_at_a_time=True,
    )  # fmt: skip
    whole = Header(
        run_id="example-1",
        label="before the upgrade",
        started_at="2025-01-02T03:04:05Z",
        status="complete",
        tool_version="0.1.0",
        plan=plan,
        host=host,
        database=Database("postgresql", "18.4", {"jit": "off"}, "psycopg 3.3.9", True),
        driver=replace(ELSEWHERE, machine="2f6c"),
        notes=("the governor was not fixed",),
        facts={"source": "a magazine"},
    )
    session = Session(
        ordinal=0,
        server=Server(1000, 1001, 99, True, "command, start time and work"),
        connect_s=0.0041,
        executions=(Execution(0.0001, 0.1 + 0.2, 0.0002, 0.3), Execution(0.31, 5e-324)),
        answer_ok=False,
        error="the answer was 1, not 6250000",
        allowed_cpus=(0, 1),
        policy="SCHED_OTHER",
        nice=0,
        cgroup="/db.slice",
        memory_nodes=(0,),
        memory_policy="bind:0",
        node_memory=(NodeMemory(0, 20_480_000),),
        cpu_s=0.29,
        cpu_source="schedstat",
        run_delay_s=0.002,
        voluntary_switches=3,
        involuntary_switches=17,
        migrations=2,
        migrations_seen=1,
        residency=(Residency(0, "R", -0.01, 0.1, 0.1, 0.0), Residency(1, "S", 0.1, 0.3)),
        db={"blks_read": 0.0},
        waits=(Wait("IO:DataFileRead", 1, 0.001),),
        ran_instead=(RanInstead(78, "backup", 0.2, 1, "/backup.slice"),),
        wake_ups=WakeUps(3, 0.0001, 0.0002, 0.0003, 0.0004),
        blocked=(Execution(0.32, 0.5, None, None),),
    )
    first = Round(
        level=1,
        repeat=0,
        variant="baseline",
        order=0,
        released_at="2025-01-02T03:04:06Z",
        released_monotonic_s=1234.5678901234567,
        gate=Gate(1, 1, 1, 0.0, True, False),
        sessions=(session,),
        anchor=True,
        clocks=(Clock("server", -0.25, 0.0001),),
        timeline_s=(0.0, 0.5),
        cpu_timeline=(CpuSeries(0, (0.49,), (0.0,), (0.0,), (0.01,), (2999.5,)),),
        foreign=(Foreign(77, "backup \udcff) R", 0.2, (1,)),),
        cgroups=(CgroupUse("/db.slice", 1.5, 10, 2, 0.05, (0,)),),
        pressure=(CpuPressure("", 1.25, 0.5), CpuPressure("/db.slice", 1.25, 0.75, 0.25, (0,))),
        cost=KitCost(0.3, 0.001, 0.002, 6, 19.9, 0.001),
        calls=(Call(1, 0.0001, -0.0003, -0.0002, 0, 0.0001, 0.3001, 0.3002), Call(0, 0.0001, -0.0003, -0.0002)),
        server_use=ServerUse(7, 8, 50_000_000, 14_000_000, 9),
        shares_known=False,
        witness=Witness(20.0, True, (CpuPace(0, (-1500, 48000), (310000, 305000)), CpuPace(1, (), ()))),
        host_counters=HostCounters("V$OSSTAT", 0.5, 2, 0.49, 0.5, 0.4, 0.05, 0.03, 0.01, 0.02, 0.04, 1.5, 0.001, 0.002),
        trace=Trace(1200, 3, "3 events were lost"),
    )
    failed = round_of(2, 1, sessions=(), not_sampled="the server is on another machine", error="17 of 32 connected")
    return RunRecord(whole, (first, failed))


def environment(**changed: str) -> dict[str, str]:
    """The environment for a dbcpu that a test starts as a process of its own."""
    return {**os.environ, "PYTHONWARNINGS": "error", **changed}

"""Small builders of records: what a test says is what the record holds, everything else is a quiet host."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dbcpu.record.header import Cpu, Database, Driver, Header, HostInfo, Limits, Plan, Topology, WorkloadInfo
from dbcpu.record.rounds import (
    CgroupUse,
    Clock,
    CpuSeries,
    Execution,
    Foreign,
    Gate,
    KitCost,
    Residency,
    Round,
    RunRecord,
    Server,
    Session,
    Wait,
)

HZ = 20.0
ROWS = 40_960_000
SOLO_S = 1.8
PLAN = "Aggregate > Nested Loop > Nested Loop > Nested Loop"


def topology(cores: int = 2, threads: int = 1) -> Topology:
    """CPU c and c + cores are siblings when there are two threads, as Linux numbers them."""
    return Topology(
        tuple(
            Cpu(
                cpu=core + thread * cores,
                core=core,
                socket=0,
                node=0,
                siblings=tuple(core + other * cores for other in range(threads)),
            )
            for thread in range(threads)
            for core in range(cores)
        ),
        smt_active=threads > 1,
    )


def host(cores: int = 2, threads: int = 1) -> HostInfo:
    return HostInfo(
        hostname="db1",
        kernel="6.12.0",
        cpu_model="Example CPU 2.6 GHz",
        topology=topology(cores, threads),
        limits=Limits(allowed_cpus=tuple(range(cores * threads))),
    )


def workload(rows: int = ROWS, plan_shape: str | None = PLAN) -> WorkloadInfo:
    return WorkloadInfo(
        name="cartesian",
        size="medium",
        n=80,
        rows=rows,
        sql="select count(*) from ...",
        sql_hash="0" * 64,
        answer=str(rows),
        plan_shape=plan_shape,
    )


def session(
    ordinal: int,
    run_s: float = SOLO_S,
    queue_s: float = 0.0,
    gap_s: float = 0.0,
    cpu: int | None = None,
    stays: Sequence[tuple[int, float, float]] = (),
    gap_state: str = "",
    executions: int = 1,
    start_s: float = 0.0,
    server_stamps: bool = True,
    waits: tuple[Wait, ...] = (),
    answer_ok: bool | None = True,
    error: str | None = None,
    connect_s: float = 0.012,
) -> Session:
    """One sampled session that took ``run_s + queue_s + gap_s`` over ``executions`` equal executions.

    It stays on ``cpu`` (default: its ordinal) or on ``stays`` (cpu, from_s, to_s). ``gap_state``: state
    in which the polls found it for the whole gap, at the end of its span.
    """
    elapsed_s = run_s + queue_s + gap_s
    each_s = elapsed_s / executions
    runnable_to_s = start_s + elapsed_s - (gap_s if gap_state else 0.0)
    lanes = stays or ((ordinal if cpu is None else cpu, start_s, runnable_to_s),)
    runnable_s = sum(to_s - from_s for _, from_s, to_s in lanes)
    residency = [
        Residency(on, "R", from_s, to_s, run_s * (to_s - from_s) / runnable_s, queue_s * (to_s - from_s) / runnable_s)
        for on, from_s, to_s in lanes
    ]
    if gap_state:
        residency.append(Residency(lanes[-1][0], gap_state, runnable_to_s, start_s + elapsed_s, 0.0, 0.0))
    starts = [start_s + i * each_s for i in range(executions)]
    return Session(
        ordinal=ordinal,
        server=Server(pid=1000 + ordinal, start_ticks=5000 + ordinal, verified=True, how="command, start time, work"),
        connect_s=connect_s,
        executions=tuple(
            Execution(at_s, each_s, at_s if server_stamps else None, each_s if server_stamps else None)
            for at_s in starts
        ),
        answer_ok=answer_ok,
        error=error,
        allowed_cpus=(0, 1),
        policy="SCHED_OTHER",
        nice=0,
        cpu_s=run_s,
        cpu_source="schedstat",
        run_delay_s=queue_s,
        voluntary_switches=1,
        involuntary_switches=40,
        migrations=len(lanes) - 1,
        migrations_seen=len(lanes) - 1,
        residency=tuple(residency),
        waits=waits,
    )


def unsampled(one: Session) -> Session:
    """The same session of a database whose host cannot be looked at."""
    return replace(
        one,
        server=Server(pid=None, how="the database runs on another machine"),
        cpu_s=None,
        cpu_source=None,
        run_delay_s=None,
        migrations=None,
        migrations_seen=None,
        residency=(),
    )


def round_of(
    sessions: Sequence[Session],
    repeat: int = 0,
    order: int = 0,
    level: int | None = None,
    variant: str = "baseline",
    anchor: bool = False,
    busy_s: Mapping[int, float] | None = None,
    steal_s: Mapping[int, float] | None = None,
    foreign: tuple[Foreign, ...] = (),
    cgroups: tuple[CgroupUse, ...] = (),
    clocks: tuple[Clock, ...] = (),
    skew_s: float = 0.000_4,
    settled: bool = True,
    not_sampled: str | None = None,
    error: str | None = None,
    cost: KitCost | None = None,
) -> Round:
    """Sessions released together. ``busy_s`` and ``steal_s`` give a CPU timeline of one slice."""
    window_s = max((e.start_s + e.elapsed_s for s in sessions for e in s.executions), default=0.0)
    cpus = sorted({*(busy_s or {}), *(steal_s or {})})
    return Round(
        level=len(sessions) if level is None else level,
        repeat=repeat,
        variant=variant,
        order=order,
        released_at="2026-11-01T12:00:00+00:00",
        released_monotonic_s=1000.0 + order,
        gate=Gate(len(sessions), len(sessions), len(sessions), skew_s, realtime=True, settled=settled),
        sessions=tuple(sessions),
        anchor=anchor,
        clocks=clocks,
        timeline_s=(0.0, window_s) if cpus else (),
        cpu_timeline=tuple(
            CpuSeries(cpu, ((busy_s or {}).get(cpu, 0.0),), ((steal_s or {}).get(cpu, 0.0),), (0.0,), (0.0,))
            for cpu in cpus
        ),
        foreign=foreign,
        cgroups=cgroups,
        cost=cost or KitCost(window_s, 0.002, 0.004, polls=int(window_s * HZ) + 1, hz=HZ),
        not_sampled=not_sampled,
        error=error,
    )


def solos(count: int = 3, run_s: float = SOLO_S, **options: object) -> list[Round]:
    """Solo rounds; ``options`` go to ``session``."""
    return [
        round_of([session(0, run_s=run_s, **options)], repeat=i, order=i)  # type: ignore[arg-type]
        for i in range(count)
    ]


def record(
    rounds: Sequence[Round],
    measured_host: HostInfo | None = None,
    vcpus: int | None = 2,
    repeats: int = 6,
    status: str = "complete",
    label: str = "",
    planned: int | None = None,
    work: WorkloadInfo | None = None,
    driver_on_host: bool | None = True,
    run_id: str = "20261101-120000-test",
) -> RunRecord:
    """A run of these rounds, numbered in the order given."""
    numbered = tuple(replace(each, order=i) for i, each in enumerate(rounds))
    header = Header(
        run_id=run_id,
        label=label,
        started_at="2026-11-01T12:00:00+00:00",
        status=status,
        tool_version="0.1.0",
        plan=Plan(
            target="embedded",
            workload=work or workload(),
            levels=tuple(sorted({each.level for each in rounds})) or (1, 2),
            repeats=repeats,
            seed=1,
            executions=1,
            for_s=None,
            sampler="procfs",
            hz=HZ,
            vcpus=vcpus,
            vcpus_source="host",
            rounds=len(rounds) if planned is None else planned,
        ),
        host=measured_host or host(),
        database=Database("postgresql", "18.0", {"jit": "off"}, "psycopg 3.3", driver_on_host=driver_on_host),
        driver=Driver("db1", 4242, 99, "3.11.2"),
    )
    return RunRecord(header, numbered)

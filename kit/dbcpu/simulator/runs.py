"""A whole simulated run: levels and repeats in the order a measurement would have, as a RunRecord."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime

import numpy as np
from msgspec.structs import replace

from dbcpu.errors import UnknownName, UsageError
from dbcpu.hosts.topology import usable_vcpus
from dbcpu.record import TOOL_VERSION
from dbcpu.record.header import AA, BASELINE, SIMULATED, Database, Driver, Header, Plan, WorkloadInfo
from dbcpu.record.plan import (
    MAX_SESSIONS,
    NextRound,
    Planner,
    RoundSpec,
    blocks,
    executions_for,
    rounds,
)
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator.host import SimulatedHost
from dbcpu.simulator.rounds import EPOCH, SimulatedWork, simulate_round
from dbcpu.simulator.variants import host_under_variant

SIZES = {"tiny": 20, "short": 50, "medium": 80, "long": 120, "seed": 200}
"""Those of sql/*/cartesian.sql, whose reader is above this layer (tested): n, of which n^4 rows are counted."""
PAUSE_S = 0.6
MAX_RUN_EFFECT = 0.5


def simulate(
    host: SimulatedHost,
    levels: tuple[int, ...],
    repeats: int = 5,
    seed: int = 0,
    size: str = "medium",
    executions: int | None = None,
    seconds: float | None = None,
    for_s: float | None = None,
    hz: float = 20.0,
    label: str = "",
    run_id: str | None = None,
    started_at: datetime = EPOCH,
    variants: tuple[str, ...] = (BASELINE,),
    planner: Planner | None = None,
    run_effect: float = 0.0,
    workload: str = "",
) -> RunRecord:
    """Simulate every level ``repeats`` times, in the seeded order of ``plan.rounds``, solo anchors included.

    With a ``planner`` its rounds are simulated instead, and ``levels`` and ``repeats`` are what it may go by.
    ``variants``: see ``simulator.variants``; in turns as ``dbcpu vary`` takes them.

    Of ``executions``, ``seconds`` (fixed work that takes about as long alone) and ``for_s`` (fixed time) at
    most one is used; by default each session does one execution. The same arguments give the same record.
    ``run_effect``: relative standard deviation of the speed of whole runs; ``seed`` draws that of this run.
    ``workload``: what the record calls the work; '' is cartesian, or mixed where sessions wait.

    Raises:
        UsageError: a number makes no sense, or the size is unknown.
    """
    if size not in SIZES:
        raise UnknownName("size of workload 'cartesian'", size, SIZES)
    if not levels or not 1 <= min(levels) <= max(levels) <= MAX_SESSIONS:
        raise UsageError(f"levels {levels} are not between 1 and {MAX_SESSIONS} sessions; give some, such as 1-8")
    if not 0.1 <= hz <= 1000:
        raise UsageError(f"{hz:g} polls per second is not between 0.1 and 1000; 20 is usual")
    if not 0 <= run_effect <= MAX_RUN_EFFECT:
        raise UsageError(f"run effect {run_effect:g} is not 0 to {MAX_RUN_EFFECT:g}; 0.05 is 5 %")
    rows = SIZES[size] ** 4
    if seconds is not None:
        executions = executions_for(seconds, rows / host.mrows_per_s / 1e6 / (1 - host.waits))
    fixed = None if for_s is not None else (executions or 1)
    specs = rounds(levels, repeats, seed, variants)
    if variants not in ((BASELINE,), AA):
        for variant in variants:
            host_under_variant(host, variant)
        specs = blocks(dict.fromkeys(variants, levels), repeats, seed)
    plan = plan_of(host, size, levels, repeats, seed, hz, workload)
    planned = None if planner else len(specs)
    plan = replace(plan, executions=fixed, for_s=for_s, variants=variants, rounds=planned)
    header = header_of(host, plan, run_id, label, started_at)
    work = SimulatedWork(rows, fixed, for_s)
    made: list[Round] = []
    asked = iter(specs) if planner is None else _asked(planner(header), made)
    for each in simulate_rounds(_of_this_run(host, run_effect, seed), asked, work, seed, hz, started_at):
        made.append(each)
    return RunRecord(header, tuple(made))


def workload_of(host: SimulatedHost, size: str, name: str = "") -> WorkloadInfo:
    """The work of a size. Raises UnknownName."""
    if size not in SIZES:
        raise UnknownName("size of workload 'cartesian'", size, SIZES)
    rows = SIZES[size] ** 4
    sql = f"simulated {name}".rstrip()
    return WorkloadInfo(
        name=name or ("mixed" if host.waits else "cartesian"),
        size=size,
        n=SIZES[size],
        rows=rows,
        sql=sql,
        sql_hash=hashlib.sha256(sql.encode()).hexdigest(),
        answer=str(rows),
    )


def plan_of(
    host: SimulatedHost, size: str, levels: tuple[int, ...], repeats: int, seed: int, hz: float, workload: str = ""
) -> Plan:
    """A plan of one execution each. Raises UnknownName."""
    vcpus, source = usable_vcpus(host.info())
    return Plan(
        target=host.name,
        workload=workload_of(host, size, workload),
        levels=levels,
        repeats=repeats,
        seed=seed,
        executions=1,
        for_s=None,
        sampler="simulated",
        hz=hz,
        vcpus=vcpus,
        vcpus_source=source,
    )


def header_of(host: SimulatedHost, plan: Plan, run_id: str | None, label: str, started_at: datetime) -> Header:
    """The header of a complete run."""
    return Header(
        run_id=run_id or f"simulated-{host.name}-{plan.seed}",
        label=label or host.about,
        # Several runs are simulated in one second: a history needs their order.
        started_at=started_at.isoformat(timespec="milliseconds" if started_at.microsecond else "seconds"),
        status="complete",
        tool_version=TOOL_VERSION,
        plan=plan,
        host=host.info(),
        database=simulated_database(),
        driver=Driver("simulator", pid=1, start_ticks=None, python="", boot_id=None),
        notes=("simulated: no machine was measured",),
    )


def simulated_database() -> Database:
    return Database(SIMULATED, TOOL_VERSION, driver="simulator", driver_on_host=False)


def _asked(next_round: NextRound, done: list[Round]) -> Iterator[RoundSpec]:
    while (spec := next_round(done)) is not None:
        yield spec


def _of_this_run(host: SimulatedHost, run_effect: float, seed: int) -> SimulatedHost:
    """The host at the speed that it has throughout this run."""
    if not run_effect:
        return host
    rng = np.random.default_rng([seed, *b"run effect"])
    return replace(host, mrows_per_s=host.mrows_per_s * float(np.exp(run_effect * rng.standard_normal())))


def simulate_rounds(
    host: SimulatedHost,
    specs: Iterable[RoundSpec],
    work: SimulatedWork,
    seed: int,
    hz: float = 20.0,
    started_at: datetime = EPOCH,
) -> Iterator[Round]:
    """The rounds one by one. Each has a random source of its own: leaving one out changes no other."""
    now_s = PAUSE_S
    for spec in specs:
        rng = np.random.default_rng([seed, spec.level, spec.repeat, int(spec.anchor), *spec.variant.encode()])
        made = simulate_round(host_under_variant(host, spec.variant), spec, work, rng, hz, now_s, started_at)
        now_s += (made.cost.window_s if made.cost else 0.0) + PAUSE_S
        yield made

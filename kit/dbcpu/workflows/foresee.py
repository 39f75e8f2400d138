"""``--dry-run``: what would be measured, and for how long. Nothing is connected to, started or kept."""

import click
from msgspec import Struct

from dbcpu.config.request import Request
from dbcpu.errors import UsageError
from dbcpu.formatting import duration, percent, plural, short_ranges
from dbcpu.hosts.local import LocalHost
from dbcpu.hosts.topology import read_host, usable_vcpus
from dbcpu.measure import workloads
from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape, load_experiment
from dbcpu.measure.host_access import access_request
from dbcpu.measure.preflight import check_counts, seen_cores
from dbcpu.measure.preview import MEMORY_SHARE, Preview, foreseen_rounds, foreseen_time
from dbcpu.record import plan
from dbcpu.record.header import AA, Database, HostInfo
from dbcpu.record.plan import RoundSpec
from dbcpu.targets.base import Work
from dbcpu.workflows.measure_run import DEFAULT_SECONDS, Choices

_LOCAL = ("embedded", "shell", "sqlite")
TYPICAL_ROWS_PER_S = 20e6
"""Of one session, where an execution takes so long that this matters: PostgreSQL does 18 million rows per CPU second
on the machine of docs/benchmarks.md."""
ASSUMED = f", at an assumed {TYPICAL_ROWS_PER_S / 1e6:g} million rows a second"
NOTHING = "nothing was connected to, started or stored"


def say(request: Request, choices: Choices, pool: ExperimentShape | None = None) -> int:
    """Print it, of a ``pool`` if one is given; returns the exit code. Raises as ``foresee`` and ``foresee_pool``."""
    click.echo("\n".join(foresee_pool(request, choices, pool) if pool else foresee(request, choices)))
    return 0


def runs_here(kind: str) -> bool:
    """Whether targets of this kind run on the machine that opens their sessions."""
    return kind in _LOCAL


class Forecast(Struct, frozen=True):
    """What a run would be. ``total_s`` and ``rounds`` are limits on a quiet host where ``at_most`` is set."""

    workload: str
    levels: tuple[int, ...]
    rounds: int
    session_s: float
    total_s: float
    cpu_s: float
    memory_bytes: int
    at_most: bool
    assumed: str
    memory_available_bytes: int | None


def foresee(request: Request, choices: Choices) -> tuple[str, ...]:
    """The plan in a few lines. Raises as ``forecast``."""
    found = forecast(request, choices)
    levels = found.levels
    lines = [
        f"{request.name}, {found.workload}: {'levels' if len(levels) > 1 else 'level'} {short_ranges(levels)}, "
        f"{foreseen_rounds(found.rounds, at_most=found.at_most)}",
        f"a single session works for about {duration(found.session_s)} in a round{found.assumed}; "
        f"{foreseen_time(found.total_s, at_most=found.at_most)}",
        f"{found.memory_bytes / 1e6:.0f} MB of memory at {plural(max(levels), 'session')}",
    ]
    return (*lines, *_too_much(found.memory_bytes, found.memory_available_bytes), NOTHING)


def foresee_pool(request: Request, choices: Choices, pool: ExperimentShape) -> tuple[str, ...]:
    """The same of a pool. Raises as ``forecast``."""
    work, info, vcpus = _known(request, choices, here=runs_here(request.kind))
    if vcpus is None and choices.sessions == "auto":
        raise UsageError(
            f"--active auto depends on the vCPUs of {request.name}, and a dry run does not connect; give the sizes: "
            "--active 10,100"
        )
    levels = pool.levels(choices.sessions, vcpus or 1, None)
    specs = pool.specs(levels, choices.repeats, choices.seed or 0, ("",))
    memory_bytes = work.memory_bytes * max(levels)
    plain = Preview(
        request.name, False, Database(request.kind, ""), work, levels, len(specs), 1, 0.0, 0.0, memory_bytes, ()
    )
    found = pool.foreseen(plain, specs, work.rows / TYPICAL_ROWS_PER_S, vcpus or 1)
    return (
        f"{request.name}, {work.name} {work.size}: pools of {short_ranges(levels)} active "
        f"{'session' if levels == (1,) else 'sessions'}, {plural(found.rounds, 'round')}",
        found.amount,
        f"{foreseen_time(found.duration_s, at_most=False)}{ASSUMED}",
        f"{memory_bytes / 1e6:.0f} MB of memory at {plural(max(levels), 'session')}",
        *_too_much(memory_bytes, info.limits.memory_available_bytes if info else None),
        NOTHING,
    )


def _too_much(memory_bytes: int, available_bytes: int | None) -> tuple[str, ...]:
    if available_bytes is None or memory_bytes <= MEMORY_SHARE * available_bytes:
        return ()
    most = f"{percent(MEMORY_SHARE)} of the {available_bytes / 1e9:.1f} GB available here"
    return (f"that is more than {most}: the run would be refused",)


def _known(request: Request, choices: Choices, *, here: bool) -> tuple[Work, HostInfo | None, int | None]:
    """What is known without a connection: the work, this host if the target runs ``here``, the vCPUs.

    A route that no run takes is refused here, too.
    """
    access_request(choices.host, request.options.get("host"), choices.sampler)
    workloads.check_size(request.kind, choices.workload, choices.size)
    database = workloads.RUNS_THOSE_OF.get(request.kind, request.kind)
    work = workloads.load(database, choices.workload or workloads.usual(database)).work(choices.size)
    info = read_host(LocalHost()) if here else None
    check_counts(info, choices.vcpus, choices.cores)
    return work, info, choices.vcpus or (usable_vcpus(info)[0] if info else None)


def forecast(request: Request, choices: Choices, *, here: bool | None = None) -> Forecast:
    """Nothing is connected to. ``here``: whether the target runs on this machine; by default as its kind does.

    Raises:
        UsageError: the options do not fit each other, or the vCPUs, on which the levels depend, are not known.
    """
    here = runs_here(request.kind) if here is None else here
    work, info, vcpus = _known(request, choices, here=here)
    if vcpus is None and choices.sessions in ("auto", "few"):
        raise UsageError(
            f"the levels of --sessions {choices.sessions} depend on the vCPUs of {request.name}, and a dry run does "
            "not connect; give --vcpus N, or the levels: --sessions 1-8"
        )
    experiment = load_experiment("sweep").open_experiment(ExperimentOptions())
    cores = seen_cores(info, choices.cores, choices.threads_per_core, vcpus)
    levels = experiment.levels(choices.sessions, vcpus or 1, cores)
    variants = AA if choices.aa else ("",)
    specs = experiment.specs(levels, choices.repeats, choices.seed or 0, variants)
    adaptive = choices.sessions == "auto" and not choices.aa
    # Such a plan ends with one session alone.
    specs = (*specs, RoundSpec(1, choices.repeats, variants[0], len(specs), True)) if adaptive else specs
    execution_s = work.rows / TYPICAL_ROWS_PER_S
    fixed_s = execution_s * choices.executions if choices.executions else choices.seconds or DEFAULT_SECONDS
    session_s = choices.for_s or max(execution_s, fixed_s)
    by_rows = choices.for_s is None and (choices.executions is not None or execution_s > fixed_s)
    total_s = plan.estimate_s(specs, session_s, plan.MAX_SESSIONS if choices.for_s else vcpus or 1)
    assumed = ASSUMED if by_rows else ""
    cpu_s = sum(min(each.level, vcpus or each.level) * session_s for each in specs)
    available = info.limits.memory_available_bytes if info else None
    return Forecast(
        f"{work.name} {work.size}", levels, len(specs), session_s, total_s, cpu_s, work.memory_bytes * max(levels),
        adaptive, assumed, available,
    )  # fmt: skip

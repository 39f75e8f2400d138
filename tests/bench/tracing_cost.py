"""What the kernel's trace of every switch takes from the sessions, against polls alone."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import executions_per_s, one_round, opened, sampling, say_level
from dbcpu.errors import MeasureError
from dbcpu.record import Round

TITLE = "Cost of the kernel's trace"
HOW = (
    "Rounds of cartesian short on the embedded PostgreSQL with `--sampler trace` and with `--sampler procfs`, in "
    "turns. Throughput is executions by the time of the last answer; the bar is what the trace takes of it. Every "
    "switch of every process of the host is traced meanwhile. CPU time is that of the sessions together, per execution."
)
LIMIT = 1.0
"""Highest share of the throughput, in per cent, that the trace may take."""
EXECUTIONS = {1: 6, 4: 4, 16: 2}
"""Per session, by number of sessions: more than CPUs wait in turn, and every turn is an event."""


def run(setup: Setup) -> Result:
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(EXECUTIONS)))
        try:
            samplers = {name: stack.enter_context(sampling(name, target)) for name in ("procfs", "trace")}
        except MeasureError as error:
            return Result((), (Table(("not measured",), ((str(error),),)),), {})
        found: dict[int, dict[str, list[Round]]] = {}
        for level, executions in EXECUTIONS.items():
            contestants: dict[str, Callable[[], Round]] = {
                name: partial(one_round, target, sampler, setup.guard, level, executions)
                for name, sampler in samplers.items()
            }
            found[level] = interleaved(contestants, setup.rounds, partial(say_level, setup.say, level))
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    for level, by_sampler in found.items():
        rates = {name: [executions_per_s(one) for one in by_sampler[name]] for name in by_sampler}
        cpu = {name: [_cpu_ms(one) for one in by_sampler[name]] for name in by_sampler}
        events = [one.trace.events / one.cost.window_s for one in by_sampler["trace"] if one.trace and one.cost]
        taken = 100 * (1 - ratio(rates["trace"], rates["procfs"]))
        bars.append(Bar(f"throughput that the trace takes, N = {level}", max(0.0, taken), LIMIT, "%"))
        whole = sum(one.trace is not None and not one.trace.why for one in by_sampler["trace"])
        rows.append(
            (
                str(level),
                f"{taken:+.2f} %",
                f"{100 * (ratio(cpu['trace'], cpu['procfs']) - 1):+.2f} %",
                shown(events),
                f"{whole} of {len(by_sampler['trace'])}",
            )
        )
        for name in rates:
            samples[f"N={level} {name} executions_per_s"] = rates[name]
            samples[f"N={level} {name} cpu_ms"] = cpu[name]
    columns = ("N", "throughput lost", "CPU time more", "events per second", "rounds whose trace is whole")
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples)


def _cpu_ms(one: Round) -> float:
    """Median over the sessions, of an execution."""
    return 1000 * statistics.median((each.cpu_s or 0.0) / len(each.executions) for each in one.sessions)

"""What the kit itself costs: CPU of driver and sampler, and what sampling takes from the sessions."""

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import executions_per_s, one_round, opened, sampling, say_level
from dbcpu.record.rounds import Round

TITLE = "Cost of measuring at 20 Hz"
HOW = (
    "Rounds of cartesian on the embedded PostgreSQL, as `dbcpu run` measures them. The CPU that driver and "
    "sampler used between release and the last answer comes from the record (`rounds[].cost`), in per cent of one "
    "CPU. Where polls came less often than asked for, the bar counts what the sampler would have used at the rate "
    "asked for. Throughput is executions by the time of the last answer, against rounds with `--sampler none`."
)
LIMITS = {4: 1.0, 64: 3.0, 256: 8.0}
"""Highest share of one CPU, in per cent, by number of sessions."""
WORK = {4: ("short", 8), 64: ("short", 1), 256: ("tiny", 8)}
"""Size and executions per session, so that a round takes some seconds; tiny costs the driver more than short."""


def run(setup: Setup) -> Result:
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(LIMITS)))
        samplers = {name: stack.enter_context(sampling(name, target)) for name in ("procfs", "none")}
        found: dict[int, dict[str, list[Round]]] = {}
        for level in LIMITS:
            contestants: dict[str, Callable[[], Round]] = {
                name: partial(one_round, target, sampler, setup.guard, level, WORK[level][1], WORK[level][0])
                for name, sampler in samplers.items()
            }
            found[level] = interleaved(contestants, setup.rounds, partial(say_level, setup.say, level))
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    for level, by_sampler in found.items():
        costs = [one.cost for one in by_sampler["procfs"] if one.cost]
        driver = [100 * cost.driver_cpu_s / cost.window_s for cost in costs]
        sampler_ = [100 * (cost.sampler_cpu_s or 0.0) / cost.window_s for cost in costs]
        hertz = [cost.polls / cost.window_s for cost in costs]
        slack = [max(1.0, (cost.hz or 0.0) / rate) for cost, rate in zip(costs, hertz, strict=True)]
        both = [one + other * more for one, other, more in zip(driver, sampler_, slack, strict=True)]
        with_, without = ([executions_per_s(one) for one in by_sampler[name]] for name in ("procfs", "none"))
        kept = ratio(with_, without)
        bars.append(Bar(f"driver + sampler, N = {level}", statistics.median(both), LIMITS[level], "% of one CPU"))
        size, executions = WORK[level]
        rows.append(
            (
                str(level),
                f"{size}, {executions} each",
                *(shown(values) for values in ([cost.window_s for cost in costs], driver, sampler_, hertz)),
                f"{kept:.3f}",
            )
        )
        samples |= {
            f"N={level} driver_percent": driver,
            f"N={level} sampler_percent": sampler_,
            f"N={level} polls_per_s": hertz,
            f"N={level} sampled executions_per_s": with_,
            f"N={level} not_sampled executions_per_s": without,
        }
    columns = (
        "N",
        "work",
        "window, s",
        "driver, %",
        "sampler, %",
        "polls per second",
        "throughput, sampled / not sampled",
    )
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples)

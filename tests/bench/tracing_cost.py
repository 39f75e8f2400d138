"""What the kernel's trace of every switch takes from the sessions: CPU time of a switch, and throughput of rounds."""

import math
import os
import signal
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from scipy import stats

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import executions_per_s, one_round, opened, sampling, say_level
from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers._tracer import Tracer
from dbcpu.measure.samplers.base import Watched
from dbcpu.record.rounds import Round

TITLE = "Cost of the kernel's trace"
HOW = (
    "What a switch costs: two processes on one CPU wake each other by turns, some hundred thousand times, with the "
    "trace of `--sampler trace` on and off in turns; the cost is the CPU time more of one switch and the wake-up "
    "before it. Rounds: cartesian short on the embedded PostgreSQL with `--sampler trace` and with `--sampler procfs`, "
    "in turns. The bar is the CPU time that the trace took of all CPUs: the events of the traced rounds, each counted "
    "as dear as a switch with its wake-up. Throughput (executions by the time of the last answer) and the sessions' "
    "CPU time per execution are compared beside it, with 95 % intervals of the mean of pairs: they show what the "
    "host's own changes of speed allow to see."
)
LIMIT = 1.0
"""Highest share of the CPUs' time, in per cent, that the trace may take."""
EXECUTIONS = {1: 6, 4: 4, 16: 2}
"""Per session, by number of sessions: more than CPUs wait in turn, and every turn is an event."""
TURNS, SWITCHES = 20, 4000
"""Of each round of pairs, and in one turn of a pair."""
EVENTS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task")


def run(setup: Setup) -> Result:
    try:
        plain_ns, more_ns = _switches(setup)
    except MeasureError as error:
        return Result((), (Table(("not measured",), ((str(error),),)),), {})
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(EXECUTIONS)))
        samplers = {name: stack.enter_context(sampling(name, target)) for name in ("procfs", "trace")}
        found: dict[int, dict[str, list[Round]]] = {}
        for level, executions in EXECUTIONS.items():
            contestants: dict[str, Callable[[], Round]] = {
                name: partial(one_round, target, sampler, setup.guard, level, executions)
                for name, sampler in samplers.items()
            }
            found[level] = interleaved(contestants, setup.rounds, partial(say_level, setup.say, level))
    cost_ns = statistics.median(more_ns)
    bars, rows = [], []
    samples: dict[str, list[float]] = {"switch_ns": plain_ns, "switch_traced_more_ns": more_ns}
    for level, by_sampler in found.items():
        rates = {name: [executions_per_s(one) for one in by_sampler[name]] for name in by_sampler}
        cpu = {name: [_cpu_ms(one) for one in by_sampler[name]] for name in by_sampler}
        events = [one.trace.events / one.cost.window_s for one in by_sampler["trace"] if one.trace and one.cost]
        share = 100 * statistics.median(events) * cost_ns / 1e9 / (os.cpu_count() or 1)
        bars.append(Bar(f"CPU time that the trace takes, N = {level}", share, LIMIT, "%"))
        whole = sum(one.trace is not None and not one.trace.why for one in by_sampler["trace"])
        rows.append(
            (
                str(level),
                shown(events),
                f"{share:.3f} %",
                _apart(rates["procfs"], rates["trace"]),
                _apart(cpu["trace"], cpu["procfs"]),
                f"{whole} of {len(by_sampler['trace'])}",
            )
        )
        for name in rates:
            samples[f"N={level} {name} executions_per_s"] = rates[name]
            samples[f"N={level} {name} cpu_ms"] = cpu[name]
    switches = Table(
        ("a switch with its wake-up", "CPU time, ns"),
        (("not traced", shown(plain_ns)), ("traced: more", shown(more_ns))),
    )
    columns = (
        "N", "events per second", "CPU time of the trace", "throughput lost (95 %)", "CPU time more (95 %)",
        "rounds whose trace is whole",
    )  # fmt: skip
    return Result(tuple(bars), (switches, Table(columns, tuple(rows))), samples)


def _switches(setup: Setup) -> tuple[list[float], list[float]]:
    """CPU nanoseconds of a switch and its wake-up, and what is more when traced, of each pair. Raises MeasureError."""
    tracer = Tracer(LocalHost())
    try:
        tracer.open()
        with _answering() as (ask, pids):
            tracer.begin([Watched(at, pid, None) for at, pid in enumerate(pids)])
            serving, shell, _ = tracer.helpers
            instance = Path(f"/proc/{serving}/cwd/instances/dbcpu-{shell}")

            def cpu_ns(traced: bool) -> float:
                for event in EVENTS:
                    (instance / "events/sched" / event / "enable").write_text("1" if traced else "0")
                before = _schedstat_ns(pids)
                for _ in range(SWITCHES // 2):
                    ask()
                return (_schedstat_ns(pids) - before) / SWITCHES

            contestants = {"off": partial(cpu_ns, False), "on": partial(cpu_ns, True)}
            found = interleaved(contestants, TURNS * setup.rounds)
    finally:
        tracer.close()
    return found["off"], [on - off for off, on in zip(found["off"], found["on"], strict=True)]


@contextmanager
def _answering() -> Iterator[tuple[Callable[[], object], tuple[int, int]]]:
    """A call that wakes another process on this CPU and sleeps until it answers; the two processes."""
    allowed = os.sched_getaffinity(0)
    questions, answers = os.pipe(), os.pipe()
    os.sched_setaffinity(0, {max(allowed)})
    other = os.fork()
    if other == 0:
        os.close(questions[1])
        while os.read(questions[0], 1):
            os.write(answers[1], b".")
        os._exit(0)

    def ask() -> None:
        os.write(questions[1], b"?")
        os.read(answers[0], 1)

    try:
        yield ask, (os.getpid(), other)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
        for descriptor in (*questions, *answers):
            os.close(descriptor)
        os.sched_setaffinity(0, allowed)


def _schedstat_ns(pids: Sequence[int]) -> int:
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) for pid in pids)


def _apart(more: Sequence[float], less: Sequence[float]) -> str:
    """How many per cent the first is above the second, mean of pairs on a log scale, with its 95 % interval."""
    logs = [math.log(one / other) for one, other in zip(more, less, strict=True)]
    if len(logs) < 2:
        return f"{100 * (ratio(more, less) - 1):+.2f} %"
    middle = statistics.mean(logs)
    reach = stats.t.ppf(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = (100 * math.expm1(middle + side * reach) for side in (-1, 1))
    return f"{100 * math.expm1(middle):+.2f} % ({low:+.2f} to {high:+.2f})"


def _cpu_ms(one: Round) -> float:
    """Median over the sessions, of an execution."""
    return 1000 * statistics.median((each.cpu_s or 0.0) / len(each.executions) for each in one.sessions)

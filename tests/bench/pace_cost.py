"""What the witness of the CPUs' pace costs: CPU time of each, and what it takes from the sessions."""

import os
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import one_round, opened, sampling, say_level
from dbcpu.measure.pace import PaceWitness
from dbcpu.record.rounds import Round

TITLE = "Cost of the witness of the CPUs' pace"
HOW = (
    "Rounds of cartesian short on the embedded PostgreSQL with the witness at the rate of a default run, with it at "
    "its largest rate and without it, in turns: one session, and one per CPU. Its CPU time comes from the record "
    "(`rounds[].cost.witness_cpu_s`), in per cent of each CPU. Elapsed time is the median of all executions. The "
    "witness is on every CPU, also on those that no session uses: on cores with siblings its pieces are beside the "
    "sessions for as large a share of the time."
)
MAX_CPU, MAX_SLOWER = 1.0, 0.5
"""In per cent: of each CPU, and of the elapsed time."""
EXECUTIONS = 5
SESSIONS_S = {"default": 2.0, "largest": 1.2}
"""Expected of a session: that of a default run, and one so short that 25 pieces a second are beside it."""


def run(setup: Setup) -> Result:
    cpus = sorted(os.sched_getaffinity(0))
    levels = sorted({1, len(cpus)})
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(levels)))
        sampler = stack.enter_context(sampling("procfs", target))
        witnesses = {name: stack.enter_context(PaceWitness(cpus, session_s)) for name, session_s in SESSIONS_S.items()}
        for witness in witnesses.values():
            assert witness.pid is not None
            setup.guard.end_later(witness.pid)
        found: dict[int, dict[str, list[Round]]] = {}
        for level in levels:
            contestants: dict[str, Callable[[], Round]] = {
                name: partial(one_round, target, sampler, setup.guard, level, EXECUTIONS, witness=each)
                for name, each in (*witnesses.items(), ("without", None))
            }
            found[level] = interleaved(contestants, setup.rounds, partial(say_level, setup.say, level))
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    for level, by_name in found.items():
        took = {name: [_execution_s(one) for one in by_name[name]] for name in by_name}
        moves = {name: [_moves_per_s(one) for one in by_name[name]] for name in by_name}
        for name in SESSIONS_S:
            used = [_used_percent(one, len(cpus)) for one in by_name[name]]
            slower = 100 * (ratio(took[name], took["without"]) - 1)
            bars.append(Bar(f"CPU time of the witness, {name} rate, N = {level}", statistics.median(used), MAX_CPU,
                            "% of each CPU"))  # fmt: skip
            if name == "default":
                bars.append(Bar(f"elapsed time with and without, N = {level}", abs(slower), MAX_SLOWER, "%"))
            hertz = [one.witness.hz for one in by_name[name] if one.witness]
            rows.append(
                (str(level), name, shown(hertz), shown(used), f"{slower:+.2f} %", shown(took[name]),
                 shown(took["without"]), shown(moves[name]), shown(moves["without"]))
            )  # fmt: skip
            samples[f"N={level} {name} witness_percent"] = used
        samples |= {f"N={level} {name} execution_s": values for name, values in took.items()}
        samples |= {f"N={level} {name} moves_per_s": values for name, values in moves.items()}
    columns = ("N", "rate", "Hz", "witness, % of each CPU", "slower by", "execution with, s", "without, s",
               "moves with, per s", "without, per s")  # fmt: skip
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples)


def _used_percent(one: Round, cpus: int) -> float:
    """Per cent of each CPU."""
    assert one.cost
    return 100 * (one.cost.witness_cpu_s or 0.0) / (one.cost.window_s + _lead_s(one)) / cpus


def _lead_s(one: Round) -> float:
    """The witness begins before the release."""
    first = [cpu.at_us[0] for cpu in one.witness.cpus if cpu.at_us] if one.witness else []
    return max(0.0, -min(first, default=0) / 1e6)


def _execution_s(one: Round) -> float:
    return statistics.median(each.elapsed_s for session in one.sessions for each in session.executions)


def _moves_per_s(one: Round) -> float:
    """Of one session, as the kernel counts them."""
    moves = sum(session.migrations or 0 for session in one.sessions)
    return moves / sum(each.elapsed_s for session in one.sessions for each in session.executions)

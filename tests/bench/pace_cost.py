"""What the witness of the CPUs' pace costs: CPU time of each, and what it takes from the sessions."""

import os
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import one_round, opened, sampling, say_level
from dbcpu.measure.pace import Witness
from dbcpu.record import Round

TITLE = "Cost of the witness of the CPUs' pace"
HOW = (
    "Rounds of cartesian short on the embedded PostgreSQL with the witness at its largest rate and without it, in "
    "turns: one session, and one per CPU. Its CPU time comes from the record (`rounds[].cost.witness_cpu_s`), in per "
    "cent of each CPU. Elapsed time is the median of all executions. The witness is on every CPU, also on those that "
    "no session uses: on cores with siblings its pieces are beside the sessions for as large a share of the time."
)
MAX_CPU, MAX_SLOWER = 1.0, 0.5
"""In per cent: of each CPU, and of the elapsed time."""
EXECUTIONS = 4
SESSION_S = 1.2
"""Expected of a session: the witness does 25 pieces a second beside so short ones."""


def run(setup: Setup) -> Result:
    cpus = sorted(os.sched_getaffinity(0))
    levels = sorted({1, len(cpus)})
    with ExitStack() as stack:
        target = stack.enter_context(opened("embedded", setup.guard, max(levels)))
        sampler = stack.enter_context(sampling("procfs", target))
        witness = stack.enter_context(Witness(cpus, SESSION_S))
        assert witness.pid is not None
        setup.guard.end_later(witness.pid)
        found: dict[int, dict[str, list[Round]]] = {}
        for level in levels:
            contestants: dict[str, Callable[[], Round]] = {
                name: partial(one_round, target, sampler, setup.guard, level, EXECUTIONS, witness=each)
                for name, each in (("with", witness), ("without", None))
            }
            found[level] = interleaved(contestants, setup.rounds, partial(say_level, setup.say, level))
    bars, rows = [], []
    samples: dict[str, list[float]] = {}
    for level, by_name in found.items():
        costs = [one.cost for one in by_name["with"] if one.cost]
        used = [100 * (cost.witness_cpu_s or 0.0) / (cost.window_s + _lead_s(one)) / len(cpus)
                for one, cost in zip(by_name["with"], costs, strict=True)]  # fmt: skip
        took = {name: [_execution_s(one) for one in by_name[name]] for name in by_name}
        slower = 100 * (ratio(took["with"], took["without"]) - 1)
        moves = {name: [_moves_per_s(one) for one in by_name[name]] for name in by_name}
        bars += [
            Bar(f"CPU time of the witness, N = {level}", statistics.median(used), MAX_CPU, "% of each CPU"),
            Bar(f"elapsed time with and without, N = {level}", abs(slower), MAX_SLOWER, "%"),
        ]
        hertz = [one.witness.hz for one in by_name["with"] if one.witness]
        rows.append(
            (str(level), shown(hertz), shown(used), f"{slower:+.2f} %", shown(took["with"]), shown(took["without"]),
             shown(moves["with"]), shown(moves["without"]))
        )  # fmt: skip
        samples |= {f"N={level} witness_percent": used}
        samples |= {f"N={level} {name} execution_s": values for name, values in took.items()}
        samples |= {f"N={level} {name} moves_per_s": values for name, values in moves.items()}
    columns = ("N", "Hz", "witness, % of each CPU", "slower by", "execution with, s", "without, s",
               "moves with, per s", "without, per s")  # fmt: skip
    return Result(tuple(bars), (Table(columns, tuple(rows)),), samples)


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

"""Rows per second of the unit of work, alone and together, per database: a check of sanity, without a bar."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from bench.pairs import Result, Setup, Table, interleaved, ratio, shown
from bench.rounds import one_round, opened, sampling
from dbcpu.record.rounds import Round

TITLE = "Rows per second per database"
HOW = (
    "cartesian short, five executions per session, in rounds of one, two and four sessions, the databases taking "
    "turns. Mrows/s is the sum of all sessions' rows by the time from release to the last answer; "
    "per CPU second it is a lone session's rows by the CPU time of its server process, which other load on the "
    "machine hardly changes."
)
KINDS = ("embedded", "sqlite")
LEVELS = (1, 2, 4)
EXECUTIONS = 5
ROWS = 50**4


def run(setup: Setup) -> Result:
    with ExitStack() as stack:
        contestants: dict[str, Callable[[], Round]] = {}
        for kind in KINDS:
            target = stack.enter_context(opened(kind, setup.guard, max(LEVELS)))
            sampler = stack.enter_context(sampling("procfs", target))
            for level in LEVELS:
                contestants[f"{kind} N={level}"] = partial(one_round, target, sampler, setup.guard, level, EXECUTIONS)
        found = interleaved(contestants, setup.rounds, setup.say)
    rates = {name: [_mrows_per_s(one) for one in rounds] for name, rounds in found.items()}
    per_cpu = {kind: [_mrows_per_cpu_s(one) for one in found[f"{kind} N=1"]] for kind in KINDS}
    rows = tuple(
        (
            kind,
            shown(per_cpu[kind]),
            *(shown(rates[f"{kind} N={level}"]) for level in LEVELS),
            *(f"{ratio(rates[f'{kind} N={level}'], rates[f'{kind} N=1']):.2f}" for level in LEVELS[1:]),
        )
        for kind in KINDS
    )
    columns = (
        "database",
        "Mrows per CPU second",
        "Mrows/s alone",
        "N = 2",
        "N = 4",
        "N = 2, times alone",
        "N = 4, times alone",
    )
    samples = {f"{name} mrows_per_s": values for name, values in rates.items()}
    samples |= {f"{kind} mrows_per_cpu_s": values for kind, values in per_cpu.items()}
    return Result((), (Table(columns, rows),), samples)


def _mrows_per_cpu_s(one: Round) -> float:
    return EXECUTIONS * ROWS / (one.sessions[0].cpu_s or float("inf")) / 1e6


def _mrows_per_s(one: Round) -> float:
    assert one.cost is not None
    return one.level * EXECUTIONS * ROWS / one.cost.window_s / 1e6

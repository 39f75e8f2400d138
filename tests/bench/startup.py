"""How long dbcpu takes to answer when nothing is measured: --help, and what lists and checks many stored runs."""

import statistics
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import insert

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.processes import DBCPU, finish
from dbcpu.analysis.explain import explain
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.record.figures import VERSION
from dbcpu.record.header import Header
from dbcpu.record.rounds import RunRecord
from dbcpu.simulator import preset, simulate
from dbcpu.store.database import open_store
from dbcpu.store.engine import locate, open_engine
from dbcpu.store.schema import rows
from dbcpu.store.schema.tables import figure, round_
from dbcpu.store.schema.tables import run as run_table
from support.loaded_modules import loaded_by_run

TITLE = "Starting, and listing what is stored"
HOW = (
    "Whole processes. Bars are of CPU time, which other work on the machine hardly changes; on a machine that is left "
    "alone it is the time elapsed but for a few ms. The store is a SQLite file with 10,000 runs, copies of one "
    "simulated run of a 16-vCPU host with all its rounds and figures, a minute apart. Both `dbcpu list` (the newest "
    "20) and `dbcpu list --limit 0` (all) count, and what reads the figures of stored runs. Of one target a history "
    "reads the newest 60 runs; a second store has 60 nights of each of 166 targets, 9,960 runs, and all are read. "
    "Modules: of dbcpu's own, "
    "those that `dbcpu run sqlite` has loaded when its last round has ended, and when it has explained and shown "
    "itself."
)
RUNS = 10_000
TARGETS, NIGHTS = 166, 60
CLICK = 'python -c "import click"'
OF_MANY = f"dbcpu list --history, {TARGETS} targets"
TIMES = 4
"""Turns per round: they are short."""
MAX_MODULES = 120
RUNS_LOADED = ("--sessions 1", "--sessions 1 --report none", "")
"""Options of runs whose modules are counted: of given levels, without a report, and as it is (the plan is adaptive)."""
NO_LIMITS = ("--slowdown", "0", "--max-over-min", "0")
"""Those that the simulated run is beyond: a command that ends with 1 would count as failed."""


def run(setup: Setup) -> Result:
    setup.say(f"filling a store with {RUNS:,} runs")
    store = setup.folder / "store.db"
    fill(store, RUNS)
    setup.say(f"filling a store with {NIGHTS} nights of {TARGETS} targets")
    fleet = setup.folder / "fleet.db"
    fill(fleet, TARGETS * NIGHTS, TARGETS)
    commands = {
        CLICK: (sys.executable, "-P", "-c", "import click"),
        "dbcpu --help": (*DBCPU, "--help"),
        "dbcpu list": (*DBCPU, "list", "--store", str(store)),
        "dbcpu list --limit 0": (*DBCPU, "list", "--limit", "0", "--store", str(store)),
        "dbcpu list --history": (*DBCPU, "list", "--history", "--store", str(store)),
        OF_MANY: (*DBCPU, "list", "--history", "--store", str(fleet)),
        "dbcpu list --verdict": (*DBCPU, "list", "--verdict", "--store", str(store)),
        "dbcpu check --last": (*DBCPU, "check", "--last", "--store", str(store), *NO_LIMITS),
    }
    contestants = {name: partial(finish, command) for name, command in commands.items()}
    ended = interleaved(contestants, TIMES * setup.rounds)
    found = {name: [one.elapsed_s for one in times] for name, times in ended.items()}
    used = {name: [one.cpu_s for one in times] for name, times in ended.items()}
    table = Table(
        ("command", "elapsed, ms", "times import click (CPU)", "CPU, ms"),
        tuple(
            (f"`{name}`", shown(times, 1000), f"{ratio(used[name], used[CLICK]):.2f}", shown(used[name], 1000))
            for name, times in found.items()
        ),
    )
    modules = {options: _modules(setup.folder, *options.split()) for options in RUNS_LOADED}
    loads = Table(
        ("modules that `dbcpu run sqlite` loads", "until its last round", "in all"),
        tuple((f"`{given}`" if given else "as it is", *map(str, map(len, names))) for given, names in modules.items()),
    )
    bars = (
        Bar("dbcpu --help / import click", ratio(used["dbcpu --help"], used[CLICK]), 1.5, "times"),
        Bar("dbcpu list, 10,000 runs", statistics.median(used["dbcpu list"]), 1.0, "s"),
        Bar("dbcpu list --limit 0, 10,000 runs", statistics.median(used["dbcpu list --limit 0"]), 1.0, "s"),
        Bar("dbcpu list --history, 10,000 runs", statistics.median(used["dbcpu list --history"]), 1.0, "s"),
        Bar(f"{OF_MANY}, {TARGETS * NIGHTS:,} runs", statistics.median(used[OF_MANY]), 1.0, "s"),
        Bar("dbcpu check --last, 10,000 runs", statistics.median(used["dbcpu check --last"]), 0.5, "s"),
        Bar("dbcpu run sqlite, modules until its last round", len(modules["--sessions 1"][0]), MAX_MODULES, "modules"),
        Bar("dbcpu run sqlite, modules in all", len(modules["--sessions 1"][1]), MAX_MODULES, "modules"),
    )
    size = f"The store took {store.stat().st_size / 1e6:.0f} MB."
    samples = {f"{name} elapsed_s": times for name, times in found.items()}
    return Result(bars, (table, loads), samples | {f"{name} cpu_s": times for name, times in used.items()}, (size,))


def _modules(folder: Path, *options: str) -> tuple[Sequence[str], Sequence[str]]:
    return loaded_by_run("measuring", folder, *options), loaded_by_run("whole", folder, *options)


def fill(path: Path, count: int, targets: int = 1) -> None:
    """A store with ``count`` runs, a minute apart, in one transaction: 10,000 commits would take minutes.

    The targets take turns, so that each has a run in as many minutes as there are.
    """
    open_store(str(path)).close()
    record = simulate(preset("c4.4xlarge"), levels=(1, 8, 16), repeats=1, seed=1)
    begin = datetime(2025, 1, 1, tzinfo=UTC)
    bodies = [rows.round_values("", each) for each in record.rounds]
    made = [_of_target(record, f"{record.header.plan.target}{at or ''}") for at in range(targets)]
    with open_engine(locate(str(path))).execution_options(writes=True).begin() as connection:
        for number in range(count):
            header, figures = made[number % targets]
            run_id = f"bench-{number:06}"
            header = replace(header, run_id=run_id, started_at=(begin + timedelta(minutes=number)).isoformat())
            connection.execute(insert(run_table).values(rows.run_values(header, len(bodies))))
            connection.execute(insert(round_), [body | {"run_id": run_id} for body in bodies])
            connection.execute(insert(figure), [each | {"run_id": run_id} for each in figures])


def _of_target(record: RunRecord, target: str) -> tuple[Header, Sequence[dict[str, Any]]]:
    """Header and rows of figures of the same run of another target: these name what runs of one history share."""
    own = RunRecord(replace(record.header, plan=replace(record.header.plan, target=target)), record.rounds)
    return own.header, [rows.figure_values("", VERSION, each) for each in run_figures(own, explain(own)).all]

"""How does each workload follow the pace of its CPUs? Its exponent and its spread, measured by the command of a user.

One and two sessions in turns, with the witness, nothing done to anybody. Oracle's workloads need an Oracle database.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.pace import Pace
from dbcpu.analysis.results.run import Reference
from dbcpu.store import record_file
from lab.markdown import lines

MEASURED = (
    ("embedded", "cartesian"), ("embedded", "arithmetic"), ("embedded", "cartesian_wide"), ("embedded", "logical_io"),
    ("shell", "increment"), ("sqlite", "cartesian"), ("sqlite", "arithmetic"),
)  # fmt: skip
LEVELS, REPEATS, SECONDS = "1-2", 8, 2


def measure(target: str, workload: str, file: Path) -> None:
    """Writes the record of a run. Raises CalledProcessError if dbcpu failed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-P", "-m", "dbcpu", "run", target, "--workload", workload, "--sessions", LEVELS,
             "--repeats", str(REPEATS), "--seconds", str(SECONDS), "--store", f"{folder}/runs.db", "--report", "none",
             "--json", str(file), "--yes", "--quiet"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip


class Followed(Struct, frozen=True):
    """One run: where its sessions ran, and what they differ by with the witness and without."""

    name: str
    cpu: str
    day: str
    reference: Reference | None
    slow_share: float | None


@cache
def kept(folder: Path) -> tuple[Followed, ...]:
    """All runs of a folder, by name."""
    return tuple(_read(file) for file in sorted(folder.glob("*.json.gz")))


def _read(file: Path) -> Followed:
    record = record_file.read(file)
    analysis, header = explain(record), record.header
    speeds = analysis.two_speeds
    return Followed(
        f"{header.plan.workload.name}, {header.database.kind}",
        header.host.cpu_model if header.host and header.host.cpu_model else "an unknown CPU",
        header.started_at[:10],
        analysis.reference,
        speeds.slow_share if speeds else None,
    )


def section(runs: Sequence[Followed]) -> str:
    """A row per run."""
    rows = [
        f"| {each.name} | {each.cpu}, {each.day} | {_exponent(each.reference.pace)} "
        f"| {each.reference.pace.spread:.1%} | {each.reference.spread:.1%} "
        f"| {'-' if each.slow_share is None else f'{each.slow_share:.0%}'} |"
        for each in runs
        if each.reference and each.reference.pace
    ]
    without = [each.name for each in runs if not (each.reference and each.reference.pace)]
    return f"""
## Exponents of the workloads

`shell/lab workloads`: one and two sessions in turns, {REPEATS} repeats of {SECONDS} s each, with the witness. The
exponent says by which power of the pieces' time a workload slows down; its error is that of this run and the prior
(0.75, standard deviation 0.10) together. Where the CPUs kept one speed, a run says little of it, and the prior stands.
`logical_io` is that of PostgreSQL, which reads as many rows as Oracle's. The workloads of Oracle were not measured: no
Oracle database was at hand.

| workload | CPU | exponent | spread as delivered | at one pace | time at the slow speed |
|---|---|---|---|---|---|
{lines(rows)}
""" + ("" if not without else f"\nWithout enough pieces beside single sessions: {', '.join(without)}.\n")


def _exponent(pace: Pace) -> str:
    return f"{pace.exponent:.2f} ± {pace.exponent_error:.2f}"

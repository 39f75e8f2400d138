"""Does the result of a real run contradict itself? Short sweeps on this machine, as ``dbcpu run`` measures them.

Targets, sizes, repeats and levels are drawn at random; every result is held against ``support/contradictions.py``.
What the machine does meanwhile is nobody's business here: busy or quiet, a result has to be of one piece.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.store import record_file
from lab.intervals import told
from support.contradictions import contradictions

TARGETS = {
    ("embedded",): ("tiny", "short", "medium"),
    ("sqlite",): ("tiny", "short"),
    ("shell", "--workload", "increment"): ("tiny", "short"),
    ("shell", "--workload", "gzip_pipe"): ("tiny", "short"),
}
LEVELS = ("1-4", "auto", "few", "1,2", "1,3,5", "2,4")
REPEATS = (1, 2, 3, 6)
LONGEST_S = 300
BUSY, QUIET = "busy", "quiet"


class Measured(Struct, frozen=True):
    """One run: how it was asked for, what its headline says, and what contradicts itself. ``kind`` '' if it failed."""

    asked: tuple[str, ...]
    took_s: float
    kind: str
    contradictions: tuple[str, ...]
    failed: str = ""


def asked(number: int, seed: int) -> tuple[str, ...]:
    """The arguments of ``dbcpu run``; they depend on nothing but these two."""
    rng = Random(f"{seed}-{number}")
    target = rng.choice(list(TARGETS))
    words = (*target, "--size", rng.choice(TARGETS[target]), "--sessions", rng.choice(LEVELS))
    pace = ("--pace", "off") if rng.random() < 0.3 else ()
    return (*words, "--repeats", str(rng.choice(REPEATS)), *pace)


def runs(count: int, seed: int, contradicting: Path) -> Iterator[Measured]:
    """Real runs, one after the other, until ``count`` were measured; of twice as many at most.

    A record that contradicts itself is kept in the folder ``contradicting``.
    """
    measured = 0
    with TemporaryDirectory(prefix="dbcpu-lab-") as folder:
        for number in range(2 * count):
            yield (made := _measured(asked(number, seed), Path(folder), contradicting / f"{seed}-{number:02}"))
            measured += not made.failed
            if measured == count:
                break


def _measured(words: Sequence[str], folder: Path, kept: Path) -> Measured:
    began_s, file = time.monotonic(), folder / "record.json.gz"
    file.unlink(missing_ok=True)
    command = (sys.executable, "-P", "-m", "dbcpu", "run", *words, "--yes", "--quiet", "--report", "none")
    try:
        made = subprocess.run(
            (*command, "--store", str(folder / "runs.db"), "--json", str(file)),
            cwd=folder, env={**os.environ, "DBCPU_SETTLE_S": "0"}, capture_output=True, text=True, timeout=LONGEST_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Measured(tuple(words), LONGEST_S, "", (), f"ended after {LONGEST_S} s")
    took_s = round(time.monotonic() - began_s, 1)
    if made.returncode not in (0, 1) or not file.is_file():
        return Measured(tuple(words), took_s, "", (), made.stderr.strip()[-300:])
    record = record_file.read(file)
    analysis = explain(record)
    found = tuple(contradictions(record, analysis))
    if found:
        kept.parent.mkdir(parents=True, exist_ok=True)
        record_file.write_record(kept.with_suffix(".json.gz"), record)
    return Measured(tuple(words), took_s, headline(analysis).kind, found)


def merged(file: Path, machine: str, seed: int, found: Sequence[Measured]) -> dict[str, Any]:
    """What is in ``file``, with these runs in place of the former ones of that kind of ``machine``."""
    known = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    known.pop("dbcpu", None)
    return {**known, machine: {"seed": seed, "runs": [asdict(each) for each in found]}}


def section(data: Mapping[str, Any]) -> str:
    """Of docs/accuracy.md."""
    rows = []
    for machine in (BUSY, QUIET):
        if machine not in data:
            continue
        made = [each for each in data[machine]["runs"] if not each["failed"]]
        bad = sum(bool(each["contradictions"]) for each in made)
        kinds = ", ".join(f"{kind} {sum(each['kind'] == kind for each in made)}" for kind in
                          sorted({each["kind"] for each in made}))  # fmt: skip
        rows.append(f"| {machine} | {told(bad, len(made))} | {kinds} | {len(data[machine]['runs']) - len(made)} |")
    table = "\n".join(rows)
    return f"""
### Real runs

Short sweeps on a virtual machine with 2 vCPUs, as `dbcpu run` measures them: PostgreSQL, SQLite and shell loops, sizes,
levels, repeats (1 to 6) and witness drawn at random (`shell/lab real`). Busy: beside other work that takes most of it.

| machine | contradict themselves | answers | could not measure |
|---|---|---|---|
{table}
"""

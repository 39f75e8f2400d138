"""How long explaining a run takes, against the same of an earlier commit in the same minutes."""

import json
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

from bench.pairs import Bar, Result, Setup, Table, interleaved, ratio, shown
from bench.report import PROJECT
from dbcpu.simulator import preset, simulate
from dbcpu.store.record_file import write_record

BEFORE = "00de094"
"""The commit from which on this was to become faster."""
TITLE = "Explaining a run"
HOW = (
    f"The same record explained by the code of commit {BEFORE} (taken from the history with git) and by this one, in "
    "processes of their own that take turns. CPU seconds of the explanation alone, without reading the record: of the "
    "first in a process, and of one after it; NumPy has one thread, for others would count while they wait. Large: a "
    "simulated host of 64 vCPUs, levels 1 and 2, 4, 6 ... 512, one round each. Small: the example of an "
    "embedded PostgreSQL on 2 vCPUs."
)
LEVELS = (1, *range(2, 513, 2))
SMALL = PROJECT / "reports/examples/embedded-2-vcpus/record.json.gz"
EXPLAIN = """
import json, sys, time
from dbcpu.analysis.explain import explain
from dbcpu.store import record_file
record, taken_s = record_file.read(sys.argv[1]), []
for _ in range(int(sys.argv[2])):
    began_s = time.process_time()
    explain(record)
    taken_s.append(time.process_time() - began_s)
print(json.dumps(taken_s))
"""


def run(setup: Setup) -> Result:
    before = setup.folder / "before"
    packed = subprocess.run(["git", "-C", str(PROJECT), "archive", BEFORE, "kit"], check=True, capture_output=True)
    before.mkdir()
    subprocess.run(["tar", "-x", "-C", str(before)], check=True, input=packed.stdout)
    setup.say("simulating a large run")
    large = setup.folder / "large.json"
    write_record(large, simulate(preset("graviton"), LEVELS, repeats=1, seed=1, size="short", hz=5.0))
    rows: list[tuple[str, ...]] = []
    bars: list[Bar] = []
    samples: dict[str, list[float]] = {}
    for name, record, times, least in (("large", large, 1, 10.0), ("small", SMALL, 2, 3.0)):
        contestants = {
            code: partial(_explained, kit, record, times)
            for code, kit in ((BEFORE, before / "kit"), ("now", PROJECT / "kit"))
        }
        found = interleaved(contestants, setup.rounds if name == "small" else max(1, setup.rounds // 2), setup.say)
        for which in range(times):
            then, now = ([taken[which] for taken in found[code]] for code in (BEFORE, "now"))
            what = f"{name}, {'first in a process' if which == 0 else 'after it'}"
            rows.append((what, shown(then), shown(now), f"{ratio(then, now):.1f}"))
            samples |= {f"{what}, {BEFORE}, s": then, f"{what}, now, s": now}
            part = statistics.median(now) / statistics.median(then)
            bars.append(Bar(f"{what}: now / {BEFORE}", part, 1 / least, "times"))
    table = Table(("run", f"{BEFORE}, s", "now, s", "times as fast"), tuple(rows))
    return Result(tuple(bars), (table,), samples)


def _explained(kit: Path, record: Path, times: int) -> list[float]:
    """CPU seconds of each of so many explanations in one process, without threads of OpenBLAS that wait for work."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", EXPLAIN, str(record), str(times)],
        env={"PYTHONPATH": str(kit), "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [float(each) for each in json.loads(done.stdout)]

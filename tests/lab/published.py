"""What the curve says of hosts that strangers measured and published: throughput for each number of busy cores.

The data are not part of the project: ``shell/lab published FOLDER`` reads what the user fetched, as it lies there.

    SpareCores/sc-inspector-data    data/*/*/stressngfull/stdout and lscpu/stdout: stress-ng div16 on cloud instances
    LucaCanali/Miscellaneous        Performance_Testing: loops, Oracle (SLOB) and Spark on servers at CERN

There is one figure per level, or a few, and nothing else: no times of sessions, no steal, no quota. The truth is what
lscpu shows where it shows siblings, and hosts are measured once as they are and once with their siblings hidden. One
thread per core is taken for the truth of ARM servers and of the instances whose vendor says that a vCPU is a core.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from dbcpu.analysis.levels.run_context import run_context
from dbcpu.analysis.levels.throughput import RoundWork
from dbcpu.analysis.results.host import Scaling, TopologyCheck
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.scaling.curve import NEAR, scaling
from dbcpu.analysis.scaling.topology_check import topology_check
from dbcpu.analysis.sessions.valid_sessions import Span
from lab.intervals import told
from support.builders.record import host, record, solos

SHOWN, HIDDEN, FULL = "siblings shown", "siblings hidden", "one thread per core"
ROWS = 1_000_000
MIN_LEVELS = 4
FREE = 1.8
"""Threads of which all reach this many times what the cores do are as good as cores, and hide nothing."""
CORE_IS_VCPU = (
    ("aws", "AMD EPYC 9R"),
    ("gcp", "AMD EPYC 7B13"),
    ("gcp", "AMD EPYC 9B45"),
    ("gcp", "8481C"),
    ("azure", ""),
)
"""Vendor and part of the CPU's name, where x86 instances with one thread per core have cores of their own."""
SERVERS = {"RAC52": (20, 40), "RAC54": (8, 16), "RAC55": (16, 32), "HDP6": (32, 64)}
"""Cores and vCPUs of the servers at CERN, from the README of the data."""


class Table(Struct, frozen=True):
    """Throughput by level, one value per round, in any unit; ``cores`` and ``vcpus`` are the truth."""

    name: str
    cores: int
    vcpus: int
    rates: Mapping[int, tuple[float, ...]]

    def reach(self, level: int) -> float | None:
        """Median throughput at ``level``."""
        values = sorted(self.rates.get(level, ()))
        return values[len(values) // 2] if values else None

    @property
    def raw_yield(self) -> float | None:
        most, least = self.reach(self.vcpus), self.reach(self.cores)
        return most / least - 1 if most and least else None


class Claim(Struct, frozen=True):
    """What was said of one table. ``free``: its threads are as good as cores. ``knee``: the first one."""

    name: str
    shown: str
    cores: int
    vcpus: int
    free: bool
    verdict: str | None
    knee: float | None
    smt_yield: float | None
    raw_yield: float | None

    @property
    def off(self) -> float | None:
        """How far the first knee lies from the cores, relative."""
        return None if self.knee is None else abs(self.knee / self.cores - 1)


def read(folder: Path) -> tuple[list[Table], list[Table]]:
    """Cloud instances and servers below ``folder``; files that are not whole are left out."""
    instances = [table for file in sorted(folder.rglob("stressngfull/stdout")) if (table := _instance(file))]
    servers = [table for file in sorted(folder.rglob("*.csv")) if (table := _server(file))]
    return instances, servers


def claims(instances: Sequence[Table], servers: Sequence[Table], workers: int) -> Iterator[Claim]:
    """Every table as it is, and with its siblings hidden."""
    asked = [(table, shown) for table in (*instances, *servers) for shown in _ways(table)]
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_claim, asked, chunksize=16)


def summary(found: Sequence[Claim], servers: Sequence[str]) -> dict[str, Any]:
    """Counts of instances, by how they were shown, and a row per server."""
    cloud = [each for each in found if each.name not in servers]
    return {
        "instances": {
            shown: _counts([each for each in cloud if each.shown == shown]) for shown in (SHOWN, HIDDEN, FULL)
        },
        "servers": [asdict(each) for each in found if each.name in servers],
    }


def right(server: Mapping[str, Any], within: float = NEAR) -> bool:
    """Whether the first knee of a row of ``summary`` is ``within`` that share of the cores."""
    return server["knee"] is not None and abs(server["knee"] / server["cores"] - 1) <= within


def same_sign(server: Mapping[str, Any]) -> bool:
    """Whether its yield has the sign of the measured one."""
    return server["smt_yield"] is not None and server["smt_yield"] * server["raw_yield"] > 0


def section(data: Mapping[str, Any]) -> str:
    """Of docs/accuracy.md, from ``summary``."""
    shown, hidden, full = (data["instances"][name] for name in (SHOWN, HIDDEN, FULL))
    rows = [
        f"| {name} | {each['hosts']} | {each['fewer']} | {each['agrees']} | {each['unclear']} | {each['silent']} |"
        for name, each in data["instances"].items()
    ]
    servers = [each for each in data["servers"] if each["shown"] == SHOWN]
    near = sum(right(each) for each in servers)
    close = sum(right(each, 0.05) for each in servers)
    signs = sum(same_sign(each) for each in servers)
    return f"""
## Published curves

Throughput for each number of busy cores, measured and published by others, through the curve and the check of the
topology alone. Cloud instances: stress-ng of Spare Cores (SpareCores/sc-inspector-data), one value per level, up to
the vCPUs. The truth is what lscpu shows; {FULL} only where the vendor says that a vCPU is a core. Instances
that show siblings are analysed a second time with these hidden: then the cores are no longer among the knees that the
fit expects. Nothing but throughput is known of any of them, so that fewer cores are only ever called probable.
The forms of the curve were chosen with these data in view: they are no independent test, and with no level beyond the
vCPUs they show nothing of the flat end of a curve.

| instances | hosts | fewer cores | consistent | unclear | no knee, or no curve |
|---|---|---|---|---|---|
{chr(10).join(rows)}

- said to have fewer cores, of hosts with all that they show: \
{told(shown["fewer"] + full["fewer"], shown["hosts"] + full["hosts"])}
- fewer cores found where siblings are hidden: {told(hidden["fewer"], hidden["hosts"])}; \
within 15 % of the truth, of those whose threads are not as good as cores: \
{told(hidden["fewer_right"], hidden["sharing"])}
- first knee within 5 % of the cores, siblings shown: {told(shown["within_5"], shown["sharing"])}; hidden: \
{told(hidden["within_5"], hidden["sharing"])}
- threads as good as cores, on which no knee is due: {shown["hosts"] - shown["sharing"]} of {shown["hosts"]}

Servers at CERN (LucaCanali/Miscellaneous): loops in Python and Rust, Oracle (SLOB) and Spark, the last one limited by
memory. The yield as measured is throughput at N = vCPUs over that at N = cores, minus 1.

- first knee within 15 % of the cores, as the check wants it: {told(near, len(servers))}; within 5 %: \
{told(close, len(servers))}
- yield with the sign as measured: {told(signs, len(servers))}

Claimed is a knee within 15 %, not within 5 %. Of the five sets beyond 5 % three have no knee that is known so well:
Oracle on RAC55 was measured at every second level, once, and its single session was slower than those beside others;
so it was with Spark on RAC55, which bends over 14 to 17 sessions; Spark on HDP6 bends at 24 of 32 cores, where its
memory ends. Both loops on HDP6 leave the straight line at 32 to 33 sessions, at the cores, and then bend for ten more:
two straight lines meet at 34, and their 95 % intervals (33.6 to 34.8) do not hold the cores.

| set | cores / vCPUs | first knee | yield of the curve | as measured | check |
|---|---|---|---|---|---|
{chr(10).join(map(_row, servers))}
"""


def _row(each: Mapping[str, Any]) -> str:
    knee, gain = (f"{each['knee']:.1f}" if each["knee"] else "none"), each["smt_yield"]
    curve = "none" if gain is None else f"{100 * gain:.1f} %"
    measured = f"{100 * each['raw_yield']:.1f} %"
    cores = f"{each['cores']} / {each['vcpus']}"
    return f"| {each['name']} | {cores} | {knee} | {curve} | {measured} | {each['verdict'] or 'none'} |"


def _counts(own: Sequence[Claim]) -> dict[str, int]:
    sharing = [each for each in own if not each.free]
    return {
        "hosts": len(own),
        "sharing": len(sharing),
        "fewer": sum(each.verdict == "fewer_cores" for each in own),
        "fewer_right": sum(each.verdict == "fewer_cores" and (each.off or 0.0) <= NEAR for each in sharing),
        "agrees": sum(each.verdict == "agrees" for each in own),
        "unclear": sum(each.verdict == "unclear" for each in own),
        "silent": sum(each.verdict is None for each in own),
        "within_5": sum(each.off is not None and each.off <= 0.05 for each in sharing),
        "within_15": sum(each.off is not None and each.off <= NEAR for each in sharing),
    }


def _ways(table: Table) -> tuple[str, ...]:
    return (SHOWN, HIDDEN) if table.cores < table.vcpus else (FULL,)


def _claim(asked: tuple[Table, str]) -> Claim:
    table, shown = asked
    cores = table.cores if shown == SHOWN else table.vcpus
    curve, check = curve_of(table, cores)
    raw = table.raw_yield
    free = raw is not None and table.cores < table.vcpus and 1 + raw >= FREE * table.vcpus / table.cores / 2
    knee = curve.knees[0] if curve.knees else None
    verdict = check.verdict if check else None
    return Claim(table.name, shown, table.cores, table.vcpus, free, verdict, knee, curve.smt_yield, raw)


def curve_of(table: Table, cores: int) -> tuple[Scaling, TopologyCheck | None]:
    """The curve and the check of a host that shows ``cores``, of which nothing but throughput is known."""
    solo = table.reach(1) or 0.0
    reference = Reference(3, 1.0, None, solo, 0.01, 0.1)
    work = {
        level: [
            RoundWork.of([Span.of(((0.0, level / rate * ROWS / 1e6),), 0.0, level / rate * ROWS / 1e6)] * level)
            for rate in values
        ]
        for level, values in table.rates.items()
    }
    curve = scaling((), work, ROWS, reference, table.vcpus, cores)
    shown = host(cores, table.vcpus // cores)
    context = run_context(record(solos(), shown, vcpus=table.vcpus), reference)
    return curve, topology_check(context, (), (), curve)


def _instance(file: Path) -> Table | None:
    try:
        info = _lscpu(json.loads((file.parents[1] / "lscpu" / "stdout").read_text("utf-8"))["lscpu"])
        rates = {int(level): (float(rate),) for level, rate in csv.reader(file.read_text("utf-8").splitlines())}
        threads, vcpus = int(info["Thread(s) per core"]), int(info["CPU(s)"])
    except (OSError, ValueError, KeyError):
        return None
    vendor, name = file.parts[-4], file.parts[-3]
    model = info.get("Model name", "")
    known = (
        threads == 2
        or info.get("Architecture") == "aarch64"
        or any(vendor == where and part in model for where, part in CORE_IS_VCPU)
    )
    whole = len(rates) >= MIN_LEVELS and 1 in rates and max(rates) == vcpus and min(map(min, rates.values())) > 0
    return Table(f"{vendor}/{name}", vcpus // threads, vcpus, rates) if known and whole else None


def _lscpu(fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names and values of ``lscpu --json``, nested or not."""
    found: dict[str, str] = {}
    for each in fields:
        found[str(each["field"]).rstrip(":")] = str(each["data"])
        found |= _lscpu(each.get("children", ()))
    return found


def _server(file: Path) -> Table | None:
    """Median times of a fixed job per session, throughput itself, or times of one job that all sessions share.

    The spread of the sessions' times stands for rounds: the median, and one standard error below and above it.
    """
    server = next((name for name in SERVERS if name in file.stem), None)
    with file.open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    names = [name.strip() for name in rows[0]] if rows and server else []
    time = next((name for name in names if name in ("job_median_run_time (sec)", "job_run_time (sec)")), None)
    if server is None or not (time or "Oracle_Logical_IOPS" in names):
        return None
    rates: dict[int, list[float]] = {}
    for row in rows:
        level, value = int(row[names[0]]), float(row[time or "Oracle_Logical_IOPS"])
        spread = float(row.get("job_stdev_run_time (sec)", 0)) / level**0.5
        if time is None:
            rates.setdefault(level, []).append(value)
        elif time == "job_run_time (sec)":
            rates.setdefault(level, []).append(1 / value)
        else:
            rates.setdefault(level, []).extend(level / each for each in (value - spread, value, value + spread))
    return Table(file.stem, *SERVERS[server], {level: tuple(values) for level, values in rates.items()})

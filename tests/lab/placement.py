"""Where sessions ran, by polls and by the kernel's trace: the section of docs/accuracy.md from what the bench kept."""

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.truth import LIMIT
from lab.intervals import told

KEPT = Path(__file__).resolve().parents[1] / "bench" / "results" / "truth.json"
_NARROW = LIMIT / 4


def section(data: Mapping[str, Any]) -> str:
    """``data``: the kept result of ``bench.truth``, whose rounds were polled and traced at once."""
    (table,) = data["tables"]
    lines, everything = [], []
    for level, counted, seen, _, traced, *_ in table["rows"]:
        apart = data["samples"][f"N={level} share_apart"]
        everything += apart
        lines.append(
            f"| {level} | {len(apart)} | {statistics.median(apart):.4f} | {max(apart):.4f} | {counted} | {traced} "
            f"| {seen} ({100 * int(seen) / int(counted):.1f} %) |"
        )
    narrow, wide = (sum(each <= limit for each in everything) for limit in (_NARROW, LIMIT))
    counted, traced = (sum(int(row[column]) for row in table["rows"]) for column in (1, 4))
    machine = data["machine"]
    rows = "\n".join(lines)
    return f"""
## Placement: polls against the kernel's trace

Where a session ran is polled, 20 times a second. In {data["rounds"]} rounds of each level on a real server the kernel's
trace of every switch (`--sampler trace`) was taken of the same processes at the same time (`shell/bench --only truth`;
{machine["vcpus"]} vCPUs of {machine["cpu"]}, {data["at"][:10]}). Of each session: how far its share of CPU time on a
CPU is from the traced one, on the CPU where it is farthest.

- within {_NARROW:g}: {told(narrow, len(everything))}
- within {LIMIT:g}: {told(wide, len(everything))}
- moves that the trace has, of those that the kernel counts: {told(traced, counted)}

| N | sessions | median difference | largest | moves counted | traced | seen by polls |
|---|---|---|---|---|---|---|
{rows}

A move that another follows within a poll is not seen by polls.
"""

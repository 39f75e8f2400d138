"""How often is an answer of a small run false: three rounds of short executions, on hosts with noise alone?

The truth of a level is the same host without noise, measured with executions of the same length: these are so short
that what a scheduler does at their start is a part of what sessions get.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.simulator import SimulatedHost, simulate
from lab.intervals import told
from lab.verdicts import EQUAL, NO_DIFFERENCE

REPEATS = 3
TRUTH_REPEATS = 8
SIZE = "tiny"
MOST_NOISE = 0.10


def tally(count: int, seed: int) -> dict[str, int]:
    """Of the answers of levels up to the vCPUs: how many of each kind, and how many of which truth speaks against."""
    counts = dict.fromkeys(("runs", "yes", "false_yes", "no", "false_no", "no_below_limit"), 0)
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        host = SimulatedHost(
            name="noisy",
            cores=int(rng.integers(2, 5)),
            threads=int(rng.integers(1, 3)),
            scheduler=str(rng.choice(["sticky", "rotating", "smt_balancing"])),
            smt_yield=float(rng.uniform(0.0, 0.6)),
            noise=float(rng.uniform(0.0, MOST_NOISE)),
        )
        levels = tuple(sorted({1, 2, host.cores, min(host.cores + 1, len(host.online)), len(host.online)}))
        found = explain(simulate(host, levels, REPEATS, int(rng.integers(2**31)), size=SIZE))
        truth = explain(simulate(replace(host, noise=0.0), levels, TRUTH_REPEATS, 1, size=SIZE))
        counts["runs"] += 1
        for each, true in zip(found.levels, truth.levels, strict=True):
            if each.level == 1:
                continue
            for said, ratio in ((each.even, true.max_over_min), (each.full_speed, true.slowdown_median)):
                counts["yes"] += said is Answer.YES
                counts["false_yes"] += said is Answer.YES and (ratio or 1.0) > EQUAL
                counts["no"] += said is Answer.NO
                counts["false_no"] += said is Answer.NO and (ratio or 1.0) < NO_DIFFERENCE
                counts["no_below_limit"] += said is Answer.NO and (ratio or 1.0) < EQUAL
    return counts


def section(data: Mapping[str, Any]) -> str:
    """Of docs/accuracy.md."""
    return f"""
## Small runs

Hosts with noise alone (up to {MOST_NOISE:.0%}), 2 to 4 cores of 1 or 2 threads, {REPEATS} rounds of size {SIZE};
seed {data["seed"]}, {data["runs"]} runs. The truth of a level is the same host without noise, with executions of
the same size.

- false yes (the true ratio is above {EQUAL:.2f}): {told(data["false_yes"], data["yes"])}
- false no (it is below {NO_DIFFERENCE:.2f}): {told(data["false_no"], data["no"])}
- no, though the true ratio is below {EQUAL:.2f}: {told(data["no_below_limit"], data["no"])}
"""

"""The result as OpenMetrics text, for node_exporter's textfile collector and the like.

Gauges only, no time stamps (the collector refuses them), base units, an unknown value has no line. The text is
valid in the older Prometheus format too, where ``# UNIT`` and ``# EOF`` are comments.
Source: the OpenMetrics specification 1.0, and the textfile collector's documentation.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.findings import Level
from dbcpu.record import RunRecord

SUFFIX = ".prom"
BINARY = False
Labels = Mapping[str, str]
Sample = tuple[Labels, float | None]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name (which ends in its unit), what it means, and its samples."""

    name: str
    meaning: str
    unit: str
    samples: tuple[Sample, ...]


LEVEL_METRICS: tuple[tuple[str, str, str, Callable[[LevelView], float | None]], ...] = (
    ("dbcpu_elapsed_seconds", "seconds", "Median elapsed time of one execution.", lambda each: each.median_s),
    ("dbcpu_slowdown_ratio", "ratio", "Slowest session over one session alone.", lambda each: each.slowdown_max),
    ("dbcpu_max_over_min_ratio", "ratio", "Slowest over fastest session.", lambda each: each.max_over_min),
    ("dbcpu_slow_sessions", "", "Sessions in the slow one of two groups.", lambda each: each.slow),
    ("dbcpu_throughput_rows_per_second", "", "Sum of the sessions' rates while all ran.",
     lambda each: None if each.throughput is None else each.throughput * 1e6),
    ("dbcpu_connect_seconds", "seconds", "Median time to connect.", lambda each: each.connect_median_s),
)  # fmt: skip


def render(record: RunRecord, analysis: Analysis) -> str:
    """All families with their samples, ending with ``# EOF``."""
    return "".join(f"{line}\n" for family in _families(record, analysis) for line in _lines(family)) + "# EOF\n"


def _families(record: RunRecord, analysis: Analysis) -> Iterator[Family]:
    header = record.header
    target = {"target": header.plan.target, "database": header.database.kind}
    info = target | {
        "run": header.run_id,
        "status": header.status,
        "version": header.tool_version,
        "workload": header.plan.workload.name,
        "size": header.plan.workload.size,
    }
    yield Family("dbcpu_run", "The run that these figures are of; always 1.", "", ((info, 1.0),))
    yield Family("dbcpu_run_started_timestamp_seconds", "When it started (Unix time).", "seconds",
                 ((target, _timestamp(header.started_at)),))  # fmt: skip
    complete = float(header.status == "complete")
    yield Family("dbcpu_run_complete", "1 when all its rounds were run.", "", ((target, complete),))
    reference = analysis.reference
    solo = None if reference is None else reference.mrows_per_s * 1e6
    yield Family("dbcpu_solo_rows_per_second", "Rate of one session alone.", "", ((target, solo),))
    for name, unit, meaning, value in LEVEL_METRICS:
        samples = tuple(
            (target | {"level": str(each.level), "variant": each.variant}, value(each)) for each in analysis.levels
        )
        yield Family(name, meaning, unit, samples)
    yield Family("dbcpu_effective_cores", "Best throughput in solo rates.", "",
                 ((target, analysis.scaling.effective_cores),))  # fmt: skip
    counts = tuple(
        (target | {"severity": level.label}, float(sum(each.level == level for each in analysis.findings)))
        for level in Level
    )
    yield Family("dbcpu_findings", "Findings by severity.", "", counts)


def _lines(family: Family) -> Iterator[str]:
    known = [(labels, value) for labels, value in family.samples if value is not None and math.isfinite(value)]
    if not known:
        return
    yield f"# TYPE {family.name} gauge"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.meaning}"
    for labels, value in known:
        told = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
        yield f"{family.name}{{{told}}} {value:.10g}"


def _escaped(text: str) -> str:
    """As the format asks; other control characters and lone surrogates have no place in it."""
    kept = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    return kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _timestamp(started_at: str) -> float | None:
    try:
        moment = datetime.fromisoformat(started_at)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

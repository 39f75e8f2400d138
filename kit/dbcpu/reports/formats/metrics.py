"""The result as OpenMetrics text, for node_exporter's textfile collector and the like.

Gauges only, no time stamps (the collector refuses them), base units, an unknown value has no line. The text is
valid in the older Prometheus format too, where ``# UNIT`` and ``# EOF`` are comments.
Source: the OpenMetrics specification 1.0, and the textfile collector's documentation.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from dbcpu.analysis.conclusions.headline import one_word
from dbcpu.analysis.history.run_figures import ANSWERED, run_figures
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.quote import quote
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.errors import UsageError
from dbcpu.formatting import moment
from dbcpu.record.finding_entry import Level
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Document, Gauge
from dbcpu.reports.formats.base import NO_PICTURES, Pictures
from dbcpu.reports.quoted_gauges import quoted_gauges

if TYPE_CHECKING:
    from prometheus_client import Metric

SUFFIX = ".prom"
BINARY = False
IN_FOLDER = False
LEVEL_METRICS: tuple[tuple[str, str, str, Callable[[LevelView], float | None]], ...] = (
    ("dbcpu_elapsed_seconds", "seconds", "Median elapsed time of one execution.", lambda level: level.median_s),
    ("dbcpu_slowdown_ratio", "ratio", "Slowdown of the slowest session.", lambda level: level.slowdown_max),
    ("dbcpu_max_over_min_ratio", "ratio", "Slowest / fastest session of a round.", lambda level: level.max_over_min),
    ("dbcpu_equal_cpu", "", "All sessions get equal CPU: 1 yes, 0 no.", lambda level: ANSWERED.get(level.even)),
    ("dbcpu_full_speed", "", "The median session is as fast as one alone: 1 yes, 0 no.",
     lambda level: ANSWERED.get(level.full_speed)),
    ("dbcpu_slow_sessions", "", "Sessions in the slower of two groups.", lambda level: level.slow),
    ("dbcpu_throughput_rows_per_second", "", "Throughput while all sessions run.",
     lambda level: None if level.throughput is None else level.throughput * 1e6),
    ("dbcpu_connect_seconds", "seconds", "Median time to connect.", lambda level: level.connect_median_s),
)  # fmt: skip


def render(document: Document, pictures: Pictures = NO_PICTURES) -> str:
    """The text for the document of a run or a comparison. Raises UsageError for any other."""
    if document.run is not None:
        return exposition(*document.run)
    if document.gauges is None:
        raise UsageError(f"a {document.name} is not shown as metrics: they are of one run, or of a comparison of runs")
    return _written(document.gauges())


def exposition(record: RunRecord, analysis: Analysis) -> str:
    """All metrics of a run with their samples, ending with ``# EOF``."""
    return _written(_families(record, analysis))


def _written(gauges: Iterable[Gauge]) -> str:
    from prometheus_client import CollectorRegistry  # no other format needs it
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(tuple(gauges)))
    return str(generate_latest(registry).decode("utf-8"))  # type: ignore[no-untyped-call]


class _Collector(Struct, frozen=True, eq=False):
    """What prometheus_client asks for the metrics of one result."""

    gauges: tuple[Gauge, ...]

    def collect(self) -> "Iterator[Metric]":
        """Metrics with at least one known value."""
        from prometheus_client.core import GaugeMetricFamily

        for each in self.gauges:
            known = [(labels, value) for labels, value in each.samples if value is not None and math.isfinite(value)]
            if known:
                gauge = GaugeMetricFamily(each.name, each.meaning, labels=tuple(known[0][0]), unit=each.unit)
                for labels, value in known:
                    gauge.add_metric([_printable(text) for text in labels.values()], _rounded(value))
                yield gauge


def _families(record: RunRecord, analysis: Analysis) -> Iterator[Gauge]:
    header = record.header
    host = header.host.hostname if header.host else ""
    target = {"target": header.plan.target, "host": host, "database": header.database.kind}
    info = target | {
        "run": header.run_id,
        "status": header.status,
        "version": header.tool_version,
        "workload": header.plan.workload.name,
        "size": header.plan.workload.size,
    }
    yield Gauge("dbcpu_run_info", "The run that these figures are of; always 1.", "", ((info, 1.0),))
    yield Gauge("dbcpu_run_started_timestamp_seconds", "When it started (Unix time).", "seconds",
                 ((target, _timestamp(header.started_at)),))  # fmt: skip
    complete = float(header.status == "complete")
    yield Gauge("dbcpu_run_complete", "1 when all its rounds were run.", "", ((target, complete),))
    figures = run_figures(record, analysis)
    answer = target | {"verdict": one_word(analysis), "cause": figures.text("lost_to") or Cause.NONE.value}
    yield Gauge("dbcpu_answer", "The verdict in one word, and the main cause; always 1.", "", ((answer, 1.0),))
    yield Gauge("dbcpu_steal_ratio", "Stolen share of the CPU time, median of the rounds.", "ratio",
                 ((target, figures.value("steal_share")),))  # fmt: skip
    yield Gauge("dbcpu_other_processes_ratio", "Share of all vCPUs that other processes used, median of the rounds.",
                 "ratio", ((target, figures.value("others_share")),))  # fmt: skip
    reference = analysis.reference
    solo = None if reference is None else reference.mrows_per_s * 1e6
    yield Gauge("dbcpu_solo_rows_per_second", "Throughput of a single session.", "", ((target, solo),))
    for name, unit, meaning, value in LEVEL_METRICS:
        samples = tuple(
            (target | {"level": str(view.level), "variant": view.variant}, value(view)) for view in analysis.levels
        )
        yield Gauge(name, meaning, unit, samples)
    yield Gauge("dbcpu_effective_cores", "Top of the throughput curve in rates of a single session.", "",
                 ((target, analysis.scaling.effective_cores),))  # fmt: skip
    own = ((target, quote(analysis.vcpus, analysis.capacity)),)
    varied = analysis.variants.variants if analysis.variants else ()
    yield from quoted_gauges(tuple((target | {"variant": each.name}, each.quote) for each in varied) or own)
    counts = tuple(
        (target | {"severity": level.label}, float(sum(finding.level == level for finding in analysis.findings)))
        for level in Level
    )
    yield Gauge("dbcpu_findings", "Findings by severity.", "", counts)


def _rounded(value: float) -> float:
    """The digits after the twelfth differ between processors for one record."""
    return float(f"{value:.12g}")


def _printable(text: str) -> str:
    """Control characters and lone surrogates have no place in a label."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def _timestamp(started_at: str) -> float | None:
    started = moment(started_at)
    return None if started is None else started.timestamp()

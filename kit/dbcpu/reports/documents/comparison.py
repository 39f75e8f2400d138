"""A comparison of runs: figures, decisions, levels, differences, and the sizing of each host."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from dbcpu.analysis.comparison.figures import METRICS
from dbcpu.analysis.comparison.sentences import METRIC_WORDS, normalised, ratio_words, value_words
from dbcpu.analysis.comparison.sizing import Sizing
from dbcpu.analysis.results.comparison import SPREAD, SUMMARIES, THROUGHPUT, Comparison, Figure, Side
from dbcpu.formatting import listed, number, percent, plural, rate
from dbcpu.reports.document import Bars, Chart, Column, Curves, Document, Panel, Panels, Section
from dbcpu.reports.documents import sizing as of_sizing
from dbcpu.reports.documents.comparison_front import front, page_sections
from dbcpu.reports.documents.lines import Line, comparing, titled_table

DETAIL: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "median_s": ("elapsed s", partial(number, digits=3)),
    "throughput": ("Mrows/s", rate),
    "max_over_min": ("max/min", number),
}
"""Field of a level -> heading and how it is written."""
NOT_MEASURED = ""
"""The cell of a level that a run has not."""


def document(comparison: Comparison, sizing: Sizing | None = None) -> Document:
    """The whole comparison; with ``sizing`` also the required vCPUs, and a ranking."""
    names = [side.name for side in comparison.sides]
    title = f"{listed(names[1:])} compared with {names[0]}: {comparison.workload}"
    differences = _differences(comparison)
    sizes = of_sizing.sections(sizing) if sizing else ()
    sections = (_runs(comparison), _figures(comparison), _levels(comparison), *differences, *sizes)
    notes, charts = _notes(comparison), _charts(comparison, title)
    return comparing(
        title=title,
        verdict=(*comparison.verdict, *([sizing.sentence] if sizing and sizing.sentence else [])),
        sections=sections,
        lines=_lines(comparison),
        notes=notes,
        data=lambda: {**_data(comparison), **({"sizing": asdict(sizing)} if sizing else {})},
        front=front(comparison, sizing),
        page=lambda: page_sections(comparison, sections, charts, notes),
        footer=f"dbcpu, {plural(len(names), 'run')}: {', '.join(side.run_id for side in comparison.sides)}.",
    )


def _notes(comparison: Comparison) -> tuple[str, ...]:
    floor = comparison.floor
    known = (
        f"Noise floor: differences below {percent(floor.level)} in throughput and {percent(floor.spread)} in max/min "
        f"are not significant ({floor.source})."
        if floor
        else "No A/A run was given (`--aa`): the noise floor is the variation between the rounds of these runs."
    )
    return (
        f"Two summaries decide: throughput is the {SUMMARIES[THROUGHPUT]}; max/min is the {SUMMARIES[SPREAD]}. "
        "Levels are detail and are not tested.",
        "Ratios are relative to the baseline; 95 % confidence intervals from resampled rounds; p from the exact "
        "Mann-Whitney test, for max/min from a permutation test. The ratio of max/min uses the levels of both runs.",
        known,
    )


def _runs(comparison: Comparison) -> Section:
    columns = (
        Column("name", "name", kind="text"),
        Column("run_id", "run", kind="text"),
        Column("started_at", "started (UTC)", lambda started: started[:16].replace("T", " "), kind="text"),
        Column("host", "host", kind="text"),
        Column("database", "database", kind="text"),
        Column("vcpus", "vCPUs", kind="figure"),
        Column("cores", "cores", kind="figure"),
        Column("label", "label", kind="text"),
    )
    return titled_table("runs", "Runs", columns, comparison.sides)


def _figures(comparison: Comparison) -> Section:
    base = comparison.baseline

    def of_side(side: Side) -> Column:
        heading = f"{side.name} (= 1.00)" if side is base else side.name
        words = value_words if side is base else _with_ratio
        return Column(side.name, heading, words, kind="figure", value=side.figure)

    metrics = [metric for metric in METRICS if any(side.figure(metric).value is not None for side in comparison.sides)]
    first = Column("metric", "metric", METRIC_WORDS.__getitem__, kind="text", value=str)
    return titled_table("figures", "Figures", (first, *map(of_side, comparison.sides)), metrics)


def _with_ratio(figure: Figure) -> str:
    return value_words(figure) + ratio_words(figure)


def _levels(comparison: Comparison) -> Section:
    def of_side(side: Side, field: str) -> Column:
        heading, words = DETAIL[field]
        values = {each.level: getattr(each, field) for each in side.levels}
        return Column(
            f"{side.name} {field}", f"{side.name} {heading}",
            lambda value: NOT_MEASURED if value == NOT_MEASURED else words(value), kind="figure",
            value=lambda level: values.get(level, NOT_MEASURED),
        )  # fmt: skip

    levels = sorted({each.level for side in comparison.sides for each in side.levels})
    columns = [of_side(side, field) for field in DETAIL for side in comparison.sides]
    return titled_table("levels", "Levels", (Column("level", "N", kind="figure", value=int), *columns), levels)


def _differences(comparison: Comparison) -> tuple[Section, ...]:
    others = comparison.sides[1:]
    facts = list(dict.fromkeys(each.fact for side in others for each in side.differs))
    if not facts:
        return ()
    base = {each.fact: each.base for side in reversed(others) for each in side.differs}

    def of_side(side: Side) -> Column:
        known = {each.fact: each.other for each in side.differs}
        return Column(side.name, side.name, kind="text", value=lambda fact: known.get(fact, "same"))

    first = comparison.baseline.name
    columns = (
        Column("fact", "fact", kind="text", value=str),
        Column(first, first, kind="text", value=base.__getitem__),
        *map(of_side, others),
    )
    return (titled_table("differences", "Differences", columns, facts),)


def _lines(comparison: Comparison) -> list[Line]:
    made = []
    for side in comparison.sides:
        for each in side.figures:
            if each.value is not None:
                made.append(
                    Line(side.name, "", None, side.vcpus, each.metric, each.value, each.ratio, each.low, each.high)
                )
        base = {each.level: each for each in comparison.baseline.levels}
        for level in side.levels:
            for field in DETAIL:
                value, first = getattr(level, field), getattr(base.get(level.level), field, None)
                if value is not None:
                    ratio = value / first if first else None
                    made.append(Line(side.name, "level", level.level, side.vcpus, field, value, ratio))
    return made


def _data(comparison: Comparison) -> Mapping[str, Any]:
    data = asdict(comparison)
    data.pop("verdict")
    for side, plain in zip(comparison.sides, data["sides"], strict=True):
        plain.pop("points")
        plain["decisions"] = [{**asdict(each), "shown": each.shown} for each in side.decisions]
    return {"summaries": SUMMARIES, **data}


def _charts(comparison: Comparison, title: str) -> tuple[Chart, ...]:
    sides, kept = comparison.sides, normalised(comparison)
    charts = []
    if kept:
        against = f"Relative to {comparison.baseline.name} = 1"
        bars = Bars(against, tuple(side.name for side in sides), kept, title)
        charts.append(Chart("bars", against, bars))
    charts.append(Chart("panels", "All sessions of all levels", Panels(title, tuple(map(_panel, sides)))))
    series = []
    for side in sides:
        alone = next((each.throughput for each in side.levels if each.level == 1), None)
        points = tuple((each.level, each.throughput / alone) for each in side.levels if each.throughput and alone)
        if len(points) > 1:
            series.append((side.name, points))
    if series:
        name, y_title = "Throughput of all sessions", "throughput / that of a single session"
        curves = Curves(name, "concurrent sessions (N)", y_title, tuple(series), below=title)
        charts.append(Chart("scaling", name, curves))
    return tuple(charts)


def _panel(side: Side) -> Panel:
    cpus = plural(side.vcpus, "vCPU") if side.vcpus else side.host
    cores = f", {plural(side.cores, 'core')}" if side.cores else ""
    return Panel(
        title=f"{side.name} ({cpus}{cores})",
        points=tuple((each.level, each.elapsed_s, each.cause) for each in side.points),
        medians=tuple((each.level, each.median_s) for each in side.levels if each.median_s is not None),
        cores=side.cores,
        vcpus=side.vcpus,
    )

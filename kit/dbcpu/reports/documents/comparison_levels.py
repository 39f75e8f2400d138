"""The levels of a comparison: those of the same load on hosts of different size, and the pictures."""

from msgspec.structs import replace

from dbcpu.analysis.comparison.sentences import normalised
from dbcpu.analysis.comparison.shared_levels import SAME_LOAD, units_of
from dbcpu.analysis.results.comparison import (
    LOAD_HEADINGS,
    LOAD_UNITS,
    LOAD_WORDS,
    PER_SESSION,
    Comparison,
    LevelFigures,
    Side,
)
from dbcpu.formatting import number, percent, plural
from dbcpu.reports.document import Bars, Chart, Column, Curves, Panel, Panels, Section
from dbcpu.reports.documents.comparing_document import titled_table


def load_sections(comparison: Comparison) -> tuple[Section, ...]:
    """Hosts of different size at the same number of sessions per core; () where no two levels have the same."""
    unit, base = comparison.loads_per, comparison.baseline
    others = [(side, dict(side.shared_levels)) for side in comparison.sides[1:]]
    rows = []
    for each in base.levels:
        its = [(side, pairs[each.level]) for side, pairs in others if each.level in pairs]
        if its:
            rows += [(side, found) for side, n in ((base, each.level), *its) if (found := _at(side, n))]
    if not rows:
        return ()

    def load(row: tuple[Side, LevelFigures]) -> float | None:
        units = units_of(row[0].cores, row[0].vcpus, unit)
        return row[1].level / units if units else None

    def of_field(field: str, heading: str) -> Column:
        return Column(field, heading, number, value=lambda row: getattr(row[1], field))

    columns = (
        Column("load", LOAD_HEADINGS[unit], number, value=load, meaning=LOAD_WORDS[unit]),
        Column("name", "name", kind="name", value=lambda row: row[0].name),
        Column("level", "N", value=lambda row: row[1].level),
        of_field("slowdown_median", "slowdown"),
        of_field("slowdown_max", "slowdown (max)"),
        of_field("max_over_min", "max/min"),
    )
    within = f"Levels of the same number of {LOAD_WORDS[unit]}, within {percent(SAME_LOAD)}."
    return (titled_table("loads", f"Levels by {LOAD_WORDS[unit]}", columns, rows, within),)


def charts_of(comparison: Comparison) -> tuple[Chart, ...]:
    """Bars of what is compared, panels of all sessions, and how throughput grows."""
    sides, kept, work = comparison.sides, normalised(comparison), comparison.workload
    charts = []
    if kept:
        against = f"Relative to {comparison.baseline.name} = 1"
        charts.append(Chart("bars", against, Bars(against, tuple(side.name for side in sides), kept, work)))
    name = "All sessions of all levels"
    unit = comparison.levels_per
    panels = Panels(f"{name}: {work}", tuple(_panel(side, unit) for side in sides), x_title=LOAD_WORDS[unit])
    if comparison.other_work:
        in_alone = tuple(_over_alone(side, panel) for side, panel in zip(sides, panels.panels, strict=True))
        panels = replace(panels, panels=in_alone, y_title="times a single session")
    charts.append(Chart("panels", name, panels))
    series = []
    for side in sides:
        units = units_of(side.cores, side.vcpus, unit) or 1
        found = ((each.level, speedup(side, each)) for each in side.levels)
        points = tuple((level / units, grown / units) for level, grown in found if grown is not None)
        if len(points) > 1:
            series.append((side.name, points))
    if series:
        name, y_title = "Throughput of all sessions", "throughput / that of a single session"
        if unit != PER_SESSION:
            y_title = f"throughput per {LOAD_UNITS[unit]} / single session"
        curves = Curves(name, LOAD_WORDS[unit], y_title, tuple(series), below=work)
        charts.append(Chart("scaling", name, curves))
    return tuple(charts)


def _panel(side: Side, unit: str) -> Panel:
    cpus = plural(side.vcpus, "vCPU") if side.vcpus else side.host
    cores = f", {plural(side.cores, 'core')}" if side.cores else ""
    return Panel(
        title=f"{side.name} ({cpus}{cores})",
        points=tuple((each.level, each.elapsed_s, each.cause) for each in side.points),
        medians=tuple((each.level, each.median_s) for each in side.levels if each.median_s is not None),
        cores=side.cores,
        vcpus=side.vcpus,
        units=units_of(side.cores, side.vcpus, unit) or 1,
    )


def _over_alone(side: Side, panel: Panel) -> Panel:
    """Times over that of a single session of the same side; no points where that was not measured."""
    alone = _alone(side)
    alone_s = alone.median_s if alone else None
    if not alone_s:
        return replace(panel, points=(), medians=())
    return replace(
        panel,
        points=tuple((level, elapsed_s / alone_s, cause) for level, elapsed_s, cause in panel.points),
        medians=tuple((level, median_s / alone_s) for level, median_s in panel.medians),
    )


def _at(side: Side, level: int) -> LevelFigures | None:
    return next((each for each in side.levels if each.level == level), None)


def _alone(side: Side) -> LevelFigures | None:
    return _at(side, 1)


def speedup(side: Side, each: LevelFigures) -> float | None:
    """Throughput over that of a single session of the same side; None where either is not known."""
    alone = _alone(side)
    return each.throughput / alone.throughput if each.throughput and alone and alone.throughput else None

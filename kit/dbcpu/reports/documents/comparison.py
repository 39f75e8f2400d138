"""A comparison of runs as a sheet: figures, decisions, levels and what differs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dbcpu.analysis.comparison.figures import METRICS
from dbcpu.analysis.comparison.sentences import METRIC_WORDS, normalised, ratio_words, value_words
from dbcpu.analysis.results.comparison import SPREAD, SUMMARIES, THROUGHPUT, Comparison, LevelFigures, Side
from dbcpu.formatting import UNKNOWN, listed, number, percent, plural, rate
from dbcpu.reports.document import Bars, Curves, Line, Panel, Section, Sheet

DETAIL = {"median_s": "s", "throughput": "Mrows/s", "max_over_min": "max/min"}


def sheet(comparison: Comparison) -> Sheet:
    """Words, columns and pictures of a comparison."""
    names = [each.name for each in comparison.sides]
    return Sheet(
        title=f"{listed(names[1:])} against {names[0]}: {comparison.workload}",
        verdict=comparison.verdict,
        sections=(_runs(comparison), _figures(comparison), _levels(comparison), *_differences(comparison)),
        lines=_lines(comparison),
        notes=_notes(comparison),
        data=_data(comparison),
        panels=tuple(_panel(side) for side in comparison.sides),
        bars=_bars(comparison),
        curves=_curves(comparison),
    )


def _notes(comparison: Comparison) -> tuple[str, ...]:
    floor = comparison.floor
    known = (
        f"No claim below {percent(floor.level)} for throughput and {percent(floor.spread)} for max/min: {floor.source}."
        if floor
        else "The A/A floor of this host was not given: no claim goes below the spread of the runs' own rounds."
    )
    return (
        f"Two summaries decide: throughput is the {SUMMARIES[THROUGHPUT]}; max/min is the {SUMMARIES[SPREAD]}. "
        "Levels are detail and are not tested.",
        "Ratios are over the baseline, intervals are 95 %, made by resampling rounds; p is of the exact Mann-Whitney "
        "test, for max/min of a permutation test. The ratio of max/min is taken where both runs have a level.",
        known,
    )


def _runs(comparison: Comparison) -> Section:
    rows = tuple(
        (
            side.name,
            side.run_id,
            side.started_at[:16].replace("T", " "),
            side.host,
            side.database,
            UNKNOWN if side.vcpus is None else str(side.vcpus),
            UNKNOWN if side.cores is None else str(side.cores),
            side.label,
        )
        for side in comparison.sides
    )
    words = ("name", "run", "started (UTC)", "host", "database", "label")
    columns = ("name", "run", "started (UTC)", "host", "database", "vCPUs", "cores", "label")
    return Section("Runs", columns, rows, words=words)


def _figures(comparison: Comparison) -> Section:
    rows = [
        (
            METRIC_WORDS[metric],
            *(value_words(found) + ("" if at == 0 else ratio_words(found))
              for at, found in enumerate(side.figure(metric) for side in comparison.sides)),
        )
        for metric in METRICS
        if any(side.figure(metric).value is not None for side in comparison.sides)
    ]  # fmt: skip
    return Section("Figures", ("metric", *_named(comparison)), tuple(rows), words=("metric",))


def _named(comparison: Comparison) -> tuple[str, ...]:
    base = comparison.baseline
    return tuple(f"{each.name} (= 1.00)" if each is base else each.name for each in comparison.sides)


def _levels(comparison: Comparison) -> Section:
    sides = [{each.level: each for each in side.levels} for side in comparison.sides]
    levels = sorted(set.union(*(set(side) for side in sides)))
    columns = [f"{side.name} {title}" for title in DETAIL.values() for side in comparison.sides]
    rows = [
        (str(level), *(_cell(side.get(level), field) for field in DETAIL for side in sides)) for level in levels
    ]  # fmt: skip
    return Section("Levels", ("N", *columns), tuple(rows))


def _cell(each: LevelFigures | None, field: str) -> str:
    if each is None:
        return ""
    value: float | None = getattr(each, field)
    return rate(value) if field == "throughput" else number(value, 3 if field == "median_s" else 2)


def _differences(comparison: Comparison) -> tuple[Section, ...]:
    others = comparison.sides[1:]
    facts = list(dict.fromkeys(each.fact for side in others for each in side.differs))
    if not facts:
        return ()
    tables = [{each.fact: each for each in side.differs} for side in others]
    rows = []
    for fact in facts:
        base = next(table[fact].base for table in tables if fact in table)
        rows.append((fact, base, *(table[fact].other if fact in table else "the same" for table in tables)))
    names = tuple(each.name for each in comparison.sides)
    return (Section("What differs", ("fact", *names), tuple(rows), words=("fact", *names)),)


def _lines(comparison: Comparison) -> tuple[Line, ...]:
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
    return tuple(made)


def _data(comparison: Comparison) -> Mapping[str, Any]:
    data = asdict(comparison)
    data.pop("verdict")
    for side, plain in zip(comparison.sides, data["sides"], strict=True):
        plain.pop("points")
        plain["decisions"] = [{**asdict(each), "shown": each.shown} for each in side.decisions]
    return {"summaries": SUMMARIES, **data}


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


def _bars(comparison: Comparison) -> tuple[Bars, ...]:
    kept = normalised(comparison)
    if not kept:
        return ()
    return (Bars(f"Against {comparison.baseline.name} = 1", tuple(each.name for each in comparison.sides), kept),)


def _curves(comparison: Comparison) -> tuple[Curves, ...]:
    series = []
    for side in comparison.sides:
        alone = next((each.throughput for each in side.levels if each.level == 1), None)
        points = tuple((each.level, each.throughput / alone) for each in side.levels if each.throughput and alone)
        if len(points) > 1:
            series.append((side.name, points))
    if not series:
        return ()
    title = "Work done by all sessions together"
    return (Curves(title, "sessions at once (N)", "throughput over that of one session alone", tuple(series)),)

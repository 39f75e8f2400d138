"""A comparison of sides: figures, decisions, levels, differences, findings, and the sizing of each host."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dbcpu.analysis.comparison.alike_variants import alike_words
from dbcpu.analysis.comparison.second_threads import of_sides
from dbcpu.analysis.comparison.sentences import (
    UNIT_WORDS,
    interval_words,
    left_out_words,
    metric_words,
    pool_words,
    value_words,
)
from dbcpu.analysis.comparison.side_figures import ABSOLUTE, COMPARED_METRICS, FULL_PACE
from dbcpu.analysis.comparison.sizing import Sizing
from dbcpu.analysis.results.comparison import (
    SITTING,
    SPREAD,
    THROUGHPUT,
    Comparison,
    Decision,
    LevelFigures,
    Side,
    SideFigure,
    SideRun,
)
from dbcpu.analysis.results.experiments import Pool, PoolSize
from dbcpu.formatting import decimal_s, listed, number, percent, plural, rate, times
from dbcpu.record.finding_entry import Level
from dbcpu.record.findings import Finding
from dbcpu.record.header import UNNAMED_WORK
from dbcpu.reports.document import Column, Document, Gauge, Section
from dbcpu.reports.documents import sizing as of_sizing
from dbcpu.reports.documents.comparing_document import Line, comparing_document, titled_table
from dbcpu.reports.documents.comparison_front import front, page_sections
from dbcpu.reports.documents.comparison_levels import charts_of, load_sections, speedup
from dbcpu.reports.documents.experiments import POOL
from dbcpu.reports.documents.quoted import cores_words, evenness_words, quota_words
from dbcpu.reports.plain_data import plain_data

DETAIL: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "median_s": ("elapsed s", decimal_s),
    "throughput": ("{unit}", rate),
    "max_over_min": ("max/min", number),
}
"""Field of a level -> heading, ``{unit}`` that of throughput, and how it is written."""
ABSOLUTE_DETAIL = ("median_s", "throughput")
OVER_ALONE = "over that of a single session"
SAME = 0.005
"""Relative difference up to which a baseline's figure at other levels is not shown beside its own."""


def document(comparison: Comparison, sizing: Sizing | None = None) -> Document:
    """The whole comparison; with ``sizing`` also the required vCPUs, and a ranking."""
    names = [side.name for side in comparison.sides]
    differences = _differences(comparison)
    sizes = of_sizing.sizing_sections(sizing) if sizing else ()
    pools = filter(None, [pool_words(comparison.sides)])
    sections = (
        _runs(comparison),
        _hosts(comparison),
        _figures(comparison),
        _levels(comparison),
        *load_sections(comparison),
        *_pools(comparison),
        *differences,
        *sizes,
    )
    notes, charts, found = _notes(comparison), charts_of(comparison), merged_findings(comparison.sides)
    made = comparing_document(
        title=f"{listed(names[1:])} compared with {names[0]}: {comparison.workload}",
        verdict=(*comparison.verdict, *pools, *([sizing.sentence] if sizing and sizing.sentence else [])),
        sections=sections,
        lines=_lines(comparison),
        notes=notes,
        data=lambda: {**_data(comparison), **({"sizing": plain_data(sizing)} if sizing else {})},
        front=front(comparison, sizing, found),
        page=lambda: page_sections(comparison, sections, charts, notes, found, sizing),
        footer=f"dbcpu, {plural(len(_run_rows(comparison)), 'run')}: "
        f"{', '.join(run.run_id for _, run in _run_rows(comparison))}.",
    )
    return replace(made, findings=found, gauges=lambda: _gauges(comparison))


def merged_findings(sides: Sequence[Side]) -> tuple[Finding, ...]:
    """The warnings and problems of all sides, worst first, each once; ``seen`` names the sides.

    One that means another thing for another side is a finding of its own.
    """
    found: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for side in sides:
        for each in side.findings:
            found.setdefault((each.code, each.meaning), []).append((side.name, each))
    merged = [
        replace(
            max((each for _, each in own), key=lambda each: each.level),
            seen="; ".join(f"{name}: {each.seen}" for name, each in own),
        )
        for own in found.values()
    ]
    return tuple(sorted(merged, key=lambda each: -each.level))


_DELIVERED = (
    "Sides are compared by times as delivered, and so are their findings. The page of a single run uses times at one "
    "pace (without changes of the CPUs' speed): its findings, usable cores and evenness may differ."
)


def _notes(comparison: Comparison) -> tuple[str, ...]:
    floor, others, summaries = comparison.floor, comparison.sides[1:], comparison.summaries
    known = (
        f"Noise floor: differences below {percent(floor.level)} in throughput and {percent(floor.spread)} in max/min "
        f"are not significant ({floor.source}: what changes between runs is not in it)."
        if floor
        else "No A/A run was given (`--aa`): the noise floor is 1 %, or, where rounds are compared, their variation."
    )
    units = dict.fromkeys(each.between_run_source for side in others for each in side.decisions)
    mixed = [
        f"The runs of {side.name} differ among themselves in: {', '.join(side.mixed)}."
        for side in comparison.sides
        if side.mixed
    ]
    return (
        f"Two summaries decide. The first is {summaries[THROUGHPUT]}. The second is the {summaries[SPREAD]}. "
        "Levels are detail and are not tested.",
        *(_not_compared(comparison),) * bool(comparison.other_work),
        *filter(None, (left_out_words(side) for side in others)),
        *filter(None, (_alike(comparison.baseline, side) for side in others)),
        f"95 % intervals of throughput and max/min: {'; '.join(UNIT_WORDS[unit] for unit in units)}. Those of other "
        "figures, with one run a side, are from resampled rounds of these runs alone.",
        "A figure of a run is the median over its rounds, one of several runs their mean. p is of Student's t with the "
        "run as the unit, or, of rounds, of the exact Mann-Whitney test; a decision is taken at 0.5 %.",
        *mixed,
        *of_sides(comparison),
        *(_DELIVERED,) * comparison.as_delivered,
        known,
    )


def _alike(base: Side, side: Side) -> str:
    """Of variants of one run."""
    in_turns = any(each.between_run_source == SITTING for each in side.decisions)
    return alike_words(base.variant, side.variant) if in_turns else ""


def _not_compared(comparison: Comparison) -> str:
    unnamed = (
        " Work without a name is never treated as the same: a line `# workload: NAME` in the file, or `dbcpu import "
        "--workload NAME`, names it."
    )
    return (
        f"The work differs ({comparison.other_work}), so seconds and rates are not compared. Max/min, usable "
        "cores, SMT yield and throughput over that of a single session are. They depend on the work too: short or "
        f"waiting work is moved between CPUs more often.{unnamed if UNNAMED_WORK in comparison.other_work else ''}"
    )


def _run_rows(comparison: Comparison) -> list[tuple[Side, SideRun]]:
    return [(side, run) for side in comparison.sides for run in side.runs]


def _runs(comparison: Comparison) -> Section:
    rates = Column("throughput", comparison.unit, rate, value=lambda row: row[1].throughput)
    columns = (
        Column("name", "name", kind="name", value=lambda row: row[0].name),
        Column("run_id", "run", kind="name", value=lambda row: row[1].run_id),
        Column(
            "started_at", "started (UTC)", lambda started: started[:16].replace("T", " "), kind="text",
            value=lambda row: row[1].started_at,
        ),
        *([] if comparison.other_work else [rates]),
        Column("spread", metric_words(comparison, SPREAD), number, value=lambda row: row[1].spread),
        Column("usable_cores", "usable cores", kind="text", value=lambda row: cores_words(row[1].quote)),
        Column("evenness", "evenness", kind="text", value=lambda row: evenness_words(row[1].quote)),
    )  # fmt: skip
    title = "Runs, by times as delivered" if comparison.as_delivered else "Runs"
    return titled_table("runs", title, columns, _run_rows(comparison))


def _hosts(comparison: Comparison) -> Section:
    quota = Column("quota", "CPU quota", kind="text", value=_quota)
    columns = (
        Column("name", "name", kind="name"),
        Column("vcpus", "vCPUs", value=lambda side: side.shown_vcpus if _quotas(side) else side.vcpus),
        *([quota] if any(map(_quotas, comparison.sides)) else []),
        Column("cores", "cores"),
        Column("host", "host, database, label", kind="text", value=_where),
    )
    return titled_table("hosts", "Hosts", columns, comparison.sides)


def _quotas(side: Side) -> list[float]:
    """CPU quotas that bound its sessions: then what counts as their vCPUs is no number of CPUs that the host has."""
    return sorted({each.quote.quota for each in side.runs if each.quote.quota is not None})


def _quota(side: Side) -> str:
    return ", ".join(quota_words(each, side.shown_vcpus) for each in _quotas(side))


def _where(side: Side) -> str:
    return ", ".join(dict.fromkeys(filter(None, (side.host, side.database, side.label))))


def _figures(comparison: Comparison) -> Section:
    base = comparison.baseline
    rows = [
        (side, figure)
        for metric in (*COMPARED_METRICS, *FULL_PACE)
        if not (comparison.other_work and metric in ABSOLUTE)
        for side in comparison.sides
        for figure in side.figures
        if figure.metric == metric and figure.value is not None
    ]

    def own_base(row: tuple[Side, SideFigure]) -> str:
        side, figure = row
        return "" if side is base or figure.base is None else value_words(replace(figure, value=figure.base))

    def elsewhere(row: tuple[Side, SideFigure]) -> bool:
        own, value = base.figure(row[1].metric).value, row[1].base
        return own is not None and value is not None and abs(value - own) > SAME * abs(own)

    compared = [Column("base", f"{base.name} there", kind="figure", value=own_base)]
    columns = (
        Column("metric", "metric", kind="text", value=lambda row: metric_words(comparison, row[1].metric)),
        Column("name", "name", kind="name", value=lambda row: row[0].name),
        Column("value", "value", value=lambda row: value_words(row[1])),
        *(compared if any(map(elsewhere, rows)) else []),
        Column("ratio", "ratio", value=lambda row: times(row[1].ratio)),
        Column("interval", "95 % interval", kind="name", value=lambda row: interval_words(row[1])),
    )
    return titled_table("figures", "Figures", columns, rows, *_levels_of_figures(comparison), *_connecting(comparison))


def _connecting(comparison: Comparison) -> tuple[str, ...]:
    """Whose time to connect has no ratio, and why: where a program is started for each, its start is in it."""
    base = comparison.baseline
    known = [
        (side, side.figure("connect")) for side in comparison.sides[1:] if base.figure("connect").value is not None
    ]
    names = [side.name for side, found in known if found.value is not None and found.ratio is None]
    if not names:
        return ()
    return (
        f"Time to connect of {listed(names)} is not compared with that of {base.name}: the driver is another; where a "
        "program is started for each session, its start is part of the time.",
    )


def _levels_of_figures(comparison: Comparison) -> tuple[str, ...]:
    """Which N each side has at N = vCPUs, where these differ; evenness is that of another N on each side."""
    known = [side for side in comparison.sides if side.vcpus]
    if len({side.vcpus for side in known}) < 2:
        return ()
    full = listed([f"{side.vcpus} on {side.name}{' (its CPU quota)' if _quotas(side) else ''}" for side in known])
    at = f"N = vCPUs is {full}. " if comparison.full_at is None else ""
    return (f"{at}Evenness, as quoted, is of the least even N of each side, which the table of runs names.",)


def _levels(comparison: Comparison) -> Section:
    rows = sorted(((side, each) for side in comparison.sides for each in side.levels), key=lambda row: row[1].level)

    def of_field(field: str) -> Column:
        heading, words = DETAIL[field]
        return Column(field, comparison.in_unit(heading), words, value=lambda row: getattr(row[1], field))

    def level(row: tuple[Side, LevelFigures]) -> int:
        return row[1].level

    name = Column("name", "name", kind="name", value=lambda row: row[0].name)
    shown = list(map(of_field, DETAIL))
    if comparison.other_work:
        shown = [
            Column("speedup", "throughput / single", number, value=lambda row: speedup(*row), meaning=OVER_ALONE),
            Column("slowdown_max", "slowdown (max)", number, value=lambda row: row[1].slowdown_max),
            of_field("max_over_min"),
        ]
    return titled_table("levels", "Levels", (Column("level", "N", value=level), name, *shown), rows)


def _pools(comparison: Comparison) -> tuple[Section, ...]:
    """The sizes of pools beside each other; () where no side is one."""
    rows = sorted(
        ((side, pool, size) for side in comparison.sides for pool in side.pools for size in pool.sizes),
        key=lambda row: row[2].active,
    )
    if not rows:
        return ()
    active, *others = (replace(each, value=_of_size(each.key)) for each in POOL if each.key in _OF_POOLS)
    columns = (
        active,
        Column("name", "name", kind="name", value=lambda row: row[0].name),
        Column("pieces", "jobs", value=lambda row: row[1].pieces),
        *others,
    )
    return (titled_table("pools", "Pools of active sessions", columns, rows),)


_OF_POOLS = ("active", "enough", "total_s", "piece_s", "pieces_per_s")


def _of_size(key: str) -> Callable[[tuple[Side, Pool, PoolSize]], Any]:
    return lambda row: getattr(row[2], key)


def _differences(comparison: Comparison) -> tuple[Section, ...]:
    others = comparison.sides[1:]
    facts = list(dict.fromkeys(each.fact for side in others for each in side.differs))
    rows = [(side.name, each) for fact in facts for side in others for each in side.differs if each.fact == fact]
    if not rows:
        return ()
    columns = (
        Column("fact", "fact", kind="text", value=lambda row: row[1].fact),
        Column("name", "name", kind="name", value=lambda row: row[0]),
        Column("other", "value", kind="text", value=lambda row: row[1].other),
        Column("base", "baseline", kind="text", value=lambda row: row[1].base),
    )
    return (titled_table("differences", f"Differences from {comparison.baseline.name}", columns, rows),)


def _lines(comparison: Comparison) -> list[Line]:
    made = []
    for side in comparison.sides:
        for each in side.figures:
            if each.value is not None:
                ratio, low, high = each.ratio, each.low, each.high
                made.append(Line(side.name, "", None, side.vcpus, each.metric, each.value, "", ratio, low, high))
        base = {each.level: each for each in comparison.baseline.levels}
        for level in side.levels:
            for field in DETAIL:
                value, first = getattr(level, field), getattr(base.get(level.level), field, None)
                if value is not None:
                    unlike = side.other_work and field in ABSOLUTE_DETAIL
                    ratio = value / first if first and not unlike else None
                    made.append(Line(side.name, "level", level.level, side.vcpus, field, value, ratio=ratio))
    return made


def _data(comparison: Comparison) -> Mapping[str, Any]:
    data = plain_data(comparison)
    data.pop("verdict")
    for side, plain in zip(comparison.sides, data["sides"], strict=True):
        plain.pop("points")
        plain["findings"] = [{**plain_data(each), "level": each.level.label} for each in side.findings]
        plain["decisions"] = [
            {
                **plain_data(each),
                "shown": each.shown,
                "likely": each.likely,
                "interval": UNIT_WORDS[each.between_run_source],
            }
            for each in side.decisions
        ]
    return {"summaries": comparison.summaries, **data}


def _gauges(comparison: Comparison) -> Iterator[Gauge]:
    """The decisions as metrics: ratio with its interval, and what the interval rests on."""
    base = comparison.baseline.name
    decided = [(side, each) for side in comparison.sides[1:] for each in side.decisions]

    def of(
        name: str, unit: str, meaning: str, value: Callable[[Decision], float | None], source: bool = False
    ) -> Gauge:
        return Gauge(
            f"dbcpu_comparison_{name}", meaning, unit,
            tuple(
                (
                    {"baseline": base, "side": side.name, "summary": each.summary}
                    | ({"source": each.between_run_source} if source else {}),
                    value(each),
                )
                for side, each in decided
            ),
        )  # fmt: skip

    yield of("ratio", "ratio", "Figure of the side / that of the baseline.", lambda each: each.ratio)
    yield of("low_ratio", "ratio", "Lower bound of its 95 % interval.", lambda each: each.low)
    yield of("high_ratio", "ratio", "Upper bound of its 95 % interval.", lambda each: each.high)
    yield of("differs", "", "1 where a difference is shown at 0.5 %.", lambda each: float(each.shown))
    yield of(
        "between_run_spread_ratio", "ratio", "Relative standard deviation from run to run.",
        lambda each: each.between_run_spread, source=True,
    )  # fmt: skip
    sides = [({"side": side.name}, side) for side in comparison.sides]
    yield Gauge(
        "dbcpu_comparison_runs", "Runs of a side.", "", tuple((own, float(len(side.runs))) for own, side in sides)
    )
    counts = tuple(
        (own | {"severity": level.label}, float(sum(each.level == level for each in side.findings)))
        for own, side in sides
        for level in (Level.WARNING, Level.PROBLEM)
    )
    yield Gauge("dbcpu_comparison_findings", "Findings of a side's runs by severity.", "", counts)

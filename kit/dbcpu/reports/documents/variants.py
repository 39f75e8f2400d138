"""The variants of one run compared with its first: a sentence each, figures by level, decisions."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbcpu.analysis.comparison.alike_variants import alike_words
from dbcpu.analysis.comparison.sentences import LEFT_OUT, decision_words
from dbcpu.analysis.comparison.variant_sentences import signed, variant_ratios, variant_sentences
from dbcpu.analysis.results.answer import Fact, Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import (
    LASTING_THROUGHPUT,
    LESS,
    SPREAD,
    THROUGHPUT,
    TOO_FEW,
    Decision,
    VariantResult,
    VariantRow,
    Variants,
)
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import UNKNOWN, count, decimal_s, listed, number, percent, plural, rate
from dbcpu.record.header import ROWS_UNIT
from dbcpu.reports.document import Bars, Chart, Column, Curves, Document, Front, Panel, Panels, Section
from dbcpu.reports.documents.comparing_document import Line, comparing_document, pictured, titled_table
from dbcpu.reports.documents.comparison_front import ONLY_CPU, READINGS, TERMS, unseen_words
from dbcpu.reports.documents.quoted import cores_words, evenness_words
from dbcpu.reports.documents.run_tables import between_moves_s, same_sessions_title, stay_words
from dbcpu.reports.plain_data import plain_data

PAGE_OF_THE_RUN = (
    "All times and rates here are as delivered. Usable cores, evenness and main causes are those of the page of the "
    "run, which shows the levels at one pace (without changes of the CPUs' speed) that its line `pace` names."
)
VARIANT_METRICS = {"median_s": "s", "max_over_min": "max/min", "cv": "CV", "throughput": "Mrows/s"}
EACH_OF_ITS_OWN = (
    "Each evenness is at the N named, the least even level up to the vCPUs of that variant: no difference of two is "
    "tested here.",
)
VARIANT_THROUGHPUT = f"{LASTING_THROUGHPUT}; at N = vCPUs (else the largest N)"
VARIANT_SPREAD = "mean logarithm of max/min over every N measured under both, from the fewer cores to the more vCPUs"
"""Of the same sessions on the same host: a level with more sessions than a variant leaves vCPUs counts, too."""
MAX_LOSS = 0.1
"""A smaller loss of throughput counts as none."""


def document(found: Variants, analysis: Analysis, not_varied: Sequence[str] = ()) -> Document:
    """Words, columns and pictures; ``analysis`` is that of the run, with the sessions of all variants.

    ``not_varied``: a sentence for each variant that was requested and left out.
    """
    first, others = found.first, found.variants[1:]
    title = f"{listed([each.name for each in others])} compared with {first.name}: {found.workload}"
    levels, quoted, decisions, charts = _levels(found), _quoted(found), _decisions(found), _charts(found, analysis)
    notes = (
        f"Mrows/s is {LASTING_THROUGHPUT}; makespan is all work over the time until the last session ended; CV and "
        "max/min are of the sessions' times in a round, the median over rounds; s is per execution.",
        f"Two summaries decide, each at the same N under both: throughput, at N = vCPUs (else the largest N); "
        f"max/min: the {VARIANT_SPREAD}. Levels are detail and are not tested.",
        *filter(None, (alike_words(first.name, each.name) for each in others)),
        f"The variants took turns within one sitting: {LEFT_OUT}.",
        *(PAGE_OF_THE_RUN,) * found.as_delivered,
        *(f"V{each[1:]}." for each in not_varied),
    )

    def page() -> tuple[Section, ...]:
        pictures = {
            chart.name: pictured(
                chart, READINGS[chart.name].format(unit=ROWS_UNIT), levels.tables if chart.name == "panels" else ()
            )
            for chart in charts
        }
        order = ("bars", "quoted", "decisions", "panels", "scaling")
        shown = {**pictures, "quoted": quoted, "decisions": decisions}
        return (
            *(shown[name] for name in order if name in shown),
            Section("reading", "How to read it", notes=notes, terms=TERMS),
        )

    return comparing_document(
        title=title,
        verdict=variant_sentences(found),
        sections=(levels, quoted, decisions),
        lines=_lines(found),
        notes=notes,
        data=lambda: _data(found),
        front=_front(found),
        page=page,
        footer=f"dbcpu, run {analysis.run_id}.",
    )


def _front(found: Variants) -> Front:
    first, others = found.first, found.variants[1:]
    headline, tone = _headline(found)
    shown = [(under, row) for under in found.variants if (row := under.row(found.telling)) is not None]
    return Front(
        "What do other settings of the host change?",
        f"{listed([each.name for each in others])} compared with {first.name}",
        headline,
        tone,
        tiles=tuple(
            Fact(under.name, number(row.max_over_min), f"max/min at N = {row.level}, {rate(row.throughput)} Mrows/s")
            for under, row in shown
        ),
        caveats=(ONLY_CPU, *unseen_words([(under.name, each) for under in others for each in under.decisions])),
    )


def _headline(found: Variants) -> tuple[str, Outcome]:
    """The headline with its tone: which settings make sessions more even, and whether that costs throughput."""
    first, others = found.first, found.variants[1:]
    if all(each.outcome == TOO_FEW for under in others for each in under.decisions):
        return "Inconclusive: too few rounds were measured", Outcome.NEITHER
    even = [under for under in others if _decided(under, SPREAD).outcome == LESS]
    slower = [under.name for under in even if _decided(under, THROUGHPUT).outcome == LESS]
    if not even:
        return f"No setting was significantly more even than {first.name}", Outcome.NEITHER
    gains = f"{listed([under.name for under in even])} {'makes' if len(even) == 1 else 'make'} sessions more even"
    if slower:
        return f"{gains}; {listed(slower)} {'costs' if len(slower) == 1 else 'cost'} throughput", Outcome.PARTLY
    # So few, or so noisy, rounds could have missed a loss.
    if any((_decided(under, THROUGHPUT).detectable or 1.0) > MAX_LOSS for under in even):
        return f"{gains}; the effect on throughput is inconclusive", Outcome.PARTLY
    return f"{gains}; no significant loss of throughput", Outcome.GOOD


def _decided(under: VariantResult, summary: str) -> Decision:
    return next(each for each in under.decisions if each.summary == summary)


def _levels(found: Variants) -> Section:
    first = found.first

    def against(row: VariantRow) -> float | None:
        return None if row.ratio is None or row.variant == first.name else row.ratio - 1

    stays = Column(
        "between_moves_s", "s per move", stay_words, kind="figure", unit="s",
        value=lambda row: between_moves_s(row.moves_per_s), meaning="how long a session stays on one CPU",
    )  # fmt: skip
    columns = (
        Column("level", "N", kind="figure"),
        Column("variant", "variant", kind="name"),
        Column("median_s", "elapsed s", decimal_s, kind="figure", unit="s"),
        Column("least_s", "min s", decimal_s, kind="figure", unit="s"),
        Column("mean_s", "avg s", decimal_s, kind="figure", unit="s"),
        Column("most_s", "max s", decimal_s, kind="figure", unit="s"),
        Column("cv", "CV", percent, kind="figure"),
        Column("max_over_min", "max/min", number, kind="figure"),
        Column("slow", "slow group", count, kind="figure"),
        Column("throughput", "Mrows/s", rate, kind="figure", unit="Mrows/s"),
        Column("makespan", "makespan", rate, kind="figure", unit="Mrows/s"),
        Column("ratio", f"compared with {first.name}", _signed, kind="figure", value=against),
        *((stays,) if any(row.moves_per_s is not None for each in found.variants for row in each.rows) else ()),
        Column("cause", "main cause", _cause, kind="text"),
    )
    levels = sorted({row.level for each in found.variants for row in each.rows})
    rows = [row for level in levels for each in found.variants if (row := each.row(level)) is not None]
    return titled_table("levels", same_sessions_title(found), columns, rows)


def _signed(share: float | None) -> str:
    return UNKNOWN if share is None else signed(share)


def _cause(cause: Cause) -> str:
    return "" if cause is Cause.NONE else cause.words


def _quoted(found: Variants) -> Section:
    columns = (
        Column("name", "variant", kind="name"),
        Column("usable_cores", "usable cores", kind="text", value=lambda each: cores_words(each.quote)),
        Column("evenness", "evenness", kind="text", value=lambda each: evenness_words(each.quote)),
    )
    return titled_table("quoted", "To quote, each of its own vCPUs", columns, found.variants, *EACH_OF_ITS_OWN)


def _decisions(found: Variants) -> Section:
    columns = (
        Column("variant", "variant", kind="name", value=lambda row: row[0]),
        Column("decision", "decision", decision_words, kind="text", value=lambda row: row[1]),
    )
    rows = [(each.name, one) for each in found.variants[1:] for one in each.decisions]
    return titled_table("decisions", f"Decisions, compared with {found.first.name}", columns, rows)


def _lines(found: Variants) -> list[Line]:
    made = []
    for each in found.variants:
        if each.quote.usable_cores is not None:
            made.append(Line(each.name, "", None, each.vcpus, "usable_cores", each.quote.usable_cores))
        if each.quote.evenness is not None:
            made.append(Line(each.name, "", each.quote.evenness_level, each.vcpus, "evenness", each.quote.evenness))
        for row in each.rows:
            base = found.first.row(row.level)
            for metric in VARIANT_METRICS:
                value, one = getattr(row, metric), getattr(base, metric, None)
                if value is not None:
                    ratio = value / one if one else None
                    made.append(Line(each.name, "level", row.level, each.vcpus, metric, value, ratio=ratio))
    return made


def _data(found: Variants) -> Mapping[str, Any]:
    data = plain_data(found)
    for under, plain in zip(found.variants, data["variants"], strict=True):
        plain["decisions"] = [{**plain_data(each), "shown": each.shown} for each in under.decisions]
    return {"summaries": {THROUGHPUT: VARIANT_THROUGHPUT, SPREAD: VARIANT_SPREAD}, **data}


def _charts(found: Variants, analysis: Analysis) -> tuple[Chart, ...]:
    names, series = tuple(each.name for each in found.variants), variant_ratios(found)
    name = "All sessions of all levels"
    charts = [
        Chart(
            "panels",
            name,
            Panels(f"{name}: {found.workload}", tuple(_panel(each, analysis) for each in found.variants)),
        )
    ]
    if series:
        bars = Bars(f"Relative to {found.first.name} = 1", names, series, found.workload)
        charts.append(Chart("bars", "At a glance", bars))
    return (*charts, *_curves(found))


def _panel(under: VariantResult, analysis: Analysis) -> Panel:
    cpus = plural(under.vcpus, "vCPU") if under.vcpus else "vCPUs unknown"
    return Panel(
        title=f"{under.name} ({cpus})",
        points=tuple(
            (view.level, view.elapsed_s / view.executions, view.cause)
            for view in analysis.sessions
            if view.variant == under.name and view.valid and view.elapsed_s is not None and view.executions
        ),
        medians=tuple((row.level, row.median_s) for row in under.rows),
        cores=under.cores,
        vcpus=under.vcpus,
    )


def _curves(found: Variants) -> tuple[Chart, ...]:
    alone = found.first.row(1)
    if alone is None or not alone.throughput:
        return ()
    series = tuple(
        (each.name, tuple((row.level, row.throughput / alone.throughput) for row in each.rows))
        for each in found.variants
        if len(each.rows) > 1
    )
    name = f"Throughput, relative to a single session under {found.first.name}"
    curves = Curves(name, "concurrent sessions (N)", "throughput / that of one session", series, below=found.workload)
    return (Chart("scaling", name, curves),) if series else ()

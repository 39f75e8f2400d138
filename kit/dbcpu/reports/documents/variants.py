"""The variants of one run against its first as a sheet: a sentence each, figures by level, decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dbcpu.analysis.comparison.measured_run import Measured
from dbcpu.analysis.comparison.sentences import told
from dbcpu.analysis.comparison.variant_sentences import signed, variant_ratios, variant_sentences
from dbcpu.analysis.results.comparison import SPREAD, SUMMARIES, THROUGHPUT, Variants
from dbcpu.formatting import CAUSE_WORDS, UNKNOWN, count, listed, number, percent, plural, rate
from dbcpu.reports.document import Bars, Curves, Line, Panel, Section, Sheet

METRICS = {"median_s": "s", "max_over_min": "max/min", "cv": "CV", "throughput": "Mrows/s"}


def sheet(found: Variants, runs: Sequence[Measured] = ()) -> Sheet:
    """Words, columns and pictures; ``runs`` are the variants with their sessions, for panels beside each other."""
    first, others = found.first, found.variants[1:]
    return Sheet(
        title=f"{listed([each.name for each in others])} against {first.name}: {found.workload}",
        verdict=variant_sentences(found),
        sections=(_levels(found), _decisions(found)),
        lines=_lines(found),
        notes=(
            "Mrows/s is all work over the time until the last session ended; CV and max/min are of the sessions' times "
            "in a round, the median over rounds; s is per execution.",
            f"Two summaries decide, at the same N in all variants: throughput, at N = vCPUs (else the largest N); "
            f"max/min: the {SUMMARIES[SPREAD]}. Levels are detail and are not tested.",
        ),
        data=_data(found),
        panels=tuple(_panel(each) for each in runs),
        bars=_bars(found),
        curves=_curves(found),
    )


def _levels(found: Variants) -> Section:
    levels = sorted({row.level for each in found.variants for row in each.rows})
    rows = [
        (
            str(level),
            each.name,
            number(row.median_s, 3),
            number(row.least_s, 3),
            number(row.mean_s, 3),
            number(row.most_s, 3),
            percent(row.cv),
            number(row.max_over_min),
            count(row.slow),
            rate(row.throughput),
            UNKNOWN if row.ratio is None or each is found.first else signed(row.ratio - 1),
            "" if row.cause == "none" else CAUSE_WORDS.get(row.cause, row.cause),
        )
        for level in levels
        for each in found.variants
        if (row := each.row(level)) is not None
    ]
    columns = ("N", "variant", "s", "min s", "avg s", "max s", "CV", "max/min", "slow", "Mrows/s",
               f"against {found.first.name}", "lost to")  # fmt: skip
    return Section("The same sessions under each variant", columns, tuple(rows), words=("variant", "lost to"))


def _decisions(found: Variants) -> Section:
    rows = tuple((each.name, told(one)) for each in found.variants[1:] for one in each.decisions)
    return Section(f"Decided against {found.first.name}", ("variant", "what"), rows, words=("variant", "what"))


def _lines(found: Variants) -> tuple[Line, ...]:
    made = []
    for each in found.variants:
        for row in each.rows:
            base = found.first.row(row.level)
            for metric in METRICS:
                value, one = getattr(row, metric), getattr(base, metric, None)
                if value is not None:
                    ratio = value / one if one else None
                    made.append(Line(each.name, "level", row.level, each.vcpus, metric, value, ratio))
    return tuple(made)


def _data(found: Variants) -> Mapping[str, Any]:
    data = asdict(found)
    for under, plain in zip(found.variants, data["variants"], strict=True):
        plain["decisions"] = [{**asdict(each), "shown": each.shown} for each in under.decisions]
    return {"summaries": {THROUGHPUT: "all work over the makespan at N = vCPUs", SPREAD: SUMMARIES[SPREAD]}, **data}


def _bars(found: Variants) -> tuple[Bars, ...]:
    series = variant_ratios(found)
    names = tuple(each.name for each in found.variants)
    return (Bars(f"N = {found.telling}, {found.first.name} = 1", names, series),) if series else ()


def _panel(each: Measured) -> Panel:
    cpus = plural(each.analysis.vcpus, "vCPU") if each.analysis.vcpus else "vCPUs unknown"
    return Panel(
        title=f"{each.name} ({cpus})",
        points=tuple(
            (view.level, view.elapsed_s / view.executions, view.cause)
            for view in each.analysis.sessions
            if view.valid and view.elapsed_s is not None and view.executions
        ),
        medians=tuple((view.level, view.median_s) for view in each.analysis.levels if view.median_s is not None),
        cores=each.analysis.cores,
        vcpus=each.analysis.vcpus,
    )


def _curves(found: Variants) -> tuple[Curves, ...]:
    alone = found.first.row(1)
    if alone is None or not alone.throughput:
        return ()
    series = tuple(
        (each.name, tuple((row.level, row.throughput / alone.throughput) for row in each.rows))
        for each in found.variants
        if len(each.rows) > 1
    )
    title = f"Work done together, over that of one session under {found.first.name}"
    return (Curves(title, "sessions at once (N)", "throughput by makespan", series),) if series else ()

"""The variants of one run against its first as a sheet: a sentence each, figures by level, decisions."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dbcpu.analysis.compare_words import told
from dbcpu.analysis.comparison import (
    BELOW_FLOOR,
    LESS,
    MORE,
    NOT_MEASURED,
    NOT_SHOWN,
    SPREAD,
    SUMMARIES,
    THROUGHPUT,
    TOO_FEW,
)
from dbcpu.analysis.variants import Row, Under, Variants
from dbcpu.comparisons.base import Bars, Curves, Line, Section, Sheet
from dbcpu.wording import CAUSE_WORDS, UNKNOWN, count, listed, number, percent, times

_WORDS = {
    MORE: "higher",
    LESS: "lower",
    NOT_SHOWN: "no difference shown",
    BELOW_FLOOR: "below what these rounds can tell",
    TOO_FEW: "undecided, too few rounds",
    NOT_MEASURED: "not measured in both",
}
METRICS = {"median_s": "s", "max_over_min": "max/min", "cv": "CV", "throughput": "Mrows/s"}


def sheet(found: Variants) -> Sheet:
    """Words, columns and pictures."""
    first, others = found.first, found.variants[1:]
    return Sheet(
        title=f"{listed([each.name for each in others])} against {first.name}: {found.workload}",
        verdict=tuple(_sentence(first, each, found.telling) for each in others) + _penalties(found),
        sections=(_levels(found), _decisions(found)),
        lines=_lines(found),
        notes=(
            "Mrows/s is all work over the time until the last session ended; CV and max/min are of the sessions' times "
            "in a round, the median over rounds; s is per execution.",
            f"Two summaries decide, at the same N in all variants: throughput, at N = vCPUs (else the largest N); "
            f"max/min: the {SUMMARIES[SPREAD]}. Levels are detail and are not tested.",
        ),
        data=_data(found),
        bars=_bars(found),
        curves=_curves(found),
    )


def _sentence(first: Under, each: Under, telling: int | None) -> str:
    """``smt_off against baseline at N=3: CV 21 % -> 1.0 %, max/min 1.45 -> 1.02, throughput -3.0 %``."""
    one, other = first.row(telling), each.row(telling)
    if one is None or other is None:
        one, other = _largest(first, each)
    if one is None or other is None:
        return f"{each.name} against {first.name}: no level was measured under both."
    parts = []
    if one.cv is not None and other.cv is not None:
        parts.append(f"CV {percent(one.cv)} -> {percent(other.cv)}")
    if one.max_over_min is not None and other.max_over_min is not None:
        parts.append(f"max/min {one.max_over_min:.2f} -> {other.max_over_min:.2f}")
    if other.ratio is not None:
        parts.append(f"throughput {_signed(other.ratio - 1)}")
    decided = [f"{by.summary} {_WORDS[by.outcome]}{f' at {by.levels}' if by.levels else ''}" for by in each.decisions]
    return f"{each.name} against {first.name} at N={one.level}: {', '.join(parts)} ({', '.join(decided)})."


def _largest(first: Under, each: Under) -> tuple[Row | None, Row | None]:
    both = {row.level for row in first.rows} & {row.level for row in each.rows}
    level = max(both, default=None)
    return first.row(level), each.row(level)


def _penalties(found: Variants) -> tuple[str, ...]:
    if not found.penalties:
        return ()
    parts = [f"{times(ratio)} at N={level}" for level, ratio in found.penalties]
    return (
        f"Sharing cores: packed on siblings an execution takes {listed(parts)} of what it takes spread, "
        "placement being all that differs.",
    )


def _signed(share: float) -> str:
    return f"{'+' if share >= 0 else '-'}{percent(abs(share))}"


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
            number(row.throughput, 1),
            UNKNOWN if row.ratio is None or each is found.first else _signed(row.ratio - 1),
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
    level = found.telling
    series = []
    for title, metric in (("throughput", "throughput"), ("max/min", "max_over_min"), ("s", "median_s")):
        one = getattr(found.first.row(level), metric, None)
        values = [getattr(each.row(level), metric, None) for each in found.variants]
        if one and sum(value is not None for value in values) > 1:
            series.append((title, tuple(None if value is None else (value / one, None, None) for value in values)))
    if not series:
        return ()
    names = tuple(each.name for each in found.variants)
    return (Bars(f"N = {level}, {found.first.name} = 1", names, tuple(series)),)


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

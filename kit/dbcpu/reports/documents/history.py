"""The trend of a target: sparklines, a row per run, and a chart; and an overview of many targets."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from dbcpu.analysis.history.limits import LastingChange
from dbcpu.analysis.history.trend import CHANGED, GAP_MARK, LASTING, SPREAD, Series, Trend, set_apart
from dbcpu.analysis.results.answer import Fact, Outcome
from dbcpu.formatting import MAX_LABEL, moment, plain, plural, shortened
from dbcpu.record.header import SWEEP
from dbcpu.reports.document import (
    MIN_SPAN,
    Chart,
    Column,
    Document,
    FigureHistory,
    Front,
    Section,
    TimelineChange,
    TimelineSeries,
)
from dbcpu.reports.documents.comparing_document import Line, comparing_document, pictured, titled_table
from dbcpu.reports.documents.history_words import figure_words, short_words, terms, usual_words, written
from dbcpu.reports.documents.quoted import quoted_sentence
from dbcpu.reports.plain_data import plain_data

BLOCKS = "▁▂▃▄▅▆▇█"
SIGNS = {GAP_MARK: "·", CHANGED: "|", LASTING: "»"}
MAX_SIGNS = 60
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._]+")
MAX_FILE_NAME = 60
MIN_DRAWN = 2
"""One run has no history."""
MIN_RUNS = 8
"""From here on a lasting change can be detected."""
COMPARABLE = (
    "Only runs of the same work on the same host are compared; a change of kernel, database version or setting is "
    "marked."
)
READING = (
    "Every dot is a run. The blue band is the usual range; an orange line marks a lasting change, with its date, "
    "ratio, and the medians before and after, an orange band the time in which it may have happened (95 %); a dotted "
    "line a change of kernel, database or settings; grey a time without runs. The axes need not begin at 0."
)
NOTES = (
    "In a trend each block is a run, a higher one a higher value. A sign before it: · a longer pause than usual, | a "
    "change of kernel, database or settings, » a lasting change of the figure (Mann-Whitney, 4 runs or more on either "
    "side). Usual: where the runs since the last lasting change lie; `dbcpu check` also compares with those before it.",
)

OLDER = "Older runs are left out where *the newest* so many are named; `--limit 0` takes all."


def document(trend: Trend) -> Document:
    """Everything of one target. Its ``Trend`` has at least one run."""
    return _document(
        f"History of {_title(trend)}", [trend], (_figures(trend), _runs(trend)), {"history": plain_data(trend)}
    )


def overview_document(trends: Sequence[Trend]) -> Document:
    """Many targets, a table for each."""
    trends = tuple(sorted(set_apart(trends), key=_rank))
    sections = tuple(
        _figures(each, f"{_title(each)}, {_days(each)}", f"trends-{at}") for at, each in enumerate(trends, 1)
    )
    title = f"History of {plural(len(trends), 'target')}"
    return _document(title, trends, sections, {"histories": [plain_data(each) for each in trends]})


def _document(title: str, trends: Sequence[Trend], sections: tuple[Section, ...], data: Mapping[str, Any]) -> Document:
    notes = NOTES if not any(each.older for each in trends) else (*NOTES, OLDER)
    charts = [_chart(trend, name) for trend, name in zip(trends, _chart_names(trends), strict=True)]
    return comparing_document(
        title=title,
        name="history",
        verdict=(
            *(sentence for each in _told(trends) for sentence in _verdict(each)),
            *([f"{_once_words(trends)}."] if _once_words(trends) else []),
        ),
        sections=sections,
        lines=[line for each in trends for line in _lines(each)],
        notes=notes,
        data=data,
        front=_front(title, trends),
        page=lambda: (
            *_once_last(trends, _pictures(charts, trends, sections)),
            Section("reading", "How to read it", notes=notes, terms=terms(trends)),
        ),
        footer=f"dbcpu, {plural(sum(len(each.run_ids) for each in trends), 'run')}.",
    )


def _front(title: str, trends: Sequence[Trend]) -> Front:
    changes = [(each, series) for each in trends for series in each.series if series.changes]
    worse = [each for each, series in changes if _is_worse(series)]
    tonight = [each for each in trends if _newest_words(each)]
    if len(trends) == 1:
        newest = _newest_words(trends[0])
        headline = _change_words(trends[0]) or f"{newest[:1].upper()}{newest[1:]}" or _steady(trends[0])
    elif tonight:
        headline = f"The newest run is outside its usual range on {len(tonight)} of {len(trends)} targets"
    elif changes:
        headline = f"{len({id(each) for each, _ in changes})} of {len(trends)} targets have a lasting change"
    else:
        headline = f"No lasting change shown on any of {plural(len(trends), 'target')}"
    long_enough = all(len(each.run_ids) >= MIN_RUNS for each in trends)
    tiles = [
        Fact(figure_words(series), written(series, series.values[-1]), f"newest; usual {usual_words(series)}")
        for series in trends[0].series
    ]
    return Front(
        "Is the host as fast and as even as before?",
        title,
        headline,
        Outcome.BAD if worse or tonight else Outcome.GOOD if changes or long_enough else Outcome.NEITHER,
        sentences=(*map(_sentence, _told(trends)), *([f"{_once_words(trends)}."] if _once_words(trends) else [])),
        tiles=tuple(tiles) if len(trends) == 1 else (),
        caveats=(COMPARABLE,),
    )


def _rank(trend: Trend) -> int:
    """Of many targets: first those whose newest run is worse, then changed ones, even ones, and those with one run."""
    if _newest_words(trend):
        return 0
    return 1 if any(each.changes for each in trend.series) else 2 if len(trend.run_ids) >= MIN_DRAWN else 3


def _told(trends: Sequence[Trend]) -> Sequence[Trend]:
    """Those with a sentence of their own: of many, those with one run are counted (``_once_words``)."""
    return [each for each in trends if len(trends) == 1 or len(each.run_ids) >= MIN_DRAWN]


def _once_words(trends: Sequence[Trend]) -> str:
    once = len(trends) - len(_told(trends))
    return f"{plural(once, 'target')} with one run: a history needs at least two" if once else ""


def _newest_words(trend: Trend) -> str:
    """``the newest run is outside the usual range: max/min at N=2 1.31, usual 1.02 to 1.13``; '' where it is within."""
    worse = [
        f"{figure_words(each)} {written(each, each.values[-1])}, usual {usual_words(each)}"
        for each in trend.series
        if each.is_newest_worse
    ]
    return f"the newest run is outside the usual range: {'; '.join(worse)}" if worse else ""


def _is_worse(series: Series) -> bool:
    """Slower, or less even since its newest change."""
    return bool(series.changes) and (series.changes[-1].ratio < 1) == (series.metric != SPREAD)


def _change_words(trend: Trend) -> str:
    """``Slower since 2026-10-19: ...``, of the first figure that changed; '' where none did."""
    for series in trend.series:
        if series.changes:
            worse = _is_worse(series)
            word = (
                ("Less even" if worse else "More even") if series.metric == SPREAD else "Slower" if worse else "Faster"
            )
            more = f" (the newest of {plural(len(series.changes), 'change')})" if len(series.changes) > 1 else ""
            return f"{word} since {series.changes[-1].when}: {_went(series, series.changes[-1])}{more}"
    return ""


def _went(series: Series, change: LastingChange) -> str:
    """``Mrows/s of one session went from 22.7 to 20.4 (0.90x)``."""
    ends = f"from {written(series, change.before)} to {written(series, change.after)}"
    return f"{figure_words(series)} went {ends} ({change.ratio:.2f}x)"


def _sentence(trend: Trend) -> str:
    """The lasting changes of one target."""
    changed = [
        f"{_went(series, change)}, a lasting change since {change.when}"
        for series in trend.series
        for change in series.changes
    ]
    of = _of(trend)
    found = [*changed, *filter(None, [_newest_words(trend)])]
    steady = _steady(trend)
    return f"{of}: {'; '.join(found) or steady[:1].lower() + steady[1:]}."


def _steady(trend: Trend) -> str:
    runs = len(trend.run_ids)
    if runs < MIN_DRAWN:
        return f"{plural(runs, 'run')}: a history needs at least two"
    if runs < MIN_RUNS:
        return f"{plural(runs, 'run')}: too few to show a lasting change"
    shown = f"No lasting change shown in {_runs_words(trend)}"
    first = next((each for each in trend.series if each.usual and each.values[-1] is not None), None)
    # Not having been seen is no proof of sameness: the range says how large a change would have been.
    return (
        f"{shown}; a change of {figure_words(first)} within {usual_words(first)} would not be seen" if first else shown
    )


def _pictures(
    charts: Sequence[Chart | None], trends: Sequence[Trend], sections: Sequence[Section]
) -> Iterator[Section]:
    """The picture of each target with its table; of one target the runs below."""
    one = len(trends) == 1
    for chart, section in zip(charts, sections, strict=False):
        yield pictured(chart, READING, section.tables, "Over time" if one else section.title) if chart else section
    if one:
        yield from sections[1:2]


def _once_last(trends: Sequence[Trend], shown: Iterator[Section]) -> Iterator[Section]:
    """Of many targets those with one run, which have no picture, share a section: the contents stay short."""
    if len(trends) == 1:
        yield from shown
        return
    several = len(_told(trends))
    sections = [*shown]
    yield from sections[:several]
    if tables := tuple(table for each in sections[several:] for table in each.tables):
        yield Section("one-run", "Targets with one run", tables=tables)


def sparkline(series: Series, trend: Trend) -> str:
    """A letter per run, signs before those at which something happened; the newest ``MAX_SIGNS`` runs."""
    known = [value for value in series.values if value is not None]
    if not known:
        return ""
    middle = median(known)
    low, high = min(*known, middle * (1 - MIN_SPAN)), max(*known, middle * (1 + MIN_SPAN))
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    letters = [" " if value is None else BLOCKS[round((value - low) / step)] for value in series.values]
    marks = {(mark.index, mark.kind) for mark in trend.marks if mark.metric in ("", series.metric)}
    for at in {index for index, _ in marks}:
        letters[at] = "".join(sign for kind, sign in SIGNS.items() if (at, kind) in marks) + letters[at]
    return "".join(letters[-MAX_SIGNS:])


def _title(trend: Trend) -> str:
    return f"{_of(trend)}: {_runs_words(trend)} of {trend.workload}"


def _of(trend: Trend) -> str:
    """``box on db1``, ``box on db1 (4 vCPUs, soak)``: soaks, pools and a resized host are histories of their own."""
    host = f" on {trend.host}" if trend.host and trend.host != trend.target else ""
    more = ", ".join(filter(None, (trend.machine, "" if trend.experiment == SWEEP else trend.experiment)))
    return f"{trend.target}{host}{more and f' ({more})'}"


def _runs_words(trend: Trend) -> str:
    """``12 runs``, ``the newest 60 runs``."""
    many = plural(len(trend.run_ids), "run")
    return f"the newest {many.removeprefix('1 ')}" if trend.older else many


def _verdict(trend: Trend) -> tuple[str, ...]:
    changed = [
        f"{figure_words(each)} changed to {change.ratio:.2f}x ({written(each, change.before)} before, "
        f"{written(each, change.after)} after) since {change.when}"
        for each in trend.series
        for change in each.changes
    ]
    of = _of(trend)
    found = [*changed, *filter(None, [_newest_words(trend)])]
    if found:
        return (f"{of}: {'; '.join(found)}.",)
    runs = len(trend.run_ids)
    if runs < MIN_RUNS:
        return (f"{of}: {plural(runs, 'comparable run')}; a lasting change can be detected from {MIN_RUNS} runs on.",)
    return (f"{of}: no lasting change shown in {_runs_words(trend)}.",)


def _figures(trend: Trend, title: str = "Trends", name: str = "trends") -> Section:
    columns = (
        Column("metric", "figure", kind="text", value=figure_words),
        Column("trend", "trend", kind="text", value=lambda series: sparkline(series, trend)),
        Column("usual", "usual", kind="figure", value=usual_words),
        Column("newest", "newest", kind="figure", value=lambda series: written(series, series.values[-1])),
    )
    return titled_table(
        name, title, columns, trend.series, *filter(None, [quoted_sentence(trend.quote, trend.quote_notes)])
    )


def _runs(trend: Trend) -> Section:
    """Rows are indexes of runs, the newest on top, as in a list."""
    titles = {series.metric: short_words(series) for series in trend.series}
    one_label = len(set(trend.labels)) == 1

    def of_series(series: Series) -> Column:
        return Column(
            series.metric, titles[series.metric], lambda value: written(series, value), kind="figure",
            value=lambda at: series.values[at],
        )  # fmt: skip

    def new(at: int) -> str:
        marks = [f"{titles[mark.metric]} {mark.text}" if mark.metric else mark.text for mark in trend.marks_at(at)]
        return "; ".join(filter(None, ("" if one_label else shortened(trend.labels[at], MAX_LABEL), *marks)))

    columns = (
        Column("started_at", "started (UTC)", lambda started: started[:16].replace("T", " "), kind="text",
               value=trend.started_at.__getitem__),
        Column("run_id", "run", kind="text", value=trend.run_ids.__getitem__),
        *map(of_series, trend.series),
        Column("new", "changes" if one_label else "label and changes", kind="text", value=new),
    )  # fmt: skip
    return titled_table("runs", "Runs", columns, range(len(trend.run_ids) - 1, -1, -1))


def _lines(trend: Trend) -> tuple[Line, ...]:
    return tuple(
        Line(trend.target, run_id, each.levels[0] if len(each.levels) == 1 else None, None, each.metric, value)
        for each in trend.series
        for run_id, value in zip(trend.run_ids, each.values, strict=True)
        if value is not None
    )


def _chart_names(trends: Sequence[Trend]) -> list[str]:
    """``history``, or of many ``history-TARGET``, with the host where a target is on several, else with a number."""
    if len(trends) == 1:
        return ["history"]
    targets = Counter(each.target for each in trends)
    names: list[str] = []
    for each in trends:
        words = each.target if targets[each.target] == 1 else f"{each.target} {each.host}"
        name = f"history-{_NO_FILE_NAME.sub('-', words).strip('-')[:MAX_FILE_NAME] or 'target'}"
        # File systems may take two names that differ in the case of letters for one.
        same = sum(other.lower() == name.lower() or other.lower().startswith(f"{name.lower()}--") for other in names)
        names.append(f"{name}--{same + 1}" if same else name)
    return names


def _chart(trend: Trend, name: str) -> Chart | None:
    """The figures over time; None where there are none, of one run only, or where a run has no date."""
    if not trend.series or len(trend.run_ids) < MIN_DRAWN or None in map(moment, trend.started_at):
        return None
    figures = FigureHistory(
        title=plain(_title(trend)),
        moments=trend.started_at,
        series=tuple(_timeline_series(series) for series in trend.series),
        gaps=tuple(mark.index for mark in trend.marks if mark.kind == GAP_MARK),
        events=tuple((mark.index, mark.text) for mark in trend.marks if mark.kind == CHANGED),
    )
    return Chart(name, figures.title, figures)


def _timeline_series(series: Series) -> TimelineSeries:
    usual = series.usual
    return TimelineSeries(
        title=figure_words(series),
        values=series.values,
        low=usual.low if usual else None,
        high=usual.high if usual else None,
        changes=tuple(
            TimelineChange(each.at, each.since, each.before, each.after, each.places) for each in series.changes
        ),
        least=1.0 if series.metric == SPREAD else None,
    )


def _days(trend: Trend) -> str:
    first, last = (trend.started_at[at][:10] or "date not known" for at in (0, -1))
    return first if first == last else f"{first} to {last}"

"""The trend of a target as a sheet: sparklines, a row per run, and a picture; and many targets at a glance."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median

from dbcpu.analysis.history.trend import CHANGED, GAP_MARK, LASTING, SOLO, SPREAD, TOGETHER, Series, Trend
from dbcpu.formatting import UNKNOWN, moment, number, plain, plural, short_ranges
from dbcpu.reports.document import Line, Section, Sheet, Timeline, TimelineSeries

BLOCKS = "▁▂▃▄▅▆▇█"
SIGNS = {GAP_MARK: "·", CHANGED: "|", LASTING: "»"}
MIN_SPAN = 0.1
"""A sparkline shows at least this share of the median on either side: noise is not to look like an event."""
MAX_SIGNS = 60
NOTES = (
    "Each letter is a run, the higher the more. Before it, · says that none was made for longer than usual, | that "
    "kernel, database or settings differ from the run before, » that the figure changed for good (Mann-Whitney, 4 runs "
    "or more on either side). Usual: the band of dbcpu check, since a lasting change.",
)


def sheet(trend: Trend) -> Sheet:
    """Everything of one target. Its ``Trend`` has at least one run."""
    return Sheet(
        title=f"History of {_title(trend)}",
        verdict=_verdict(trend),
        sections=(_figures(trend), _runs(trend)),
        lines=_lines(trend),
        notes=NOTES,
        data={"history": asdict(trend)},
        timelines=_timelines([trend]),
    )


def overview(trends: Sequence[Trend]) -> Sheet:
    """Many targets, a table for each."""
    return Sheet(
        title=f"History of {plural(len(trends), 'target')}",
        verdict=tuple(sentence for each in trends for sentence in _verdict(each)),
        sections=tuple(_figures(each, f"{_title(each)}, {_day(each, 0)} to {_day(each, -1)}") for each in trends),
        lines=tuple(line for each in trends for line in _lines(each)),
        notes=NOTES,
        data={"histories": [asdict(each) for each in trends]},
        timelines=_timelines(trends),
    )


def sparkline(series: Series, trend: Trend) -> str:
    """A letter per run, signs before those at which something happened; the newest ``MAX_SIGNS`` runs."""
    known = [value for value in series.values if value is not None]
    if not known:
        return ""
    middle = median(known)
    low, high = min(*known, middle * (1 - MIN_SPAN)), max(*known, middle * (1 + MIN_SPAN))
    step = (high - low) / (len(BLOCKS) - 1) or 1.0
    told = []
    for at, value in enumerate(series.values):
        marks = {mark.kind for mark in trend.marks_at(at) if mark.metric in ("", series.metric)}
        signs = "".join(sign for kind, sign in SIGNS.items() if kind in marks)
        told.append(signs + (" " if value is None else BLOCKS[round((value - low) / step)]))
    return "".join(told[-MAX_SIGNS:])


def _title(trend: Trend) -> str:
    host = f" on {trend.host}" if trend.host else ""
    return f"{trend.target}{host}: {plural(len(trend.run_ids), 'run')} of {trend.workload}"


def _words(series: Series) -> str:
    levels = short_ranges(series.levels)
    return {
        SOLO: "Mrows/s alone",
        TOGETHER: f"Mrows/s at N={levels}",
        SPREAD: f"max/min, worst of N={levels}" if len(series.levels) > 1 else f"max/min at N={levels}",
    }[series.metric]


def _told(series: Series, value: float | None) -> str:
    return number(value, 2 if series.metric == SPREAD else 1)


def _row(trend: Trend, series: Series) -> tuple[str, str, str, str]:
    usual = UNKNOWN
    if series.usual is not None:
        usual = f"{_told(series, series.usual.low)} to {_told(series, series.usual.high)}"
    return _words(series), sparkline(series, trend), usual, _told(series, series.values[-1])


def _verdict(trend: Trend) -> tuple[str, ...]:
    changed = [
        f"{_words(each)} is lastingly {each.change.ratio:.2f}x since {each.change.since} "
        f"({_told(each, each.change.before)} before, {_told(each, each.change.after)} after)"
        for each in trend.series
        if each.change
    ]
    of = f"{trend.target}{f' on {trend.host}' if trend.host else ''}"
    if changed:
        return (f"{of}: {'; '.join(changed)}.",)
    runs = len(trend.run_ids)
    if runs < 8:
        return (f"{of}: {plural(runs, 'comparable run')}; from 8 on a lasting change can be told.",)
    return (f"{of}: no lasting change shown in {plural(runs, 'run')}.",)


def _figures(trend: Trend, title: str = "Trends") -> Section:
    rows = tuple(_row(trend, each) for each in trend.series)
    return Section(title, ("figure", "trend", "usual", "newest"), rows, words=("figure", "trend"))


def _runs(trend: Trend) -> Section:
    titles = {each.metric: _short(each) for each in trend.series}
    one_label = len(set(trend.labels)) == 1
    rows = []
    for at, run_id in enumerate(trend.run_ids):
        new = [f"{titles[mark.metric]} {mark.text}" if mark.metric else mark.text for mark in trend.marks_at(at)]
        figures = (_told(each, each.values[at]) for each in trend.series)
        label = "" if one_label else trend.labels[at]
        started = trend.started_at[at][:16].replace("T", " ")
        rows.append((started, run_id, *figures, "; ".join(filter(None, (label, *new)))))
    # The newest on top, as in a list.
    last = "what is new" if one_label else "label, and what is new"
    columns = ("started (UTC)", "run", *titles.values(), last)
    return Section("Runs", columns, tuple(reversed(rows)), words=("started (UTC)", "run", last))


def _short(series: Series) -> str:
    return {SOLO: "alone", TOGETHER: f"N={short_ranges(series.levels)}", SPREAD: "max/min"}[series.metric]


def _lines(trend: Trend) -> tuple[Line, ...]:
    return tuple(
        Line(trend.target, run_id, each.levels[0] if len(each.levels) == 1 else None, None, each.metric, value)
        for each in trend.series
        for run_id, value in zip(trend.run_ids, each.values, strict=True)
        if value is not None
    )


def _timelines(trends: Sequence[Trend]) -> tuple[Timeline, ...]:
    return tuple(
        Timeline(
            title=plain(_title(each)),
            moments=each.started_at,
            series=tuple(_timeline_series(one) for one in each.series),
            gaps=tuple(mark.index for mark in each.marks if mark.kind == GAP_MARK),
            events=tuple((mark.index, mark.text) for mark in each.marks if mark.kind == CHANGED),
        )
        for each in trends
        if each.series and None not in map(moment, each.started_at)
    )


def _timeline_series(series: Series) -> TimelineSeries:
    usual, change = series.usual, series.change
    return TimelineSeries(
        title=_words(series),
        values=series.values,
        low=usual.low if usual else None,
        high=usual.high if usual else None,
        changed_at=series.changed_at,
        before=change.before if change else None,
        after=change.after if change else None,
    )


def _day(trend: Trend, at: int) -> str:
    return trend.started_at[at][:10]

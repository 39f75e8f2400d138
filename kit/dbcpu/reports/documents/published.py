"""Published measurements as a sheet: values, ratios, bars, and curves where a metric grows with CPUs."""

from collections.abc import Sequence

from dbcpu.analysis.comparison.published import Normalised, Published, normalise
from dbcpu.formatting import times
from dbcpu.reports.document import Bars, Curves, Line, Section, Sheet

SAME_SCALE = 2.0


def sheet(published: Published, baseline: str | None = None) -> Sheet:
    """Everything of a file, over the first row of each label and metric or a named baseline.

    Raises:
        UsageError: the baseline occurs nowhere.
    """
    rows = normalise(published, baseline)
    return Sheet(
        title=published.title,
        verdict=(),
        sections=(_section(rows),),
        lines=tuple(_line(each) for each in rows),
        notes=published.notes,
        data={"measurements": [_line_data(each) for each in rows]},
        bars=_bars(rows),
        curves=_curves(rows),
    )


def _section(rows: Sequence[Normalised]) -> Section:
    cells = tuple(
        (
            each.measurement.label,
            each.measurement.configuration,
            "" if each.measurement.n is None else str(each.measurement.n),
            "" if each.measurement.cpus is None else str(each.measurement.cpus),
            each.measurement.metric,
            f"{each.measurement.value:g}",
            times(each.ratio),
            "" if each.linear is None else times(each.linear),
        )
        for each in rows
    )
    columns = ("label", "configuration", "N", "CPUs", "metric", "value", "ratio", "linear")
    return Section("Measurements", columns, cells, words=("label", "configuration", "metric"))


def _line(each: Normalised) -> Line:
    one = each.measurement
    return Line(one.label, one.configuration, one.n, one.cpus, one.metric, one.value, each.ratio)


def _line_data(each: Normalised) -> dict[str, object]:
    line = _line(each)
    names = ("label", "configuration", "n", "cpus", "metric", "value", "ratio")
    return {**{name: getattr(line, name) for name in names}, "linear": each.linear}


def _grows(rows: Sequence[Normalised]) -> dict[tuple[str, str], list[Normalised]]:
    """Rows by label and metric, of those that have several counts: they are curves, the others are bars."""
    grouped: dict[tuple[str, str], list[Normalised]] = {}
    for each in rows:
        grouped.setdefault((each.measurement.label, each.measurement.metric), []).append(each)
    return {
        key: group
        for key, group in grouped.items()
        if len({each.measurement.count for each in group}) == len(group) > 1
        and all(each.measurement.count is not None for each in group)
    }


def _bars(rows: Sequence[Normalised]) -> tuple[Bars, ...]:
    growing = _grows(rows)
    made = []
    still = [each for each in rows if (each.measurement.label, each.measurement.metric) not in growing]
    for metrics in _panels_of(still):
        chosen = [each for each in still if each.measurement.metric in metrics]
        named = _places(chosen)
        places = list(dict.fromkeys(named))
        series = []
        for metric in metrics:
            rows_of = zip(named, chosen, strict=True)
            found = {place: each.ratio for place, each in rows_of if each.measurement.metric == metric}
            series.append((metric, tuple((found[place], None, None) if place in found else None for place in places)))
        made.append(Bars("Against the baseline = 1", tuple(places), tuple(series)))
    return tuple(made)


def _panels_of(rows: Sequence[Normalised]) -> list[tuple[str, ...]]:
    """Metrics whose ratios stay between 1/2 and 2 are drawn together, each of the others alone."""
    extremes: dict[str, float] = {}
    for each in rows:
        metric = each.measurement.metric
        extremes[metric] = max(extremes.get(metric, 1.0), each.ratio, 1 / each.ratio)
    close = tuple(metric for metric, most in extremes.items() if most <= SAME_SCALE)
    return [group for group in (close, *((metric,) for metric in extremes if metric not in close)) if group]


def _places(rows: Sequence[Normalised]) -> list[str]:
    """Names below the bars: configuration, led by the label and followed by the count where these tell rows apart."""
    several = len({each.measurement.label for each in rows}) > 1
    names = []
    for each in rows:
        one = each.measurement
        name = f"{one.label} {one.configuration}".strip() if several or not one.configuration else one.configuration
        alike = {
            other.measurement.count
            for other in rows
            if (other.measurement.label, other.measurement.configuration) == (one.label, one.configuration)
        }
        unit = "CPUs" if one.cpus is not None and one.n is None else "N"
        shown = one.cpus if unit == "CPUs" else one.n
        names.append(f"{name}, {unit}={shown}" if len(alike) > 1 else name)
    return names


def _curves(rows: Sequence[Normalised]) -> tuple[Curves, ...]:
    growing = _grows(rows)
    by_metric: dict[str, list[tuple[str, tuple[tuple[int, float], ...]]]] = {}
    ideal: dict[str, int] = {}
    for (label, metric), group in growing.items():
        points = tuple(sorted((each.measurement.count or 0, each.ratio) for each in group))
        by_metric.setdefault(metric, []).append((label, points))
        ideal.setdefault(metric, next(each.measurement.count or 1 for each in group if each.ratio == 1.0))
    by_cpus = any(each.measurement.n is None for group in growing.values() for each in group)
    x_title = "CPUs" if by_cpus else "sessions at once (N)"
    return tuple(
        Curves(f"{metric} against {x_title}", x_title, f"{metric}, baseline = 1", tuple(series), ideal[metric])
        for metric, series in by_metric.items()
    )

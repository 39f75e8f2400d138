"""Published measurements: values, ratios, bars, and curves where a metric grows with CPUs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter

from dbcpu.analysis.comparison.outliers import MIN_COMPONENTS, MIN_PERCENT, Outlier, outliers, small_components
from dbcpu.analysis.comparison.published import Measurement, Normalised, Published, may_grow, normalise
from dbcpu.analysis.comparison.published_runs import MEASURED
from dbcpu.formatting import listed, plural, times
from dbcpu.reports.document import Bars, Chart, Column, Curves, Document, Front, Section, Table, cell_text
from dbcpu.reports.documents.comparing_document import Line, comparing_document, pictured, titled_table
from dbcpu.reports.plain_data import plain_data

SAME_SCALE = 2.0
READING = "All figures are relative to the baseline of their label and metric = 1."
ELSEWHERE = "These figures were measured by others; dbcpu only normalises them."
BESIDE = f"The figures called {MEASURED} are of runs of dbcpu; all others were measured by others, with other work."
TERMS = (
    ("ratio", "value / baseline: the first row of each label and metric, unless one is given by `--baseline`"),
    (
        "linear",
        "the ratio if the metric grew in proportion to the sessions or CPUs; only of rates of all together, for times, "
        "shares, amounts of memory and what one CPU does need not grow",
    ),
)


def document(published: Published, baseline: str | None = None) -> Document:
    """Everything of a file, over the first row of each label and metric or a named baseline.

    Raises:
        UsageError: the baseline occurs nowhere.
    """
    rows = normalise(published, baseline)
    doubted = [each for each in rows if each.doubt]
    sound = [each for each in rows if not each.doubt and not _is_count(each)]
    columns = [each for each in COLUMNS if each.key not in _MAY_LACK or any(each.of(row) is not None for row in rows)]
    section = titled_table("measurements", "Measurements", (*columns, *([DOUBTED] if doubted else [])), rows)
    own = any(each.label == MEASURED for each in published.measurements)
    caveat = BESIDE if own and len({each.label for each in published.measurements}) > 1 else ELSEWHERE
    small = small_components(sound) if len({each.label for each in published.measurements}) >= MIN_COMPONENTS else ()
    large = [each for each in sound if each.measurement.label not in small]
    apart, by_count = outliers(large), _by_count(large)
    curves = _curves(large, published.title, apart)
    notes = (*published.notes, *_doubts(doubted), *([_left_out(small)] if small else []))
    drawn = [*_numbered("bars", _bars(sound, published.title)), *_numbered("scaling", curves)]
    tables = [section.tables if at == 0 else () for at in range(len(drawn))]
    return comparing_document(
        title=published.title,
        verdict=(*_sentences(apart), *([BESIDE] if caveat is BESIDE else [])),
        sections=(section, *by_count),
        lines=[_line(each) for each in rows],
        notes=notes,
        data=lambda: {
            "measurements": [_line_data(each) for each in rows],
            "outliers": [plain_data(each) | {"is_bottleneck": each.is_bottleneck} for each in apart],
        },
        front=Front("Published measurements on one scale", published.title, _headline(sound, apart), caveats=(caveat,)),
        page=lambda: (
            *(pictured(chart, READING, own) for chart, own in zip(drawn, tables, strict=True)),
            *(() if drawn else (section,)),
            *by_count,
            Section("reading", "Sources, and how to read it", notes=notes, terms=TERMS),
        ),
        footer="dbcpu.",
    )


def _doubts(doubted: Sequence[Normalised]) -> Iterator[str]:
    own = [each.measurement for each in doubted if each.measurement.doubt]
    named = [
        f"{' '.join(filter(None, (_place(each), each.metric)))} {cell_text(each.value)} ({each.doubt})" for each in own
    ]
    if named:
        yield f"Shown as printed and not compared, since doubted: {listed(named)}."


def _place(one: Measurement) -> str:
    return " ".join(filter(None, (one.label, one.configuration)))


def _left_out(small: Sequence[str]) -> str:
    return (
        f"Below {MIN_PERCENT:g} percent of the time at every count, so in no table by component and no curve: "
        f"{listed(small)}."
    )


def _numbered(name: str, found: Iterable[Bars | Curves]) -> list[Chart]:
    """A second of a kind is ``bars-2``."""
    return [Chart(name if at == 1 else f"{name}-{at}", _chart_title(each), each) for at, each in enumerate(found, 1)]


def _chart_title(found: Bars | Curves) -> str:
    return found.title if isinstance(found, Curves) else f"{listed([name for name, _ in found.series])}, baseline = 1"


def _sentences(apart: Sequence[Outlier]) -> tuple[str, ...]:
    """One for each component: those that may be a bottleneck first, then those that stand out in most metrics."""
    by_label: dict[str, list[Outlier]] = {}
    for each in apart:
        by_label.setdefault(each.label, []).append(each)
    ordered = sorted(by_label.values(), key=lambda found: (not found[0].is_bottleneck, -len(found)))
    return tuple(map(_sentence, ordered))


def _sentence(found: Sequence[Outlier]) -> str:
    what = (
        f"{each.metric} {times(each.ratio)} at {plural(each.count, 'CPU')} (median of all {each.components}: "
        f"{times(each.usual)})"
        for each in found
    )
    may_be = "; it may be the bottleneck" if found[0].is_bottleneck else ""
    return f"{found[0].label} stands out: {listed(list(what))}{may_be}."


def _by_count(rows: Sequence[Normalised]) -> tuple[Section, ...]:
    """A table per metric, components by CPUs, where several components have the same counts; most growth first."""
    grown: dict[str, dict[str, dict[int, float]]] = {}
    for (label, metric), group in _grows(rows).items():
        grown.setdefault(metric, {})[label] = {each.measurement.count or 0: each.ratio for each in group}
    tables = []
    for metric, components in grown.items():
        counts = sorted({count for ratios in components.values() for count in ratios})
        if len(components) < MIN_COMPONENTS:
            continue
        ordered = sorted(components.items(), key=lambda pair: -pair[1].get(counts[-1], 0.0))
        columns = (
            Column("label", "component", kind="name", value=itemgetter(0)),
            *(Column(f"at_{count}", plural(count, "CPU"), times, value=partial(_at, count)) for count in counts),
        )
        tables.append(Table(f"{metric}, relative to the baseline, by component and CPUs", columns, ordered))
    return (Section("components", "By component and CPUs", tables=tuple(tables)),) if tables else ()


def _at(count: int, pair: tuple[str, dict[int, float]]) -> float | None:
    return pair[1].get(count)


def _headline(rows: Sequence[Normalised], apart: Sequence[Outlier] = ()) -> str:
    if apart:
        return _sentences(apart)[0].removesuffix(".")
    if not rows:
        return "All of these figures are doubted, so none is compared"
    metric = max(rows, key=lambda each: max(each.ratio, 1 / each.ratio) if each.ratio > 0 else 1.0).measurement.metric
    alike = [each for each in rows if each.measurement.metric == metric]
    if all(each.ratio == 1.0 for each in rows):
        return f"{plural(len(rows), 'measurement')} relative to their baselines"
    low, high = (choose(alike, key=lambda each: each.ratio) for choose in (min, max))
    ends = [f"{times(each.ratio)} ({_place(each.measurement)})" for each in (low, high)]
    return f"{metric}: from {ends[0]} to {ends[1]} of the baseline"


def _is_count(each: Normalised) -> bool:
    """How many sessions were fast and how many slow is no ratio of the one to the other."""
    return each.measurement.metric.startswith("number of ")


def _or_nothing(value: int | None) -> str:
    return "" if value is None else str(value)


COLUMNS = (
    Column("label", "label", kind="text", value=attrgetter("measurement.label")),
    Column("configuration", "configuration", kind="text", value=attrgetter("measurement.configuration")),
    Column("n", "N", _or_nothing, kind="figure", value=attrgetter("measurement.n")),
    Column("cpus", "CPUs", _or_nothing, kind="figure", value=attrgetter("measurement.cpus")),
    Column("metric", "metric", kind="text", value=attrgetter("measurement.metric")),
    Column("value", "value", cell_text, kind="figure", value=attrgetter("measurement.value")),
    Column(
        "ratio", "ratio", times, kind="figure", value=lambda each: None if each.doubt or _is_count(each) else each.ratio
    ),
    Column(
        "linear",
        "linear",
        lambda ratio: "" if ratio is None else times(ratio),
        kind="figure",
        value=lambda each: None if each.doubt else each.linear,
    ),
)
_MAY_LACK = ("n", "cpus", "linear")
"""Columns that are left out where no row has a value."""
DOUBTED = Column("doubt", "doubt", kind="text")


def _line(each: Normalised) -> Line:
    one = each.measurement
    ratio = None if each.doubt else each.ratio
    return Line(one.label, one.configuration, one.n, one.cpus, one.metric, one.value, each.doubt, ratio)


def _line_data(each: Normalised) -> dict[str, object]:
    line = _line(each)
    names = ("label", "configuration", "n", "cpus", "metric", "value", "ratio")
    return {**{name: getattr(line, name) for name in names}, "linear": each.linear,
            "doubt": each.doubt or None}  # fmt: skip


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


def _bars(rows: Sequence[Normalised], title: str) -> list[Bars]:
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
        made.append(Bars("Relative to the baseline = 1", tuple(places), tuple(series), title))
    return made


def _panels_of(rows: Sequence[Normalised]) -> list[tuple[str, ...]]:
    """Metrics whose ratios stay between 1/2 and 2 are drawn together, each of the others alone."""
    extremes: dict[str, float] = {}
    for each in rows:
        metric = each.measurement.metric
        extremes[metric] = max(extremes.get(metric, 1.0), each.ratio, 1 / each.ratio)
    close = tuple(metric for metric, most in extremes.items() if most <= SAME_SCALE)
    return [group for group in (close, *((metric,) for metric in extremes if metric not in close)) if group]


def _places(rows: Sequence[Normalised]) -> list[str]:
    """Names below the bars: configuration, followed by the label and the count where rows differ by these.

    A picture cuts long ones at the end.
    """
    several = len({each.measurement.label for each in rows}) > 1
    counts: dict[tuple[str, str], set[int | None]] = {}
    for each in rows:
        counts.setdefault((each.measurement.label, each.measurement.configuration), set()).add(each.measurement.count)
    names = []
    for each in rows:
        one = each.measurement
        name = f"{one.configuration} ({one.label})" if several and one.configuration else one.configuration or one.label
        unit = "CPUs" if one.cpus is not None and one.n is None else "N"
        shown = one.cpus if unit == "CPUs" else one.n
        names.append(f"{name}, {unit}={shown}" if len(counts[one.label, one.configuration]) > 1 else name)
    return names


def _curves(rows: Sequence[Normalised], title: str, apart: Sequence[Outlier] = ()) -> list[Curves]:
    growing = _grows(rows)
    by_metric: dict[str, list[tuple[str, tuple[tuple[int, float], ...]]]] = {}
    starts: dict[str, set[int]] = {}
    for (label, metric), group in growing.items():
        points = tuple(sorted((each.measurement.count or 0, each.ratio) for each in group))
        by_metric.setdefault(metric, []).append((label, points))
        # The baseline may be elsewhere: then no point of this curve is 1, and linear growth has no place to start.
        own = [each.measurement.count or 1 for each in group if each.ratio == 1.0]
        starts.setdefault(metric, set()).update(own[:1])
    # Curves that start at different counts have no common line of linear growth.
    ideal = {metric: min(counts) for metric, counts in starts.items() if len(counts) == 1 and may_grow(metric)}
    made = []
    for metric, series in by_metric.items():
        rows_of = [each.measurement for (_, name), group in growing.items() if name == metric for each in group]
        x_title = "CPUs" if any(one.n is None for one in rows_of) else "concurrent sessions (N)"
        marked = tuple((each.label, each.count, each.ratio) for each in apart if each.metric == metric)
        name, y_title = f"{metric} against {x_title}", f"{metric}, baseline = 1"
        made.append(Curves(name, x_title, y_title, tuple(series), ideal.get(metric), title, marked))
    return made

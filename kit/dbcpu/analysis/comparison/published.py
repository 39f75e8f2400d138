"""Measurements from elsewhere in a small CSV form, normalised to a baseline like runs are. Pure.

    # source: where the numbers are from; lines that begin with # before the header are notes
    label,configuration,cpus,metric,value
    Box A,default,10,TPS,261
    Box A,node 0,10,TPS,1619

Columns, in any order: label, configuration, metric, value, and n (sessions) or cpus or both, and doubt; further columns
are refused. Of each label and metric the first row is the baseline, unless one is named; values are positive.
"""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from io import StringIO

from msgspec import Struct

from dbcpu.errors import UsageError
from dbcpu.formatting import as_whole_number

NEEDED = ("label", "configuration", "metric", "value")
COUNTS = ("n", "cpus")
MIN_VALUE, MAX_VALUE = 1e-100, 1e100
"""So that no ratio of two overflows."""
MAX_COUNT = 999_999_999
RATE = re.compile(
    r"(?i)\b(tps|qps|tpm\w*|iops|\w*ops|saps|throughput|speed-?up|speed|rate)\b|/ ?(s|sec|second|min|minute|h|hour)\b"
    r"|\bper (second|sec|minute|min|hour)\b"
)
"""Names of work per time: TPS, BOPS, calls per second, Mrows/s, best injection rate, throughput."""
_FAILED = re.compile(r"(?i)\b(error|failure|fail|failed|abort|rollback|miss|loss|drop)s? rate\b")
"""No work: more of it is worse."""
_BOUNDED = re.compile(
    r"(?i)(\bper|/) ?(v?cpu|core|thread|session|process|worker|client|user|connection|socket|node|host)s?\b|\beach\b"
    r"|\b(hit|success|sampling|clock) rate\b|\bclock speed\b"
)
"""Work of one CPU or session, and shares: linear scaling leaves them as they are."""
DOUBT = "doubt"
COLUMNS = ("label", "configuration", "n", "cpus", "metric", "value", DOUBT)
FORM = "label,configuration,n,cpus,metric,value (n or cpus may be left out; doubt may be added)"
OF_BASELINE = "its baseline is doubted"


class Measurement(Struct, frozen=True):
    """One published number. ``n`` is sessions at once, ``cpus`` what they could use; None where not published.

    ``doubt``: why it is not believed, such as a misprint; '' for all others.
    """

    label: str
    configuration: str
    n: int | None
    cpus: int | None
    metric: str
    value: float
    doubt: str = ""

    @property
    def count(self) -> int | None:
        """What a figure may grow with: sessions where they are known, else CPUs."""
        return self.n if self.n is not None else self.cpus


class Normalised(Struct, frozen=True):
    """A measurement over the baseline of its label and metric; ``linear`` is what linear scaling would give.

    None without two counts, or for a metric that cannot grow so (``may_grow``). ``doubt``: why the ratio is not to be
    used, that of the measurement or of its baseline; '' for all others.
    """

    measurement: Measurement
    ratio: float
    linear: float | None
    doubt: str = ""


class Published(Struct, frozen=True):
    """A file of them, with its notes."""

    title: str
    notes: tuple[str, ...]
    measurements: tuple[Measurement, ...]


def parse(text: str, title: str) -> Published:
    """Read the CSV form. ``title`` names the file in errors.

    Raises:
        UsageError: a column is missing or unknown, a number is none, or a row occurs twice; the line is named.
    """
    notes: list[list[str]] = [[]]
    lines = text.lstrip("\ufeff").splitlines()
    start = 0
    while start < len(lines) and (lines[start].startswith("#") or not lines[start].strip()):
        remark = lines[start].lstrip("# ").strip()
        notes[-1 if remark else len(notes) :] = [[*notes[-1], remark]] if remark else [[]]
        start += 1
    reader = csv.DictReader(StringIO("\n".join(lines[start:])), strict=True, skipinitialspace=True)
    try:
        columns = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        if not columns:
            raise UsageError(f"{title} is empty, but for remarks; its form is {FORM}")
        _check_columns(columns, title)
        reader.fieldnames = columns
        rows = [
            _row(row, f"{title}, line {start + reader.line_num}")
            for row in reader
            if any(value for value in row.values() if isinstance(value, str) and value.strip())
        ]
    except csv.Error as error:
        raise UsageError(f"{title} is not CSV: {error}; its form is {FORM}") from None
    if not rows:
        raise UsageError(f"{title} holds no measurement; its form is {FORM}")
    keys = [(row.label, row.configuration, row.n, row.cpus, row.metric) for row in rows]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise UsageError(f"{title} has two values of {twice[4]} for {twice[0]}, {twice[1]}; keep one of them")
    return Published(title, tuple(" ".join(note) for note in notes if note), tuple(rows))


def normalise(published: Published, baseline: str | None = None) -> tuple[Normalised, ...]:
    """Every measurement over the baseline of its label and metric; a named baseline is a label or a configuration.

    A label that names the baseline is that of all labels: measurements are then compared across labels, row by
    row of the same configuration and count. Raises UsageError when the name occurs nowhere.
    """
    known = {each.label for each in published.measurements} | {each.configuration for each in published.measurements}
    if baseline is not None and baseline not in known:
        there = ", ".join(sorted(known))
        raise UsageError(f"{published.title} has no {baseline!r} to be the baseline; there are: {there}")
    made = []
    for each in published.measurements:
        base = _base(each, published.measurements, baseline)
        if base is None:
            continue
        grows = each.count and base.count and each.count != base.count and may_grow(each.metric)
        linear = each.count / base.count if grows and each.count and base.count else None
        doubt = each.doubt or (OF_BASELINE if base.doubt else "")
        made.append(Normalised(each, each.value / base.value, linear, doubt))
    return tuple(made)


def is_rate(metric: str) -> bool:
    """Whether the metric is work per time by its name, so that more of it is better."""
    return RATE.search(metric) is not None and _FAILED.search(metric) is None


def may_grow(metric: str) -> bool:
    """Whether twice the CPUs could double it: a rate of all together, and not of each CPU or session."""
    return is_rate(metric) and _BOUNDED.search(metric) is None


def _base(each: Measurement, rows: Sequence[Measurement], baseline: str | None) -> Measurement | None:
    same = [row for row in rows if row.metric == each.metric]
    if baseline is None:
        return next(row for row in same if row.label == each.label)
    within = [row for row in same if row.label == each.label and row.configuration == baseline]
    place = (each.configuration, each.count)
    across = [row for row in same if row.label == baseline and (row.configuration, row.count) == place]
    return next(iter(within or across or [row for row in same if baseline in (row.label, row.configuration)]), None)


def _check_columns(columns: Sequence[str], title: str) -> None:
    missing = [name for name in NEEDED if name not in columns]
    unknown = [name for name in columns if name not in COLUMNS]
    if missing or not set(COUNTS) & set(columns):
        raise UsageError(f"{title} lacks column {', '.join(missing) or 'n or cpus'}; its form is {FORM}")
    if unknown or len(set(columns)) != len(columns):
        raise UsageError(f"{title} has column {', '.join(unknown) or 'names twice'}; its form is {FORM}")


def _row(row: Mapping[str | None, str | list[str] | None], where: str) -> Measurement:
    if None in row or None in row.values():
        raise UsageError(f"{where}: there are not as many values as columns; quote a value that has a comma in it")
    texts = {str(name): str(value).strip() for name, value in row.items()}
    if not texts["label"] or not texts["metric"]:
        raise UsageError(f"{where}: label or metric is empty")
    try:
        value = float(texts["value"])
    except ValueError:
        value = math.nan
    if not MIN_VALUE <= value <= MAX_VALUE:
        raise UsageError(
            f"{where}: value {texts['value'][:40]!r} is not a number above 0, from {MIN_VALUE:g} to {MAX_VALUE:g} "
            "(with a point, no separators)"
        )
    counts = {name: _count(texts.get(name, ""), name, where) for name in COUNTS}
    return Measurement(
        texts["label"],
        texts["configuration"],
        counts["n"],
        counts["cpus"],
        texts["metric"],
        value,
        texts.get(DOUBT, ""),
    )


def _count(text: str, name: str, where: str) -> int | None:
    if not text:
        return None
    if (found := as_whole_number(text, 1, MAX_COUNT)) is None:
        raise UsageError(f"{where}: {name} {text[:40]!r} is not a whole number from 1 on")
    return found

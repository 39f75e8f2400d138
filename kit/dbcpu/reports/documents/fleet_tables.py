"""The tables of a campaign's report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from dbcpu.analysis.comparison.needed_host import range_words
from dbcpu.analysis.fleet.hosts import ALONE, FleetHost
from dbcpu.analysis.fleet.ranking import Group, RankedHost
from dbcpu.analysis.fleet.report import FleetReport
from dbcpu.analysis.fleet.sizing import FleetSizing, Sized, Total
from dbcpu.analysis.fleet.spread import Spread
from dbcpu.analysis.fleet.twins import ComparedTwin, TwinKind
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.quote import Quote
from dbcpu.analysis.statistics.interval import Interval
from dbcpu.formatting import UNKNOWN, listed, number, percent, plural, rate
from dbcpu.reports.document import Column
from dbcpu.reports.documents.quoted import cores_words, evenness_words, quota_words
from dbcpu.reports.plain_data import plain_data

Row = TypeVar("Row")
AT_EITHER_END = 20
"""Rows of a long table that people see; programs get all."""
QUOTED = tuple(name for name in Quote.__struct_fields__ if name != "vcpus")
"""Of what is quoted of a host, for programs: its vCPUs stand there anyway."""
RANKED = ("alone", "loaded", "level", "per_vcpu", "per_core", "per_licence", "per_money", "currency")
MAX_NAMES = 6


def first_and_last(rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[str, ...]]:
    """The first and the last rows of many, and a remark on those between."""
    left = len(rows) - 2 * AT_EITHER_END
    if left <= 0:
        return rows, ()
    between = f"{plural(left, 'row')} in between are left out here; the CSV and JSON files have all."
    return (*rows[:AT_EITHER_END], *rows[-AT_EITHER_END:]), (between,)


def cv_words(shown: tuple[float | None, Interval | None]) -> str:
    """``8.1 % (6.5 % to 11 %)``."""
    value, interval = shown
    if value is None:
        return UNKNOWN
    return percent(value) + (f" ({percent(interval.low)} to {percent(interval.high)})" if interval else "")


def sentence(one: ComparedTwin) -> str:
    """``db-17 is 11 % slower alone than its 43 twins: steal 9 %``."""
    more = "slower" if one.slower else "faster"
    how = "alone" if one.metric == ALONE else f"with {plural(one.kind.level, 'session')}"
    why = cause_words(one) or ("its run names no cause" if one.slower else "")
    by = percent(abs(one.ratio - 1))
    return f"{one.host} is {by} {more} {how} than its {one.twins} twins{f': {why}' if why else ''}"


def cause_words(one: ComparedTwin) -> str:
    """What the run counts more of than its twins, else what it lost most to; '' for neither."""
    parts = [f"{name} {percent(share)}{f' (twins {percent(usual)})' if usual >= 0.005 else ''}"
             for name, share, usual in one.causes]  # fmt: skip
    if not parts and one.slower and one.metric != ALONE and one.run_cause:
        parts = [] if one.run_cause is Cause.NONE else [one.run_cause.words]
    return ", ".join(parts)


def _ratio(one: ComparedTwin) -> str:
    return f"{one.ratio:.3f} ({one.interval.low:.3f} to {one.interval.high:.3f})"


def _speed(one: ComparedTwin) -> str:
    return "alone" if one.metric == ALONE else f"N={one.kind.level}"


def unlike_columns(found: Sequence[ComparedTwin]) -> tuple[Column, ...]:
    """Of a row per host; its other speeds that are odd are named beside the first. Settings where some differ."""
    speeds: dict[str, list[str]] = {}
    for each in sorted(found, key=lambda one: one.kind.level):
        speeds.setdefault(each.host, []).append(_speed(each))
    columns = (
        Column("host", "host", kind="name"),
        Column("metric", "odd", kind="text", value=lambda one: ", ".join(speeds[one.host])),
        Column("ratio", "ratio", kind="figure", value=_ratio),
        Column("rank", "rank", kind="figure", value=lambda one: f"{one.rank} of {one.twins + 1}"),
        Column("p", "p", lambda value: f"{value:.1g}", kind="figure"),
        Column("runs", "runs", kind="figure"),
        Column("cause", "cause", kind="text", value=lambda one: cause_words(one) or "not named"),
        Column("differs", "differs in", kind="text", value=lambda one: "; ".join(one.differs)),
    )
    return columns if any(each.differs for each in found) else columns[:-1]


FAILED = (
    Column("name", "target", kind="name"),
    Column("state", "state", kind="text"),
    Column("why", "why", kind="text"),
)


def _of_spread(name: str) -> Callable[[tuple[Group, str, Spread]], Any]:
    return lambda row: getattr(row[2], name)


_SPREAD = (
    Column("metric", "speed", kind="text", value=lambda row: row[1]),
    Column("hosts", "hosts", kind="figure", value=_of_spread("hosts")),
    Column("unit", "unit", kind="text", value=lambda row: row[0].unit),
    Column("median", "median", rate, kind="figure", value=_of_spread("median")),
    Column("range", "least to most", kind="figure", value=lambda row: f"{rate(row[2].low)} to {rate(row[2].high)}"),
    Column("cv", "CV", kind="figure", value=lambda row: cv_words((row[2].cv, row[2].cv_interval))),
    Column(
        "between", "between hosts", kind="figure", value=lambda row: cv_words((row[2].between, row[2].between_interval))
    ),
    Column("answer", "hosts differ?", kind="text", value=lambda row: _answer(row[2])),
)
TYPES = (Column("value", "type", kind="name", value=lambda row: row[0].value), *_SPREAD)
GROUPS = (
    Column("key", "tag", kind="name", value=lambda row: row[0].key),
    Column("value", "value", kind="name", value=lambda row: row[0].value),
    *_SPREAD,
)


def _answer(found: Spread) -> str:
    return f"{found.answer.words}: {found.why}" if found.why else found.answer.words


def ranking_titles(rows: Sequence[RankedHost]) -> Mapping[tuple[str, ...], str]:
    """By work, in the order of the rows; its words where there are several, and a number where these are the same."""
    found: dict[tuple[str, ...], str] = {}
    works = dict.fromkeys(row.host.work for row in rows)
    for work in works:
        kinds = ", ".join(sorted({row.host.database for row in rows if row.host.work == work}))
        words = f": {' '.join(filter(None, work[1:3]))} on {kinds}" if len(works) > 1 else ""
        title = f"Ranking by the speed of a session{words}"
        same = sum(each == title or each.startswith(f"{title}, SQL ") for each in found.values())
        found[work] = f"{title}, SQL {same + 1}" if same else title
    return found


def ranking_columns(rows: Sequence[RankedHost]) -> tuple[Column, ...]:
    """Without those that no host has a figure for."""
    all_of_them = (
        Column("host", "host", kind="name", value=lambda row: row.host.name),
        Column("instance", "type", kind="text", value=lambda row: row.host.instance),
        Column("vcpus", "vCPUs", kind="figure", value=lambda row: row.host.vcpus),
        Column("quota", "CPU quota", kind="text", value=lambda row: _quota_words(row.host)),
        Column("alone", "alone", rate, kind="figure"),
        Column("loaded", "loaded", rate, kind="figure"),
        Column("disturbed", _LOST_TO.heading, kind="text", value=lambda row: _LOST_TO.of(row.host)),
        Column("per_vcpu", "per vCPU", rate, kind="figure"),
        Column("per_core", "per core", rate, kind="figure"),
        Column("per_licence", "per licence", number, kind="figure"),
        Column("per_money", "per money", number, kind="figure"),
        Column("currency", "money", kind="text"),
        Column("unit", "unit", kind="text", value=lambda row: row.host.unit),
    )
    return tuple(each for each in all_of_them if any(each.of(row) not in (None, "") for row in rows))


_LOST_TO = Column("disturbed", "lost CPU to", kind="text", value=lambda row: listed(row.disturbed))
_FIRST_VARIANT = Column("variant", "first variant", kind="name", value=lambda row: row.quote.variant)


def quoted_columns(hosts: Sequence[FleetHost]) -> tuple[Column, ...]:
    """The pair of each host; the variant that it is of, and what took CPU meanwhile, where a host has such."""
    columns = (
        Column("name", "host", kind="name"),
        _FIRST_VARIANT,
        Column("usable_cores", "usable cores", kind="text", value=lambda host: cores_words(host.quote)),
        Column("evenness", "evenness", kind="text", value=lambda host: evenness_words(host.quote)),
        _LOST_TO,
    )
    return tuple(each for each in columns if any(each.of(host) for host in hosts))


def sorted_by_evenness(hosts: Sequence[FleetHost]) -> Sequence[FleetHost]:
    """Those of which nobody knows how even they are last."""
    return sorted(hosts, key=lambda each: (each.quote.evenness is None, each.quote.evenness or 0.0, each.name))


def _quota_words(host: FleetHost) -> str:
    return quota_words(host.quote.quota, host.host_vcpus)


SMALL = (
    Column("kind", "kind", kind="text", value=lambda row: _kind_words(row.kind)),
    Column("count", "hosts", kind="figure", value=lambda row: len(row.hosts)),
    Column("hosts", "names", kind="text", value=lambda row: few_names(row.hosts)),
)
TOTALS = (
    Column("shape", "shape", kind="name"),
    Column("hosts", "hosts", kind="figure"),
    Column(
        "vcpus",
        "vCPUs",
        kind="figure",
        value=lambda row: range_words(row.min_vcpus, None if row.at_least else row.vcpus),
    ),
    Column("licences", "licences", kind="figure", value=lambda row: _licences(row)),
    Column("once", "once", kind="figure", value=lambda row: _money(row.once, row)),
    Column("per_year", "per year", kind="figure", value=lambda row: _money(row.per_year, row)),
)


def sizing_columns(found: FleetSizing) -> tuple[Column, ...]:
    """Host and busy cores, then vCPUs and licences on each shape."""

    def vcpus(at: int) -> Callable[[Sized], str]:
        return lambda row: row.needs[at].range_words

    def licences(at: int) -> Callable[[Sized], int | None]:
        return lambda row: row.needs[at].licences

    columns = [Column("host", "host", kind="name"), Column("busy", "busy cores", kind="figure")]
    for at, total in enumerate(found.totals):
        columns.append(Column(f"{total.shape}:vcpus", f"vCPUs of {total.shape}", kind="figure", value=vcpus(at)))
        if total.licences is not None:
            columns.append(Column(f"{total.shape}:licences", "licences", kind="figure", value=licences(at)))
    return tuple(columns)


def left_out_words(found: FleetSizing) -> Iterator[str]:
    """A sentence per reason."""
    whys: dict[str, list[str]] = {}
    for host, why in found.left_out:
        whys.setdefault(why.removeprefix(f"{host}: "), []).append(host)
    for why, hosts in whys.items():
        yield f"Not sized: {few_names(hosts)} ({why})."


def sizing_data(found: FleetSizing) -> Mapping[str, Any]:
    """For programs."""
    rows = [
        {"host": row.host, "busy": row.busy, "assumed": row.assumed, "needs": [
            {"shape": each.kind.name, "vcpus": each.vcpus, "cores": each.cores, "licences": each.licences,
             "price": each.price} for each in row.needs]}
        for row in found.rows
    ]  # fmt: skip
    return {"rows": rows, "totals": [plain_data(each) for each in found.totals], "left_out": found.left_out}


def kind_names(kinds: Sequence[TwinKind]) -> Mapping[TwinKind, str]:
    """As short as distinguishes them: the CPU model and vCPUs, and what else differs."""
    shown = ("cpu_model", "vcpus", "hypervisor", "database", "version", "work")
    differing = [name for name in shown if len({getattr(each, name) for each in kinds}) > 1]
    used = list(dict.fromkeys(["cpu_model", "vcpus", *differing]))
    return {each: _kind_words(each, used) for each in kinds}


def _kind_words(
    kind: TwinKind, used: Sequence[str] = ("cpu_model", "vcpus", "hypervisor", "database", "version")
) -> str:
    words = {
        "vcpus": f"{kind.vcpus} vCPUs" if kind.vcpus else "vCPUs unknown",
        "cpu_model": kind.cpu_model or "CPU unknown",
        "hypervisor": "no hypervisor" if kind.hypervisor == "none" else kind.hypervisor,
        "database": f"{kind.database} {kind.version}".strip(),
        "work": " ".join(filter(None, kind.work[1:3])),
    }
    return ", ".join(filter(None, (words[name] for name in words if name in used)))


def few_names(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _licences(row: Total) -> str | None:
    return None if row.licences is None else plural(row.licences, row.unit or "licence")


def _money(amount: float | None, row: Total) -> str | None:
    return None if amount is None else f"{amount:,.0f} {row.currency}"


class Record(Struct, frozen=True):
    """A target for programs: one row, measured or not. Ratios are to the median of the twins."""

    target: str
    state: str
    group: str
    tags: str
    instance: str = ""
    cpu_model: str = ""
    vcpus: int | None = None
    host_vcpus: int | None = None
    cores: int | None = None
    hypervisor: str = ""
    database: str = ""
    version: str = ""
    unit: str = ""
    alone: float | None = None
    loaded: float | None = None
    level: int | None = None
    per_vcpu: float | None = None
    per_core: float | None = None
    per_licence: float | None = None
    per_money: float | None = None
    currency: str = ""
    usable_cores: float | None = None
    usable_cores_low: float | None = None
    usable_cores_high: float | None = None
    evenness: float | None = None
    evenness_low: float | None = None
    evenness_high: float | None = None
    even: str = ""
    quota: float | None = None
    at_least: bool | None = None
    evenness_level: int | None = None
    variant: str = ""
    twins: int | None = None
    alone_ratio: float | None = None
    alone_low: float | None = None
    alone_high: float | None = None
    loaded_ratio: float | None = None
    unlike: str = ""
    cause: str = ""
    runs: str = ""
    why: str = ""


RECORD = tuple(Column(name, name) for name in Record.__struct_fields__)


def target_records(report: FleetReport) -> Sequence[Record]:
    """Every target in the order of the ranking, those that failed last."""
    compared: dict[str, dict[str, ComparedTwin]] = {}
    for each in report.twins.compared:
        compared.setdefault(each.host, {})[each.metric] = each
    measured = [_record(row, compared.get(row.host.name, {})) for row in report.ranking.rows]
    failed = [Record(each.name, each.state, each.group, _tags(each.tags), why=each.why) for each in report.failures]
    return [*measured, *failed]


def _record(row: RankedHost, compared: Mapping[str, ComparedTwin]) -> Record:
    host: FleetHost = row.host
    alone, loaded = compared.get(ALONE), next((one for name, one in compared.items() if name != ALONE), None)
    odd = [one for one in (alone, loaded) if one is not None and one.unlike]
    return Record(
        target=host.name, state="done", group=host.group, tags=_tags(host.tags), instance=host.instance,
        cpu_model=host.cpu_model, vcpus=host.vcpus, host_vcpus=host.host_vcpus, cores=host.cores,
        hypervisor=host.hypervisor, database=host.database, version=host.version, unit=host.unit,
        **{name: getattr(row, name) for name in RANKED},
        **{name: getattr(host.quote, name) for name in QUOTED},
        twins=alone.twins if alone else None,
        alone_ratio=alone.ratio if alone else None,
        alone_low=alone.interval.low if alone else None,
        alone_high=alone.interval.high if alone else None,
        loaded_ratio=loaded.ratio if loaded else None,
        unlike=" ".join(one.metric for one in odd),
        cause="; ".join(dict.fromkeys(filter(None, map(cause_words, odd)))),
        runs=" ".join(each.run_id for each in host.runs),
    )  # fmt: skip


def _tags(tags: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(tags.items()))

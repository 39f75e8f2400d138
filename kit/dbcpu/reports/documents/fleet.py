"""A campaign: which hosts are unlike their twins, how far hosts of one kind are apart, the ranking, and who failed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dbcpu.analysis.fleet.hosts import FleetHost, Kind
from dbcpu.analysis.fleet.kinds import LOTTERY, HostType
from dbcpu.analysis.fleet.twins import FALSE_SHARE, FEWEST_TWINS, WORTH_NAMING, Twins, Unlike
from dbcpu.analysis.levels.outcome import BAD, GOOD
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.fact import Fact
from dbcpu.formatting import UNKNOWN, number, percent, plural, rate
from dbcpu.reports.document import Chart, Column, Curves, Document, Front, Gauge, Section, Table
from dbcpu.reports.documents.lines import Line, comparing, pictured, titled_table

MOST_NAMED = 5
"""In a headline's sentences."""
MOST_CURVES = 6
SHOWN = 100
"""Rows of the ranking on a page; all are in the CSV and the JSON."""
READING = (
    "Each curve is one kind of host, sorted from the fastest to the slowest; 1 is the median of that kind. Of a flat "
    "curve the hosts are alike; an end that falls off is a few that are slower than the others."
)
NOTES = (
    f"Twins: hosts with the same CPU model, vCPUs, cores, hypervisor, database and work. A host is compared with the "
    f"median of all others of its kind, at least {FEWEST_TWINS}. It is named from a difference of "
    f"{percent(WORTH_NAMING)} on; of all that are named at most {percent(FALSE_SHARE)} are false on average "
    "(Benjamini-Hochberg). A host that is not named is not shown to be like its twins.",
    "Each host was measured at one time: a neighbour that was busy in that hour makes a host slower as well. Measure "
    "those that are named again, at another time of the day.",
    f"Lottery: the CV of hosts of one kind is above {percent(LOTTERY)} with 95 % confidence; undecided where its "
    "interval holds that value.",
)  # fmt: skip
TERMS = (
    ("alone", "the rate of a single session"),
    ("of its kind", "that rate over the median of all hosts of its kind"),
    ("usable cores", "the largest throughput in rates of a single session"),
    ("per vCPU", "the largest throughput of any number of sessions, of each vCPU"),
)


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A target without a whole run: its state, and why."""

    target: str
    state: str
    why: str


def document(
    name: str,
    hosts: Sequence[FleetHost],
    twins: Twins,
    types: Sequence[HostType],
    not_measured: Sequence[NotMeasured],
    unit: str,
) -> Document:
    """Everything of one campaign. ``unit``: of the rates of all."""
    title = f"Campaign {name}: {plural(len(hosts), 'host')}"
    medians = {each.kind: each.median for each in types}
    ranking = sorted(hosts, key=lambda each: -each.solo_rate)
    sections = tuple(
        filter(None, (_unlike(twins), _types(types, unit), _ranking(ranking, medians, unit), _failures(not_measured)))
    )
    chart = _chart(hosts, types)
    made = comparing(
        title=title,
        name="fleet",
        verdict=tuple(_sentences(twins, types, not_measured)),
        sections=sections,
        lines=list(_lines(ranking, medians)),
        notes=NOTES,
        data=lambda: _data(ranking, twins, types, not_measured),
        front=_front(title, hosts, twins, types, not_measured),
        page=lambda: (
            *([pictured(chart, READING, (), "Hosts of one kind beside each other")] if chart else []),
            *(_shortened(each) for each in sections),
            Section("reading", "How to read it", notes=NOTES, terms=TERMS),
        ),
        footer=f"dbcpu, campaign {name}.",
    )
    object.__setattr__(made, "gauges", lambda: _gauges(ranking, medians, twins))
    return made


def _front(
    title: str, hosts: Sequence[FleetHost], twins: Twins, types: Sequence[HostType], failed: Sequence[NotMeasured]
) -> Front:
    slower = [each for each in twins.unlike if each.ratio < 1]
    if not hosts:
        headline, tone = "No host was measured", BAD
    elif slower:
        headline, tone = (
            f"{plural(len(slower), 'host')} slower than {'its' if len(slower) == 1 else 'their'} twins",
            BAD,
        )
    elif twins.tested:
        headline, tone = f"No host of {twins.tested} is shown to be slower than its twins", GOOD
    else:
        headline, tone = f"Too few hosts of one kind to compare them: {FEWEST_TWINS + 1} are needed", ""
    answers = Counter(each.is_lottery for each in types if each.cv is not None)
    tiles = [
        Fact("hosts measured", str(len(hosts)), f"{len(failed)} not" if failed else "all"),
        Fact("slower than their twins", str(len(slower)), f"of {twins.tested} with twins"),
        Fact("kinds of hosts", str(len(types)), f"{answers[Answer.YES]} with hosts far apart"),
    ]
    return Front(
        "Is every host as good as those like it?", title, headline, tone,
        sentences=tuple(_sentences(twins, types, failed)), tiles=tuple(tiles), caveats=NOTES[1:2],
    )  # fmt: skip


def _sentences(twins: Twins, types: Sequence[HostType], failed: Sequence[NotMeasured]) -> Iterable[str]:
    for each in twins.unlike[:MOST_NAMED]:
        yield f"{_sentence(each)}."
    if len(twins.unlike) > MOST_NAMED:
        yield f"{len(twins.unlike) - MOST_NAMED} more hosts are unlike their twins."
    if not twins.unlike and twins.tested:
        yield f"Of {plural(twins.tested, 'host')} with twins none is shown to differ from them."
    if twins.alone:
        yield f"{plural(twins.alone, 'host')} with fewer than {FEWEST_TWINS} twins: not compared."
    for kind in types:
        if kind.is_lottery is Answer.YES and kind.cv is not None:
            yield f"{kind.kind}: a lottery, {plural(kind.hosts, 'host')} differ with a CV of {percent(kind.cv)}."
    if failed:
        yield f"{plural(len(failed), 'target')} not measured."


def _sentence(each: Unlike) -> str:
    word = "slower" if each.ratio < 1 else "faster"
    because = f"; it lost most to {each.host.lost_to.replace('_', ' ')}" if each.host.lost_to else ""
    return (
        f"{each.host.target} is {percent(abs(1 - each.ratio))} {word} alone than its {each.twins} twins "
        f"(95 % CI {number(each.interval.low)}x to {number(each.interval.high)}x){because}"
    )


def _unlike(twins: Twins) -> Section | None:
    if not twins.unlike:
        return None
    columns = (
        Column("target", "target", kind="name", value=lambda each: each.host.target),
        Column("ratio", "of its twins", lambda value: f"{number(value)}x", kind="figure"),
        Column("interval", "95 % CI", lambda it: f"{number(it.low)}x to {number(it.high)}x", kind="text"),
        Column("rank", "rank", value=lambda each: f"{each.rank} of {each.twins + 1}", kind="text"),
        Column("lost_to", "lost most to", kind="text", value=lambda each: each.host.lost_to or UNKNOWN),
        Column("findings", "findings of its run", kind="text",
               value=lambda each: ", ".join(list(each.host.findings)[:3]) or UNKNOWN),
        Column("run_id", "run", kind="text", value=lambda each: each.host.run_id),
    )  # fmt: skip
    return titled_table("unlike", "Unlike their twins", columns, twins.unlike)


def _types(types: Sequence[HostType], unit: str) -> Section | None:
    if not types:
        return None
    columns = (
        Column("kind", "kind of host", str, kind="text"),
        Column("hosts", "hosts"),
        Column("slowest", f"slowest, {unit}", rate),
        Column("median", "median", rate),
        Column("fastest", "fastest", rate),
        Column("cv", "CV", percent, kind="figure"),
        Column("interval", "95 % CI", lambda it: f"{percent(it.low)} to {percent(it.high)}" if it else UNKNOWN,
               kind="text"),
        Column("is_lottery", "lottery", lambda answer: answer.value, kind="text"),
    )  # fmt: skip
    return titled_table("types", "Kinds of hosts, by a single session", columns, types)


def _ranking(ranking: Sequence[FleetHost], medians: Mapping[Kind, float], unit: str) -> Section | None:
    if not ranking:
        return None
    place = {id(each): at for at, each in enumerate(ranking, 1)}
    columns = (
        Column("rank", "rank", value=lambda each: place[id(each)]),
        Column("target", "target", kind="name"),
        Column("solo_rate", f"alone, {unit}", rate),
        Column("of_kind", "of its kind", lambda value: f"{number(value)}x",
               value=lambda each: each.solo_rate / medians[each.kind]),
        Column("usable_cores", "usable cores", lambda value: number(value, 1)),
        Column("per_vcpu", "per vCPU", rate),
        Column("per_core", "per core", rate),
        Column("evenness", "evenness", number),
        Column("verdict", "equal CPU", kind="text"),
        Column("lost_to", "lost most to", kind="text", value=lambda each: each.lost_to or UNKNOWN),
    )  # fmt: skip
    return titled_table("ranking", "Ranking by the speed of a single session", columns, ranking)


def _failures(failed: Sequence[NotMeasured]) -> Section | None:
    if not failed:
        return None
    columns = (
        Column("target", "target", kind="name"),
        Column("state", "state", kind="text"),
        Column("why", "why", kind="text"),
    )
    return titled_table("failures", "Not measured", columns, failed)


def _shortened(section: Section) -> Section:
    """On a page, of a long ranking its two ends."""
    (table,) = section.tables
    rows = list(table.rows)
    if section.name != "ranking" or len(rows) <= SHOWN:
        return section
    ends = [*rows[: SHOWN // 2], *rows[-SHOWN // 2 :]]
    note = f"The first and last {SHOWN // 2} of {len(rows)}; all are in the CSV."
    return Section(section.name, section.title, tables=(Table(table.caption, table.columns, ends, (note,)),))


def _chart(hosts: Sequence[FleetHost], types: Sequence[HostType]) -> Chart | None:
    series = []
    for kind in types[:MOST_CURVES]:
        rates = sorted((each.solo_rate / kind.median for each in hosts if each.kind == kind.kind), reverse=True)
        if len(rates) > 1:
            # By share of the hosts: kinds with many and with few are seen beside each other.
            points = tuple((100 * at / (len(rates) - 1), ratio) for at, ratio in enumerate(rates))
            series.append((f"{kind.kind} ({kind.hosts})", points))
    if not series:
        return None
    title = "Speed of a single session, hosts of one kind from the fastest to the slowest"
    curves = Curves(title, "hosts of the kind, %", "rate / median of the kind", tuple(series), ideal=None)
    return Chart("fleet", title, curves)


def _lines(ranking: Sequence[FleetHost], medians: Mapping[Kind, float]) -> Iterable[Line]:
    for each in ranking:
        kind, vcpus = str(each.kind), each.kind.vcpus
        of_kind = each.solo_rate / medians[each.kind]
        yield Line(each.target, kind, 1, vcpus, "solo_mrows_per_s", each.solo_rate, of_kind)
        if each.usable_cores is not None:
            held = each.usable_cores_interval
            yield Line(each.target, kind, None, vcpus, "usable_cores", each.usable_cores, None,
                       held.low if held else None, held.high if held else None)  # fmt: skip
        if each.evenness is not None:
            yield Line(each.target, kind, None, vcpus, "evenness", each.evenness)


def _data(
    ranking: Sequence[FleetHost], twins: Twins, types: Sequence[HostType], failed: Sequence[NotMeasured]
) -> Mapping[str, Any]:
    return {
        "hosts": [asdict(each) for each in ranking],
        "unlike_their_twins": [
            {"target": each.host.target, "twins": each.twins, "rank": each.rank, "ratio": each.ratio,
             "low": each.interval.low, "high": each.interval.high, "p": each.p, "lost_to": each.host.lost_to}
            for each in twins.unlike
        ],
        "with_twins": twins.tested,
        "without_twins": twins.alone,
        "kinds": [{**asdict(each), "is_lottery": each.is_lottery.value} for each in types],
        "not_measured": [asdict(each) for each in failed],
    }  # fmt: skip


def _gauges(ranking: Sequence[FleetHost], medians: Mapping[Kind, float], twins: Twins) -> Iterable[Gauge]:
    unlike = {each.host.target for each in twins.unlike if each.ratio < 1}

    def samples(value: Any) -> tuple[tuple[Mapping[str, str], float | None], ...]:
        return tuple(({"target": each.target}, value(each)) for each in ranking)

    yield Gauge("dbcpu_fleet_solo_ratio", "Single-session rate over the median of its kind.", "ratio",
                samples(lambda each: each.solo_rate / medians[each.kind]))  # fmt: skip
    yield Gauge("dbcpu_fleet_usable_cores", "Largest throughput in rates of a single session.", "cores",
                samples(lambda each: each.usable_cores))  # fmt: skip
    yield Gauge("dbcpu_fleet_slower_than_twins", "1 for a host that is slower than its twins.", "bool",
                samples(lambda each: float(each.target in unlike)))  # fmt: skip

"""The report of a campaign: who is unlike its twins, do hosts of a type differ, who failed; ranking, groups, sizing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from dbcpu.analysis.fleet.hosts import ALONE, LOADED, FleetHost
from dbcpu.analysis.fleet.ranking import INSTANCE, Group
from dbcpu.analysis.fleet.report import FleetReport
from dbcpu.analysis.fleet.spread import DIFFERENT_CV, MIN_HOSTS
from dbcpu.analysis.fleet.twins import FALSE_DISCOVERIES, MIN_TWINS, ComparedTwin, TwinKind
from dbcpu.analysis.results.answer import Answer, Fact, Outcome
from dbcpu.analysis.results.experiments import DISTURBANCES
from dbcpu.formatting import listed, percent, plain, plural
from dbcpu.reports.document import Chart, Document, Front, Gauge, Section, Strips, Table
from dbcpu.reports.documents import fleet_tables as tables
from dbcpu.reports.documents.comparing_document import pictured
from dbcpu.reports.documents.quoted import QUOTED_TERMS
from dbcpu.reports.plain_data import plain_data
from dbcpu.reports.quoted_gauges import quoted_gauges

MAX_SAID = 3
"""Hosts that the first screen names; the table has all."""
MAX_STRIPS = 14
READING = (
    "Every dot is a host, by its speed over the median of its twins (single sessions). The wider a strip, the more "
    "the speed of a new host of this kind depends on chance. Diamonds are hosts that are unlike their twins."
)
TERMS = (
    ("twins", "hosts of the same CPU model, vCPUs, hypervisor, database and version that did the same work; the vCPUs "
     "are those that the host shows: a CPU quota is a setting, and may be why two of them differ"),
    ("unlike its twins", f"slower or faster than chance explains; of those named {percent(FALSE_DISCOVERIES)} or fewer "
     "are named by chance on average (Benjamini and Hochberg, 1995)"),
    ("hosts differ?", f"by nature, by more than a CV of {percent(DIFFERENT_CV)}: yes, no, or inconclusive"),
    ("CV", "standard deviation over mean"),
    ("between hosts", "the CV without the differences between runs of one host"),
    ("alone, loaded", "a single session; all together at the largest N up to the vCPUs"),
    *QUOTED_TERMS,
)  # fmt: skip
HOST_FACTS = (
    "name", "group", "vcpus", "host_vcpus", "cores", "cpu_model", "hypervisor", "database", "version", "instance",
    "unit",
)  # fmt: skip
NOT_ALIKE = "A host that is not named can still differ from its twins"


def document(report: FleetReport) -> Document:
    """Everything of a campaign, in words, tables, and one picture."""
    front = _front(report)
    body = (*_unlike(report), *_failed(report), *_quoted(report), *_types(report), *_ranking(report),
            *_sizing(report), *_small(report))  # fmt: skip
    title = f"Campaign {plain(report.campaign)}"
    notes = _notes(report)
    remarks = (*front.caveats, *notes)

    def page() -> tuple[Section, ...]:
        chart = _chart(report)
        first = (pictured(chart, READING, (), "All hosts"),) if chart else ()
        return (*body[:1], *first, *body[1:], Section("reading", "How to read it", notes=notes, terms=TERMS))

    return Document(
        title=title,
        name="fleet",
        verdict=(f"{front.headline}.", *front.sentences),
        sections=body,
        data=lambda: {"title": title, "verdict": [front.headline, *front.sentences], **_data(report), "notes": remarks},
        records=lambda: Table(title, tables.RECORD, tables.target_records(report)),
        notes=remarks,
        front=front,
        make_page=page,
        footer=f"dbcpu, {plural(len(report.hosts), 'host')}.",
        gauges=lambda: _gauges(report),
    )


def _front(report: FleetReport) -> Front:
    names = {each.host for each in report.twins.unlike}
    measured, failed = len(report.hosts), len(report.failures)
    named = sorted(_one_each(report.twins.unlike), key=lambda each: -abs(each.ratio - 1))
    compared = {each.host for each in report.twins.compared}
    if names:
        whose = "is unlike its" if len(names) == 1 else "are unlike their"
        headline = f"{len(names)} of {plural(measured, 'host')} {whose} twins"
    elif compared:
        headline = f"None of {len(compared)} hosts with twins was found to be unlike its twins"
    else:
        headline = f"{plural(measured, 'host')}: none has the {MIN_TWINS} twins that a comparison takes"
    types = [_of_type(each) for each in report.groups if each.key == INSTANCE]
    sentences = [f"{tables.sentence(each)}." for each in named[:MAX_SAID]]
    if len(names) > MAX_SAID:
        sentences.append(f"{len(names) - MAX_SAID} more are in the table.")
    if undecided := report.twins.undecided:
        sentences.append(_undecided(undecided))
    sentences += [each for each in types if each][:MAX_SAID]
    if failed:
        sentences.append(f"{plural(failed, 'target')} failed: {_states(report)}.")
    slower = any(each.slower for each in named)
    tone = Outcome.BAD if slower else Outcome.PARTLY if failed or names else Outcome.NEITHER
    return Front(
        question="Is a host unlike its twins, and do hosts of one type differ?",
        heading=f"Campaign {plain(report.campaign)}",
        headline=headline,
        tone=tone,
        sentences=tuple(sentences),
        tiles=_tiles(report, names),
        caveats=tuple(_caveats(report, len(compared))),
    )


def _undecided(hosts: Sequence[str]) -> str:
    return (
        f"Inconclusive: {plural(len(hosts), 'host')} ({tables.few_names(hosts)}). Each is further from its twins than "
        "these differ among themselves, and its own rounds differ too much for an answer; measure again with more "
        "rounds."
    )


def _tiles(report: FleetReport, unlike: set[str]) -> tuple[Fact, ...]:
    answers = [each.spreads[ALONE].answer for each in report.groups if each.key == INSTANCE and ALONE in each.spreads]
    decided = len(answers) - answers.count(Answer.UNDECIDED)
    types = f"{answers.count(Answer.YES)} of {decided}" if decided else "inconclusive"
    of_types = Fact("types whose hosts differ", types, f"{len(answers) - decided} of {len(answers)} inconclusive")
    return (
        Fact("hosts measured", str(len(report.hosts)), f"of {len(report.hosts) + len(report.failures)}"),
        Fact("unlike their twins", str(len(unlike)), "slower or faster than chance explains"),
        *([of_types] if answers else []),
        Fact("failed", str(len(report.failures)), _states(report) or "none"),
    )


def _states(report: FleetReport) -> str:
    counts = Counter(each.state for each in report.failures)
    return listed([f"{count} {state}" for state, count in counts.most_common()])


def _caveats(report: FleetReport, compared: int) -> Iterator[str]:
    if found := report.twins.detectable.get(ALONE):
        yield f"{NOT_ALIKE}: differences below about {percent(found)} are not reliably found."
    once = sum(len(each.runs) == 1 for each in report.hosts)
    if once and compared:
        yield (
            f"{plural(once, 'host')} measured once: whether the host or the hour is odd is inconclusive; a second run "
            "decides."
        )
    own_quota = {DISTURBANCES["throttled"]}
    if busy := [each.name for each in report.hosts if set(each.disturbed) - own_quota]:
        yield (
            f"{plural(len(busy), 'host')} lost CPU to others while measured ({tables.few_names(busy)}); a quiet host "
            "is faster."
        )
    if alone := sum(len(each.hosts) for each in report.twins.too_few if each.kind.metric == ALONE):
        yield f"{plural(alone, 'host')} with fewer than {MIN_TWINS} twins: these were compared with nobody."
    if blind := sum(not each.sees_host for each in report.hosts):
        yield f"{plural(blind, 'host')} seen through SQL only: their hardware is not known, and twins may differ in it."


def _of_type(group: Group) -> str:
    """``Hosts of type c4.4xlarge differ: 12 hosts have a CV of 9 % (7 to 12 %).``; '' where nothing was measured."""
    found = group.spreads.get(ALONE)
    if found is None:
        return ""
    type_ = plain(group.value)
    kind = {
        Answer.YES: f"Hosts of type {type_} differ",
        Answer.NO: f"Hosts of type {type_} differ by a CV below {percent(DIFFERENT_CV)}",
        Answer.UNDECIDED: f"Inconclusive: whether hosts of type {type_} differ by more than {percent(DIFFERENT_CV)}",
    }[found.answer]
    known = found.between is not None
    shown = (found.between, found.between_interval) if known else (found.cv, found.cv_interval)
    seen = f" {plural(found.hosts, 'host')} with a CV of {tables.cv_words(shown)}" if shown[0] is not None else ""
    why = f"{';' if seen else ''} {found.why}" if found.why else ""
    return f"{kind}:{seen}{why}."


def _one_each(named: Sequence[ComparedTwin]) -> list[ComparedTwin]:
    """Of a host that is odd alone and loaded, what is said of it alone: that is the host and not its size."""
    found = {each.host: each for each in named if each.metric != ALONE} | {
        each.host: each for each in named if each.metric == ALONE
    }
    return sorted(found.values(), key=lambda each: (each.ratio, each.host))


def _unlike(report: FleetReport) -> Iterator[Section]:
    found = report.twins.unlike
    if found:
        caption = "Unlike their twins"
        note = "ratio: speed over the median of the twins, with a 95 % interval; rank 1 is the fastest of all twins."
        table = Table(
            caption,
            tables.unlike_columns(found),
            _one_each(found),
            (note,),
            worst_first="are slowest beside their twins",
        )
        yield Section("unlike", caption, tables=(table,), open_tables=True)
    else:
        yield Section("unlike", "Unlike their twins", missing=_nothing(report))


def _nothing(report: FleetReport) -> str:
    if not report.twins.compared:
        return f"No host has {MIN_TWINS} twins to be compared with: measure more of one kind."
    return f"None was found. {NOT_ALIKE}."


def _failed(report: FleetReport) -> Iterator[Section]:
    if report.failures:
        caption = f"{plural(len(report.failures), 'target')} that failed"
        yield Section("failed", caption, tables=(Table(caption, tables.FAILED, report.failures),))


def _types(report: FleetReport) -> Iterator[Section]:
    for name, title, wanted in (
        ("types", "Instance types", [each for each in report.groups if each.key == INSTANCE]),
        ("tags", "Groups by tag", [each for each in report.groups if each.key != INSTANCE]),
    ):
        rows = [(each, metric, each.spreads[metric]) for each in wanted for metric in (ALONE, LOADED)
                if metric in each.spreads]  # fmt: skip
        if rows:
            note = (
                f"CV: as measured. Between hosts: what is left of it without the differences between runs of one host. "
                f"Hosts differ: more than {percent(DIFFERENT_CV)} between hosts; inconclusive below {MIN_HOSTS} hosts."
            )
            columns = tables.GROUPS if name == "tags" else tables.TYPES
            yield Section(name, title, tables=(Table(title, columns, rows, (note,)),))


def _quoted(report: FleetReport) -> Iterator[Section]:
    if report.hosts:
        caption = "To quote, the least even host first"
        newest = " Both are of the newest run of a host." if any(len(each.runs) > 1 for each in report.hosts) else ""
        note = (
            "Each evenness is at the N named, the least even level up to the vCPUs or the CPU quota of that host: no "
            f"difference of two is tested here.{newest}"
        )
        shown, left_out = tables.first_and_last(tables.sorted_by_evenness(report.hosts))
        columns = tables.quoted_columns(report.hosts)
        yield Section("quoted", "To quote", tables=(Table(caption, columns, shown, (note, *left_out)),))


def _ranking(report: FleetReport) -> Iterator[Section]:
    """A table for each work: speeds of different SQL, or of another size, are no ranking."""
    rows = report.ranking.rows
    if rows:
        columns, titles = tables.ranking_columns(rows), tables.ranking_titles(rows)
        parts = [
            (title, tables.first_and_last([row for row in rows if row.host.work == work]))
            for work, title in titles.items()
        ]
        made = [Table(title, columns, shown, left_out) for title, (shown, left_out) in parts]
        several = f"The hosts did {len(made)} kinds of work; only those of the same SQL and size are ranked together."
        notes = (
            *([several] if len(made) > 1 else []),
            *report.ranking.unknown,
            *(f"Rule {each}." for each in report.ranking.rules),
        )
        made[-1] = replace(made[-1], notes=(*made[-1].notes, *notes))
        yield Section("ranking", "Ranking", tables=tuple(made))


def _sizing(report: FleetReport) -> Iterator[Section]:
    found = report.sizing
    if found is None:
        return
    title = "New shapes for the whole inventory"
    if not found.rows:
        yield Section("sizing", title, missing="No host could be sized.", notes=tuple(tables.left_out_words(found)))
        return
    shown, cut = tables.first_and_last(found.rows)
    assumed = sum(each.assumed for each in found.rows)
    notes = [*cut, *found.unknown, *tables.left_out_words(found), *(f"Rule {each}." for each in found.rules)]
    if assumed:
        notes.insert(
            0, f"{plural(assumed, 'host')} without a tag busy: all cores are assumed to be busy, which is the maximum."
        )
    if found.disclaimer:
        notes.append(f"{found.disclaimer[0].upper()}{found.disclaimer[1:]}.")
    sums = Table("Sums over all hosts", tables.TOTALS, found.totals)
    each = Table("Each host", tables.sizing_columns(found), shown, tuple(notes))
    yield Section("sizing", title, tables=(sums, each))


def _small(report: FleetReport) -> Iterator[Section]:
    small = [each for each in report.twins.too_few if each.kind.metric == ALONE]
    if small:
        caption = "Too few to compare"
        note = f"A host is compared with {MIN_TWINS} twins or more."
        shown, left_out = tables.first_and_last(small)
        yield Section("small", caption, tables=(Table(caption, tables.SMALL, shown, (note, *left_out)),))


def _notes(report: FleetReport) -> tuple[str, ...]:
    settings = sum(bool(each.differs) for each in report.twins.unlike)
    found = [
        "A cause is a figure that is higher in this run than in that of the median twin; it is evidence, not proof."
    ]
    if settings:
        found.append(f"{plural(settings, 'odd host')} with settings that the twins do not have: see 'differs in'.")
    return tuple(found)


def _chart(report: FleetReport) -> Chart | None:
    """By kind of twins the ratios of single sessions; the largest kinds."""
    kinds: dict[TwinKind, list[ComparedTwin]] = {}
    for each in report.twins.compared:
        if each.metric == ALONE:
            kinds.setdefault(each.kind, []).append(each)
    if not kinds:
        return None
    largest = sorted(kinds.items(), key=lambda item: -len(item[1]))
    below = f"the {MAX_STRIPS} largest of {len(largest)} kinds" if len(largest) > MAX_STRIPS else ""
    titles = tables.kind_names(list(kinds))
    strips = tuple(
        (
            titles[kind],
            tuple((each.host, each.ratio, each.unlike) for each in sorted(members, key=lambda one: one.host)),
        )
        for kind, members in largest[:MAX_STRIPS]
    )
    title = f"Speed of a single session, {plural(sum(map(len, kinds.values())), 'host')}"
    return Chart("fleet", title, Strips(title, strips, "speed over the median of the twins", below))


def _data(report: FleetReport) -> Mapping[str, Any]:
    return {
        "campaign": report.campaign,
        "hosts": [_host(each) for each in report.hosts],
        "failures": [plain_data(each) for each in report.failures],
        "unlike": [plain_data(each) for each in report.twins.unlike],
        "compared": [plain_data(each) for each in report.twins.compared],
        "too_few": [plain_data(each) for each in report.twins.too_few],
        "detectable": dict(report.twins.detectable),
        "groups": [plain_data(each) for each in report.groups],
        "ranking": [
            {"host": each.host.name, **{name: getattr(each, name) for name in tables.RANKED}}
            for each in report.ranking.rows
        ],
        "unknown": report.ranking.unknown,
        "rules": report.ranking.rules,
        "sizing": None if report.sizing is None else tables.sizing_data(report.sizing),
    }


def _host(host: FleetHost) -> Mapping[str, Any]:
    found = {name: getattr(host, name) for name in HOST_FACTS}
    quote = {name: getattr(host.quote, name) for name in tables.QUOTED}
    runs = [plain_data(each) for each in host.runs]
    return {**found, **quote, "tags": dict(host.tags), "settings": dict(host.settings), "runs": runs}


def _gauges(report: FleetReport) -> Sequence[Gauge]:
    campaign = {"campaign": report.campaign}

    def of(compared: ComparedTwin) -> Mapping[str, str]:
        return {**campaign, "host": compared.host, "speed": compared.metric}

    types = [(each, each.spreads[ALONE]) for each in report.groups if each.key == INSTANCE and ALONE in each.spreads]
    rates = [({**campaign, "host": each.host.name}, each.alone * 1e6) for each in report.ranking.rows]
    states = Counter(each.state for each in report.failures)
    quotes = [({**campaign, "host": each.name}, each.quote) for each in report.hosts]
    return (
        Gauge("dbcpu_fleet_hosts", "Hosts with a whole run.", "", ((campaign, float(len(report.hosts))),)),
        Gauge("dbcpu_fleet_failed", "Targets that failed, by state.", "",
              tuple(({**campaign, "state": state}, float(count)) for state, count in states.items())),
        Gauge("dbcpu_fleet_units_per_second", "Speed of a single session.", "", tuple(rates)),
        Gauge("dbcpu_fleet_twins_ratio", "Speed over the median of the twins.", "ratio",
              tuple((of(each), each.ratio) for each in report.twins.compared)),
        Gauge("dbcpu_fleet_unlike", "Unlike its twins: 1 yes, 0 not shown.", "",
              tuple((of(each), float(each.unlike)) for each in report.twins.compared)),
        Gauge("dbcpu_fleet_type_cv_ratio", "Coefficient of variation of the hosts of a type.", "ratio",
              tuple(({**campaign, "type": each.value}, spread.cv) for each, spread in types)),
        *quoted_gauges(quotes, "dbcpu_fleet"),
    )  # fmt: skip

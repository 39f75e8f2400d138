"""The page of one run: a section per chart with its numbers, findings, checks, environment, words."""

from collections.abc import Callable, Sequence
from functools import partial

from dbcpu.analysis.conclusions.assurances import assurances
from dbcpu.analysis.host_usage.pressure import PressureShares, typical_pressure
from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.placement.residency import poll_hz
from dbcpu.analysis.placement.timeline import Timeline, timeline
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, percent, plain, plural, seconds
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Chart, FactList, RunPicture, Section, Table
from dbcpu.reports.documents import run_tables
from dbcpu.reports.documents.environment import environment
from dbcpu.reports.documents.experiments import experiment_lines, experiment_tables
from dbcpu.reports.documents.run_readings import READINGS, reading
from dbcpu.reports.documents.run_summary import limits_of, slowed_sessions, summary

TERMS = (
    ("session", "one database connection with a server process behind it, doing fixed work that needs CPU only"),
    ("level, N", "concurrency: N sessions are released together, in several rounds per level"),
    ("baseline", "the single-session time: the median of all valid rounds with one session"),
    ("slowdown", "elapsed time / single-session time: 1.00x is full speed, 2.00x is half the speed"),
    ("cause", "the main reason for the slowdown of a session, named only if the evidence explains most of it"),
    (
        "shared core",
        "another session ran on another hardware thread of the same core: both need more CPU time for the same work",
    ),
    ("run queue", "ready to run, but another session ran on that CPU"),
    ("representative round", "the median round of the most uneven level; bars, map and lanes show it"),
)
OF_VARIANTS = (
    "variant",
    "the same levels under another setting; charts show all of them, the answer above is of the first",
)
OF_SOAK = (
    "Sessions: the time of a session is the mean of its executions in a segment, not the median of executions that the "
    "segments show; a few slow executions raise it"
)
UNKNOWN_CELL = ("-", "not known from this record; never zero")
SOURCE = (
    "Charts, tables and sentences are computed from the stored record, which has raw measurements only. A later "
    "version may explain the same record better. Formulas and their sources: `docs/methods.md`."
)


def page_sections(record: RunRecord, analysis: Analysis, said: Sequence[str] = ()) -> tuple[Section, ...]:
    """In the order of the page; with several variants charts and tables show each of them.

    ``said``: sentences that the page has above, which it does not repeat.
    """
    levels = analysis.levels
    lines = [(each.variant, timeline(record, each.order)) for each in representative_rounds(analysis)]
    watched = [(variant, line) for variant, line in lines if line is not None]
    host = record.header.host
    none_valid = "No valid session of this run can be compared with the single-session time."
    not_sampled = _not_sampled(record, analysis)

    def shown(name: str, title: str, missing: str, table: Table | None, intro: str = "") -> Section:
        how = reading(name, analysis, [line for _, line in watched])
        return _pictured(record, analysis, name, title, missing, [table] if table else [], intro, how)

    throughput_table = partial(run_tables.throughput_table, unit=analysis.unit)

    def of_levels(make: Callable[..., Table]) -> Table | None:
        return make(levels) if levels else None

    return (
        *_experiment(record, analysis),
        *_variants(record, analysis),
        shown("slowdown", "Slowdown by concurrency", none_valid, of_levels(run_tables.slowdown_table)),
        shown("throughput", "Throughput", none_valid, of_levels(throughput_table)),
        *levels_section(record, analysis, "Medians over rounds, by concurrency (N)", said),
        *details_section(analysis),
        *slowed_section(analysis, "Slowed sessions"),
        *published_section(analysis),
        shown(
            "host", "The host", _no_host(record),
            run_tables.host_table(record), f"{'; '.join((*limits_of(host, analysis), *pressure_lines(record)))}."
            if host else "",
        ),
        shown("sessions", "Where the time went", none_valid, run_tables.sessions_table(record, analysis)),
        shown(
            "cpu_map", "Use of the CPUs", not_sampled,
            run_tables.cpu_table(watched) if watched else None, _wasted(watched),
        ),
        shown(
            "lanes", "Where each session ran", not_sampled,
            run_tables.lanes_table(record, analysis) if watched else None,
        ),
        shown("connect", "Time to connect", none_valid, of_levels(run_tables.connect_table)),
        Section("findings", "Findings", missing="Nothing to report.", findings=analysis.findings),
        Section("checks", "Can the figures be trusted?", checks=assurances(record, analysis)),
        Section(
            "environment", "Environment", facts=environment(record),
            asides=(("The SQL", sql.strip()),) if (sql := record.header.plan.workload.sql) else (),
        ),
        Section(
            "reading", "How to read it", notes=(SOURCE,),
            terms=(*TERMS, *([OF_VARIANTS] if analysis.variants else []), UNKNOWN_CELL),
        ),
    )  # fmt: skip


def levels_section(
    record: RunRecord, analysis: Analysis, caption: str = "", said: Sequence[str] = ()
) -> tuple[Section, ...]:
    """The level table and its summary, without what is ``said`` already; () without levels."""
    if not analysis.levels:
        return ()
    if analysis.soak is not None:
        caption = OF_SOAK
    known = {plain(each) for each in said}
    lines = tuple((name, text) for name, text in summary(record, analysis) if text not in known)
    facts = (FactList(lines),) if lines else ()
    return (Section("levels", "Levels", tables=(run_tables.levels_table(analysis, caption),), facts=facts),)


def details_section(analysis: Analysis) -> tuple[Section, ...]:
    """Percentiles and utilisation, () where no level has them."""
    if not any(each.details for each in analysis.levels):
        return ()
    return (Section("details", "Percentiles and CPU utilisation", tables=(run_tables.details_table(analysis),)),)


def published_section(analysis: Analysis) -> tuple[Section, ...]:
    """What others found, () where this run has none of these figures."""
    table = run_tables.published_table(analysis)
    return (Section("published", table.caption, tables=(table,)),) if table.rows else ()


def slowed_section(analysis: Analysis, title: str = "") -> tuple[Section, ...]:
    """The slowed sessions of the representative round, () if none. ``title``: by default that of the table."""
    table = run_tables.slowed_table(analysis)
    return (Section("slowed", title or table.caption, tables=(table,)),) if slowed_sessions(analysis) else ()


def _pictured(
    record: RunRecord, analysis: Analysis, name: str, title: str, missing: str, tables: Sequence[Table],
    intro: str = "", how: str = "",
) -> Section:  # fmt: skip
    usual = name not in ("soak", "sizes", "pool", "together", "variants")
    chart = Chart(name, title, RunPicture(record, analysis, usual), how or READINGS[name])
    return Section(name, title, intro, (chart,), missing, tuple(tables))


def _experiment(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    titles = {
        "soak": ("Over time", analysis.soak is not None and not analysis.soak.sizes),
        "sizes": ("Short and long SQL", analysis.soak is not None and bool(analysis.soak.sizes)),
        "pool": ("Pool sizes", analysis.pool is not None),
        "together": ("Separately and together", analysis.together is not None),
    }
    lead = " ".join(f"{name.capitalize()}: {text}." for name, text in experiment_lines(analysis))
    tables = experiment_tables(analysis)
    return tuple(
        _pictured(record, analysis, name, title, "No round was finished.", tables[:1], lead)
        for name, (title, there) in titles.items()
        if there
    )


def _variants(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    """None of a run of one variant."""
    found = analysis.variants
    if found is None:
        return ()
    missing, tables = "No level was measured under all variants.", [run_tables.variants_table(found)]
    return (_pictured(record, analysis, "variants", "Effect of the variants", missing, tables),)


def _wasted(watched: Sequence[tuple[str, Timeline]]) -> str:
    wasted = [(variant, line.wasted_core_s) for variant, line in watched if line.wasted_core_s > 0]
    where = [
        f"{seconds(wasted_s)} in all" + (f" ({variant})" if len(watched) > 1 else "") for variant, wasted_s in wasted
    ]
    noun = "core" if any(line.has_threads for _, line in watched) else "CPU"
    return (
        f"{noun[0].upper()}{noun[1:]}s were idle for {listed(where)} while another {noun} was shared." if wasted else ""
    )


def _not_sampled(record: RunRecord, analysis: Analysis) -> str:
    rounds = [each for each in record.rounds if each.order == analysis.telling_order]
    if not rounds:
        return "No round can be shown."
    hows = dict.fromkeys(session.server.how for session in rounds[0].sessions if not session.residency)
    reason = rounds[0].not_sampled or next((how for how in hows if how), "no placement was recorded")
    if any(session.residency for session in rounds[0].sessions):
        apart = seconds(1 / poll_hz(rounds[0]))
        reason = f"polls are {apart} apart, and none fell between start and end of a session"
    return plain(f"{plural(len(rounds[0].sessions), 'session')} not sampled: {reason}.")


def _no_host(record: RunRecord) -> str:
    reason = next((each.not_sampled for each in record.rounds if each.not_sampled), "")
    return f"The host was not sampled{f': {plain(reason)}' if reason else ''}."


def pressure_lines(record: RunRecord) -> tuple[str, ...]:
    """A sentence without its full stop; () where the kernel does not count it."""
    top = max((each.level for each in record.rounds if each.pressure), default=0)
    found = typical_pressure(each for each in record.rounds if each.level == top)
    if not found:
        return ()
    return (f"CPU pressure at N={top}: {', '.join(map(_words, found))}",)


def _words(one: PressureShares) -> str:
    if not one.path:
        return f"for {percent(one.some)} of the time some process of the host waited for a CPU"
    full = "" if one.full is None else f" and none of its work had one for {percent(one.full)}"
    return f"for {percent(one.some)} one of control group {plain(one.path)} did{full}"

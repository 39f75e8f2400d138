"""The page of one run: a section per picture with the numbers beside it, findings, checks, environment, words."""

from collections.abc import Callable, Sequence

from dbcpu.analysis.checks.passed_checks import assurances
from dbcpu.analysis.comparison.variant_sentences import variant_sentences
from dbcpu.analysis.levels.representative_round import telling_rounds
from dbcpu.analysis.placement.timeline import Timeline, timeline
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, plain, plural, seconds
from dbcpu.record import RunRecord
from dbcpu.reports.document import Chart, FactList, RunPicture, Section, Table
from dbcpu.reports.documents import run_tables
from dbcpu.reports.documents.environment import environment
from dbcpu.reports.documents.experiments import experiment_lines, experiment_tables
from dbcpu.reports.documents.run_summary import limits_of, losers, summary

READINGS = {
    "soak": (
        "A row per session: the darker, the slower its executions at that time. Below: the median of all, the band "
        "from 5 % to 95 %, and to the right how often each time occurred; two humps are two preferred values. A row "
        "that stays dark is a session stuck on a shared core or a crowded CPU; a dark column hit everybody."
    ),
    "sizes": (
        "How much longer the slow executions of a size take than its fast ones. A long statement sees many decisions "
        "of the scheduler and averages them; a short one has ended before anything is evened out."
    ),
    "pool": (
        "The dashed line is the smallest pool that finishes as early as any. Beyond it the total stays, each piece "
        "takes longer in proportion, and memory grows with each session."
    ),
    "together": "Bars of equal length: the targets do not disturb each other. The number is beside over alone.",
    "variants": (
        "The same sessions under another setting of the host, at the level at which the first variant is most "
        "uneven; everything is over the first, which is 1. Lower max/min is more even; throughput, here all work "
        "until the last session ended, is what that costs or gains."
    ),
    "host": ("A box with a dark edge is a core; the fields in it are the CPUs (hardware threads) that share it."),
    "slowdown": (
        "Every mark is a session, by its cause; the black bar is the median. Everybody on one line is fair; "
        "two clouds above one N are winners and losers. The dashed line is what fair shares of all vCPUs "
        "would give. Very many sessions are counted in fields, the darker the more."
    ),
    "throughput": (
        "The sum of rates counts while all sessions ran, the makespan until the last one ended: a gap between "
        "them means that some finish late while CPUs stand free. A bend at half of the vCPUs is where cores "
        "end and threads begin."
    ),
    "sessions": (
        "Grey is what the work takes alone, everything beyond it was lost. More CPU time on exactly two "
        "sessions: a shared core. Run queue on all: more sessions than vCPUs."
    ),
    "cpu_map": (
        "A row per CPU, the CPUs of a core together. Orange beside yellow: two sessions shared a core while "
        "another core was free, which better placement would mend. Very many cores are counted instead of "
        "drawn one by one."
    ),
    "lanes": (
        "A lane per session, the slowest on top. The number is the CPU, the colour its core, hatching means "
        "sharing, a black line is a move. Sticky lanes of unequal lengths: nobody was moved off a shared "
        "core. Many lanes are coloured by what they share instead."
    ),
    "connect": (
        "Sessions connect in small batches and each is timed alone. It is not part of any slowdown; a rise "
        "with N is the cost of new server processes."
    ),
}

TERMS = (
    ("session", "one database connection with a server process behind it, doing fixed work that needs CPU only"),
    ("level, N", "so many sessions at once; released together, several rounds of each level"),
    ("alone", "the reference: the median of all valid rounds with one session"),
    ("slowdown", "elapsed time over that of one session alone: 1.00x is no loss, 2.00x is half the speed"),
    ("cause", "what took most of a session's loss, named only when the evidence accounts for it"),
    (
        "shared core",
        "another session ran on the other hardware thread of the same core: both need more CPU time for the same work",
    ),
    ("run queue", "runnable, but another session had the CPU"),
    ("most telling round", "the median round of the most uneven level; bars, map and lanes show it"),
)
OF_VARIANTS = (
    "variant",
    "the same levels under another setting; pictures show all of them, the answer above is of the first",
)
UNKNOWN_CELL = ("-", "cannot be told from this record; never zero")
SOURCE = (
    "Bars, table and sentences are computed from the stored record, which holds raw measurements only; the same record "
    "explained by a later version may tell more. Formulas and their sources: `docs/methods.md`."
)


def page_sections(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    """In the order of the page; with several variants pictures and tables show each of them."""
    levels = analysis.levels
    lines = [(each.variant, timeline(record, each.order)) for each in telling_rounds(analysis)]
    watched = [(variant, line) for variant, line in lines if line is not None]
    host = record.header.host
    none_valid = "No valid session of this run can be compared with one alone."
    not_watched = _not_watched(record, analysis)

    def shown(name: str, title: str, missing: str, table: Table | None, intro: str = "") -> Section:
        return _pictured(record, analysis, name, title, missing, [table] if table else [], intro)

    def of_levels(make: Callable[..., Table]) -> Table | None:
        return make(levels) if levels else None

    return (
        *_experiment(record, analysis),
        *_variants(record, analysis),
        shown("slowdown", "Slowdown by number of sessions", none_valid, of_levels(run_tables.slowdown_table)),
        shown("throughput", "Throughput", none_valid, of_levels(run_tables.throughput_table)),
        *levels_section(record, analysis, "Medians over rounds, by the number of sessions at once (N)"),
        *losers_section(analysis, "Who lost"),
        shown(
            "host", "The host", "The measured host was not looked at: the database runs elsewhere.",
            run_tables.host_table(record), f"{'; '.join(limits_of(host, analysis))}." if host else "",
        ),
        shown("sessions", "Where the time went", none_valid, run_tables.sessions_table(record, analysis)),
        shown(
            "cpu_map", "What the CPUs did", not_watched,
            run_tables.cpu_table(watched) if watched else None, _wasted(watched),
        ),
        shown(
            "lanes", "Where each session ran", not_watched,
            run_tables.lanes_table(record, analysis) if watched else None,
        ),
        shown("connect", "Time to connect", none_valid, of_levels(run_tables.connect_table)),
        Section("findings", "Findings", missing="Nothing to report.", findings=analysis.findings),
        Section("checks", "Can the figures be trusted?", checks=assurances(record, analysis)),
        Section(
            "environment", "Environment", facts=environment(record),
            asides=(("The SQL", record.header.plan.workload.sql.strip()),),
        ),
        Section(
            "reading", "How to read it", notes=(SOURCE,),
            terms=(*TERMS, *([OF_VARIANTS] if analysis.variants else []), UNKNOWN_CELL),
        ),
    )  # fmt: skip


def levels_section(record: RunRecord, analysis: Analysis, caption: str = "") -> tuple[Section, ...]:
    """The level table and what it comes to; () without levels."""
    if not analysis.levels:
        return ()
    said = summary(record, analysis)
    facts = (FactList(said),) if said else ()
    return (Section("levels", "Levels", tables=(run_tables.levels_table(analysis, caption),), facts=facts),)


def losers_section(analysis: Analysis, title: str = "") -> tuple[Section, ...]:
    """Who lost in the most telling round; () where nobody did. ``title``: by default that of the table."""
    table = run_tables.losers_table(analysis)
    return (Section("losers", title or table.caption, tables=(table,)),) if losers(analysis) else ()


def _pictured(
    record: RunRecord, analysis: Analysis, name: str, title: str, missing: str, tables: Sequence[Table], intro: str = ""
) -> Section:
    usual = name not in ("soak", "sizes", "pool", "together", "variants")
    chart = Chart(name, title, RunPicture(record, analysis, usual), READINGS[name])
    return Section(name, title, intro, (chart,), missing, tuple(tables))


def _experiment(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    titles = {
        "soak": ("Over time", analysis.soak is not None and not analysis.soak.sizes),
        "sizes": ("Short and long SQL", analysis.soak is not None and bool(analysis.soak.sizes)),
        "pool": ("How many active sessions are enough", analysis.pool is not None),
        "together": ("Alone and beside the others", analysis.together is not None),
    }
    lead = " ".join(f"{name.capitalize()}: {text}." for name, text in experiment_lines(analysis))
    tables = experiment_tables(analysis)
    return tuple(
        _pictured(record, analysis, name, title, "No round of it was finished.", tables[:1], lead)
        for name, (title, there) in titles.items()
        if there
    )


def _variants(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    """None of a run of one variant."""
    found = analysis.variants
    if found is None:
        return ()
    lead, missing = plain(" ".join(variant_sentences(found))), "No level was measured under all variants."
    tables = [run_tables.variants_table(found)]
    return (_pictured(record, analysis, "variants", "What the variants change", missing, tables, lead),)


def _wasted(watched: Sequence[tuple[str, Timeline]]) -> str:
    told = [(variant, line.wasted_core_s) for variant, line in watched if line.wasted_core_s > 0]
    where = [
        f"{seconds(wasted_s)} in all" + (f" ({variant})" if len(watched) > 1 else "") for variant, wasted_s in told
    ]
    return f"Cores stood free for {listed(where)} while another was shared." if told else ""


def _not_watched(record: RunRecord, analysis: Analysis) -> str:
    rounds = [each for each in record.rounds if each.order == analysis.telling_order]
    if not rounds:
        return "No round shows anything."
    hows = dict.fromkeys(session.server.how for session in rounds[0].sessions if not session.residency)
    reason = rounds[0].not_sampled or next((how for how in hows if how), "no placement was recorded")
    return plain(f"{plural(len(rounds[0].sessions), 'session')} not watched: {reason}.")

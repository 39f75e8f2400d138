"""The sections with pictures: what each is called, how it is read, and the table beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbcpu.analysis.comparison.variant_sentences import variant_sentences
from dbcpu.analysis.levels.representative_round import telling_rounds
from dbcpu.analysis.placement.timeline import Timeline, timeline
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import listed, plain, plural, seconds
from dbcpu.record import RunRecord
from dbcpu.reports.documents import run_tables
from dbcpu.reports.documents.experiments import experiment_lines, experiment_tables
from dbcpu.reports.documents.run import limits_of
from dbcpu.reports.documents.run_tables import Table

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


@dataclass(frozen=True, slots=True)
class Section:
    """``name`` of the picture; ``lead`` what this run shows; ``missing`` why there is no picture, if there is none."""

    name: str
    title: str
    lead: str
    table: Table | None
    missing: str

    @property
    def reading(self) -> str:
        """How any such picture is read."""
        return READINGS[self.name]


def sections(record: RunRecord, analysis: Analysis) -> tuple[Section, ...]:
    """In the order of the page; with several variants pictures and tables show each of them."""
    levels = analysis.levels
    lines = [(each.variant, timeline(record, each.order)) for each in telling_rounds(analysis)]
    watched = [(variant, line) for variant, line in lines if line is not None]
    host = record.header.host
    none_valid = "No valid session of this run can be compared with one alone."
    not_watched = _not_watched(record, analysis)
    return (
        *_experiment(analysis),
        *_variants(analysis),
        Section(
            "slowdown",
            "Slowdown by number of sessions",
            "",
            run_tables.slowdown_table(levels) if levels else None,
            none_valid,
        ),
        Section(
            "throughput",
            "Throughput",
            "",
            run_tables.throughput_table(levels) if levels else None,
            none_valid,
        ),
        Section(
            "host",
            "The host",
            f"{'; '.join(limits_of(host, analysis))}." if host else "",
            run_tables.host_table(record),
            "The measured host was not looked at: the database runs elsewhere.",
        ),
        Section(
            "sessions",
            "Where the time went",
            "",
            run_tables.sessions_table(record, analysis),
            none_valid,
        ),
        Section(
            "cpu_map",
            "What the CPUs did",
            _wasted(watched),
            run_tables.cpu_table(watched) if watched else None,
            not_watched,
        ),
        Section(
            "lanes",
            "Where each session ran",
            "",
            run_tables.lanes_table(record, analysis) if watched else None,
            not_watched,
        ),
        Section(
            "connect",
            "Time to connect",
            "",
            run_tables.connect_table(levels) if levels else None,
            none_valid,
        ),
    )


def _experiment(analysis: Analysis) -> tuple[Section, ...]:
    titles = {
        "soak": ("Over time", analysis.soak is not None and not analysis.soak.sizes),
        "sizes": ("Short and long SQL", analysis.soak is not None and bool(analysis.soak.sizes)),
        "pool": ("How many active sessions are enough", analysis.pool is not None),
        "together": ("Alone and beside the others", analysis.together is not None),
    }
    lead = " ".join(f"{name.capitalize()}: {text}." for name, text in experiment_lines(analysis))
    shown = [Table(each.title, each.titles, each.rows, each.meanings) for each in experiment_tables(analysis)]
    table = shown[0] if shown else None
    return tuple(
        Section(name, title, lead, table, "No round of it was finished.")
        for name, (title, there) in titles.items()
        if there
    )


def _variants(analysis: Analysis) -> tuple[Section, ...]:
    """None of a run of one variant."""
    found = analysis.variants
    if found is None:
        return ()
    lead = plain(" ".join(variant_sentences(found)))
    missing = "No level was measured under all variants."
    return (Section("variants", "What the variants change", lead, run_tables.variants_table(found), missing),)


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

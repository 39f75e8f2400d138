"""The tables of one run: levels, slowed sessions, and the numbers of each chart; all taken from the analysis."""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter

import numpy as np
from msgspec import Struct

from dbcpu.analysis.causes.time_parts import PART_WORDS, TimeParts, time_parts
from dbcpu.analysis.levels.representative_round import representative_rounds
from dbcpu.analysis.placement.timeline import (
    ABSENT,
    ALONE,
    OFF,
    QUEUED,
    SIBLING,
    STATE_WORDS,
    UNSEEN,
    Timeline,
    timeline,
)
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.comparison import Variants
from dbcpu.analysis.results.run import Analysis, LevelView, SessionView
from dbcpu.analysis.scaling.published_ranges import KNEE, Beside, beside_published
from dbcpu.formatting import count, decimal_s, number, percent, ranges, rate, seconds, times
from dbcpu.record.header import ROWS_UNIT
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.document import Column, Table
from dbcpu.reports.documents.run_summary import cause_counts, lane_id, sessions_of_round, slowed_sessions

VARIANT = Column("variant", "variant", kind="name", meaning="setting of the host")
LEVEL = Column("level", "N", meaning="concurrent sessions")
SECONDS = Column("median_s", "elapsed s", decimal_s, unit="s", meaning="median elapsed time of one execution")
MAX_OVER_MIN = Column("max_over_min", "max/min", number, meaning="slowest session / fastest session of a round")
SPREAD = Column("cv", "CV", percent, meaning="standard deviation / mean of the elapsed times")
ANSWER = {Answer.YES: "yes", Answer.NO: "no", Answer.UNDECIDED: "?"}


def _answers(level: LevelView) -> str:
    """One session alone has nobody to be equal to."""
    even = "-" if level.level == 1 else ANSWER[level.even]
    return f"{even}, {ANSWER[level.full_speed]}"


ANSWERS = Column(
    "answers", "equal, full", kind="name", value=_answers,
    meaning="whether all sessions get equal CPU, and whether at the full speed of a single session; ? is inconclusive",
)  # fmt: skip
SLOW = Column("slow", "slow group", count, meaning="sessions in the slower of two groups, median of the rounds")
CAUSES_MEANING = "causes of slowdowns, with the number of sessions out of those of all rounds"
RATE_SUM = "sum of the sessions' rates while all of them run; at uneven levels it may be more than the host can sustain"
EXCLUDED = "left out"


def level_columns(unit: str = ROWS_UNIT) -> tuple[Column, ...]:
    """Of every level in every format, but for the variant; ``unit`` of throughput."""
    return (
        LEVEL,
        SECONDS,
        Column("slowdown_median", "slowdown", number, meaning="elapsed / single-session time, median of the sessions"),
        Column("slowdown_max", "slowdown (max)", number, meaning="slowdown of the slowest session"),
        MAX_OVER_MIN,
        SPREAD,
        SLOW,
        ANSWERS,
        Column("throughput", unit, rate, unit=unit, meaning=RATE_SUM),
        Column("makespan_throughput", "makespan", rate, unit=unit,
               meaning="throughput until the last session has ended"),
        Column("efficiency", "efficiency", percent,
               meaning=f"{unit} / (single-session rate x min(N, vCPUs or CPU quota))"),
        Column("causes", "main cause", kind="text", value=cause_counts, meaning=CAUSES_MEANING),
    )  # fmt: skip


def levels_table(analysis: Analysis, caption: str = "") -> Table:
    """A row per level, the columns of every format; the variant only where there are several."""
    several = len({each.variant for each in analysis.levels}) > 1
    columns = level_columns(analysis.unit)
    return Table(caption, (VARIANT, *columns) if several else columns, analysis.levels)


def between_moves_s(moves_per_s: float | None) -> float | None:
    """How long a session stays on one CPU: infinite where none moved, None where that is not known."""
    return None if moves_per_s is None else 1 / moves_per_s if moves_per_s else math.inf


def stay_words(stays_s: float | None) -> str:
    """Seconds between two moves (``between_moves_s``), as a table shows them."""
    return "no move" if stays_s == math.inf else number(stays_s, digits=1)


def details_table(analysis: Analysis) -> Table:
    """Percentiles, CPU utilisation and what it is worth, and moves between CPUs, a row per level."""
    alone = analysis.reference.mrows_per_s if analysis.reference else None

    def worth(level: LevelView) -> float | None:
        own = level.variant == analysis.levels[0].variant or not analysis.own_baselines
        return level.throughput / alone if level.throughput and alone and own else None

    def between_moves(level: LevelView) -> float | None:
        moves_per_s = level.details.moves_per_s if level.details else None
        return between_moves_s(moves_per_s)

    def of(field: str) -> Callable[[LevelView], float | None]:
        return lambda level: getattr(level.details, field) if level.details else None

    columns = (
        *((VARIANT,) if len({each.variant for each in analysis.levels}) > 1 else ()),
        LEVEL,
        *(
            Column(f"p{share}_s", f"p{share} s", decimal_s, unit="s", value=of(f"p{share}_s"),
                   meaning=f"{share} % of the executions take at most so long")
            for share in (50, 95, 99)
            if any(of(f"p{share}_s")(each) is not None for each in analysis.levels)
        ),
        Column("utilisation", "CPU used", percent, value=of("utilisation"), meaning="busy share of all vCPUs"),
        Column("worth", "in cores", partial(number, digits=1), value=worth,
               meaning="throughput / that of a single session: what the used CPUs are worth"),
        Column("moves_per_s", "moves/s", number, unit="1/s", value=of("moves_per_s"),
               meaning="moves of one session to another CPU"),
        Column("between_moves_s", "s per move", stay_words, unit="s", value=between_moves,
               meaning="how long a session stays on one CPU"),
    )  # fmt: skip
    return Table("Percentiles, CPU utilisation and moves between CPUs", columns, analysis.levels)


def published_table(analysis: Analysis) -> Table:
    """Published figures beside those of the run; () rows where the run has none of these."""

    def words(row: Beside, value: float) -> str:
        return number(value) if row.published.figure == KNEE else percent(value)

    def span(row: Beside) -> str:
        low, high = words(row, row.published.low), words(row, row.published.high)
        return low if low == high else f"{low} to {high}"

    columns = (
        Column("figure", "figure", kind="text", value=attrgetter("published.figure")),
        Column("own", "this run", kind="figure", value=lambda row: words(row, row.own),
               meaning="of several levels the largest"),
        Column("range", "published", kind="figure", value=span),
        Column("work", "work", kind="text", value=attrgetter("published.work")),
        Column("hosts", "hosts", kind="text", value=attrgetter("published.hosts")),
        Column("source", "source", kind="text", value=attrgetter("published.source")),
        Column("dated", "read", kind="text", value=lambda row: row.published.dated.isoformat()),
    )  # fmt: skip
    note = "Others measured other work on other hosts: these are ranges to compare with, and no limits."
    return Table("What others found", columns, beside_published(analysis), (note,))


def slowed_table(analysis: Analysis) -> Table:
    """The slowed sessions of the representative round, with cause and evidence."""
    columns = (
        Column("ordinal", "session", place=lambda row: lane_id(row.variant, row.ordinal)),
        Column("slowdown", "slowdown", times),
        Column("cause", "cause", kind="name", value=_causes),
        Column("evidence", "evidence", _without_slowdown, kind="text"),
    )
    named = slowed_sessions(analysis)
    paced = named and any(each.at_one_pace and each.level == named[0].level for each in analysis.levels)
    kind = ", as delivered" if paced else ""
    where = f"Slowed sessions at N = {named[0].level} (round {named[0].repeat + 1}{kind})" if named else ""
    return Table(where, columns, named, worst_first="took longest")


def _causes(view: SessionView) -> str:
    """The cause, and the second one where it is worth naming."""
    second = "" if view.second_cause is Cause.NONE else f", {view.second_cause.words}"
    return f"{view.cause.words}{second}" if view.valid else EXCLUDED


def _without_slowdown(evidence: str) -> str:
    """It has a column of its own."""
    return re.sub(rf"^(?:[\d.]+x|{EXCLUDED}): ", "", evidence)


class CoreRow(Struct, frozen=True):
    """One core of the host. ``allowed``: its CPUs that may be used."""

    socket: int
    node: int
    core: int
    cpus: tuple[int, ...]
    allowed: str


def host_table(record: RunRecord) -> Table | None:
    """A row per core."""
    host = record.header.host
    if host is None:
        return None
    allowed = set(host.limits.allowed_cpus)
    cores: dict[tuple[int, int, int], list[int]] = {}
    for cpu in host.topology.cpus:
        if cpu.online:
            cores.setdefault((cpu.socket, cpu.node, cpu.core), []).append(cpu.cpu)
    rows = [
        CoreRow(*place, tuple(cpus), "all" if allowed >= set(cpus) else ranges(allowed & set(cpus)) or "none")
        for place, cpus in cores.items()
    ]
    columns = (
        Column("socket", "socket"),
        Column("node", "node"),
        Column("core", "core"),
        Column("cpus", "CPUs", ranges, kind="text"),
        Column("allowed", "may be used", kind="text"),
    )
    return Table("Cores and their CPUs", columns, rows)


def slowdown_table(levels: Sequence[LevelView]) -> Table:
    """The figures of the strip plot, by level."""
    columns = (
        LEVEL,
        Column("sessions", "sessions"),
        Column("slowdown_median", "median", times),
        Column("slowdown_max", "slowest", times),
        Column("ideal_slowdown", "fair share", times),
        Column("causes", "main cause", lambda text: text or "-", kind="text", value=cause_counts),
    )
    return _by_variant("Slowdown relative to the single-session time", columns, levels)


def throughput_table(levels: Sequence[LevelView], unit: str = ROWS_UNIT) -> Table:
    """The figures of the throughput curves."""
    columns = (
        LEVEL,
        Column("throughput", "sum of rates", rate, unit=unit),
        Column("makespan_throughput", "makespan", rate, unit=unit),
        Column("ideal_throughput", "ideal", rate, unit=unit),
        Column("efficiency", "efficiency", percent),
    )
    return _by_variant(f"{unit} of all sessions together", columns, levels)


def variants_table(found: Variants) -> Table:
    """Every level under every variant; the decisions are below."""
    columns = (
        LEVEL,
        VARIANT,
        SECONDS,
        SPREAD,
        MAX_OVER_MIN,
        SLOW,
        Column("throughput", "Mrows/s", rate, unit="Mrows/s"),
        Column("ratio", f"over {found.first.name}", number),
        Column("cause", "main cause", attrgetter("words"), kind="text"),
    )
    rows = [
        row
        for level in sorted({row.level for variant in found.variants for row in variant.rows})
        for variant in found.variants
        if (row := variant.row(level)) is not None
    ]
    from dbcpu.analysis.comparison.sentences import decision_words  # few runs have variants

    decided = "; ".join(f"{each.name}: {decision_words(one)}" for each in found.variants[1:] for one in each.decisions)
    notes = (decided,) if decided else ()
    return Table(same_sessions_title(found), columns, rows, notes)


def same_sessions_title(found: Variants) -> str:
    """With the kind of its times, where the page of the run has two."""
    return f"The same sessions under each variant{', by times as delivered' if found.as_delivered else ''}"


def sessions_table(record: RunRecord, analysis: Analysis) -> Table:
    """The parts of the stacked bars that occur."""
    stacked = [part for each in representative_rounds(analysis) for part in time_parts(record, analysis, each.order)]
    present = [name for name in PART_WORDS if any(_part(each, name) > 0.000_05 for each in stacked)]
    columns = (
        Column("ordinal", "session", value=attrgetter("view.ordinal")),
        Column("elapsed_s", "elapsed", seconds, unit="s", value=attrgetter("view.elapsed_s")),
        Column("slowdown", "slowdown", times, value=attrgetter("view.slowdown")),
        *(Column(name, PART_WORDS[name], seconds, unit="s") for name in present),
        Column("cause", "cause", attrgetter("words"), kind="text", value=attrgetter("view.cause")),
    )
    return _by_variant("Where the time of each session went", columns, stacked, "view.variant")


class CoreUse(Struct, frozen=True):
    """The use of one core: ``shares`` of the round by use."""

    variant: str
    core: int
    cpus: tuple[int, ...]
    shares: dict[int, float]


def cpu_table(lines: Sequence[tuple[str, Timeline]]) -> Table:
    """Shares of the round by core; ``lines`` by variant."""
    words = next((line.use_words for _, line in lines if line.has_threads), lines[0][1].use_words) if lines else {}
    uses = [use for use in words if any((line.cores()[1] == use).any() for _, line in lines)]
    rows = []
    for variant, line in lines:
        cores, by_core = line.cores()
        cpus: dict[int, list[int]] = {}
        for each in line.cpus:
            cpus.setdefault(each.core, []).append(each.cpu)
        for at, core in enumerate(cores):
            shares = {use: float((by_core[at] == use).mean()) for use in uses}
            rows.append(CoreUse(variant, core, tuple(cpus[core]), shares))
    columns = (
        Column("core", "core"),
        Column("cpus", "CPUs", ranges, kind="text"),
        *(_share(words[use], use) for use in uses),
    )
    return _by_variant("Use of each core, in shares of the round", columns, rows, note=_moments(lines[0][1]))


class Lane(Struct, frozen=True):
    """Where one session ran: ``shares`` of its own run by state; migrations as sampled and as counted by the kernel."""

    variant: str
    view: SessionView
    cpus: tuple[int, ...]
    seen: int
    counted: int | None
    shares: dict[int, float]


def lanes_table(record: RunRecord, analysis: Analysis) -> Table:
    """Placement of each session, in shares of its own run."""
    rows: list[Lane] = []
    note = ""
    for each in representative_rounds(analysis):
        line = timeline(record, each.order)
        if line is not None:
            rows += _lanes(record, analysis, line, each.variant, each.order)
            note = note or _moments(line)
    columns = (
        Column("ordinal", "session", value=attrgetter("view.ordinal")),
        Column("slowdown", "slowdown", times, value=attrgetter("view.slowdown")),
        Column("cpus", "CPUs", lambda cpus: ranges(cpus) or "-", kind="text"),
        Column("seen", "migrations sampled"),
        Column("counted", "migrations counted"),
        *(_share(STATE_WORDS[state], state) for state in _STATES),
    )
    return _by_variant("Where each session ran, in shares of its own run", columns, rows, note=note)


def _lanes(record: RunRecord, analysis: Analysis, line: Timeline, variant: str, order: int) -> list[Lane]:
    place = {ordinal: at for at, ordinal in enumerate(line.ordinals)}
    rounds = [each for each in record.rounds if each.order == order]
    counted = {session.ordinal: session.migrations for each in rounds for session in each.sessions}
    made = []
    for view in sessions_of_round(analysis, order):
        at = place[view.ordinal]
        doing, where = line.doing[at], line.where[at]
        there = doing != ABSENT
        shares = {state: float((doing[there] == state).mean()) if there.any() else 0.0 for state in _STATES}
        cpus = tuple(np.unique(where[where >= 0]).tolist())
        made.append(Lane(variant, view, cpus, len(line.moves_s[at]), counted[view.ordinal], shares))
    return made


def connect_table(levels: Sequence[LevelView]) -> Table:
    """Connect times by level."""
    columns = (
        LEVEL,
        Column("connect_median_s", "median", seconds, unit="s"),
        Column("connect_max_s", "max", seconds, unit="s"),
    )
    return _by_variant("Time to connect", columns, levels)


def _by_variant(
    caption: str, columns: Sequence[Column], rows: Sequence[object], variant: str = "variant", note: str = ""
) -> Table:
    """The first column is the variant: it is left out where there is only one."""
    of = attrgetter(variant)
    first = Column("variant", "variant", kind="text", value=of)
    several = len({of(row) for row in rows}) > 1
    return Table(caption, (first, *columns) if several else tuple(columns), rows, (note,) if note else ())


_STATES = (ALONE, SIBLING, QUEUED, OFF, UNSEEN)


def _share(heading: str, key: int) -> Column:
    return Column(f"share_{key}", heading, percent, value=lambda row: row.shares[key])


def _part(each: TimeParts, name: str) -> float:
    return float(getattr(each, name))


def _moments(line: Timeline) -> str:
    return f"Counted at {line.use.shape[1]} moments, {seconds(line.moment_s)} apart; the evidence is in exact seconds."

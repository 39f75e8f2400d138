"""The numbers beside the pictures, as tables of text: taken from the analysis, worded as in every other form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.causes.time_parts import PART_WORDS, TimeParts, time_parts
from dbcpu.analysis.comparison.sentences import told
from dbcpu.analysis.levels.representative_round import telling_rounds
from dbcpu.analysis.placement.timeline import (
    ABSENT,
    ALONE,
    OFF,
    QUEUED,
    SIBLING,
    STATE_WORDS,
    USE_WORDS,
    Timeline,
    timeline,
)
from dbcpu.analysis.results.comparison import Variants
from dbcpu.analysis.results.run import Analysis, LevelView
from dbcpu.formatting import CAUSE_WORDS, count, number, percent, plain, ranges, rate, seconds, times
from dbcpu.record import RunRecord
from dbcpu.reports.documents.run import causes, level_columns, losers, telling_sessions

VARIANT = "variant"
WORDS = frozenset({"lost to", VARIANT, "cause", "evidence", "CPUs", "siblings", "sharing", "may be used"})
"""Columns that are read, not compared: set to the left."""
MAX_LOSERS = 20


@dataclass(frozen=True, slots=True)
class Table:
    """``titles`` with their ``meanings`` ('' if plain), and ``rows`` of text. ``note`` stands below it."""

    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    meanings: tuple[str, ...] = ()
    note: str = ""

    @property
    def left(self) -> tuple[bool, ...]:
        """Which columns are words."""
        return tuple(title in WORDS for title in self.titles)


def levels_table(analysis: Analysis) -> Table:
    """A row per level, the columns of every form."""
    columns = level_columns(analysis)
    rows = [tuple(plain(column.text(each)) for column in columns) for each in analysis.levels]
    titles, meanings = tuple(each.title for each in columns), tuple(each.meaning for each in columns)
    return Table("Medians over rounds, by the number of sessions at once (N)", titles, tuple(rows), meanings)


def losers_table(analysis: Analysis) -> Table:
    """Who lost in the most telling round, and the evidence."""
    named = losers(analysis)
    shown = named[:MAX_LOSERS]
    rows = [
        (
            str(each.ordinal),
            times(each.slowdown),
            CAUSE_WORDS[each.cause] if each.valid else "left out",
            plain(each.evidence),
        )
        for each in shown
    ]
    more = f"; the worst {len(shown)} of {len(named)}" if len(shown) < len(named) else ""
    where = f"N = {named[0].level}, repeat {named[0].repeat}{more}" if named else ""
    return Table(where, ("session", "slowdown", "cause", "evidence"), tuple(rows))


def host_table(record: RunRecord) -> Table | None:
    """A row per core."""
    host = record.header.host
    if host is None:
        return None
    allowed = set(host.limits.allowed_cpus)
    cores: dict[tuple[int, int, int], list[int]] = {}
    for each in host.topology.cpus:
        if each.online:
            cores.setdefault((each.socket, each.node, each.core), []).append(each.cpu)
    rows = [
        (*map(str, place), ranges(cpus), "all" if allowed >= set(cpus) else ranges(allowed & set(cpus)) or "none")
        for place, cpus in cores.items()
    ]
    return Table("Cores and their CPUs", ("socket", "node", "core", "CPUs", "may be used"), tuple(rows))


def slowdown_table(levels: Sequence[LevelView]) -> Table:
    """What the strip plot shows, by level."""
    rows = [
        (each.variant, str(each.level), str(each.sessions), times(each.slowdown_median), times(each.slowdown_max),
         times(each.ideal_slowdown), causes(each) or "-")
        for each in levels
    ]  # fmt: skip
    titles = (VARIANT, "N", "sessions", "median", "slowest", "fair", "lost to")
    return _of_variants("Slowdown against one session alone", titles, rows)


def throughput_table(levels: Sequence[LevelView]) -> Table:
    """What the curve shows."""
    rows = [
        (each.variant, str(each.level), rate(each.throughput), rate(each.makespan_throughput),
         rate(each.ideal_throughput), percent(each.efficiency))
        for each in levels
    ]  # fmt: skip
    titles = (VARIANT, "N", "sum of rates", "makespan", "ideal", "sum / ideal")
    return _of_variants("Mrows/s of all sessions together", titles, rows)


def variants_table(found: Variants) -> Table:
    """Every level under every variant; what is decided is below."""
    rows = [
        (str(row.level), plain(each.name), number(row.median_s, 3), percent(row.cv), number(row.max_over_min),
         count(row.slow), rate(row.throughput), number(row.ratio), CAUSE_WORDS.get(row.cause, row.cause))
        for level in sorted({row.level for each in found.variants for row in each.rows})
        for each in found.variants
        if (row := each.row(level)) is not None
    ]  # fmt: skip
    titles = ("N", VARIANT, "seconds", "CV", "max/min", "slow", "Mrows/s", f"over {found.first.name}", "lost to")
    decided = "; ".join(f"{each.name}: {told(one)}" for each in found.variants[1:] for one in each.decisions)
    return Table("The same sessions under each variant", titles, tuple(rows), note=plain(decided))


def sessions_table(record: RunRecord, analysis: Analysis) -> Table:
    """What the stacked bars show: only parts that occur."""
    stacked = [part for each in telling_rounds(analysis) for part in time_parts(record, analysis, each.order)]
    present = [name for name in PART_WORDS if any(_part(each, name) > 0.000_05 for each in stacked)]
    rows = [
        (each.view.variant, str(each.view.ordinal), seconds(each.view.elapsed_s), times(each.view.slowdown),
         *(seconds(_part(each, name)) for name in present), CAUSE_WORDS[each.view.cause])
        for each in stacked
    ]  # fmt: skip
    titles = (VARIANT, "session", "elapsed", "slowdown", *(PART_WORDS[name] for name in present), "cause")
    return _of_variants("Where the time of each session went", titles, rows)


def cpu_table(lines: Sequence[tuple[str, Timeline]]) -> Table:
    """Shares of the round by core; ``lines`` by variant."""
    uses = [use for use in USE_WORDS if any((line.cores()[1] == use).any() for _, line in lines)]
    rows = []
    for variant, line in lines:
        cores, by_core = line.cores()
        cpus: dict[int, list[int]] = {}
        for each in line.cpus:
            cpus.setdefault(each.core, []).append(each.cpu)
        rows += [
            (variant, str(core), ranges(cpus[core]), *(percent(float((by_core[at] == use).mean())) for use in uses))
            for at, core in enumerate(cores)
        ]
    titles = (VARIANT, "core", "CPUs", *(USE_WORDS[use] for use in uses))
    return _of_variants("What each core did, in shares of the round", titles, rows, _moments(lines[0][1]))


def lanes_table(record: RunRecord, analysis: Analysis) -> Table:
    """Where each session was and how it shared, in shares of its own run."""
    rows, note = [], ""
    for each in telling_rounds(analysis):
        line = timeline(record, each.order)
        if line is not None:
            rows += [(each.variant, *row) for row in _lanes(record, analysis, line, each.order)]
            note = note or _moments(line)
    states = tuple(STATE_WORDS[state] for state in _STATES)
    titles = (VARIANT, "session", "slowdown", "CPUs", "moves seen", "moves counted", *states)
    return _of_variants("Where each session ran, in shares of its own run", titles, rows, note)


def _lanes(record: RunRecord, analysis: Analysis, line: Timeline, order: int) -> Iterator[tuple[str, ...]]:
    place = {ordinal: at for at, ordinal in enumerate(line.ordinals)}
    counted = {
        session.ordinal: session.migrations
        for each in record.rounds
        if each.order == order
        for session in each.sessions
    }
    for each in telling_sessions(analysis, order):
        at = place[each.ordinal]
        doing, where = line.doing[at], line.where[at]
        there = doing != ABSENT
        shares = [float((doing[there] == state).mean()) if there.any() else 0.0 for state in _STATES]
        moved = counted[each.ordinal]
        cpus = ranges(np.unique(where[where >= 0]).tolist()) or "-"
        moves = (str(len(line.moves_s[at])), "-" if moved is None else str(moved))
        yield (str(each.ordinal), times(each.slowdown), cpus, *moves, *map(percent, shares))


def connect_table(levels: Sequence[LevelView]) -> Table:
    """Connect times by level."""
    rows = [(each.variant, str(each.level), seconds(each.connect_median_s), seconds(each.connect_max_s))
            for each in levels]  # fmt: skip
    return _of_variants("Time to connect", (VARIANT, "N", "median", "longest"), rows)


def _of_variants(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Table:
    """The first column is the variant: it is left out where there is only one."""
    skipped = 0 if len({row[0] for row in rows}) > 1 else 1
    shown = tuple(tuple(plain(cell) for cell in row[skipped:]) for row in rows)
    return Table(caption, tuple(titles[skipped:]), shown, note=note)


_STATES = (ALONE, SIBLING, QUEUED, OFF)


def _part(each: TimeParts, name: str) -> float:
    return float(getattr(each, name))


def _moments(line: Timeline) -> str:
    return f"Counted at {line.use.shape[1]} moments, {seconds(line.moment_s)} apart; evidence is in exact seconds."

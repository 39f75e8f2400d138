"""A soak, a pool and several targets as tables of words, once for every form in which they are shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dbcpu.analysis.experiments import duration
from dbcpu.analysis.results.experiments import PartyView, PoolSize, Segment, SizeView, Soak
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import count, number, percent, plain, ranges, rate, seconds, times

MAX_SEGMENTS = 30


@dataclass(frozen=True, slots=True)
class ExperimentTable:
    """``words``: titles of the columns that hold text. ``meanings`` explain the columns, in their order."""

    title: str
    titles: tuple[str, ...]
    meanings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()


_Columns = Sequence[tuple[str, str, Callable[[Any], str]]]

_SEGMENT: _Columns = (
    ("from", "minutes since the first segment", lambda each: number(each.at_s / 60, 1)),
    ("executions", "that ended in it", lambda each: count(each.executions)),
    ("median", "time of one execution", lambda each: seconds(each.median_s)),
    ("5 %", "so many are faster", lambda each: seconds(each.fast_s)),
    ("95 %", "so many are faster", lambda each: seconds(each.slow_s)),
    ("second", "share of executions at the second preferred value", lambda each: percent(each.second)),
    ("run queue", "share of the sessions' time that they waited for a CPU", lambda each: percent(each.queue)),
    ("steal", "share of the CPUs' time that the hypervisor took", lambda each: percent(each.steal)),
    ("remark", "", lambda each: plain(each.cut)),
)
_SIZE: _Columns = (
    ("size", "of the workload", lambda each: each.size),
    ("Mrows", "in one execution", lambda each: number(each.rows / 1e6, 1)),
    ("executions", "that ended", lambda each: count(each.executions)),
    ("alone", "one session, median of one execution", lambda each: seconds(each.alone_s)),
    ("median", "of one execution beside the others", lambda each: seconds(each.median_s)),
    ("x alone", "median against one session alone", lambda each: number(each.x_alone)),
    ("95 %/5 %", "slow executions over fast ones", lambda each: number(each.slow_over_fast)),
    ("CV", "standard deviation over mean", lambda each: percent(each.cv)),
    (
        "second",
        "second preferred value, over the first",
        lambda each: times(each.second.ratio if each.second else None),
    ),
)
_POOL: _Columns = (
    ("active", "sessions that share the work", lambda each: count(each.active)),
    ("total", "until all pieces are done", lambda each: seconds(each.total_s)),
    ("per piece", "median time of one piece", lambda each: seconds(each.piece_s)),
    ("x alone", "of a piece, against one session alone", lambda each: number(each.x_alone)),
    ("pieces/s", "throughput", lambda each: number(each.pieces_per_s, 1)),
    ("RSS MB", "memory of the server's processes, shared memory in each", lambda each: _megabytes(each.rss_bytes)),
    ("PSS MB", "the same with shared memory counted once", lambda each: _megabytes(each.pss_bytes)),
    ("processes", "of the server", lambda each: count(each.processes)),
    ("threads", "of them", lambda each: count(each.threads)),
    ("switches", "context switches of the sessions in a round", lambda each: number(each.switches, 0)),
)
_PARTY: _Columns = (
    ("target", "", lambda each: plain(each.name)),
    ("sessions", "at once", lambda each: count(each.sessions)),
    ("CPUs", "held on; seen on, where not held", lambda each: ranges(each.cpus or each.cpus_seen) or "-"),
    ("alone", "median time of one execution, the others idle", lambda each: seconds(each.alone_s)),
    ("beside", "the same while all run", lambda each: seconds(each.beside_s)),
    ("loss", "beside over alone", lambda each: times(each.loss)),
    ("range", "over the rounds", lambda each: f"{number(each.low)} to {number(each.high)}" if each.low else "-"),
    ("Mrows/s alone", "sum of the sessions' rates", lambda each: rate(each.alone_rate)),
    ("Mrows/s beside", "the same while all run", lambda each: rate(each.beside_rate)),
    ("told", "whether that is more than chance", lambda each: "yes" if each.told else "no"),
)


def experiment_tables(analysis: Analysis) -> tuple[ExperimentTable, ...]:
    """What there is to show beyond the levels; () for a sweep."""
    found: list[ExperimentTable] = []
    if analysis.soak is not None:
        found += _soak(analysis.soak)
    if analysis.pool is not None:
        title = f"{analysis.pool.pieces} pieces of work through so many active sessions; enough: {analysis.pool.enough}"
        found.append(_table(title, _POOL, analysis.pool.sizes))
    if analysis.together is not None:
        found.append(_table("Each target alone and beside the others", _PARTY, analysis.together.parties))
    return tuple(found)


def experiment_lines(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """The same in (name, text) lines."""
    soak = analysis.soak
    if soak is None or soak.sizes:
        return ()
    lines = []
    if soak.second is not None:
        second = soak.second
        both = f"{seconds(second.first_s)} and {seconds(second.second_s)} ({times(second.ratio)})"
        share = f"{percent(second.share)} of the executions at the second, border {seconds(second.border_s)}"
        lines.append(("two values", f"{both}, {share}"))
    if soak.worst is not None:
        worst = soak.segments[soak.worst]
        when = f"the {duration(worst.lasted_s)} from {number(worst.at_s / 60, 1)} min"
        lost = f"run queue {percent(worst.queue)}, steal {percent(worst.steal)}"
        lines.append(("worst", f"{when}: {seconds(worst.median_s)}, {lost}"))
    if soak.trend is not None:
        lines.append(("drift", f"{percent(soak.trend.change)} from start to end (p = {soak.trend.p:.2g})"))
    lines += [("gap", f"{duration(gap.to_s - gap.from_s)} from {number(gap.from_s / 60, 1)} min: {plain(gap.why)}")
              for gap in soak.gaps]  # fmt: skip
    return tuple(lines)


def _soak(soak: Soak) -> list[ExperimentTable]:
    if soak.sizes:
        return [_table(f"Short and long SQL in turns, {soak.sessions} sessions", _SIZE, soak.sizes)]
    columns = [each for each in _SEGMENT if each[0] != "remark" or any(one.cut for one in soak.segments)]
    if soak.second is None:
        columns = [each for each in columns if each[0] != "second"]
    shown, title = soak.segments, "The segments"
    if len(shown) > MAX_SEGMENTS:
        # The worst and those with something to say, in their order.
        keep = sorted(range(len(shown)), key=lambda at: (not shown[at].cut, -(shown[at].median_s or 0.0)))
        shown = tuple(shown[at] for at in sorted(keep[:MAX_SEGMENTS]))
        title = f"The {MAX_SEGMENTS} slowest of {len(soak.segments)} segments"
    return [_table(title, columns, shown)]


def _table(
    title: str,
    columns: _Columns,
    each: Sequence[Segment] | Sequence[SizeView] | Sequence[PoolSize] | Sequence[PartyView],
) -> ExperimentTable:
    return ExperimentTable(
        title,
        tuple(name for name, _, _ in columns),
        tuple(meaning for _, meaning, _ in columns),
        tuple(tuple(text(one) for _, _, text in columns) for one in each),
        words=("remark", "target", "size", "told", "CPUs"),
    )


def _megabytes(value: float | None) -> str:
    return number(value / 1e6 if value is not None else None, 1)

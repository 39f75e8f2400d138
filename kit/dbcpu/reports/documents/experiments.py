"""A soak, a pool and several targets as tables and lines."""

from dbcpu.analysis.results.answer import Answer, Fact
from dbcpu.analysis.results.experiments import PartyView, Pool, Soak
from dbcpu.analysis.results.run import Analysis
from dbcpu.formatting import (
    UNKNOWN,
    count,
    duration,
    number,
    over_connections,
    percent,
    plain,
    plural,
    ranges,
    rate,
    seconds,
    times,
)
from dbcpu.reports.document import Column, Table

MAX_SEGMENTS = 30
CALL_WORDS = {
    "connect": "connect",
    "send": "send",
    "wait": "wait for a session",
    "work": "be done",
    "receive": "receive",
    "whole": "send to receive",
}

_CLOSED_LOOP = "Callers waited for their answers (closed loop): calls that come at their own times may wait longer."


def _megabytes(value: float | None) -> str:
    return number(value / 1e6 if value is not None else None, 1)


def _short(value: float | None) -> str:
    """Also of microseconds two digits."""
    return seconds(value) if value is None or value >= 1e-3 else f"{number(value * 1e3)} ms"


def _since(at_s: float) -> str:
    """One decimal: segments last a second or a minute."""
    return f"{number(at_s, 1)} s" if round(at_s, 1) < 90 else f"{number(at_s / 60, 1)} min"


def _range(span: tuple[float | None, float | None]) -> str:
    return f"{number(span[0])} to {number(span[1])}" if span[0] else "-"


def _cpus(party: PartyView) -> str:
    if party.cpus:
        return ranges(party.cpus)
    return f"any ({ranges(party.cpus_seen)})" if party.cpus_seen else "any"


_SEGMENT = (
    Column("at_s", "from", _since, unit="s", meaning="since the first segment began"),
    Column("executions", "executions", count, meaning="that ended in the segment"),
    Column("median_s", "median", seconds, unit="s", meaning="time of one execution"),
    Column("fast_s", "5 %", seconds, unit="s", meaning="5 % of the executions are faster"),
    Column("slow_s", "95 %", seconds, unit="s", meaning="95 % of the executions are faster"),
    Column("second", "slow group", percent, meaning="share of executions in the slower of two groups (bimodal times)"),
    Column("queue", "run-queue wait", percent, meaning="run-queue wait, as a share of the sessions' time"),
    Column("throttled", "throttled", percent, meaning="held back by a CPU quota, as a share of the sessions' time"),
    Column("steal", "steal", percent, meaning="CPU steal, as a share of the CPUs' time"),
    Column("cut", "remark", kind="text"),
)
_SIZE = (
    Column("size", "size", kind="text", meaning="of the workload"),
    Column("rows", "Mrows", lambda rows: rate(rows / 1e6), meaning="in one execution"),
    Column("executions", "executions", count, meaning="that ended"),
    Column("alone_s", "single", seconds, unit="s", meaning="mean execution of a single session, median over rounds"),
    Column("median_s", "median", seconds, unit="s", meaning="of one execution while all sessions run"),
    Column("x_alone", "slowdown", number, meaning="mean execution / that of a single session"),
    Column("slow_over_fast", "95 %/5 %", number, meaning="slow executions / fast executions"),
    Column("cv", "CV", percent, meaning="standard deviation / mean"),
    Column(
        "second", "slow group", times, meaning="slower of two groups / faster one (bimodal times)",
        value=lambda size: size.second.ratio if size.second else None,
    ),
)  # fmt: skip
POOL = (
    Column("active", "active", count, meaning="sessions that share the jobs"),
    Column("enough", "enough", lambda answer: answer.words, kind="text",
           meaning="no other size is faster by a tenth or more"),
    Column("total_s", "total", seconds, unit="s", meaning="until all jobs are done; like all times median over rounds"),
    Column("piece_s", "per job", seconds, unit="s",
           meaning="mean time of one job, by the server's clock where it brings one: the wait for a CPU to begin is "
           "not in it, but in the times of a call and of a session; median over rounds"),
    Column("fast_s", "5 %", seconds, unit="s", meaning="5 % of the jobs take less"),
    Column("slow_s", "95 %", seconds, unit="s", meaning="95 % of the jobs take less"),
    Column("done_s", "half done", seconds, unit="s",
           meaning="half of the jobs that compute are done so long after the first began"),
    Column("late_s", "95 % done", seconds, unit="s", meaning="95 % of the jobs that compute are done by then"),
    Column("x_alone", "slowdown", number,
           meaning="mean time of a job / that in the single sessions of the baseline; not of what lies between jobs, "
           "which the table of levels has in the time of a session"),
    Column("pieces_per_s", "jobs/s", lambda value: number(value, 1), meaning="throughput"),
)  # fmt: skip
_SERVER = (
    POOL[0],
    Column("rss_bytes", "RSS MB", _megabytes, unit="bytes",
           meaning="memory of the server's processes, shared memory in each"),
    Column("pss_bytes", "PSS MB", _megabytes, unit="bytes", meaning="the same with shared memory counted once"),
    Column("processes", "processes", count, meaning="of the server"),
    Column("threads", "threads", count, meaning="of them"),
    Column("sockets", "sockets", lambda value: number(value, 0), meaning="open in them, each counted once"),
    Column("switches", "switches", lambda value: number(value, 0),
           meaning="context switches of the sessions in a round"),
)  # fmt: skip
_CALL = (
    Column("active", "active", count, value=lambda row: row[0], meaning="sessions that share the jobs"),
    Column("part", "time to", lambda part: CALL_WORDS[part], kind="text", value=lambda row: row[1].part),
    Column("p50_s", "50 %", _short, unit="s", value=lambda row: row[1].p50_s, meaning="half of the calls take less"),
    Column("p95_s", "95 %", _short, unit="s", value=lambda row: row[1].p95_s, meaning="95 % of the calls take less"),
    Column("p99_s", "99 %", _short, unit="s", value=lambda row: row[1].p99_s, meaning="99 % of the calls take less"),
    Column("max_s", "longest", _short, unit="s", value=lambda row: row[1].max_s, meaning="of any call"),
)  # fmt: skip
_PARTY = (
    Column("name", "target", kind="text"),
    Column("sessions", "sessions", count, meaning="concurrent"),
    Column("cpus", "CPUs", kind="text", value=_cpus,
           meaning="pinned to these (`--cpus`); any: not pinned, and where it ran"),
    Column("alone_s", "separately", seconds, unit="s", meaning="median time of one execution, other targets idle"),
    Column("beside_s", "together", seconds, unit="s", meaning="the same while all targets run"),
    Column("loss", "slowdown", times, meaning="together / separately"),
    Column("range", "range", _range, meaning="over the rounds", value=lambda party: (party.low, party.high)),
    Column("alone_rate", "Mrows/s separately", rate, unit="Mrows/s", meaning="throughput of all its sessions"),
    Column("beside_rate", "Mrows/s together", rate, unit="Mrows/s", meaning="the same while all targets run"),
    Column("significant", "significant", lambda answer: UNKNOWN if answer is None else answer.words, kind="text",
           value=lambda party: party.slower if party.loss is not None else None,
           meaning="whether the slowdown is larger than noise; no: in none of three rounds or more was it 1.10x"),
)  # fmt: skip


def experiment_facts(analysis: Analysis) -> tuple[Fact, ...]:
    """The answer of an experiment on cards; () for a sweep, and of sizes in turns."""
    soak, pool, together = analysis.soak, analysis.pool, analysis.together
    found = []
    if soak is not None and not soak.sizes:
        if soak.second is not None:
            share, ratio = soak.second.slow
            found.append(Fact("slow group", percent(share), f"of the executions, {times(ratio)} as long as the fast"))
        trend = soak.trend
        if soak.has_course:
            found.append(Fact("drift", percent(trend.change) if trend else "not found", "from start to end"))
        if soak.worst is not None:
            worst = soak.segments[soak.worst]
            found.append(Fact("slowest segment", seconds(worst.median_s), f"median, from {_since(worst.at_s)}"))
    if pool is not None and pool.sizes:
        best = pool.size(pool.best)
        why = "have no whole round" if pool.has_lost_beyond(pool.sizes[-1].active) else "were not measured"
        open_ = f", larger ones {why}" if pool.larger else ""
        found.append(Fact("fastest pool", plural(best.active, "session"), f"of those measured{open_}"))
        found.append(Fact("time for all jobs", seconds(best.total_s), f"{plural(pool.pieces, 'job')}, in that pool"))
    known = [each for each in together.parties if each.loss is not None] if together else []
    if known:
        party = max(known, key=lambda each: each.loss or 0.0)
        unsure = ": inconclusive" if party.slower is Answer.UNDECIDED else ""
        found.append(Fact("largest slowdown", times(party.loss), f"{plain(party.name)}, beside the others{unsure}"))
    return tuple(found)


def experiment_tables(analysis: Analysis) -> tuple[Table, ...]:
    """The tables of an experiment; () for a sweep."""
    found: list[Table] = []
    if analysis.soak is not None:
        found += _soak(analysis.soak)
    if analysis.pool is not None:
        found += _pool(analysis.pool)
    if analysis.together is not None:
        found.append(Table("Each target separately and together with the others", _PARTY, analysis.together.parties))
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
        which, side = ("slow", "above") if second.ratio > 1 else ("fast", "below")
        share = f"{percent(second.share)} of the executions in the {which} group, {side} {seconds(second.border_s)}"
        lines.append(("bimodal", f"{both}, {share}"))
    if soak.worst is not None:
        worst = soak.segments[soak.worst]
        when = f"the {duration(worst.lasted_s)} from {_since(worst.at_s)}"
        held = f"throttled {percent(worst.throttled)}, " if worst.throttled else ""
        lost = f"run-queue wait {percent(worst.queue)}, {held}steal {percent(worst.steal)}"
        lines.append(("slowest", f"{when}: {seconds(worst.median_s)}, {lost}"))
    if soak.trend is not None:
        lines.append(("drift", f"{percent(soak.trend.change)} from start to end (p = {soak.trend.p:.2g})"))
    lines += [("gap", f"{duration(gap.to_s - gap.from_s)} from {_since(gap.from_s)}: {plain(gap.why)}")
              for gap in soak.gaps]  # fmt: skip
    return tuple(lines)


def _pool(pool: Pool) -> list[Table]:
    jobs = plural(pool.pieces, "job")
    if pool.blocking:
        jobs += f", of which {pool.blocking} only wait ({seconds(pool.block_s)} each),"
    columns = tuple(each for each in POOL if pool.blocking or each.key not in ("done_s", "late_s"))
    if pool.connections:
        called = over_connections(pool.connections, one_at_a_time=pool.one_at_a_time)
        jobs += f" called {called}" + ("," if pool.one_at_a_time else "")
    calls = [(size.active, time) for size in pool.sizes for time in size.calls]
    held = tuple(each for each in _SERVER if any(getattr(size, each.key) is not None for size in pool.sizes))
    return [
        Table(f"{jobs} through pools of active sessions", columns, pool.sizes),
        *([Table("Times of a call", _CALL, calls, (_CLOSED_LOOP,) if pool.one_at_a_time else ())] if calls else []),
        *([Table("What the server holds at the end of a round", held, pool.sizes)] if len(held) > 1 else []),
    ]


def _soak(soak: Soak) -> list[Table]:
    if soak.sizes:
        return [Table(f"Short and long SQL in turns, {plural(soak.sessions, 'session')}", _SIZE, soak.sizes)]
    without = {"cut"} if not any(segment.cut for segment in soak.segments) else set()
    without |= {"second"} if soak.second is None else set()
    without |= {"throttled"} if not any(segment.throttled for segment in soak.segments) else set()
    shown, title = soak.segments, "Segments"
    if len(shown) > MAX_SEGMENTS:
        # The slowest and those with something to say, in their order.
        keep = sorted(range(len(shown)), key=lambda at: (not shown[at].cut, -(shown[at].median_s or 0.0)))
        shown = tuple(shown[at] for at in sorted(keep[:MAX_SEGMENTS]))
        title = f"The {MAX_SEGMENTS} slowest of {len(soak.segments)} segments"
    return [Table(title, tuple(column for column in _SEGMENT if column.key not in without), shown)]

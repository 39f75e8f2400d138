"""Was the work done? A right answer alone is no proof: an optimizer can multiply, and a cache can remember.

A session did its work only if its times, its CPU time and its plan allow it:

- Rows per second of time, and of CPU time, are below ``MAX_ROWS_PER_S``. An engine that takes row by row needs tens
  of cycles for each: 49 for a single addition in MySQL (Boncz, Zukowski, Nes: MonetDB/X100, CIDR 2005, section 3).
  Six cycles at 6 GHz, more than CPUs are sold with, are 1 Grows/s; the committed examples are below 0.1.
- Its executions, and its CPU time and that of a session alone, do not differ ``MUCH_LESS`` times.
- The plan joins as often as the text does, and has nothing that makes one row of many before the joins, or of none.
- Work that reads blocks has read them.

Other people's databases (plug-ins) may work on vectors of rows: no bound is known for them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from statistics import median

from dbcpu.formatting import number, plural, seconds
from dbcpu.record.header import IMPORTED, ROWS_UNIT, SWEEP, Header, Party, Plan, WorkloadInfo
from dbcpu.record.rounds import Round, RunRecord, Session

MAX_ROWS_PER_S = 1e9
"""Of one session."""
MUCH_LESS = 20.0
STAMP_ERROR_S = 0.001
"""What the stamps of one execution may be wrong by."""
CPU_TIME_ERROR_S = 0.02
"""What a CPU time may be wrong by: two ticks of the coarsest counter."""
WORTH_SEEING = 0.1
"""An execution that computed for less than this part of the session's CPU time is lost in what the others vary by."""
ROW_BY_ROW = frozenset({"oracle", "postgresql", "sqlite", "shell"})
"""Kinds of databases that take row by row."""
BYTES = frozenset({"gzip_pipe"})
"""Workloads whose rows are bytes."""
PLANS: Mapping[tuple[str, str], tuple[str, int]] = {
    ("oracle", "cartesian"): ("MERGE JOIN CARTESIAN", 3),
    ("oracle", "cartesian_cte"): ("MERGE JOIN CARTESIAN", 3),
    ("oracle", "emp_join"): ("MERGE JOIN CARTESIAN", 4),
    ("oracle", "hashing"): ("MERGE JOIN CARTESIAN", 1),
    ("oracle", "logical_io"): ("NESTED LOOPS", 1),
    ("postgresql", "cartesian"): ("Nested Loop", 3),
    ("postgresql", "cartesian_wide"): ("Nested Loop", 3),
    ("postgresql", "logical_io"): ("Nested Loop", 1),
    ("postgresql", "mixed"): ("Nested Loop", 5),
    ("sqlite", "cartesian"): ("SCAN (?:TABLE t AS )?[abcd]\\b", 4),
}
"""What the plan of a shipped workload has, and how many times at least: a regular expression of its operators."""
SHORTCUTS: Mapping[str, str] = {"oracle": r"\b(?:RESULT CACHE|(?:HASH|SORT|VECTOR) (?:GROUP BY|UNIQUE)|MAT_VIEW\w*)"}
"""What the plan of no shipped workload has: a cached result, a group-by placed below the joins, a query rewritten.

Source: Oracle Database Reference, V$SQL_PLAN (OPERATION, OPTIONS); SQL Language Reference, Hints (RESULT_CACHE,
REWRITE). Group-by placement is in no book of Oracle's.
"""
MIN_READS_PER_ROW = 0.05
"""Of logical_io, whose rows fill a block of 8 kB, and of 32 kB a seventh of it."""
READS_BLOCKS = "logical_io"


def undone_in_round(header: Header, round_: Round, alone: Mapping[str, float] | None = None) -> dict[int, str]:
    """Why the work of a session was not done, by ordinal; sessions that show nothing are left out.

    ``alone``: CPU seconds of an execution alone, by variant.
    """
    if header.plan.sampler == IMPORTED:  # of what others measured the work is not known
        return {}
    alone_s = (alone or {}).get(round_.variant)
    found = {}
    same = None if header.plan.parties else work_of(header, round_, None)
    for session in round_.sessions:
        kind, work = same or work_of(header, round_, session)
        why = _why(kind, work, session, alone_s) if session.executions else ""
        if why:
            found[session.ordinal] = why
    return found


def too_fast(kind: str, workload: str, rows: int, elapsed_s: float) -> str:
    """Why so many rows cannot have been worked off in that time, or ''."""
    if kind not in ROW_BY_ROW or workload in BYTES or elapsed_s < 0.0:  # a clock that was set back says nothing
        return ""
    if rows <= MAX_ROWS_PER_S * (elapsed_s + STAMP_ERROR_S):
        return ""
    return f"{number(rows / 1e6)} Mrows in {seconds(elapsed_s)} are more than a CPU can count (1,000 Mrows/s)"


@lru_cache(maxsize=64)
def other_plan(kind: str, workload: str, shape: str | None) -> str:
    """Why a plan is not that of the workload, or ''."""
    if shape is None or (kind, workload) not in PLANS:
        return ""
    pattern, wanted = PLANS[kind, workload]
    seen = len(re.findall(pattern, shape))
    name = "scans" if kind == "sqlite" else pattern
    if seen < wanted:
        return f"the plan has {name} {seen} times instead of {wanted}"
    short = re.search(SHORTCUTS[kind], shape) if kind in SHORTCUTS else None
    return f"the plan has {short[0]}, so that not every row is counted" if short else ""


def _why(kind: str, work: WorkloadInfo, session: Session, alone_s: float | None) -> str:
    if why := other_plan(kind, work.name, work.plan_shape):
        return why
    taken_s = [max(each.elapsed_s, each.server_elapsed_s or 0.0) for each in session.executions]
    cpu_s = session_cpu_s(session)
    rows, many = work.rows, len(taken_s)
    # None of its times is so short that anything could be too fast: so it nearly always is.
    shortest_s = min(taken_s) if cpu_s is None else min(*taken_s, (cpu_s + CPU_TIME_ERROR_S) / many)
    if work.unit == ROWS_UNIT and shortest_s < rows / MAX_ROWS_PER_S:
        # Answers that were received together have stamps of the driver that are too close; the server's are not.
        known = all(each.server_elapsed_s is not None for each in session.executions)
        why = too_fast(kind, work.name, rows, min(taken_s)) if known else ""
        why = why or too_fast(kind, work.name, rows * many, sum(taken_s))
        if not why and cpu_s is not None and too_fast(kind, work.name, rows * many, cpu_s + CPU_TIME_ERROR_S):
            why = f"{number(rows * many / 1e6)} Mrows were counted with {seconds(cpu_s)} of CPU time"
        if why:
            return why
    reads = session.db.get("logical_reads")
    if work.name == READS_BLOCKS and reads is not None and reads < MIN_READS_PER_ROW * rows * many:
        return f"{reads:.0f} blocks were read for {number(rows * many / 1e6)} Mrows"
    if cpu_s is not None and alone_s is not None and MUCH_LESS * (cpu_s + CPU_TIME_ERROR_S) < many * alone_s:
        return f"it took {seconds(cpu_s / many)} of CPU time for each execution, a session alone {seconds(alone_s)}"
    return _differing(taken_s, cpu_s) if many > 1 else ""


def _differing(taken_s: Sequence[float], cpu_s: float | None) -> str:
    """Whether one execution needed far more CPU time than the others: those that merely waited do not count."""
    slowest_s = max(taken_s)
    if cpu_s is None or slowest_s <= MUCH_LESS * min(taken_s) + CPU_TIME_ERROR_S:
        return ""
    typical_s = median(taken_s)
    if slowest_s <= MUCH_LESS * typical_s + CPU_TIME_ERROR_S:
        return ""
    computed_s = cpu_s - (len(taken_s) - 1) * typical_s
    if computed_s < slowest_s / 2 or slowest_s < WORTH_SEEING * cpu_s:
        return ""
    many = plural(len(taken_s), "execution")
    return f"of {many} one needed {seconds(slowest_s)} of CPU time and most {seconds(typical_s)}"


def session_cpu_s(session: Session) -> float | None:
    """CPU seconds of the session, the larger of what host and database counted."""
    by_host, by_database = session.cpu_s, session.db.get("db_cpu_s")
    if by_host is None or by_database is None:
        return by_database if by_host is None else by_host
    return max(by_host, by_database)


def alone_cpu_s(record: RunRecord) -> dict[str, float]:
    """The least CPU seconds of an execution in the single-session rounds, by variant; experiments mix their work."""
    alone: dict[str, float] = {}
    for each in record.rounds if record.header.plan.experiment == SWEEP else ():
        for session in each.sessions if each.level == 1 else ():
            cpu_s = session_cpu_s(session)
            if session.executions and cpu_s is not None:
                min_s = alone.get(each.variant, math.inf)
                alone[each.variant] = min(min_s, cpu_s / len(session.executions))
    return alone


def work_of(header: Header, round_: Round, session: Session | None) -> tuple[str, WorkloadInfo]:
    """What the session had to do, and on which kind of database; None: any, where there are no parties."""
    plan, kind = header.plan, header.database.kind
    if plan.parties and session is not None:
        party = party_of(plan, round_, session)
        return party.database.kind, party.workload
    return kind, next((work for work in plan.sizes if work.size == round_.variant), plan.workload)


def party_of(plan: Plan, round_: Round, session: Session) -> Party:
    """Whose session it is: in a round of all parties their sessions have consecutive ordinals."""
    ends = accumulate(each.sessions for each in plan.parties)
    beside = (each for each, end in zip(plan.parties, ends, strict=True) if session.ordinal < end)
    alone = (each for each in plan.parties if each.target == round_.variant)
    return next(chain(alone, beside), plan.parties[-1])

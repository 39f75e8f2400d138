"""Which sessions of a run did not do their work: most runs have none, and all of it is looked at together for a hint.

Measuring asks ``plausible_work`` about single executions, without NumPy.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np

from dbcpu.analysis.sessions.execution_times import ExecutionTimes
from dbcpu.analysis.sessions.plausible_work import (
    CPU_TIME_ERROR_S,
    MAX_ROWS_PER_S,
    MUCH_LESS,
    READS_BLOCKS,
    alone_cpu_s,
    other_plan,
    undone_in_round,
    work_of,
)
from dbcpu.analysis.statistics.columns import column, floats
from dbcpu.record.header import ROWS_UNIT, Header
from dbcpu.record.rounds import Round, RunRecord


def undone_in_rounds(record: RunRecord, rounds: Sequence[Round], times: ExecutionTimes) -> dict[tuple[int, int], str]:
    """Why the work of a session was not done, by order and ordinal; sessions that show nothing are left out.

    ``times``: of ``rounds``, which are some of the record.
    """
    alone = alone_cpu_s(record)
    suspected = rounds if record.header.plan.parties else _suspected(record.header, rounds, times, alone)
    return {
        (each.order, ordinal): why
        for each in suspected
        for ordinal, why in undone_in_round(record.header, each, alone).items()
    }


def _suspected(
    header: Header, rounds: Sequence[Round], times: ExecutionTimes, alone: Mapping[str, float]
) -> Sequence[Round]:
    """The rounds in which some time, CPU time or plan is worth a look at each session; of most runs there is none."""
    works = [work_of(header, each, None) for each in rounds]
    suspected = {
        number for number, (kind, work) in enumerate(works)
        if work.name == READS_BLOCKS or other_plan(kind, work.name, work.plan_shape)
    }  # fmt: skip
    min_s = np.array([work.rows / MAX_ROWS_PER_S if work.unit == ROWS_UNIT else -np.inf for _, work in works])
    alone_s = np.array([alone.get(each.variant, -np.inf) for each in rounds])
    many, at = times.last - times.first + 1, times.round_at
    cpu_s, counts = column(times.sessions, "cpu_s"), [*map(attrgetter("db"), times.sessions)]
    if any(counts):
        cpu_s = np.fmax(cpu_s, floats([each.get("db_cpu_s") for each in counts]))
    taken_s = np.fmax(times.elapsed_s, times.server_elapsed_s)
    shortest_s, slowest_s = times.min_by_session(taken_s), times.max_by_session(taken_s)
    strange = (
        (np.fmin(shortest_s, (cpu_s + CPU_TIME_ERROR_S) / many) < min_s[at])
        | (MUCH_LESS * (cpu_s + CPU_TIME_ERROR_S) < many * alone_s[at])
        | (slowest_s > MUCH_LESS * shortest_s + CPU_TIME_ERROR_S)
    )
    suspected |= set(at[strange].tolist())
    return [each for number, each in enumerate(rounds) if number in suspected]

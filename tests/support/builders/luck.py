"""Runs with a luck of their own: the times of a record scaled by a factor per run, as an hour changes a cloud host."""

import numpy as np
from msgspec.structs import replace

from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, simulate


def slower(record: RunRecord, factor: float, run_id: str = "") -> RunRecord:
    """The same run with every execution taking ``factor`` times as long."""
    header = replace(record.header, run_id=run_id) if run_id else record.header
    return RunRecord(header, tuple(_slower(each, factor) for each in record.rounds))


def _slower(turn: Round, factor: float) -> Round:
    sessions = tuple(
        replace(
            session,
            executions=tuple(
                replace(
                    one,
                    elapsed_s=one.elapsed_s * factor,
                    server_elapsed_s=None if one.server_elapsed_s is None else one.server_elapsed_s * factor,
                )
                for one in session.executions
            ),
        )
        for session in turn.sessions
    )
    return replace(turn, sessions=sessions)


def lucky_runs(
    host: SimulatedHost,
    levels: tuple[int, ...],
    seed: int,
    runs: int,
    spread: float,
    speed: float = 1.0,
    repeats: int = 6,
) -> list[RunRecord]:
    """So many runs of ``host``, ``speed`` times as fast, whose logarithms of time differ by ``spread`` (sd)."""
    luck = np.random.default_rng([seed, 1])
    return [
        slower(
            simulate(host, levels, repeats, seed=1000 * seed + at),
            float(np.exp(luck.normal(0, spread))) / speed,
            f"run-{seed}-{at}",
        )
        for at in range(runs)
    ]

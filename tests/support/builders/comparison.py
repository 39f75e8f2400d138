"""Runs that differ by what a test says, with seeded noise between rounds; no simulator, so they cost nothing."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.comparison.compare import Candidate, compare_sides, measured_side
from dbcpu.analysis.results.comparison import Comparison, Floor
from dbcpu.record.header import AA
from dbcpu.record.rounds import RunRecord
from support.builders.record import SOLO_S, host, record, round_of, session


def compare(candidates: Sequence[Candidate], floor: Floor | None = None, levels_per: str | None = None) -> Comparison:
    """Compare runs with the first one, one run a side."""
    return compare_sides([measured_side(each.name, [each]) for each in candidates], floor, levels_per)


def noisy_run(
    seed: int,
    speed: float = 1.0,
    uneven: float = 1.0,
    repeats: int = 6,
    noise: float = 0.01,
    levels: tuple[int, ...] = (1, 2, 3, 4),
    cores: int = 2,
    threads: int = 2,
    run_id: str = "",
    label: str = "",
    started_at: str = "2026-11-01T12:00:00+00:00",
    target: str = "embedded",
    connect_s: float = 0.012,
) -> RunRecord:
    """Beyond the cores half of the sessions take ``uneven`` times as long; every round has its own luck."""
    luck = np.random.default_rng(seed)
    rounds = []
    for repeat in range(repeats):
        for level in levels:
            pace = SOLO_S / speed * np.exp(luck.normal(0, noise))
            each = [pace * np.exp(luck.normal(0, noise / 4)) for _ in range(level)]
            if level > cores:
                each = [time_s * (uneven if ordinal % 2 else 1.0) for ordinal, time_s in enumerate(each)]
            everywhere = tuple(range(cores * threads))
            made = [
                replace(
                    session(i, float(time_s), cpu=i % len(everywhere), connect_s=connect_s), allowed_cpus=everywhere
                )
                for i, time_s in enumerate(each)
            ]
            rounds.append(round_of(made, repeat=repeat))
    whole = record(
        rounds,
        host(cores, threads),
        vcpus=cores * threads,
        repeats=repeats,
        run_id=run_id or f"run-{seed}",
        label=label,
    )
    plan = replace(whole.header.plan, target=target)
    return RunRecord(replace(whole.header, started_at=started_at, plan=plan), whole.rounds)


def aa_run(first: RunRecord, second: RunRecord) -> RunRecord:
    """What ``dbcpu run --aa`` makes, of two runs of the same thing."""
    whole = with_variants(first, second, AA[1])
    rounds = tuple(replace(each, variant=AA[0]) if each.variant != AA[1] else each for each in whole.rounds)
    return RunRecord(replace(whole.header, plan=replace(whole.header.plan, variants=AA)), rounds)


def with_variants(first: RunRecord, second: RunRecord, name: str) -> RunRecord:
    """One run of two variants: ``first`` as it is, ``second``'s rounds as variant ``name``."""
    rounds = [*first.rounds, *(replace(each, variant=name) for each in second.rounds)]
    numbered = tuple(replace(each, order=order) for order, each in enumerate(rounds))
    plan = replace(first.header.plan, variants=("baseline", name))
    return RunRecord(replace(first.header, plan=plan), numbered)

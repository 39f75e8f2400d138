"""One session alone, again and again: a host that changes meanwhile says so."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.drift import drift
from dbcpu.analysis.levels.solo_reference import reference
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.rounds import RunRecord, Session
from support.builders.record import SOLO_S, record, round_of, session, solos


def run_of(*factors: float) -> RunRecord:
    """Solo rounds, and five rounds of two sessions that differ by 1 %."""
    pairs = [round_of([session(0), session(1, SOLO_S * 1.01)])] * 5
    return record([*(round_of([session(0, SOLO_S * factor)]) for factor in factors), *pairs])


def moved(run: RunRecord) -> tuple[str, str] | None:
    sessions = timed(run)
    found = drift(run, sessions, reference(run, sessions))
    return (found.earlier, found.later) if found else None


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((1.0, 1.01, 0.99), None),
        ((1.0, 1.0, 1.2), ("at the start", "at the end")),
        ((1.0, 1.2, 1.0), ("at the start", "in the middle")),
        ((1.2, 1.0, 1.0, 1.0, 1.0, 1.0), None),  # one slow round of two in a third is no drift
        ((1.0, 1.0, 1.1, 1.1, 1.25, 1.25), ("at the start", "at the end")),
        ((1.0, 1.0, 1.7, 1.0, 1.0, 1.0), None),  # nor is one that ran on a CPU which interrupts keep busy
        ((1.0, 1.0, 1.0, 1.5, 1.5, 1.5), ("at the start", "at the end")),  # from the middle of the run on
        ((1.0, 1.08), None),  # within the least tolerance
        ((1.0, 1.3), ("at the start", "at the end")),
    ],
)
def test_the_parts_of_a_run_are_compared(factors: tuple[float, ...], expected: tuple[str, str] | None) -> None:
    assert moved(run_of(*factors)) == expected


def noisy(seed: int, noise: float, solo_rounds: int = 3, last: float = 1.0) -> RunRecord:
    """Solo rounds with five rounds of two sessions after the first; the last takes ``last`` times as long."""
    luck = np.random.default_rng(seed)
    levels = [1] * solo_rounds
    levels[1:1] = [2] * 5
    factors = [last if at == len(levels) - 1 else 1.0 for at in range(len(levels))]
    return record(
        [
            round_of([session(i, SOLO_S * factor * (1 + noise * luck.standard_normal())) for i in range(level)])
            for level, factor in zip(levels, factors, strict=True)
        ]
    )


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.05, 0.08])
@pytest.mark.parametrize("solo_rounds", [3, 5])
def test_noise_is_no_drift(noise: float, solo_rounds: int) -> None:
    """At 5 % and more, three solo rounds are further apart than 10 % in most runs."""
    assert sum(moved(noisy(seed, noise, solo_rounds)) is not None for seed in range(60)) <= 2


def test_a_fifth_is_told_from_a_noise_of_one_in_a_hundred() -> None:
    told = [moved(noisy(seed, 0.01, last=1.2)) for seed in range(20)]
    assert sum(each is not None and each[1] == "at the end" for each in told) >= 19


def test_where_nothing_else_tells_of_the_noise_three_solo_rounds_may_differ_by_a_fifth() -> None:
    def only_solos(*factors: float) -> RunRecord:
        return record([round_of([session(0, SOLO_S * factor)]) for factor in factors])

    assert moved(only_solos(1.0, 1.0, 1.2)) is None
    assert moved(only_solos(1.0, 1.0, 1.5)) == ("at the start", "at the end")


@pytest.mark.parametrize(
    "taken", [session(0, SOLO_S, gap_s=0.5 * SOLO_S), session(0, SOLO_S, queue_s=0.5 * SOLO_S)], ids=["gap", "queue"]
)
def test_time_that_the_kernel_counted_beside_cpu_time_is_no_drift(taken: Session) -> None:
    """Interrupts on the CPU of one single session in three: that is a cause, and no change of the host."""
    pairs = [round_of([session(0), session(1, SOLO_S * 1.01)])] * 5
    slower = session(0, SOLO_S * 1.5)
    assert moved(record([*solos(2), *pairs, round_of([taken])])) is None
    assert moved(record([*solos(2), *pairs, round_of([slower])])) == ("at the start", "at the end")


def test_it_is_a_finding_with_both_times() -> None:
    (finding,) = [each for each in explain(run_of(1.0, 1.0, 1.2)).findings if each.code == "solo-drift"]
    assert "1.80 s at the start and 2.16 s at the end (+20 %)" in finding.seen


def test_without_a_solo_round_nothing_is_said() -> None:
    run = record([round_of([session(0), session(1)])])
    assert drift(run, timed(run), None) is None
    assert moved(record(solos(1))) is None

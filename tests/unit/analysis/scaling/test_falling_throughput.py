"""A fall of throughput is said where the rounds show it, and not where chance, or who ends early, makes it."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.host import Fall
from dbcpu.reports.documents.run_scaling import scaling_words
from dbcpu.simulator import SimulatedHost, simulate

NOISY = SimulatedHost(cores=4, threads=2, smt_yield=0.0, noise=0.05)
"""Second threads add nothing, and levels differ by chance."""


def fall(host: SimulatedHost, levels: tuple[int, ...], rounds: int, seed: int = 1) -> Fall | None:
    return explain(simulate(host, levels, rounds, seed, size="short")).scaling.fall


def test_chance_is_no_fall() -> None:
    levels = (1, 2, 4, 5, 6, 7, 8, 16)
    assert [seed for seed in range(12) if fall(NOISY, levels, 3, seed) is not None] == []


def test_what_second_threads_cost_is_a_fall() -> None:
    seen = fall(replace(NOISY, smt_yield=-0.2, noise=0.01), (1, 4, 6, 8), 6)
    assert seen is not None
    assert (seen.from_level, seen.to_level) == (4, 8)
    assert 0.17 < seen.share < 0.21


def test_one_round_of_each_level_shows_no_fall() -> None:
    assert fall(SimulatedHost(cores=4, threads=1, turbo_slope=0.9), (1, 2, 4), 1) is None


TURBO, STRONG = SimulatedHost(cores=8, threads=1, turbo_slope=0.7), SimulatedHost(cores=8, threads=1, turbo_slope=0.9)
TURBO_AND_SMT = SimulatedHost(cores=4, threads=2, turbo_slope=0.6)
SMT_AND_QUOTA = SimulatedHost(cores=4, threads=2, quota_cpus=3)


@pytest.mark.parametrize(("host", "levels", "best", "advised"), [
    (STRONG, (*range(1, 11), 16), 4, 4),
    (TURBO, (*range(1, 11), 16), 6, 6),  # 5 do as much
    (TURBO_AND_SMT, (*range(1, 9), 16), 8, None),  # less at 4 than at 3, and most with all threads
    (SMT_AND_QUOTA, (1, 2, 3, 4, 6), 4, 4),  # 3 do as much: it does not rise any more
    (STRONG, (1, 8, 16), 1, None),  # most is between 1 and 8, where nobody measured
])  # fmt: skip
def test_a_number_of_sessions_is_advised_where_it_is_known_to_do_most(
    host: SimulatedHost, levels: tuple[int, ...], best: int, advised: int | None
) -> None:
    seen = fall(host, levels, 3)
    assert seen is not None
    assert (seen.best_level, seen.advised) == (best, advised)


def test_a_curve_that_falls_before_its_knee_is_said_to_fall() -> None:
    """It *bent* at 4.0, from where it is flat: three sessions do a third more."""
    record = simulate(SimulatedHost(cores=4, threads=1, turbo_slope=0.7), (1, 2, 3, 4, 5, 8), 3, 1, size="short")
    assert scaling_words(record, explain(record)).startswith("throughput falls from 3 sessions on, until 4.0 sessions")


def test_early_ends_do_not_enlarge_a_fall() -> None:
    """At 6 of 8 threads the sum of rates counts what sessions alone on their core do after others have ended."""
    host = SimulatedHost(cores=4, threads=2, quota_cpus=6, scheduler="smt_balancing")
    seen = fall(host, (*range(1, 9), 12), 6, 13)
    assert seen is not None
    assert seen.at_least
    assert seen.share < 1 - 4 / (4 + 2 / 3)

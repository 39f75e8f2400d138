"""A fall of throughput is said where the rounds show it, and not where chance, or who ends early, makes it."""

from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.host import Fall
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

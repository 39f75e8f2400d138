"""A/A: what two halves of the same thing differ by, and the least difference that is more than chance."""

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import NoiseFloor
from dbcpu.record.header import AA
from dbcpu.record.plan import rounds
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, record, round_of, session


def halves(cv: float, seed: int, repeats: int = 5, second: float = 1.0, variants: tuple[str, ...] = AA) -> RunRecord:
    """Levels 1, 2 and 4 with ``cv`` noise between rounds; all of the second half takes ``second`` times as long."""
    chance = np.random.default_rng(seed)
    made: list[Round] = []
    for spec in rounds((1, 2, 4), repeats, seed, variants):
        factor = (1 + cv * chance.standard_normal()) * (second if spec.variant == variants[-1] else 1.0)
        sessions = [session(i, SOLO_S * factor * (1 + 0.005 * i)) for i in range(spec.level)]
        made.append(round_of(sessions, repeat=spec.repeat, variant=spec.variant))
    run = record(made, repeats=repeats)
    return replace(run, header=replace(run.header, plan=replace(run.header.plan, variants=variants)))


def floor(run: RunRecord) -> NoiseFloor:
    found = explain(run).noise_floor
    assert found is not None
    return found


def test_the_floor_grows_with_the_noise_and_shrinks_with_repeats() -> None:
    quiet, loud, often = floor(halves(0.005, 1)), floor(halves(0.04, 1)), floor(halves(0.04, 1, repeats=10))
    assert 1 < quiet.level_ratio < 1.03
    assert loud.level_ratio > often.level_ratio > quiet.level_ratio
    assert (quiet.levels, quiet.rounds) == (3, 5)


@pytest.mark.parametrize("cv", [0.01, 0.03])
def test_a_difference_as_large_as_the_floor_is_told_from_chance_in_most_runs(cv: float) -> None:
    """The formula's promise: 80 % power. The comparison is a t-test over rounds, pooled over levels."""
    told = 0
    ratio = float(np.median([floor(halves(cv, seed)).level_ratio for seed in range(10)]))
    for seed in range(60):
        chance = np.random.default_rng([seed, 9])
        a, b = (cv * chance.standard_normal((3, 5)) for _ in range(2))
        b += np.log(ratio)
        error = float(np.sqrt((a.var(axis=1, ddof=1).mean() + b.var(axis=1, ddof=1).mean()) / 5))
        told += abs(float(a[0].mean() - b[0].mean())) > 2.06 * error  # t(0.975, 24 degrees of freedom)
    assert told >= 39  # 80 % of 60 is 48; below 39 once in 300 runs


def test_drift_between_the_halves_raises_the_floor() -> None:
    still, drifting = floor(halves(0.005, 1)), floor(halves(0.005, 1, second=1.1))
    assert drifting.level_ratio > 1.2 > still.level_ratio
    assert drifting.level_seen == pytest.approx(1.1, abs=0.01)


def test_only_an_a_a_run_has_a_floor() -> None:
    assert explain(halves(0.01, 1, variants=("baseline",))).noise_floor is None
    assert explain(halves(0.01, 1, variants=("one", "two"))).noise_floor is None


def test_levels_with_one_round_a_half_do_not_count() -> None:
    assert floor(halves(0.01, 1, repeats=1)).levels == 1  # one session alone is measured three times in any case


def test_the_finding_prints_it() -> None:
    told = explain(halves(0.01, 2))
    assert told.noise_floor is not None
    (finding,) = [each for each in told.findings if each.code == "noise-floor"]
    least = f"{told.noise_floor.level_ratio - 1:.1%}".replace("%", " %")
    assert f"the smallest detectable difference is {least}, in max/min " in finding.seen


def test_a_simulated_host_is_measured_in_interleaved_halves() -> None:
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 2), repeats=3, seed=1, size="short", variants=AA)
    order = [each.variant for each in run.rounds if each.level == 2]
    assert order == ["aa1", "aa2", "aa2", "aa1", "aa1", "aa2"]
    assert floor(run).level_seen < 1.05

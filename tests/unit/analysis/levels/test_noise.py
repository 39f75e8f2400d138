"""How much equal sessions differ by chance: what counts as noise, how well it is known, and where the limits are."""

import numpy as np
import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.noise import slowdown_error, uneven_limit
from dbcpu.analysis.levels.solo_reference import reference as reference_of
from dbcpu.analysis.results.run import Reference
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.analysis.statistics.chance import Chance
from dbcpu.record.rounds import Round, RunRecord
from support.builders.record import SOLO_S, host, record, round_of, session


def run_of(seed: int, cv: float, solo_rounds: int = 5, pairs: int = 10, queued: float = 0.0) -> RunRecord:
    """Solo rounds and rounds of two sessions, one of which waits for ``queued`` of its time besides."""
    luck = np.random.default_rng(seed)

    def takes() -> float:
        return float(SOLO_S * (1 + cv * luck.standard_normal()))

    alone = [round_of([session(0, takes())]) for _ in range(solo_rounds)]
    both = [round_of([session(0, takes()), session(1, takes(), queue_s=queued * SOLO_S)]) for _ in range(pairs)]
    return record([*alone, *both])


def reference(run: RunRecord) -> Reference:
    found = reference_of(run, timed(run))
    assert found is not None
    return found


@pytest.mark.parametrize("cv", [0.01, 0.04, 0.08])
def test_the_spread_is_the_true_one_on_average_and_seldom_half_of_it(cv: float) -> None:
    spreads = np.array([reference(run_of(seed, cv)).spread for seed in range(40)])
    assert np.median(spreads) == pytest.approx(cv, rel=0.2)
    assert np.quantile(spreads, 0.05) > 0.5 * cv


def test_waiting_for_a_cpu_is_a_loss_and_no_noise() -> None:
    assert reference(run_of(1, 0.02, queued=0.5)).spread == pytest.approx(reference(run_of(1, 0.02)).spread)


def test_few_sessions_know_the_noise_with_few_degrees_of_freedom() -> None:
    few, many = reference(run_of(1, 0.02, 3, 0)), reference(run_of(1, 0.02, 5, 20))
    assert few.spread_freedom == 4.0
    assert many.spread_freedom == pytest.approx(0.9 * 24)


@pytest.mark.parametrize("sessions", [2, 16, 17, 64, 300])
def test_a_gate_is_what_it_is_wherever_that_is_above_the_least(sessions: int) -> None:
    noise = Chance(0.01, 30.0)
    alone = uneven_limit(noise, sessions, 3)
    assert uneven_limit(noise, sessions, 3, alone - 0.001) == alone
    assert uneven_limit(noise, sessions, 3, alone + 0.001) == alone + 0.001
    assert uneven_limit(noise, sessions, 3, 2.0) == 2.0


def test_the_less_is_known_of_the_noise_the_further_out_are_the_limits() -> None:
    few, many = Chance(0.05, 5.0), Chance(0.05, 500.0)
    assert uneven_limit(few, 4, 5) > uneven_limit(many, 4, 5) > uneven_limit(many, 2, 5) > 1.05
    few_rounds, many_rounds = slowdown_error(many, 4, 5, 5), slowdown_error(many, 4, 5, 50)
    assert slowdown_error(few, 4, 5, 5).passed_by(0.001) > few_rounds.passed_by(0.001) > many_rounds.passed_by(0.001)


def test_the_limits_are_passed_about_as_seldom_as_they_say() -> None:
    """0.1 % for the slowdown, 0.01 % for the spread: 4,000 levels of eight sessions, five rounds, known noise."""
    luck, noise = np.random.default_rng(3), Chance(0.05, 1e6)
    slowed = uneven = 0
    for _ in range(4000):
        times = np.exp(0.05 * luck.standard_normal((5, 8)))
        alone = float(np.median(np.exp(0.05 * luck.standard_normal(5))))
        slowed += np.log(np.median(np.median(times, axis=1)) / alone) > slowdown_error(noise, 8, 5, 5).passed_by(0.001)
        uneven += float(np.median(times.max(axis=1) / times.min(axis=1))) > uneven_limit(noise, 8, 5)
    assert slowed <= 12
    assert uneven <= 3


# --- what is counted is lost however noisy CPU times are ----------------------------------------


def noisy_solos() -> list[Round]:
    """Alone it takes 15 % more or less: with three times that as tolerance nothing below 45 % is a loss of CPU time."""
    return [round_of([session(0, SOLO_S * factor)]) for factor in (0.85, 0.9, 1.0, 1.1, 1.15)]


def cause(**loss: float) -> str:
    run = record([*noisy_solos(), round_of([session(0, cpu=0), session(1, cpu=0, **loss)])])  # type: ignore[arg-type]
    (view,) = [each for each in explain(run).sessions if each.level == 2 and each.ordinal == 1]
    return view.cause


def test_noisy_cpu_times_hide_a_slower_cpu_and_no_run_queue() -> None:
    assert reference(record(noisy_solos())).tolerance > 0.4
    assert cause(run_s=1.3 * SOLO_S) == "none"
    assert cause(queue_s=0.3 * SOLO_S) == "run_queue"
    assert cause(run_s=0.95 * SOLO_S, queue_s=0.3 * SOLO_S) == "run_queue"


def test_what_is_counted_has_a_tolerance_of_ten_per_cent_too() -> None:
    assert cause(queue_s=0.08 * SOLO_S) == "none"
    assert cause(run_s=0.85 * SOLO_S, queue_s=0.2 * SOLO_S) == "none"  # it took hardly longer than alone


def test_sessions_that_were_seen_on_one_core_are_no_noise_though_there_was_a_core_for_each() -> None:
    """Another process had the last free core: sessions 1 and 3 are on both threads of core 1 in every round."""
    luck = np.random.default_rng(1)

    def round_at(cpus: tuple[int, ...]) -> Round:
        slow = [1.5 if cpu % 4 == 1 and cpus.count(1) + cpus.count(5) == 2 else 1.0 for cpu in cpus]
        took_s = SOLO_S * np.array(slow) * (1 + 0.01 * luck.standard_normal(len(cpus)))
        return round_of([session(at, float(took_s[at]), cpu=cpu) for at, cpu in enumerate(cpus)])

    rounds = [round_at((2,)), *(round_at((2, 1, 3, 5)) for _ in range(6)), round_at((2,))]
    run = record(rounds, host(cores=4, threads=2), vcpus=8)
    assert reference(run).spread < 0.03
    assert reference(run).tolerance == pytest.approx(0.10)

"""The adaptive plan: it asks for what decides, repeats what is not known well, and ends."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.adaptive_plan import MAX_ANCHORS, MAX_REFINED, MAX_ROUNDS, MAX_TIMES_PLANNED, adaptive
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Answer
from dbcpu.hosts.topology import allowed_cores, usable_vcpus
from dbcpu.record.header import BASELINE, Header
from dbcpu.record.plan import RoundSpec, auto_levels, rounds
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.simulator import SimulatedHost, preset, simulate
from support.builders.record import SOLO_S, host, record, round_of, session


def header(cores: int, threads: int, repeats: int = 3) -> Header:
    return record([], host(cores, threads), vcpus=cores * threads, repeats=repeats).header


def play(planned: Header, cv: float = 0.002, uneven_from: int = 99, most: int = 500) -> list[RoundSpec]:
    """All rounds asked for, on a host where two sessions lose half from ``uneven_from`` sessions on."""
    chance = np.random.default_rng(1)
    next_round, done, asked = adaptive(planned), list[Round](), list[RoundSpec]()
    while (spec := next_round(done)) is not None:
        asked.append(spec)
        factor = 1 + cv * chance.standard_normal()
        slow = 2 if spec.level >= uneven_from else 0
        sessions = [session(i, SOLO_S * factor * (1.5 if i < slow else 1.0)) for i in range(spec.level)]
        done.append(round_of(sessions, repeat=spec.repeat, order=spec.order))
        assert len(asked) < most, "it does not end"
    return asked


def levels(asked: Sequence[RoundSpec]) -> list[int]:
    return [each.level for each in asked]


def test_it_begins_and_ends_with_one_session_alone_and_has_one_between() -> None:
    asked = levels(play(header(4, 2)))
    assert asked[0] == asked[-1] == 1
    assert 1 in asked[1:-1]


def test_a_small_host_is_measured_at_every_level() -> None:
    assert set(levels(play(header(4, 2)))) == set(auto_levels(8, 4))


def test_repeats_count_from_zero_and_orders_are_those_of_the_run() -> None:
    asked = play(header(2, 1), cv=0.05)
    assert [each.order for each in asked] == list(range(len(asked)))
    for level in set(levels(asked)):
        assert [each.repeat for each in asked if each.level == level] == list(range(levels(asked).count(level)))
    assert [each.anchor for each in asked if each.level == 1] == [
        repeat >= 3 for repeat in range(levels(asked).count(1))
    ]


@pytest.mark.parametrize("border", [9, 23, 57, 64])
def test_the_level_from_which_sessions_differ_is_found_by_halving(border: int) -> None:
    asked = levels(play(header(64, 1), uneven_from=border))
    assert {border - 1, border} <= set(asked)
    assert len(set(asked) - set(auto_levels(64, 64))) <= MAX_REFINED
    assert asked.count(border) >= 2
    assert asked.count(border - 1) >= 2


def test_a_quiet_host_needs_fewer_rounds_than_a_noisy_one_and_none_more_than_the_cap() -> None:
    quiet, noisy = levels(play(header(8, 2))), levels(play(header(8, 2), cv=0.08))
    planned = 3 * len(auto_levels(16, 8))
    assert planned < len(noisy) <= MAX_TIMES_PLANNED * planned + MAX_ANCHORS
    assert len(quiet) < planned
    assert all(noisy.count(level) <= 3 for level in set(noisy) if level > 16)
    assert all(noisy.count(level) <= MAX_ROUNDS for level in set(noisy) if level > 1)


def test_where_rounds_differ_from_each_other_no_more_of_them_are_asked_for_in_vain() -> None:
    """All sessions of a round are alike; it is the rounds that differ, by far too much."""
    asked = levels(play(header(2, 1), cv=0.25))
    assert asked.count(2) < MAX_ROUNDS


def test_the_order_is_seeded() -> None:
    planned = header(8, 2)
    other = replace(planned, plan=replace(planned.plan, seed=2))
    assert levels(play(planned)) == levels(play(planned)) != levels(play(other))


def test_a_run_whose_solo_rounds_fail_ends_all_the_same() -> None:
    next_round, done = adaptive(header(2, 1)), list[Round]()
    while (spec := next_round(done)) is not None:
        failed = [session(i, error="refused", answer_ok=None) for i in range(spec.level)]
        done.append(round_of(failed, repeat=spec.repeat, order=spec.order))
    assert len(done) == 3 + len(auto_levels(2)) - 1


# --- on simulated hosts, by the virtual clock ----------------------------------------------------


def virtual_s(run: RunRecord, pause_s: float = 0.6) -> float:
    return sum((each.cost.window_s if each.cost else 0.0) + pause_s for each in run.rounds)


def swept(simulated: SimulatedHost, seed: int = 1, **choices: object) -> RunRecord:
    info = simulated.info()
    wanted = auto_levels(usable_vcpus(info)[0], allowed_cores(info))
    return simulate(simulated, wanted, 3, seed, planner=adaptive, **choices)  # type: ignore[arg-type]


def test_the_answer_comes_in_a_tenth_of_the_time_of_every_level_once() -> None:
    """Both with executions of 40 s. No host can do every N from 1 to 256 faster than at its full throughput."""
    cores, smt_yield, work_s = 64, 0.33, 40.0
    run = swept(SimulatedHost(name="large", cores=cores, smt_yield=smt_yield, rebalance_s=1.0), size="seed", hz=0.5)
    told = explain(run)
    at_most = cores * (1 + smt_yield)
    every_level_s = sum(work_s * max(1.0, level / at_most) for level in range(1, 257))
    assert virtual_s(run) <= every_level_s / 10
    assert told.verdict.startswith("Up to 64 sessions all get equal CPU at full speed")
    assert "at 65 sessions 2 of 65 have a slowdown of 1." in told.verdict
    assert "shared core" in told.verdict
    assert told.scaling.knees == pytest.approx((64, 128), rel=0.05)
    assert told.scaling.smt_yield == pytest.approx(smt_yield, abs=0.03)
    assert told.topology is not None
    assert told.topology.verdict == "agrees"


def test_two_vcpus_are_answered_within_a_minute() -> None:
    run = swept(preset("this-vm"), size="short", seconds=1.5)
    assert virtual_s(run) < 60
    assert {each.level for each in run.rounds} == {1, 2, 3, 4}


@pytest.mark.parametrize("seed", [18, 39, 46, 51])
def test_a_level_is_not_given_up_because_few_rounds_happen_to_differ_much(seed: int) -> None:
    """What the first rounds show of the noise makes 20 rounds look too few; the noise itself does not."""
    run = swept(SimulatedHost(name="noisy", cores=2, noise=0.036), seed, size="short")
    assert explain(run).levels[1].even is Answer.YES


@pytest.mark.parametrize(("name", "border"), [("c4.4xlarge", 9), ("smt8", 9), ("hidden-smt", None)])
@pytest.mark.slow
def test_it_comes_to_the_same_verdict_as_the_fixed_plan_in_less_time(name: str, border: int | None) -> None:
    simulated = preset(name)
    run = swept(simulated, size="short", seconds=1.5)
    fixed = len(rounds(auto_levels(len(simulated.online), allowed_cores(simulated.info())), 5, 1, (BASELINE,)))
    assert len(run.rounds) < 0.9 * fixed
    if border:
        assert f"rom {border} sessions on, some are slower" in explain(run).verdict
    else:
        told = explain(run).topology
        assert told is not None
        assert told.verdict == "fewer_cores"

"""Every second of a runnable session is alone, misplaced, sharing or oversubscribed, and exactly one of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.placement.occupancy import Occupancy, cpus_of_same_core
from dbcpu.analysis.placement.regimes import RegimeSeconds, regime, regime_seconds
from dbcpu.analysis.placement.residency import ResidencyStretches
from dbcpu.analysis.placement.usable_cpus import core_by_cpu
from dbcpu.analysis.results.run import LevelView
from dbcpu.analysis.sessions.valid_sessions import timed
from dbcpu.record.header import HostInfo
from dbcpu.record.rounds import CpuSeries, Round, Session
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import host, record, round_of, session, solos


def anywhere(one: Session) -> Session:
    return replace(one, allowed_cpus=())


def beside_idle(each: Round) -> Round:
    """The same round with a CPU timeline in which nothing else ran."""
    end_s = max(one.start_s + one.elapsed_s for session in each.sessions for one in session.executions)
    return replace(each, timeline_s=(0.0, end_s), cpu_timeline=(CpuSeries(0, (0.0,), (0.0,), (0.0,), (0.0,)),))


def seconds_of(each: Round, measured_host: HostInfo) -> RegimeSeconds:
    run = record([each if each.cpu_timeline else beside_idle(each)], measured_host)
    (found,) = regime_seconds([timed(run)], core_by_cpu(run))
    assert found is not None
    return found


def level_of(run_level: int, measured_host: SimulatedHost, **choices: object) -> LevelView:
    run = simulate(measured_host, (1, run_level), repeats=2, seed=4, **choices)  # type: ignore[arg-type]
    return next(each for each in explain(run).levels if each.level == run_level)


@pytest.mark.parametrize(
    ("level", "cores", "vcpus", "expected"),
    [
        (1, 8, 16, "solo"),
        (8, 8, 16, "within cores"),
        (9, 8, 16, "sharing cores"),
        (16, 8, 16, "sharing cores"),
        (17, 8, 16, "oversubscribed"),
        (2, None, 2, "within vcpus"),
        (2, None, None, ""),
    ],
)
def test_the_word_follows_from_the_number_of_sessions(
    level: int, cores: int | None, vcpus: int | None, expected: str
) -> None:
    assert regime(level, cores, vcpus) == expected


def test_two_on_a_core_beside_an_idle_core_are_misplaced() -> None:
    pair = round_of([anywhere(session(0, 2.0, cpu=0)), anywhere(session(1, 2.0, cpu=2))])
    found = seconds_of(pair, host(cores=2, threads=2))
    assert found.misplaced_s == pytest.approx(4.0)
    assert (found.alone_s, found.sharing_s, found.oversubscribed_s) == (0.0, 0.0, 0.0)


def test_where_it_is_not_recorded_what_the_cpus_did_no_core_is_called_idle() -> None:
    pair = record([round_of([anywhere(session(0, 2.0, cpu=0)), anywhere(session(1, 2.0, cpu=2))])], host(2, 2))
    (found,) = regime_seconds([timed(pair)], core_by_cpu(pair))
    assert found is not None
    assert (found.misplaced_s, found.tail_misplaced_s, found.sharing_s) == (None, None, 0.0)


def test_one_idle_core_relieves_one_of_two_crowded_cores() -> None:
    four = round_of([anywhere(session(i, 2.0, cpu=cpu)) for i, cpu in enumerate((0, 3, 1, 4))])
    found = seconds_of(four, host(cores=3, threads=2))
    assert [found.misplaced_s, found.sharing_s] == pytest.approx([4.0, 4.0])


def test_sharing_is_unavoidable_when_no_allowed_core_is_idle() -> None:
    pair = [replace(session(i, 2.0, cpu=cpu), allowed_cpus=(0, 2)) for i, cpu in enumerate((0, 2))]
    found = seconds_of(round_of(pair), host(cores=2, threads=2))
    assert [found.misplaced_s, found.sharing_s] == pytest.approx([0.0, 4.0])


def test_a_queue_beside_an_idle_cpu_is_misplaced_and_else_oversubscribed() -> None:
    both = [session(i, 1.0, 1.0, cpu=0) for i in range(2)]
    assert seconds_of(round_of(both), host(cores=2)).misplaced_s == pytest.approx(4.0)
    pinned = [replace(one, allowed_cpus=(0,)) for one in both]
    assert seconds_of(round_of(pinned), host(cores=2)).oversubscribed_s == pytest.approx(4.0)


def test_a_core_that_a_foreign_process_keeps_busy_is_not_idle() -> None:
    pair = [anywhere(session(0, 2.0, cpu=0)), anywhere(session(1, 2.0, cpu=2))]
    busy = round_of(pair, busy_s={0: 2.0, 2: 2.0, 1: 1.9, 3: 1.9})
    assert seconds_of(busy, host(cores=2, threads=2)).sharing_s == pytest.approx(4.0)


def test_a_foreign_process_on_its_cpu_or_core_makes_no_session_share_with_another() -> None:
    lone = round_of([anywhere(session(0, 2.0, 2.0, cpu=0))], busy_s={0: 4.0, 1: 3.9})
    found = seconds_of(lone, host(cores=1, threads=2))
    assert [found.alone_s, found.sharing_s, found.oversubscribed_s] == pytest.approx([4.0, 0.0, 0.0])
    assert found.misplaced_s == pytest.approx(0.0)


def test_what_happens_after_the_first_has_ended_is_told_apart() -> None:
    ragged = [anywhere(session(i, run_s, cpu=cpu)) for i, (run_s, cpu) in enumerate(((3.0, 0), (3.0, 2), (2.0, 1)))]
    found = seconds_of(round_of(ragged), host(cores=2, threads=2))
    assert [found.alone_s, found.sharing_s, found.misplaced_s] == pytest.approx([2.0, 4.0, 0.0])
    assert found.tail_misplaced_s == pytest.approx(2.0)


def test_without_samples_or_topology_nothing_is_told() -> None:
    each = round_of([replace(session(0), residency=()), session(1)])
    assert regime_seconds([timed(record([each]))], {0: 0, 1: 1}) == [None]
    assert regime_seconds([timed(record([round_of([session(0)])]))], {}) == [None]


def test_the_seeds_host_shares_cores_unavoidably_and_hides_nothing() -> None:
    found = level_of(9, SimulatedHost(), size="short", seconds=1.5)
    assert found.share(found.sharing_s) == pytest.approx(2 / 9, abs=0.02)
    assert found.share(found.misplaced_s) < 0.01
    assert found.tail_misplaced_s is not None
    assert found.tail_misplaced_s > 0.5  # the two unlucky ones share on while cores fall idle


def test_a_scheduler_that_balances_leaves_no_misplaced_tail() -> None:
    found = level_of(9, SimulatedHost(scheduler="smt_balancing"), size="short", seconds=1.5)
    assert found.tail_misplaced_s == pytest.approx(0.0, abs=0.2)


def test_more_sessions_than_cpus_are_oversubscribed() -> None:
    found = level_of(8, SimulatedHost(cores=4, threads=1), size="short", seconds=1.5)
    assert found.share(found.oversubscribed_s) == pytest.approx(1.0, abs=0.02)


def test_misplacement_is_a_finding_with_the_remedy_that_fits_it_and_sharing_has_another() -> None:
    pair = beside_idle(round_of([anywhere(session(0, 2.7, cpu=0)), anywhere(session(1, 2.7, cpu=2))]))
    codes = {each.code: each for each in explain(record([*solos(), pair], host(2, 2), vcpus=4)).findings}
    assert "taskset" in codes["misplaced"].remedy
    assert "shared-cores" not in codes
    full = round_of([anywhere(session(i, 2.7, cpu=i)) for i in range(4)])
    codes = {each.code: each for each in explain(record([*solos(), full], host(2, 2), vcpus=4)).findings}
    assert "smt/control" in codes["shared-cores"].remedy
    assert "6.6" not in codes["shared-cores"].remedy
    assert "misplaced" not in codes


lanes = st.lists(st.tuples(st.integers(0, 7), st.floats(0, 3), st.floats(0.01, 3)), min_size=1, max_size=10)


@settings(max_examples=60)
@given(lanes, st.sampled_from([1, 2, 4]), st.randoms(use_true_random=False))
def test_the_parts_add_up_and_the_order_of_sessions_does_not_matter(
    stays: list[tuple[int, float, float]], threads: int, chance: object
) -> None:
    def parts(ordered: list[tuple[int, float, float]]) -> np.ndarray:
        sessions = [
            anywhere(session(i, lasts_s, cpu=cpu, start_s=from_s)) for i, (cpu, from_s, lasts_s) in enumerate(ordered)
        ]
        found = seconds_of(round_of(sessions), host(8 // threads, threads))
        return np.array([found.alone_s, found.misplaced_s, found.sharing_s, found.oversubscribed_s])

    first = parts(stays)
    shuffled = list(stays)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert parts(shuffled) == pytest.approx(first)
    start_s = max(from_s for _, from_s, _ in stays)
    end_s = min(from_s + lasts_s for _, from_s, lasts_s in stays)
    if end_s > start_s:
        assert first.sum() == pytest.approx(len(stays) * (end_s - start_s))
    assert (first >= -1e-9).all()


@settings(max_examples=40)
@given(lanes, st.lists(st.sampled_from([(), (0, 4), (1, 2, 3)]), min_size=10, max_size=10))
def test_the_occupancy_agrees_with_looking_at_every_moment(
    stays: list[tuple[int, float, float]], choices: list[tuple[int, ...]]
) -> None:
    cores = {cpu: cpu % 4 for cpu in range(8)}
    may_use = [{*chosen, cpu} if chosen else set(cores) for chosen, (cpu, _, _) in zip(choices, stays, strict=False)]
    rows = ResidencyStretches(
        np.arange(len(stays)), np.array([cpu for cpu, _, _ in stays]), np.zeros(len(stays), np.int64),
        np.array([a for _, a, _ in stays]), np.array([a + lasts for _, a, lasts in stays]), np.zeros(len(stays)),
    )  # fmt: skip
    at = Occupancy(rows, cpus_of_same_core(cores), {})
    for group in {tuple(sorted(allowed)) for allowed in may_use}:
        members = [index for index, allowed in enumerate(may_use) if tuple(sorted(allowed)) == group]
        found = at.sessions(rows.where(np.isin(rows.session, members)), group)
        counted = (found.alone, found.misplaced, found.sharing, found.oversubscribed)
        seen = np.array([at.curve(part).during(0.0, 6.0) for part in counted])
        expected = np.zeros(4)
        for low, high in pairwise(sorted({0.0, 6.0, *rows.from_s.tolist(), *rows.to_s.tolist()})):
            here = [index for index, (_, a, lasts) in enumerate(stays) if a <= low and a + lasts >= high]
            queue = {cpu: sum(stays[index][0] == cpu for index in here) for cpu in cores}
            busy = {core: sum(queue[cpu] > 0 for cpu in cores if cores[cpu] == core) for core in range(4)}
            own = [stays[index][0] for index in here if index in members]
            queued = [cpu for cpu in own if queue[cpu] > 1]
            shared = [cpu for cpu in own if queue[cpu] == 1 and busy[cores[cpu]] > 1]
            queueing = sum((queue[cpu] - 1) / queue[cpu] for cpu in queued)
            crowding = sum((busy[cores[cpu]] - 1) / busy[cores[cpu]] for cpu in shared)
            idle_cpus = sum(queue[cpu] == 0 for cpu in group)
            idle_cores = sum(busy[core] == 0 for core in {cores[cpu] for cpu in group})
            placed = len(shared) * min(1.0, idle_cores / crowding) if shared else 0.0
            moved = len(queued) * min(1.0, idle_cpus / queueing) if queued else 0.0
            alone = len(own) - len(queued) - len(shared)
            moment = (alone, placed + moved, len(shared) - placed, len(queued) - moved)
            expected += np.array(moment) * (high - low)
        assert seen == pytest.approx(expected, abs=1e-9)

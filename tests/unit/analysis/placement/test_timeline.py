"""Where sessions were at each moment: who shared, which cores stood free meanwhile, and when somebody moved."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.placement.timeline import (
    ABSENT,
    ALONE,
    CROWDED,
    DOUBLED,
    MOMENTS,
    OFF,
    QUEUED,
    SIBLING,
    SINGLE,
    SPARE,
    TAKEN,
    UNPOLLED,
    UNSEEN,
    WASTED,
    Timeline,
    timeline,
)
from dbcpu.record.rounds import Residency, Round, RunRecord
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import host, record, round_of, session, solos, unsampled


def last_round(*rounds: Round, cores: int = 2, threads: int = 1) -> Timeline:
    run = record([*solos(), *rounds], host(cores, threads), vcpus=cores * threads)
    found = timeline(run, run.rounds[-1].order)
    assert found is not None
    return found


def states(line: Timeline, index: int) -> list[int]:
    return [run.state for run in line.lane(index)]


def test_two_sessions_on_a_cpu_queue_there_while_the_third_is_alone() -> None:
    line = last_round(round_of([session(0, 2.0, 2.0, cpu=0), session(1, 2.0, 2.0, cpu=0), session(2, 2.0, cpu=1)]))
    assert [states(line, at) for at in range(3)] == [[QUEUED], [QUEUED], [ALONE]]
    assert [run.state for run in line.row(0)] == [CROWDED]
    assert [run.state for run in line.row(1)] == [SINGLE, WASTED]
    assert line.wasted_core_s == pytest.approx(2.0, abs=2 * line.moment_s)


@pytest.mark.parametrize(
    ("busy_s", "there"),
    [(0.0, WASTED), (0.3, WASTED), (0.7, UNPOLLED), (1.9, TAKEN)],
    ids=["idle", "hardly", "a third", "busy"],
)
def test_a_cpu_that_another_process_uses_is_not_free(busy_s: float, there: int) -> None:
    """Two sessions share CPU 0 for 4 s; CPU 1 was busy for so long of it."""
    crowd = [session(0, 2.0, 2.0, cpu=0), session(1, 2.0, 2.0, cpu=0)]
    line = last_round(round_of(crowd, busy_s={0: 4.0, 1: 2 * busy_s}))
    assert [run.state for run in line.row(0)] == [CROWDED]
    assert [run.state for run in line.row(1)] == [there]
    assert line.wasted_core_s == pytest.approx(4.0 if there == WASTED else 0.0, abs=line.moment_s)


def test_what_is_free_for_a_small_part_of_a_slice_is_not_known() -> None:
    """0.2 s of 4: when a session of 3.8 s ran within these is known no better."""
    sessions = [session(0, 2.0, 2.0, cpu=0), session(1, 2.0, 2.0, cpu=0), session(2, 1.9, 1.9, cpu=1)]
    line = last_round(round_of(sessions, busy_s={0: 4.0, 1: 4.0}))
    assert [run.state for run in line.row(1)] == [SINGLE, UNPOLLED]


def test_a_process_beside_a_session_does_not_make_its_cpu_used_by_others_afterwards() -> None:
    """On CPU 1 a session ran for 1 s of 2; the other process may have had the CPU then, or after it had ended."""
    sessions = [session(0, 2.0, 2.0, cpu=0), session(1, 2.0, 2.0, cpu=0), session(2, 1.0, 1.0, cpu=1)]
    line = last_round(round_of(sessions, busy_s={0: 4.0, 1: 2.0}))
    assert [run.state for run in line.row(1)] == [SINGLE, UNPOLLED]


def test_a_round_in_which_nobody_was_seen_runnable_has_a_map_all_the_same() -> None:
    asleep = session(0)
    asleep = replace(asleep, residency=tuple(replace(stretch, state="S") for stretch in asleep.residency))
    line = last_round(round_of([asleep]))
    assert states(line, 0) == [OFF]
    assert set(line.use.ravel().tolist()) == {SPARE}


def test_siblings_share_their_core_and_a_free_core_beside_them_is_wasted() -> None:
    line = last_round(round_of([session(0, 2.0, cpu=0), session(1, 2.0, cpu=2)]), cores=2, threads=2)
    assert [each.cpu for each in line.cpus] == [0, 2, 1, 3]
    assert [states(line, at) for at in range(2)] == [[SIBLING], [SIBLING]]
    assert [{run.state for run in line.row(at)} for at in range(4)] == [{DOUBLED}, {DOUBLED}, {WASTED}, {WASTED}]
    cores, use = line.cores()
    assert cores == (0, 1)
    assert [set(row.tolist()) for row in use] == [{DOUBLED}, {WASTED}]
    assert line.wasted_core_s == pytest.approx(2.0, rel=0.01)


def test_a_free_thread_of_a_busy_core_is_spare_and_wastes_no_core() -> None:
    everywhere = [replace(session(i, 2.0, cpu=i), allowed_cpus=(0, 1, 2, 3)) for i in range(2)]
    line = last_round(round_of(everywhere), cores=2, threads=2)
    assert [{run.state for run in line.row(at)} for at in range(4)] == [{SINGLE}, {SPARE}, {SINGLE}, {SPARE}]
    assert line.wasted_core_s == 0.0


def test_cpus_that_the_sessions_of_a_round_may_not_use_have_no_row() -> None:
    pinned = [replace(session(i, 2.0, cpu=i), allowed_cpus=(0, 1)) for i in range(2)]
    assert [each.cpu for each in last_round(round_of(pinned), cores=2, threads=2).cpus] == [0, 1]
    contradicted = [replace(session(0, 2.0, cpu=3), allowed_cpus=(0, 1))]
    assert len(last_round(round_of(contradicted), cores=2, threads=2).cpus) == 4


def test_a_move_is_told_at_its_time_and_splits_the_lane() -> None:
    line = last_round(round_of([session(0, 2.0, stays=[(0, 0.0, 0.5), (1, 0.5, 2.0)]), session(1, 2.0, cpu=1)]))
    assert line.moves_s == ((0.5,), ())
    assert [(run.cpu, run.state) for run in line.lane(0)] == [(0, ALONE), (1, QUEUED)]
    assert line.lane(0)[0].to_s == pytest.approx(0.5, abs=line.moment_s)


def test_sleep_is_not_running_and_takes_no_cpu() -> None:
    line = last_round(round_of([session(0, 1.0, gap_s=1.0, gap_state="S", cpu=0), session(1, 2.0, cpu=0)]))
    assert states(line, 0) == [QUEUED, OFF]
    assert states(line, 1) == [QUEUED, ALONE]


def test_what_no_poll_saw_is_not_sampled_and_no_cpu_is_free_meanwhile() -> None:
    """A poll each 50 ms: those beside the session saw it asleep, which says nothing of it."""
    beside = (("S", -0.5, 0.02), ("R", 0.02, 1.99), ("S", 1.99, 2.5))
    polled = tuple(Residency(0, state, from_s, to_s) for state, from_s, to_s in beside)
    line = last_round(round_of([replace(session(0, 2.0, cpu=0), residency=polled)]))
    assert states(line, 0) == [UNSEEN, ALONE, UNSEEN]
    rows = [[run.state for run in line.row(at)] for at in (0, 1)]
    assert rows == [[UNPOLLED, SINGLE, UNPOLLED], [UNPOLLED, SPARE, UNPOLLED]]


def test_sleep_that_a_poll_saw_within_the_session_is_sleep() -> None:
    polled = tuple(Residency(0, state, *span) for state, span in (("S", (-0.5, 0.2)), ("R", (0.2, 2.5))))
    assert states(last_round(round_of([replace(session(0, 2.0), residency=polled)])), 0) == [OFF, ALONE]


@pytest.mark.parametrize(("lasted_s", "there"), [(0.006, False), (0.2, True)])
def test_a_session_between_two_polls_has_no_timeline(lasted_s: float, there: bool) -> None:
    run = record(
        [*solos(), round_of([replace(session(0, lasted_s), residency=(Residency(0, "S", -0.5, lasted_s + 0.5),))])],
        host(2, 1), vcpus=2,
    )  # fmt: skip
    assert (timeline(run, run.rounds[-1].order) is not None) == there


def test_a_session_is_absent_before_its_start_and_after_its_end() -> None:
    line = last_round(round_of([session(0, 1.0, start_s=0.5), session(1, 2.0, cpu=1)]))
    times = (line.edges_s[:-1] + line.edges_s[1:]) / 2
    there = line.doing[0] != ABSENT
    assert np.array_equal(there, (times >= 0.5) & (times < 1.5))


def test_a_session_that_nobody_watched_is_unseen_beside_one_that_was() -> None:
    line = last_round(round_of([unsampled(session(0, 2.0)), session(1, 2.0)]))
    assert states(line, 0) == [UNSEEN]
    assert states(line, 1) == [ALONE]


def test_without_a_watched_session_or_a_round_there_is_no_timeline() -> None:
    run = record([*solos(), round_of([unsampled(session(0)), unsampled(session(1))], not_sampled="remote")])
    assert timeline(run, run.rounds[-1].order) is None
    assert timeline(run, None) is None
    assert timeline(run, 99) is None


def test_cpus_that_no_topology_tells_of_are_cores_of_their_own() -> None:
    run = three_on_two()
    blind = replace(run, header=replace(run.header, host=None))
    line = timeline(blind, explain(blind).telling_order)
    assert line is not None
    assert len({each.core for each in line.cpus}) == len(line.cpus) == 2


@pytest.mark.parametrize("run", [three_on_two(), nine_on_eight()], ids=["three_on_two", "nine_on_eight"])
def test_lanes_and_rows_cover_their_whole_time_without_overlap(run: RunRecord) -> None:
    line = timeline(run, explain(run).telling_order)
    assert line is not None
    assert line.doing.shape == (len(line.ordinals), MOMENTS)
    for at in range(len(line.cpus)):
        row = line.row(at)
        assert (row[0].from_s, row[-1].to_s) == (line.edges_s[0], line.edges_s[-1])
        assert all(earlier.to_s == later.from_s for earlier, later in pairwise(row))

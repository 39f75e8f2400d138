"""Who was where, and with whom: every moment of the record's residency is in exactly one stay."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dbcpu.record.rounds import Residency, Session
from dbcpu.reports.trace.placement import CROWD, Occupied, Stay, stays_and_lanes
from support.builders.record import round_of, session

CORES = {0: 0, 1: 1, 2: 0, 3: 1}
"""Two cores with two threads: CPU 2 is the sibling of CPU 0."""


def ns(offset_s: float) -> int:
    return round(offset_s * 1e9)


def placed(*sessions: Session, cores: dict[int, int] | None = None) -> tuple[list[Stay], list[Occupied]]:
    return stays_and_lanes(round_of(sessions), CORES if cores is None else cores, ns)


def lines(stays: list[Stay], ordinal: int) -> list[tuple[str, float, float]]:
    return [(each.name, each.from_ns / 1e9, each.to_ns / 1e9) for each in stays if each.session == ordinal]


def test_a_session_alone_on_its_core_is_one_stay() -> None:
    stays, lanes = placed(session(0, 1.0, cpu=1))
    assert lines(stays, 0) == [("CPU 1, core 1", 0.0, 1.0)]
    assert [(each.cpu, each.name, each.from_ns, each.to_ns) for each in lanes] == [(1, "session 0", 0, ns(1.0))]


def test_a_neighbour_that_comes_and_goes_cuts_the_stay() -> None:
    stays, lanes = placed(
        session(0, 2.0, cpu=0), session(1, 2.0, stays=[(1, 0.0, 0.5), (2, 0.5, 1.5), (3, 1.5, 2.0)])
    )  # fmt: skip
    assert lines(stays, 0) == [
        ("CPU 0, core 0", 0.0, 0.5),
        ("CPU 0, core 0, beside session 1", 0.5, 1.5),
        ("CPU 0, core 0", 1.5, 2.0),
    ]
    assert [name for name, *_ in lines(stays, 1)] == [
        "CPU 1, core 1", "CPU 2, core 0, beside session 0", "CPU 3, core 1",
    ]  # fmt: skip
    assert [each.name for each in lanes if each.cpu == 0] == ["session 0"], "nothing changed on this CPU"


def test_sessions_on_one_cpu_take_turns_in_no_order() -> None:
    stays, lanes = placed(session(0, 1.0, cpu=0), session(2, 1.0, cpu=0), session(3, 1.0, cpu=2))
    assert lines(stays, 0) == [("CPU 0, core 0, in turns with session 2, beside session 3", 0.0, 1.0)]
    assert lines(stays, 3) == [("CPU 2, core 0, beside sessions 0 and 2", 0.0, 1.0)]
    assert [(each.cpu, each.name) for each in lanes] == [(0, "sessions 0 and 2 in turns"), (2, "session 3")]


def test_a_session_that_sleeps_is_on_no_lane_and_beside_nobody() -> None:
    stays, lanes = placed(session(0, 2.0, cpu=0), session(1, 1.0, gap_s=1.0, cpu=2, gap_state="S"))
    assert lines(stays, 1) == [("CPU 2, core 0, beside session 0", 0.0, 1.0), ("asleep, last on CPU 2", 1.0, 2.0)]
    assert lines(stays, 0)[-1] == ("CPU 0, core 0", 1.0, 2.0)
    assert [each.to_ns for each in lanes if each.cpu == 2] == [ns(1.0)]


def test_a_cpu_without_a_topology_is_a_core_of_its_own() -> None:
    stays, _ = placed(session(0, 1.0, cpu=0), session(1, 1.0, cpu=2), cores={})
    assert [name for ordinal in (0, 1) for name, *_ in lines(stays, ordinal)] == ["CPU 0", "CPU 2"]


@pytest.mark.parametrize("size", [CROWD, CROWD + 1, 300])
def test_of_a_crowd_the_time_is_kept_and_the_sessions_are_counted(size: int) -> None:
    there, back = [(0, 0.0, 0.5), (2, 0.5, 1.0)], [(2, 0.0, 0.5), (0, 0.5, 1.0)]
    many = round_of([session(at, 1.0, stays=back if at % 2 else there) for at in range(size)])
    stays, lanes = stays_and_lanes(many, CORES, ns)
    for each in many.sessions:
        own = [stay for stay in stays if stay.session == each.ordinal]
        assert sum(stay.to_ns - stay.from_ns for stay in own) == ns(1.0)
    assert len(stays) <= 2 * size
    assert all(("up to" in stay.name) == (size > CROWD) for stay in stays)
    for cpu in (0, 2):
        assert sum(each.to_ns - each.from_ns for each in lanes if each.cpu == cpu) == ns(1.0)


def test_beside_a_crowd_a_session_alone_on_its_cpu_runs() -> None:
    crowd = [session(at, 1.0, cpu=0) for at in range(CROWD + 1)]
    stays, lanes = placed(*crowd, session(90, 1.0, cpu=2), session(91, 1.0, cpu=1))
    (alone,) = [each for each in stays if each.session == 90]
    assert alone.name == f"CPU 2, core 0, beside up to {CROWD + 1} sessions"
    assert {each.cpu: each.name for each in lanes} == {
        0: f"up to {CROWD + 1} sessions in turns",
        1: "session 91",
        2: "session 90",
    }


STAYS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from("RRRST")), min_size=1, max_size=6)
"""CPU, how many tenths of a second, and state."""


def sampled(ordinal: int, stays: list[tuple[int, int, str]]) -> Session:
    """A session that was in these places, one after the other."""
    residency, at = [], 0
    for cpu, tenths, state in stays:
        residency.append(Residency(cpu, state, at / 10, (at + tenths) / 10))
        at += tenths
    return replace(session(ordinal, at / 10), residency=tuple(residency))


@settings(max_examples=200)
@given(st.lists(STAYS, min_size=1, max_size=5))
def test_at_every_moment_each_session_is_once_where_it_was_and_with_whom_it_was(
    given_stays: list[list[tuple[int, int, str]]],
) -> None:
    sessions = [sampled(ordinal, stays) for ordinal, stays in enumerate(given_stays)]
    stays, lanes = placed(*sessions)
    for tenth in range(24):
        now_ns = ns(tenth / 10 + 0.05)
        there = {
            each.ordinal: (stay.cpu, stay.state)
            for each in sessions
            for stay in each.residency
            if ns(stay.from_s) <= now_ns < ns(stay.to_s)
        }
        runnable = {ordinal: cpu for ordinal, (cpu, state) in there.items() if state == "R"}
        shown = [each for each in stays if each.from_ns <= now_ns < each.to_ns]
        assert sorted(each.session for each in shown) == sorted(there)
        for each in shown:
            assert each.cpu == there[each.session][0]
            near = {one: cpu for one, cpu in runnable.items() if one != each.session and each.session in runnable}
            assert each.in_turns == tuple(sorted(one for one, cpu in near.items() if cpu == each.cpu))
            expected = (one for one, cpu in near.items() if cpu != each.cpu and CORES[cpu] == CORES[each.cpu])
            assert each.beside == tuple(sorted(expected))
        occupied = {each.cpu: each.sessions for each in lanes if each.from_ns <= now_ns < each.to_ns}
        assert occupied == {
            cpu: tuple(sorted(one for one, on in runnable.items() if on == cpu)) for cpu in runnable.values()
        }


def test_sixteen_are_no_crowd_and_are_named() -> None:
    stays, lanes = placed(*(session(at, 1.0, cpu=0) for at in range(CROWD)))
    assert stays[0].name.endswith("in turns with sessions 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 and 15")
    assert lanes[0].name.startswith("sessions 0, 1, 2")


def test_a_session_that_used_less_than_the_time_that_it_was_alone_took_turns_with_strangers() -> None:
    stays, lanes = placed(session(0, 0.7, queue_s=2.2, cpu=0))
    assert lines(stays, 0) == [("CPU 0, core 0, in turns with other processes", 0.0, 2.9)]
    assert [each.name for each in lanes] == ["session 0 in turns with other processes"]


def test_what_a_session_did_not_use_beside_another_session_is_nobody_elses() -> None:
    """Of 2 s it was alone for one, and used the CPU for as long."""
    stays, _ = placed(session(0, 1.0, queue_s=1.0, cpu=0), session(1, 1.0, stays=[(0, 1.0, 2.0)]))
    assert not any(each.others for each in stays)

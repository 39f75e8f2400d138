"""The lab's instrument: it notes every CPU's speed, and tells of each session how fast its CPUs were while it ran."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbcpu.hosts.cleanup_guard import Guard, start_ticks
from dbcpu.record.rounds import Round, RunRecord, Session
from lab import cpu_speed
from lab.cpu_speed import EVERY_S, FEWEST, Instrument, Speeds
from support.builders.record import record, round_of, session

WITHIN_S = 20.0
FAST_NS, SLOW_NS = 600_000, 900_000
ALONE, TOGETHER = 0, 1


def at(order: int, sessions: Sequence[Session]) -> Round:
    return replace(round_of(sessions, order=order), released_monotonic_s=100.0 * (order + 1))


def alone_and_together() -> RunRecord:
    """The second session of the last round spends a third of its time on CPU 0."""
    both = [session(0, cpu=0), session(1, stays=((1, 0.0, 1.2), (0, 1.2, 1.8)))]
    return record([at(ALONE, [session(0, cpu=0)]), at(TOGETHER, both)])


def noted(slow_cpu: int, from_s: float = 0.0, to_s: float = 400.0) -> Speeds:
    """Pieces are slow on one CPU from 150 s on, when the first round is over."""
    times = [i * EVERY_S for i in range(int(from_s / EVERY_S), int(to_s / EVERY_S))]
    samples = {cpu: [(t, SLOW_NS if cpu == slow_cpu and t > 150 else FAST_NS) for t in times] for cpu in (0, 1)}
    return Speeds(samples, (4711, 4712))


def test_a_session_is_as_slow_as_its_cpus_were_while_it_was_there() -> None:
    told = cpu_speed.times_as_slow(alone_and_together(), noted(slow_cpu=1), [ALONE])
    assert told[ALONE, 0] == told[TOGETHER, 0] == 1.0
    assert told[TOGETHER, 1] == pytest.approx(1 + 0.5 * 2 / 3, rel=0.03)


def test_too_few_pieces_tell_nothing() -> None:
    begun = noted(slow_cpu=1, to_s=200.0 + (FEWEST - 1) * EVERY_S)
    assert set(cpu_speed.times_as_slow(alone_and_together(), begun, [ALONE])) == {(ALONE, 0)}


def test_without_sessions_alone_nothing_is_told() -> None:
    assert cpu_speed.times_as_slow(alone_and_together(), noted(1, from_s=150.0), [ALONE]) == {}
    assert cpu_speed.times_as_slow(alone_and_together(), Speeds({}), [ALONE]) == {}


def test_pieces_come_late_while_a_cpu_does_not_run() -> None:
    """From 100 s on every other piece has to wait for half of the time between two."""
    steady = [(i * EVERY_S, FAST_NS) for i in range(2500)]
    taken = [(100.0 + i * EVERY_S + (EVERY_S / 2 if i % 2 else 0.0), FAST_NS) for i in range(1000)]
    samples = [*steady, *taken]
    assert cpu_speed.late_share(samples, 10.0, 90.0) == 0.0
    assert cpu_speed.late_share(samples, 101.0, 139.0) == pytest.approx(0.5, abs=0.01)
    assert cpu_speed.late_share(samples, 10.0, 10.0 + (FEWEST - 2) * EVERY_S) is None


def test_what_was_noted_is_kept(tmp_path: Path) -> None:
    told = noted(slow_cpu=0, from_s=100.0, to_s=201.0)
    told.write(tmp_path, "run")
    kept = cpu_speed.read(tmp_path, "run")
    assert kept.pids == told.pids
    assert [ns for _, ns in kept.samples[0]] == [ns for _, ns in told.samples[0]]
    assert kept.samples[0][-1][0] == pytest.approx(told.samples[0][-1][0], abs=1e-4)
    assert cpu_speed.read(tmp_path, "another") == Speeds({})


def test_every_cpu_is_timed_and_nothing_is_left_behind() -> None:
    since_s = time.monotonic()
    with Guard() as guard, Instrument(guard) as instrument:
        deadline_s = since_s + WITHIN_S
        while any(len(own) < FEWEST for own in instrument.speeds().samples.values()):
            assert time.monotonic() < deadline_s, instrument.speeds()
        speeds = instrument.speeds().within(since_s, time.monotonic())
        assert set(speeds.samples) == os.sched_getaffinity(0)
        assert all(start_ticks(pid) is not None for pid in speeds.pids)
    for own in speeds.samples.values():
        assert len(own) >= FEWEST
        assert [at_s for at_s, _ in own] == sorted(at_s for at_s, _ in own)
        assert all(ns > 0 for _, ns in own)
    assert [pid for pid in speeds.pids if start_ticks(pid) is not None] == []

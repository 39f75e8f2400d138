"""The server processes at the gate: each is verified by an idle moment and a warm-up, and others are not trusted."""

import time
from pathlib import Path

import pytest

from dbcpu.measure import verification as module
from dbcpu.measure.gate import SessionGate
from dbcpu.targets.base import ServerClaim
from support.doubles.proc_folder import TICKS, FakeProc
from support.doubles.target import FIRST_PID, WORK, FakeSession, FakeTarget


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


def test_own_processes_are_verified(proc: FakeProc) -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, proc=proc))
    with SessionGate(target, proc.host, TICKS) as gate:
        gate.gather(4, WORK)
    assert [member.server.pid for member in gate.members] == [FIRST_PID + ordinal for ordinal in range(4)]
    assert all(member.server.verified for member in gate.members), gate.members[0].server.how


def test_innocent_process_of_the_same_number_is_not_trusted(proc: FakeProc) -> None:
    """It is called postgres too, and stands still while the session works."""
    proc.process(77, schedstat=(5_000_000_000, 0))
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, claim=ServerClaim(77, command="postgres")))
    with SessionGate(target, proc.host, TICKS) as gate:
        gate.gather(1, WORK)
    (member,) = gate.members
    assert not member.server.verified
    assert "used no CPU during its session's warm-up" in member.server.how
    assert target.opened[0].log.count("warm") == 1 + module.WARM_UPS, "a slow clock gets more chances"


def test_a_process_that_waits_for_a_cpu_while_its_session_is_idle_is_not_trusted(
    proc: FakeProc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a crowded host it gets none until the warm-up, and would look like the session's own."""
    monkeypatch.setattr(module, "IDLE_LOOK_S", 0.0)
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, proc=proc, state="R"))
    with SessionGate(target, proc.host, TICKS) as gate:
        gate.gather(1, WORK)
    assert "was busy while its session was idle" in gate.members[0].server.how


def test_a_process_may_take_its_time_to_fall_asleep(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does until then is not held against it: where time is stolen, CPU times grow by more than the work."""
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, proc=proc, state="R"))
    naps = iter(range(module.IDLE_LOOKS))

    def nap(_: float) -> None:
        if next(naps) == 2:
            target.opened[0].state = "S"
            target.opened[0].cpu_ns += 2_000_000
            target.opened[0].show()

    monkeypatch.setattr(time, "sleep", nap)
    with SessionGate(target, proc.host, TICKS) as gate:
        gate.gather(1, WORK)
    assert gate.members[0].server.verified, gate.members[0].server.how
    assert next(naps) == 4, "no look more than needed"


@pytest.mark.parametrize(("moments", "trusted"), [(1, True), (module.CHECKS - 1, True), (module.CHECKS, False)])
def test_a_process_that_woke_by_itself_is_asked_again(
    proc: FakeProc, monkeypatch: pytest.MonkeyPatch, moments: int, trusted: bool
) -> None:
    """Its session has done nothing in the moment: one that is busy in each of them is another's."""
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, proc=proc))
    left = iter(range(moments))

    def nap(_: float) -> None:
        if next(left, None) is not None:
            awake = next(session for session in target.opened if session.ordinal == 0)
            awake.cpu_ns += 2_000_000
            awake.show()

    monkeypatch.setattr(time, "sleep", nap)
    with SessionGate(target, proc.host, TICKS) as gate:
        gate.gather(2, WORK)
    first, second = gate.members
    assert (first.server.verified, second.server.verified) == (trusted, True), first.server.how
    warmed = {session.ordinal: session.log.count("warm") for session in target.opened}
    assert warmed == {0: min(moments + 1, module.CHECKS), 1: 1}, "the others are not asked again"


def test_sessions_that_share_a_process_are_not_told_apart(proc: FakeProc) -> None:
    shared = FakeSession(0, proc=proc)
    second = FakeSession(1, claim=ServerClaim(FIRST_PID, command="postgres"))
    with SessionGate(FakeTarget(lambda ordinal: (shared, second)[ordinal]), proc.host, TICKS) as gate:
        gate.gather(2, WORK)
    assert [member.server.verified for member in gate.members] == [True, False]
    assert f"process {FIRST_PID} already serves session 0" in gate.members[1].server.how


def test_sessions_that_are_not_verified_are_not_said_to_share_a_process(proc: FakeProc) -> None:
    """Without a host both may claim a number that means nothing here."""
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, claim=ServerClaim(FIRST_PID, command="postgres")))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(2, WORK)
    assert [member.server.verified for member in gate.members] == [False, False]
    assert not any("already serves" in member.server.how for member in gate.members)


def test_without_a_host_nothing_is_verified_and_all_is_measured() -> None:
    target = FakeTarget(lambda ordinal: FakeSession(ordinal, claim=ServerClaim(FIRST_PID, command="postgres")))
    with SessionGate(target, None, TICKS) as gate:
        gate.gather(2, WORK)
        gate.release(1, None, timeout_s=60.0)
        assert [outcome.error for outcome in gate.outcomes()] == [None, None]
    assert not any(member.server.verified for member in gate.members)

"""Waiting for a quiet host, on a faked /proc/stat and clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbcpu.errors import UsageError
from dbcpu.hosts.quiesce import WINDOW_S, Patience, patience_s, settle
from support.doubles.proc_folder import FakeProc


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.fixture
def windows(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> "Windows":
    return Windows(proc, monkeypatch)


class Windows:
    """Busy and idle ticks that pass in each window; the clock moves with them."""

    def __init__(self, proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
        self._proc = proc
        self._now_s, self._busy, self._idle = 100.0, 0, 0
        self._steps: Iterator[tuple[int, int]] = iter(())
        monkeypatch.setattr("dbcpu.hosts.quiesce.time.monotonic", lambda: self._now_s)
        monkeypatch.setattr("dbcpu.hosts.quiesce.time.sleep", self._pass)

    def follow(self, *steps: tuple[int, int]) -> None:
        self._steps = iter(steps)

    def _pass(self, seconds: float) -> None:
        busy, idle = next(self._steps)
        self._now_s, self._busy, self._idle = self._now_s + seconds, self._busy + busy, self._idle + idle
        self._proc.cpus({0: (self._busy, self._idle)})


def test_quiet_host_is_settled_after_one_window(proc: FakeProc, windows: Windows) -> None:
    windows.follow((1, 29))
    quiet = settle(proc.host, 5.0)
    assert quiet.settled
    assert quiet.busy_share == pytest.approx(1 / 30)
    assert quiet.waited_s == pytest.approx(WINDOW_S)


def test_one_tick_is_no_load_even_on_one_small_cpu(proc: FakeProc, windows: Windows) -> None:
    windows.follow((1, 14))
    assert settle(proc.host, 5.0).settled


def test_busy_host_is_waited_for_until_it_is_quiet(proc: FakeProc, windows: Windows) -> None:
    windows.follow((30, 0), (15, 15), (0, 30))
    quiet = settle(proc.host, 5.0)
    assert (quiet.settled, quiet.busy_share) == (True, 0.0)
    assert quiet.waited_s == pytest.approx(3 * WINDOW_S)


def test_host_that_stays_busy_is_given_up(proc: FakeProc, windows: Windows) -> None:
    windows.follow(*[(24, 6)] * 20)
    quiet = settle(proc.host, 1.0)
    assert (quiet.settled, quiet.busy_share) == (False, 0.8)
    assert 1.0 <= quiet.waited_s < 1.0 + WINDOW_S


def test_rounds_of_a_run_wait_for_a_tenth_of_it_together(
    proc: FakeProc, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBCPU_SETTLE_S", raising=False)
    windows.follow(*[(24, 6)] * 100)
    said: list[str] = []
    patience = Patience(run_s=30.0, used_up=lambda: said.append("used up"))
    waits_s = [patience.settle(proc.host).waited_s for _ in range(6)]
    assert 3.0 <= sum(waits_s[:2]) < 3.0 + 2 * WINDOW_S
    assert waits_s[2:] == pytest.approx([WINDOW_S] * 4)
    assert not patience.settle(proc.host).settled
    assert said == ["used up"]


def test_a_quiet_host_uses_no_patience_up(proc: FakeProc, windows: Windows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBCPU_SETTLE_S", raising=False)
    windows.follow(*[(0, 30)] * 20, *[(24, 6)] * 20)
    patience = Patience(run_s=10.0)
    assert all(patience.settle(proc.host).settled for _ in range(20))
    assert patience.settle(proc.host).waited_s >= 1.0


def test_a_wait_that_the_user_gives_is_kept_by_every_round(
    proc: FakeProc, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBCPU_SETTLE_S", "3")
    windows.follow(*[(24, 6)] * 200)
    patience = Patience(run_s=1.0)
    assert all(patience.settle(proc.host).waited_s >= 3.0 for _ in range(5))


def test_a_cpu_that_waits_for_a_disk_is_idle(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of a line of /proc/stat: user, nice, system, idle, iowait and more. Source: proc_stat(5)"""

    def waited(_: float) -> None:
        proc.write("stat", "cpu  101 0 0 510 520 0 0 0 0 0\n")

    proc.write("stat", "cpu  100 0 0 500 500 0 0 0 0 0\n")
    monkeypatch.setattr("dbcpu.hosts.quiesce.time.sleep", waited)
    quiet = settle(proc.host, 0.0)
    assert quiet.settled
    assert quiet.busy_share == pytest.approx(1 / 31)


@pytest.mark.parametrize("text", ["", "nothing known\n"])
def test_host_that_does_not_tell_is_taken_as_it_is(proc: FakeProc, text: str) -> None:
    proc.write("stat", text)
    assert settle(proc.host, 5.0).busy_share is None
    assert settle(None, 5.0).settled


@pytest.mark.parametrize(("given", "expected"), [(None, 2.0), ("", 2.0), ("0", 0.0), ("7.5", 7.5)])
def test_the_user_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch, given: str | None, expected: float) -> None:
    monkeypatch.delenv("DBCPU_SETTLE_S", raising=False)
    if given is not None:
        monkeypatch.setenv("DBCPU_SETTLE_S", given)
    assert patience_s() == expected


@pytest.mark.parametrize("given", ["soon", "-1", "nan", "1e9"])
def test_a_wait_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("DBCPU_SETTLE_S", given)
    with pytest.raises(UsageError, match=f"DBCPU_SETTLE_S is '{given}'; give seconds from 0 to 3600"):
        patience_s()

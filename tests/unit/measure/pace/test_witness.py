"""The witness of the CPUs' pace: its rate, its pieces on real CPUs, and that nothing of it is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.local import LocalHost
from dbcpu.measure.pace import _witness, open_witness
from dbcpu.measure.pace.witness import Paced, PaceWitness, expected_hz
from dbcpu.record.plan import MIN_PACE_PIECES
from support.doubles.remote_host import FakeRemote

CPUS = sorted(os.sched_getaffinity(0))
PATIENCE_S = 120.0


def test_the_rate_brings_thirty_pieces_within_a_hundredth_of_a_cpu() -> None:
    assert expected_hz(10.0, 0.0003) == pytest.approx(3.0)
    assert expected_hz(100.0, 0.0003) == 1.0, "at least once a second"
    assert expected_hz(0.2, 0.0003) == 25.0, "at most 25 times"
    assert expected_hz(1.2, 0.001) == pytest.approx(10.0), "1 ms a piece: ten a second are 1 %"
    assert expected_hz(10.0, 0.0003, asked_hz=12.0) == 12.0
    assert expected_hz(10.0, 0.002, asked_hz=12.0) == pytest.approx(5.0)


def test_the_piece_has_a_known_answer() -> None:
    assert _witness.piece(_witness.TIMES) == _witness.ANSWER
    assert _witness.piece(_witness.TIMES - 1) != _witness.ANSWER


def test_pieces_come_from_every_cpu_and_nothing_is_left_behind() -> None:
    with PaceWitness(CPUS, 1.5, 25.0) as witness:
        pids = witness.pids
        assert len(pids) == 1 + len(CPUS)
        for _ in range(2):  # rounds follow each other
            paced = _seen(witness, CPUS)
            assert [cpu for cpu, _, _ in paced.cpus] == CPUS
            for _, ends, took in paced.cpus:
                assert len(ends) == len(took) > 0
                assert list(ends) == sorted(ends)
                assert all(0 < ns < 1e9 for ns in took)
            assert paced.cpu_used_s >= sum(sum(took) for _, _, took in paced.cpus) / 1e9
    assert not any(_runs(pid) for pid in pids)


def test_the_rate_is_raised_for_sessions_that_are_shorter_than_expected() -> None:
    with PaceWitness(CPUS[:1], 10.0) as witness:
        first_hz = witness.hz
        witness.expect(20.0)
        assert witness.hz == first_hz
        witness.expect(5.0)
        assert witness.hz == pytest.approx(2 * first_hz)


def test_pieces_count_from_the_release_in_microseconds() -> None:
    record = Paced(5.0, True, ((3, (1_500_000_000, 2_000_000_999), (300, 301)),), 0.1).from_release(1.75)
    assert record.hz == 5.0
    assert record.cpus[0].cpu == 3
    assert record.cpus[0].at_us == (-250_000, 250_000)
    assert record.cpus[0].ns == (300, 301)


def test_all_of_it_ends_when_its_driver_is_killed() -> None:
    code = (
        "import os, signal, sys; from dbcpu.measure.pace.witness import PaceWitness\n"
        f"with PaceWitness({CPUS!r}, 1.5, 25.0) as witness:\n"
        "    witness.begin(); print(*witness.pids, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    driver = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=_env())
    assert driver.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in driver.stdout.split()]
    assert len(pids) == 1 + len(CPUS)
    _wait(lambda: not any(_runs(pid) for pid in pids))


def test_a_killed_witness_is_said_in_a_sentence() -> None:
    witness = PaceWitness(CPUS[:1], 1.5)
    with witness:
        witness.begin()
        for pid in witness.pids:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(MeasureError, match="--pace off"):
            witness.end()


def test_a_cpu_that_is_not_there_brings_no_pieces() -> None:
    with PaceWitness((CPUS[0], 9999), 1.5, 25.0) as witness:
        assert [cpu for cpu, _, _ in _seen(witness, CPUS[:1]).cpus] == CPUS[:1]


def test_where_there_is_no_witness_a_note_says_why(tmp_path: Path) -> None:
    elsewhere = FakeRemote(tmp_path, over="docker")
    with ExitStack() as stack:
        for host, sampler, session_s, asked, why in (
            (LocalHost(), "procfs", 1.5, 0.0, "--pace off"),
            (None, "procfs", 1.5, None, "the host of the database is not read"),
            (elsewhere, "ssh", 1.5, None, f"not available over {elsewhere.over}"),
            (LocalHost(), "none", 1.5, None, "sessions are not sampled"),
            (LocalHost(), "procfs", 0.01, None, f"{MIN_PACE_PIECES} are needed"),
        ):
            witness, notes = open_witness(host, sampler, None, session_s, asked, stack)
            assert witness is None
            assert why in notes[0]


def _seen(witness: PaceWitness, cpus: list[int]) -> Paced:
    """Rounds of the witness until one has pieces of all ``cpus``, however busy they are."""
    found: list[Paced] = []

    def enough() -> bool:
        witness.begin()
        witness.lead(0.1 * (1 + len(found)))
        found.append(witness.end())
        return {cpu for cpu, _, _ in found[-1].cpus} >= set(cpus)

    _wait(enough)
    return found[-1]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "nothing happened"
        time.sleep(0.02)


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(_witness.__file__).parents[3])}

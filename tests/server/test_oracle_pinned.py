"""The case this is all about, on the test double: three sessions on two CPUs, two of them held on the same one."""

import os
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from msgspec import Struct, field

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis
from dbcpu.config.targets import resolve
from dbcpu.record.rounds import RunRecord
from dbcpu.record.rounds import Session as Recorded
from dbcpu.store.database import open_store
from dbcpu.workflows import measure_run
from dbcpu.workflows.measure_run import Choices, Watcher
from support.busy import fail_unless_busy
from support.doubles.oracle.double import OracleDouble
from support.doubles.oracle.faults import Faults

pytestmark = [pytest.mark.slow]

TRIES = 3
"""Other work on the machine can blur the picture, and cannot paint it."""
POLL_S = 0.05
ENOUGH = 5


@pytest.fixture
def cpus() -> tuple[int, int]:
    found = sorted(os.sched_getaffinity(0))
    if len(found) < 2:
        pytest.skip("this machine has one CPU")
    return found[0], found[1]


def complaints(analysis: Analysis, record: RunRecord, cpus: tuple[int, int]) -> list[str]:
    """What in the analysis is not as the sessions were really placed: by causes, for times are those of the machine."""
    found = []
    by_order = {each.order: each for each in record.rounds if each.level == 3}
    causes: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for view in analysis.sessions:
        if view.order in by_order:
            session = next(one for one in by_order[view.order].sessions if one.ordinal == view.ordinal)
            causes[{stay.cpu for stay in session.residency} == {cpus[0]}][view.cause] += 1
    if causes[True].most_common(1)[0][0] != "run_queue":
        found.append(f"the two on one CPU lost by {dict(causes[True])}")
    if causes[False]["run_queue"]:
        found.append(f"the one with a CPU of its own lost by {dict(causes[False])}")
    return found


def measured(double: OracleDouble, store: Path, choices: Choices) -> RunRecord:
    with open_store(str(store)) as opened:
        return opened.load(
            measure_run.run(resolve(double.url, lambda _: None), choices, opened, Watcher(), forced=True)
        )


def test_two_of_three_are_slow_by_the_run_queue(tmp_path: Path, cpus: tuple[int, int]) -> None:
    choices = Choices(sessions="1,3", size="short", executions=2, repeats=2, seed=1)
    with OracleDouble(faults=Faults(cpus=(cpus[0], cpus[0], cpus[1]), ahead=True)) as double:
        tried = []
        for _ in range(TRIES):
            record = measured(double, tmp_path / "runs.db", choices)
            assert {each.level for each in record.rounds} == {1, 3}
            assert all(session.server.verified for each in record.rounds for session in each.sessions)
            tried.append(complaints(explain(record), record, cpus))
            if not tried[-1]:
                return
    fail_unless_busy(f"never as placed: {tried}")


class Look(Struct):
    """What ps said of each server process: pid -> CPU, between two readings of the monotonic clock."""

    from_s: float
    to_s: float
    seen: dict[int, int] = field(default_factory=dict)


class Ps(threading.Thread):
    """Looks at the server processes of a double with ps, as a DBA would, until it is told to end."""

    def __init__(self, double: OracleDouble) -> None:
        super().__init__()
        self._double, self.ended = double, threading.Event()
        self.looks: list[Look] = []

    def run(self) -> None:
        while not self.ended.wait(POLL_S):
            # Not those of the double's own account: every process of this machine that is called so.
            from_s = time.monotonic()
            told = subprocess.run(["ps", "-e", "-o", "pid=,psr=,args="], capture_output=True, text=True, check=True)
            look = Look(from_s, time.monotonic())
            for line in told.stdout.splitlines():
                pid, psr, arguments = line.split(None, 2)
                if arguments.startswith("oracleDOUBLE (LOCAL=NO)"):
                    look.seen[int(pid)] = int(psr)
            self.looks.append(look)


def test_spid_and_cpu_are_those_that_ps_shows_at_that_moment(tmp_path: Path, cpus: tuple[int, int]) -> None:
    compared = 0
    for _ in range(TRIES):
        with OracleDouble(faults=Faults(cpus=(cpus[0], cpus[0], cpus[1]))) as double:
            compared += _agreed(double, tmp_path / "runs.db")
        if compared >= ENOUGH:
            return
    fail_unless_busy("ps hardly ever looked while a session ran")


def _agreed(double: OracleDouble, store: Path) -> int:
    """How many looks of ps fell into the run of a session and agreed with its record."""
    ps = Ps(double)
    ps.start()
    try:
        choices = Choices(sessions="3", size="short", executions=3, repeats=1, seed=7)
        record = measured(double, store, choices)
    finally:
        ps.ended.set()
        ps.join()
    compared = 0
    for each in record.rounds:
        pids = [session.server.pid for session in each.sessions]
        assert len(set(pids)) == len(pids)
        for session in each.sessions:
            compared += _compared(session, each.released_monotonic_s, ps.looks)
    return compared


def _compared(session: Recorded, released_s: float, looks: list[Look]) -> int:
    """Holds each look at this session's process against its residency at that moment; how many there were."""
    assert session.server.verified
    assert session.server.pid is not None
    count = 0
    for look in looks:
        stays = [
            stay
            for stay in session.residency
            if stay.from_s + released_s <= look.from_s and look.to_s <= stay.to_s + released_s
        ]
        if not stays:
            continue
        # It was running then by the record: so ps must have shown it, and where.
        assert session.server.pid in look.seen
        assert look.seen[session.server.pid] == stays[0].cpu
        count += 1
    return count

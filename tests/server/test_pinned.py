"""The case this is all about: three sessions on two CPUs, two of them held on the same one."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.run import Analysis, SessionView
from dbcpu.config.request import Request
from dbcpu.store.database import open_store
from dbcpu.targets.postgresql.connection import dial
from dbcpu.targets.postgresql.session import LibpqSession
from dbcpu.targets.postgresql.target import LibpqTarget
from dbcpu.workflows import measure_run
from dbcpu.workflows.measure_run import Choices
from support.busy import fail_unless_busy
from support.priority import prefer
from support.servers.postgresql import DebianServer

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

CHOICES = Choices(sessions="1,3", size="short", executions=1, repeats=2, seed=1)
TRIES = 4
"""Other work on the machine, and strangers on its cores, can blur the picture, and cannot paint it."""


class PinnedSession(LibpqSession):
    """Holds its server process on one CPU, from its warm-up on, and ahead of the machine's other work if it may."""

    cpu = 0

    def warm(self) -> None:
        pid = self._connection.backend_pid
        os.sched_setaffinity(pid, {self.cpu})
        prefer(pid, -20)
        super().warm()


class PinnedTarget(LibpqTarget):
    """Sessions 0 and 1 on the first CPU, session 2 on the second."""

    def __init__(self, conninfo: str, cpus: list[int]) -> None:
        super().__init__(conninfo)
        self._conninfo = conninfo
        self._cpus = cpus

    def connect(self, ordinal: int, timeout_s: float) -> LibpqSession:
        session = PinnedSession(ordinal, dial(self._conninfo, timeout_s))
        session.cpu = self._cpus[ordinal // 2]
        return session


@pytest.fixture(params=["auto", "ssh:dbhost", "sql"])
def measured(
    request: pytest.FixtureRequest, debian_server: DebianServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Analysis]:
    """Measure and explain, each time anew, whichever way the server processes are watched."""
    if request.param.startswith("ssh:"):
        request.getfixturevalue("sshd")
    choices = replace(CHOICES, host=request.param)
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("this machine has one CPU")
    member = SimpleNamespace(open_target=lambda request, guard: PinnedTarget(debian_server.url, cpus))
    monkeypatch.setattr("dbcpu.targets.base.load_target", lambda kind: member)

    def run() -> Analysis:
        with open_store(str(tmp_path / "runs.db")) as store:
            run_id = measure_run.run(
                Request("pinned", "postgresql"), choices, store, measure_run.Watcher(), forced=True
            )
            return explain(store.load(run_id))

    return run


def by_ordinal(analysis: Analysis) -> list[list[SessionView]]:
    """The views of each of the three sessions over the rounds."""
    of_three = [view for view in analysis.sessions if view.level == 3]
    return [[view for view in of_three if view.ordinal == ordinal] for ordinal in range(3)]


def commonest(values: list[str]) -> str:
    return Counter(values).most_common(1)[0][0]


def complaints(analysis: Analysis) -> list[str]:
    """What in the analysis is not as the three sessions were really placed."""
    found = []
    (level,) = [each for each in analysis.levels if each.level == 3]
    if level.slow != 2:
        found.append(f"{level.slow} slow sessions, not 2")
    if not 1.6 < (level.max_over_min or 0) < 2.6:
        found.append(f"slowest over fastest is {level.max_over_min}, not about 2")
    for ordinal, views in enumerate(by_ordinal(analysis)):
        shares_a_cpu = ordinal < 2
        group, cause = commonest([view.group for view in views]), commonest([view.cause for view in views])
        slowdowns = sorted(view.slowdown or 0.0 for view in views)
        if group != ("slow" if shares_a_cpu else "fast"):
            found.append(f"session {ordinal} is in the group {group!r}")
        if (cause == "run_queue") is not shares_a_cpu:
            found.append(f"session {ordinal} lost by {cause}: {views[0].evidence}")
        if shares_a_cpu and not 1.5 < slowdowns[len(slowdowns) // 2] < 3.0:
            found.append(f"session {ordinal} is {slowdowns} times as slow as alone")
    return found


def test_two_of_three_are_slow_because_they_wait_for_each_other(measured: Callable[[], Analysis]) -> None:
    tried, disturbed = [], list[bool]()
    for _ in range(TRIES):
        analysis = measured()
        tried.append(complaints(analysis))
        if not tried[-1]:
            return
        disturbed.append(bool(analysis.disturbance))
    if all(disturbed):
        pytest.skip(f"this machine was busy with other work in each of {TRIES} runs: {tried}")
    fail_unless_busy(f"never as placed: {tried}")

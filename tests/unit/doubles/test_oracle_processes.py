"""The double's processes: one per connection, real, and never left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import oracledb
import pytest

from plugins.oracle_double import Connect
from plugins.runs import environment
from support.doubles.oracle.double import OracleDouble
from support.paths import TESTS

_HOLDER = """
import os, signal, sys, oracledb
from support.doubles.oracle.double import OracleDouble
with OracleDouble() as double:
    held = [oracledb.connect(user=double.user, password=double.password, dsn=double.dsn) for _ in range(2)]
    print(double.pid, *double.pids(), flush=True)
    signal.pause()
"""


def await_that(condition: Callable[[], object], limit_s: float = 120.0) -> None:
    """Until ``condition`` is true; what is awaited comes by itself."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] not in "ZX"


def parent(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat[stat.rindex(")") + 2 :].split()[1])


def test_each_connection_has_a_process_of_its_own_that_the_listener_started(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        connections = [oracle_connect(double) for _ in range(3)]
        assert [parent(pid) for pid in double.pids()] == [double.pid] * 3
        assert len(set(double.pids())) == 3
        connections[1].close()
        await_that(lambda: len(double.pids()) == 2)


def test_nothing_is_left_when_the_block_is_left(oracle_connect: Connect) -> None:
    with OracleDouble() as double:
        connection = oracle_connect(double)
        pids = (double.pid, *double.pids())
        assert all(alive(pid) for pid in pids)
    assert not any(alive(pid) for pid in pids)
    with pytest.raises(oracledb.DatabaseError, match="DPY-4011"):
        connection.ping()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_starting_process_is_killed(how: signal.Signals) -> None:
    folders = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER],
        stdout=subprocess.PIPE,
        env=environment(PYTHONPATH=os.pathsep.join(folders)),
    )
    assert holder.stdout is not None
    pids = [int(pid) for pid in holder.stdout.readline().split()]
    assert len(pids) == 3
    holder.send_signal(how)
    holder.wait()
    holder.stdout.close()
    await_that(lambda: not any(alive(pid) for pid in pids))


def test_a_killed_listener_takes_its_sessions_along(oracle_connect: Connect) -> None:
    double = OracleDouble()
    with pytest.raises(RuntimeError, match="has ended"), double:
        oracle_connect(double)
        pids = double.pids()
        os.kill(double.pid, signal.SIGKILL)
        await_that(lambda: not any(alive(pid) for pid in pids))
    assert not alive(double.pid)


def test_it_can_be_started_by_hand() -> None:
    folders = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "support.doubles.oracle",
            "--profile",
            "12c",
            "--instance",
            "service=byhand",
            "--fault",
            "cpus=[0]",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(PYTHONPATH=os.pathsep.join(folders)),
        text=True,
    ) as started:
        assert started.stdout is not None
        assert started.stdin is not None
        dsn = started.stdout.readline().split()[-1]
        assert dsn.endswith("/byhand")
        with oracledb.connect(user="dbcpu", password="dbcpu", dsn=dsn) as connection:
            assert connection.version.startswith("12.1")
        started.stdin.close()
        assert started.wait(120) == 0


def test_many_sessions_at_once_are_served(oracle_connect: Connect) -> None:
    with OracleDouble(verifier="11g") as double:
        connections = [oracle_connect(double) for _ in range(40)]
        for connection in connections:
            with connection.cursor() as cursor:
                cursor.execute("select 1 from dual")
                assert cursor.fetchall() == [(1,)]
        assert len(set(double.pids())) == 40

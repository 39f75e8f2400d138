"""The sampler's own process: its priority while it polls."""

import os

import pytest

from dbcpu.hosts.local import LocalHost
from dbcpu.measure.samplers.base import Watched
from dbcpu.measure.samplers.procfs import open_sampler


def _may_be_realtime() -> bool:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def test_polls_under_realtime_priority_only_while_a_round_runs() -> None:
    if not _may_be_realtime():
        pytest.skip("this machine does not permit real-time priority")
    with open_sampler(LocalHost(), 20.0) as sampler:
        assert sampler.pid is not None
        sampler.start([Watched(0, os.getpid(), None)], [])
        during = os.sched_getscheduler(sampler.pid)
        sampler.stop()
        assert (during, os.sched_getscheduler(sampler.pid)) == (os.SCHED_FIFO, os.SCHED_OTHER)

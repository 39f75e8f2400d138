"""Settings of processes that are changed without a journal."""

import os
import subprocess

import pytest

from dbcpu.errors import MeasureError
from dbcpu.variants._settings import bind_until_exit


def test_a_process_is_bound_to_the_cpus_that_are_given() -> None:
    cpu = min(os.sched_getaffinity(0))
    with subprocess.Popen(["sleep", "60"]) as process:
        bind_until_exit(process.pid, frozenset({cpu}))
        assert os.sched_getaffinity(process.pid) == {cpu}
        process.kill()


def test_a_process_that_has_ended_cannot_be_bound() -> None:
    with pytest.raises(MeasureError, match="could not be bound to CPUs 0: No such process"):
        bind_until_exit(2**22 - 3, frozenset({0}))

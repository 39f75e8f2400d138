"""Settings of processes that are changed without a journal."""

import os
import subprocess

import pytest

from dbcpu.errors import MeasureError
from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.variants import _settings
from dbcpu.variants._settings import bind_until_exit


def test_a_process_is_bound_to_the_cpus_that_are_given() -> None:
    cpu = min(os.sched_getaffinity(0))
    with subprocess.Popen(["sleep", "60"]) as process:
        bind_until_exit(process.pid, start_ticks(process.pid) or 0, frozenset({cpu}))
        assert os.sched_getaffinity(process.pid) == {cpu}
        process.kill()


def test_a_process_that_has_ended_cannot_be_bound() -> None:
    with pytest.raises(MeasureError, match="could not be bound to CPUs 0: No such process"):
        bind_until_exit(2**22 - 3, 1, frozenset({0}))


@pytest.mark.parametrize("seen", [(2,), (1, 2)], ids=["before", "meanwhile"])
def test_a_process_that_has_the_number_now_is_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, seen: tuple[int, ...]
) -> None:
    found = iter(seen)
    monkeypatch.setattr(_settings, "start_ticks", lambda _: next(found))
    with subprocess.Popen(["sleep", "60"]) as process:
        before = os.sched_getaffinity(process.pid)
        with pytest.raises(MeasureError, match="No such process"):
            bind_until_exit(process.pid, 1, frozenset({min(before)}))
        assert os.sched_getaffinity(process.pid) == before
        process.kill()

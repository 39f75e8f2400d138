"""What each worker does before its first test, done with little CPU.

The cyclic garbage collector does not look again and again at what stays: modules, and the tests themselves. It looks
more rarely, too: records and their explanations are many objects, and hardly any of them is in a cycle. And the
first worker alone compiles what is not compiled: the others wait for it, and find that done.
"""

import fcntl
import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LOOK_AFTER = 10_000
"""New objects, instead of 700. All that is garbage is found, at the latest when the worker ends."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        with _after_the_first():
            return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(LOOK_AFTER, *gc.get_threshold()[1:])


@contextmanager
def _after_the_first() -> Iterator[None]:
    """The first of a run's workers has the lock to itself; all others share it. Source: flock(2)"""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if run is None:
        yield
        return
    path = Path(tempfile.gettempdir(), f"dbcpu-tests-{run}.lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    path.unlink(missing_ok=True)

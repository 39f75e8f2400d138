"""A command loads NumPy without threads of OpenBLAS, and whoever wants some says so."""

import os
import subprocess
import sys

import pytest

SHOW = """
import os, sys
from dbcpu.analysis.statistics.openblas_threads import THREADS
from dbcpu.cli._numpy_threads import numpy_with_one_thread
{first}
numpy_with_one_thread()
numpy_with_one_thread()
import numpy, inspect
print(len(os.listdir("/proc/self/task")), os.environ.get(THREADS), len(sys.meta_path) - finders)
assert inspect.getsource(numpy) and numpy.arange(3).sum() == 3
"""
FINDERS = "finders = len(sys.meta_path)"


def _shown(first: str, **more: str) -> str:
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | more
    command = [sys.executable, "-P", "-c", SHOW.format(first=f"{FINDERS}; {first}")]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=others).stdout.strip()


def test_numpy_starts_no_thread_and_nothing_is_left_behind() -> None:
    assert _shown("") == "1 None 0"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one CPU, so that there is one thread")
def test_what_somebody_chose_or_has_loaded_stays() -> None:
    assert _shown("", OPENBLAS_NUM_THREADS="2") == "2 2 0"
    assert _shown("import numpy") == _shown("import numpy", PATH=os.defpath) != "1 None 0"

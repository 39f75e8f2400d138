"""Holds a server process on given CPUs; it ends with its session, so that nothing has to be put back."""

import os

from dbcpu.errors import MeasureError
from dbcpu.formatting import ranges


def hold(pid: int, cpus: frozenset[int]) -> None:
    """Let ``pid`` run on ``cpus`` only. Raises MeasureError. Source: sched_setaffinity(2)"""
    try:
        os.sched_setaffinity(pid, cpus)
    except OSError as error:
        raise MeasureError(
            f"server process {pid} could not be held on CPUs {ranges(cpus)}: {error.strerror}; "
            "these CPUs have to be online and allowed, and the process your own, or you root (CAP_SYS_NICE)"
        ) from None

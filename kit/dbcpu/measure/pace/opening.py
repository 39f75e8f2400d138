"""Which witness there can be for a run, if any, and why not."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.measure.pace.witness import PaceWitness
from dbcpu.record.header import HostInfo
from dbcpu.record.plan import MIN_PACE_PIECES


def unavailable(host: Host | None) -> str | None:
    """Why there can be no witness, or None."""
    if host is None:
        return "the host of the database is not read"
    if isinstance(host, RemoteHost):
        return None if host.over == "ssh" else f"its witness is not available over {host.over}"
    return None if host.live else "a recorded host has no CPUs to run on"


def open_witness(
    host: Host | None, sampler: str, info: HostInfo | None, session_s: float, asked_hz: float | None, stack: ExitStack
) -> tuple[PaceWitness | None, tuple[str, ...]]:
    """The witness on the CPUs that the sessions may use, closed by ``stack``; or None, and a note that says why.

    Args:
        sampler: its name; without placement it is not known whose pace a CPU's is.
        session_s: how long one session alone is expected to take.
        asked_hz: pieces per second; 0 for no witness, None for a rate from ``session_s``.
    """
    if asked_hz == 0:
        return None, ("the pace of the CPUs was not measured: --pace off",)
    why = "sessions are not sampled" if sampler == "none" else unavailable(host)
    if why is not None:
        return None, (f"the pace of the CPUs was not measured: {why}",)
    cpus = (info.limits.allowed_cpus if info else ()) or sorted(os.sched_getaffinity(0))
    far = isinstance(host, RemoteHost)
    make: Callable[..., PaceWitness] = partial(_far, host) if isinstance(host, RemoteHost) else PaceWitness
    witness = make(cpus, session_s, asked_hz)
    try:
        stack.enter_context(witness)
    except (MeasureError, OSError) as error:
        witness.close()
        why = str(error) if far else "its processes could not be started"
        return None, (f"the pace of the CPUs was not measured: {why}",)
    if witness.too_few:
        note = (
            f"the pace of the CPUs was not measured: {witness.too_few} (--seconds {MIN_PACE_PIECES / witness.hz:.1f})"
        )
        witness.close()
        return None, (note,)
    return witness, ()


def _far(host: RemoteHost, cpus: Sequence[int], session_s: float, asked_hz: float | None) -> PaceWitness:
    """Loads what only runs over ssh need; ``unavailable`` has no objection to this host."""
    from dbcpu.hosts.shell_host import ShellHost
    from dbcpu.measure.pace.far import FarWitness

    assert isinstance(host, ShellHost)
    return FarWitness(host, cpus, session_s, asked_hz)

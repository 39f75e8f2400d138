"""Samples /proc of this machine: placement by polling, exact counters before and after."""

from dbcpu.hosts.base import Host
from dbcpu.measure.samplers import _local
from dbcpu.measure.samplers.base import Sampler

PREFERENCE = 30


def host_route(configured: str | None) -> str | None:
    """Any will do: whether it is this machine is found out."""
    return None


def unavailable(host: Host | None) -> str | None:
    """Why nothing can be sampled there, or None."""
    return _local.unavailable(host)


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be sampled."""
    return _local.open_local(host, hz)

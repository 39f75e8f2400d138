"""Samples /proc of a host reached over ssh: each poll is a question to the program that was sent there."""

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.measure.samplers._remote import RemoteSampler


def unavailable(host: Host | None) -> str | None:
    """It watches hosts that are reached over ssh, and only those."""
    if isinstance(host, RemoteHost) and host.over == "ssh":
        return None
    return "the database's host is not reached over ssh (--host ssh:NAME)"


def open_sampler(host: Host | None, hz: float) -> RemoteSampler:
    """Raises MeasureError where nothing can be sampled."""
    if not isinstance(host, RemoteHost) or host.over != "ssh":
        raise MeasureError(f"sampling by ssh is not possible: {unavailable(host)}")
    return RemoteSampler(host, hz)

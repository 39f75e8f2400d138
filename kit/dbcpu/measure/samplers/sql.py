"""Samples /proc of a host that the database reads for us: each poll is one statement of a session of its own."""

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.measure.samplers._remote import RemoteSampler


def unavailable(host: Host | None) -> str | None:
    """It watches hosts whose files come from the database, and only those."""
    if isinstance(host, RemoteHost) and host.over == "sql":
        return None
    return "the database does not read files of its host for us (--host sql)"


def open_sampler(host: Host | None, hz: float) -> RemoteSampler:
    """Raises MeasureError where nothing can be sampled."""
    if not isinstance(host, RemoteHost) or host.over != "sql":
        raise MeasureError(f"sampling by sql is not possible: {unavailable(host)}")
    return RemoteSampler(host, hz)

"""Samples /proc of a host reached over ssh: each poll is a question to the program that was sent there."""

from dbcpu.hosts.base import Host, is_over
from dbcpu.measure.samplers.base import Sampler

PREFERENCE = 20


def host_route(configured: str | None) -> str | None:
    """The host that dbcpu.toml names, where it names one."""
    return configured


def unavailable(host: Host | None) -> str | None:
    """It watches hosts that are reached over ssh, and only those."""
    return None if is_over(host, "ssh") else "the database's host is not reached over ssh (--host ssh:NAME)"


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be sampled."""
    from dbcpu.measure.samplers._remote import open_over

    return open_over("ssh", host, hz, unavailable(host))

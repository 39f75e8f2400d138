"""Samples /proc of a container or another host whose shell a command reaches, as sampler ssh does over ssh."""

from dbcpu.hosts.base import Host, is_over
from dbcpu.measure.samplers.base import Sampler

PREFERENCE = 15
_OVER = ("k8s", "docker", "podman", "exec")


def host_route(configured: str | None) -> str | None:
    """The host that dbcpu.toml names, where it names one."""
    return configured


def unavailable(host: Host | None) -> str | None:
    """It watches hosts that are reached by a command other than ssh, and only those."""
    if any(is_over(host, connection) for connection in _OVER):
        return None
    return "the database's host is not reached through a container's shell (--host k8s:NAMESPACE/POD, docker:NAME)"


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be sampled."""
    from dbcpu.measure.samplers._remote import open_over

    return open_over("container", host, hz, unavailable(host))

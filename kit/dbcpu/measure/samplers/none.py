"""No sampling: elapsed times only, for databases on other machines and to measure what sampling costs."""

from collections.abc import Sequence
from typing import Self

from dbcpu.hosts.base import Host
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched

PREFERENCE = 0


class NoSampler:
    """See ``samplers.base.Sampler``."""

    pid = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        return None

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        return None

    def stop(self) -> Sampled:
        return Sampled((), (), (), (), (), 0.0, 0, 0.0)


def host_route(configured: str | None) -> str | None:
    """Any will do."""
    return None


def unavailable(host: Host | None) -> str | None:
    """It works everywhere."""
    return None


def open_sampler(host: Host | None, hz: float) -> Sampler:
    """``hz`` means nothing here."""
    return NoSampler()

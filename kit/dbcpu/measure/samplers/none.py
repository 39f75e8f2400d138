"""No sampling: elapsed times only, for databases on other machines and to measure what sampling costs."""

from collections.abc import Sequence
from typing import Self

from dbcpu.hosts.base import Host
from dbcpu.measure.samplers.base import Sampled, Watched


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


def unavailable(host: Host | None) -> str | None:
    """It works everywhere."""
    return None


def open_sampler(host: Host | None, hz: float) -> NoSampler:
    """``hz`` means nothing here."""
    return NoSampler()

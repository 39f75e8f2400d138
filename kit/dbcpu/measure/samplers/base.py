"""Watches on which CPU each server process runs while a round runs, from a process that does nothing else.

A member module offers what ``SamplerModule`` asks for; the user gives its name as ``--sampler NAME``.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from msgspec import Struct

from dbcpu import registry
from dbcpu.errors import PlugInError
from dbcpu.formatting import listed
from dbcpu.hosts.base import Host
from dbcpu.record.rounds import (
    CgroupUse,
    Clock,
    CpuPressure,
    CpuSeries,
    Foreign,
    NodeMemory,
    RanInstead,
    Residency,
    Trace,
    WakeUps,
)


class Watched(Struct, frozen=True):
    """One verified server process (or thread) to watch."""

    ordinal: int
    pid: int
    tid: int | None


class Seen(Struct, frozen=True):
    """What was seen of one session: exact counter differences, placement, and how it was configured."""

    ordinal: int
    allowed_cpus: tuple[int, ...]
    policy: str | None
    nice: int | None
    cgroup: str | None
    memory_nodes: tuple[int, ...]
    cpu_s: float | None
    cpu_source: str | None
    run_delay_s: float | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    migrations: int | None
    migrations_seen: int
    residency: tuple[Residency, ...]
    vanished: bool = False
    ran_instead: tuple[RanInstead, ...] = ()
    wake_ups: WakeUps | None = None
    memory_policy: str | None = None
    node_memory: tuple[NodeMemory, ...] = ()


class Sampled(Struct, frozen=True):
    """What one round of watching brought: times are absolute CLOCK_MONOTONIC seconds of this machine.

    ``clocks``: how another machine's clock was moved to it, and how well that is known.
    """

    sessions: tuple[Seen, ...]
    timeline_s: tuple[float, ...]
    cpu_timeline: tuple[CpuSeries, ...]
    foreign: tuple[Foreign, ...]
    cgroups: tuple[CgroupUse, ...]
    cpu_used_s: float
    polls: int
    hz: float
    clocks: tuple[Clock, ...] = ()
    trace: Trace | None = None
    pressure: tuple[CpuPressure, ...] = ()


class Sampler(AbstractContextManager["Sampler"], Protocol):
    """One sampler process for a whole run; ``start`` and ``stop`` once per round."""

    @property
    def pid(self) -> int | None:
        """The sampler's process on this machine; None where it has none."""

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        """Take the counters "before" and begin to poll. Returns when the first poll is done."""

    def stop(self) -> Sampled:
        """Take the counters "after", end polling, and hand over."""


@runtime_checkable
class SamplerModule(Protocol):
    """What a member module of this room offers; ``host`` is None where the database's machine cannot be read."""

    PREFERENCE: int
    """Of several samplers that can be used the one with the highest is taken, unless the user names one.

    Each has a number of its own: none 0, trace 5, sql 10, container 15, ssh 20, procfs 30.
    """

    def host_route(self, configured: str | None) -> str | None:
        """What ``--host`` has to be for this sampler, None where any will do; ``configured``: as in dbcpu.toml."""

    def unavailable(self, host: Host | None) -> str | None:
        """Why it cannot be used there, or None when it can. What reads a host says so where that is None."""

    def open_sampler(self, host: Host | None, hz: float) -> Sampler:
        """``hz``: polls per second of each server process. Raises MeasureError where it is ``unavailable``."""


def load_sampler(name: str) -> SamplerModule:
    """The member called ``name``. Raises UnknownName, PlugInError."""
    member = registry.load("measure.samplers", name)
    if not isinstance(member, SamplerModule):
        raise registry.misfit("measure.samplers", name, "PREFERENCE, host_route, unavailable and open_sampler")
    return member


def best_sampler(host: Host | None) -> str:
    """The sampler to use when none is requested: of those that can be used the one of the highest PREFERENCE."""
    return next(name for name, sampler in _by_preference()[0].items() if not sampler.unavailable(host))


def reasons_against(host: Host | None) -> tuple[str, ...]:
    """Why each sampler cannot be used there, the most preferred first; last, why plug-ins cannot be loaded."""
    samplers, broken = _by_preference()
    return (*filter(None, (sampler.unavailable(host) for sampler in samplers.values())), *broken)


def equal_preferences() -> tuple[str, ...]:
    """A sentence for each PREFERENCE that several samplers have."""
    alike: dict[int, list[str]] = {}
    for name, sampler in _by_preference()[0].items():
        alike.setdefault(sampler.PREFERENCE, []).append(name)
    return tuple(
        f"the samplers {listed(names)} have the same PREFERENCE, {number}"
        for number, names in alike.items()
        if len(names) > 1
    )


def _by_preference() -> tuple[dict[str, SamplerModule], tuple[str, ...]]:
    """All samplers by name, the best first, of equal ones dbcpu's own; and why others cannot be loaded."""
    found, broken = {}, []
    own = registry.names("measure.samplers")
    for name in registry.all_names("measure.samplers"):
        try:
            found[name] = load_sampler(name)
        except PlugInError as error:
            broken.append(str(error))
    best = sorted(found, key=lambda name: (-found[name].PREFERENCE, name not in own, name))
    return {name: found[name] for name in best}, tuple(broken)

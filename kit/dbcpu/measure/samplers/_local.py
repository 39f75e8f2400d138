"""Polls /proc of this machine: placement many times a second, exact counters before and after."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self

from dbcpu.errors import MeasureError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.measure.own_program import OwnProgram
from dbcpu.measure.samplers import _counters as counters
from dbcpu.measure.samplers._pressure import PressureFiles, pressure_between, pressure_files
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched

MAX_READS_PER_S = 5000
"""More would cost more than the few per cent of one CPU that watching may take."""


class ProcfsSampler:
    """See ``samplers.base.Sampler``."""

    def __init__(self, host: Host, hz: float, clock_ticks: int) -> None:
        self._host = host
        self._hz = hz
        self._ticks = clock_ticks
        self._program: OwnProgram | None = None
        self._groups: counters.Groups = {}
        self._pressure: PressureFiles = {}
        self._round_hz = hz

    @property
    def pid(self) -> int | None:
        return self._program.pid if self._program else None

    def __enter__(self) -> Self:
        self._program = OwnProgram("_poller.py")
        return self

    def __exit__(self, *exception: object) -> None:
        if self._program is not None:
            self._program.kill()
            self._program = None

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        self._round_hz = min(self._hz, MAX_READS_PER_S / max(1, len(watched)))
        self._groups = counters.limiting_groups(self._host, watched)
        self._pressure = pressure_files(self._host, watched)
        self._ask(
            {
                "start": [[one.ordinal, one.pid, one.tid] for one in watched],
                "hz": self._round_hz,
                "root": "/",
                "skip": list(kit_pids),
                "files": [*(group.stat_file for group, _, _ in self._groups.values()), *self._pressure],
            }
        )

    def stop(self) -> Sampled:
        answer = self._ask({"stop": True})
        others_before, others_after = answer["others"]
        times, series = counters.timeline(answer["timeline"], self._ticks)
        return Sampled(
            sessions=tuple(counters.seen(one, self._ticks) for one in answer["sessions"]),
            timeline_s=times,
            cpu_timeline=series,
            foreign=counters.foreign(others_before, others_after, self._ticks),
            cgroups=tuple(
                counters.group_use(group, quota, members, answer["files"][group.stat_file])
                for group, quota, members in self._groups.values()
            ),
            cpu_used_s=answer["cpu_used_s"],
            polls=answer["polls"],
            hz=self._round_hz,
            pressure=pressure_between(
                self._pressure,
                {path: before for path, (before, _) in answer["files"].items()},
                {path: after for path, (_, after) in answer["files"].items()},
                answer["files_s"],
            ),
        )

    def _ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._program.ask(command) if self._program else None
        if answer is None:
            raise MeasureError("the sampling process ended unexpectedly; run again, or with --sampler none")
        return answer


def unavailable(host: Host | None) -> str | None:
    """Why nothing can be sampled there, or None."""
    if host is None:
        return "the database runs on another machine, whose /proc is not visible from here"
    if isinstance(host, RemoteHost):
        return f"{host.name} is not this machine"
    if not host.live:
        return "a recorded host cannot be sampled"
    try:
        host.read("/proc/self/stat")
    except OSError as error:
        return f"/proc cannot be read: {error.strerror}"
    return None


def open_local(host: Host | None, hz: float) -> Sampler:
    """Raises MeasureError where nothing can be sampled."""
    why = unavailable(host)
    if host is None or why is not None:
        raise MeasureError(f"sampling is not possible: {why}")
    return ProcfsSampler(host, hz, os.sysconf("SC_CLK_TCK"))

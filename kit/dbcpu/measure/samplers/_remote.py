"""Samples a host over a connection: each poll is one question, so that nothing runs there between two polls.

The host's answer is stamped by its own clock, which is moved to this machine's. Nothing goes on there
when this process is gone, for nobody asks any more.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from dbcpu.errors import DbcpuError, MeasureError
from dbcpu.hosts.base import Host, Reading, RemoteHost
from dbcpu.hosts.proc import ProcessStat
from dbcpu.measure.samplers import _counters as counters
from dbcpu.measure.samplers._clock import RemoteClock
from dbcpu.measure.samplers._poller import TIMELINE_S, Stretches, cpu_lines, realtime
from dbcpu.measure.samplers._pressure import pressure_between, pressure_files
from dbcpu.measure.samplers.base import Sampled, Sampler, Watched

MAX_READS_PER_S = 1500
"""Opening a file for each poll costs more than a kept descriptor, and each poll is sent over the network too."""
PROBES = 24
"""Answers before the first poll: over more than one tick of /proc/uptime (10 ms) even on a fast network."""
_FILES = ("stat", "schedstat", "status", "sched", "cgroup")


class RemoteSampler:
    """See ``samplers.base.Sampler``. It has no process here; those at the other end are the host's ``own_pids``."""

    pid = None

    def __init__(self, host: RemoteHost, hz: float) -> None:
        self._host = host
        self._hz = hz
        self._round: _Round | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._round is not None:
            self._round.end()
            self._round = None

    def start(self, watched: Sequence[Watched], kit_pids: Sequence[int]) -> None:
        hz = min(self._hz, MAX_READS_PER_S / max(1, len(watched)))
        self._round = _Round(self._host, watched, hz, {*kit_pids, *self._host.own_pids})
        self._round.begin()

    def stop(self) -> Sampled:
        ended, self._round = self._round, None
        assert ended is not None
        return ended.result()


def open_over(sampler: str, host: Host | None, hz: float, why_not: str | None) -> Sampler:
    """``why_not``: None, or why it cannot be used there. Raises MeasureError then."""
    if why_not is None and isinstance(host, RemoteHost):
        return RemoteSampler(host, hz)
    raise MeasureError(f"sampling by {sampler} is not possible: {why_not}")


class _Round:
    """One round of watching."""

    def __init__(self, host: RemoteHost, watched: Sequence[Watched], hz: float, kit_pids: set[int]) -> None:
        self._host, self._watched, self._period_s = host, watched, 1 / hz
        self._skip = kit_pids | {one.pid for one in watched}
        self._folders = [f"/proc/{one.pid}" + (f"/task/{one.tid}" if one.tid else "") for one in watched]
        self._tracks = [_Track() for _ in watched]
        self._clock = RemoteClock()
        self._timeline: list[tuple[float, dict[str, list[int]]]] = []
        self._next_timeline_s = 0.0
        self._polls: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None

    def begin(self) -> None:
        """Counters before, the clock, and the first poll."""
        self._groups = counters.limiting_groups(self._host, self._watched)
        self._before = self._snapshots()
        self._pressure = pressure_files(self._host, self._watched)
        self._files_before, self._files_s = self._group_files(), time.monotonic()
        self._others_before = self._others()
        for _ in range(PROBES):
            probe = self._host.poll(cpus=False)
            self._clock.note(probe.sent_s, probe.received_s, probe.host_s, probe.grain_s)
        self._host.watch(self._folders)
        self._cost_before_s = self._cost_s()
        self._poll()
        self._thread.start()

    def end(self) -> None:
        """No poll follows."""
        self._stop.set()
        with suppress(RuntimeError):  # it never began
            self._thread.join()
        with suppress(DbcpuError):
            self._host.watch(())

    def result(self) -> Sampled:
        """The last poll, counters after, and everything that was seen. Raises MeasureError."""
        self._stop.set()
        self._thread.join()
        try:
            if self._error:
                raise self._error
            self._next_timeline_s = 0.0
            self._poll()
            cost_s = self._cost_s() - self._cost_before_s
            self._host.watch(())
            after, files, files_s, others = self._snapshots(), self._group_files(), time.monotonic(), self._others()
        except DbcpuError as error:
            raise MeasureError(f"sampling ended in the midst of a round: {error}") from None
        ticks = self._host.clock_ticks
        times, series = counters.timeline([list(each) for each in self._timeline], ticks)
        lasted_s = self._polls[-1] - self._polls[0]
        return Sampled(
            sessions=tuple(
                counters.seen(track.polled(one.ordinal, before, now), ticks)
                for one, track, before, now in zip(self._watched, self._tracks, self._before, after, strict=True)
            ),
            timeline_s=times,
            cpu_timeline=series,
            foreign=counters.foreign(self._others_before, others, ticks),
            cgroups=tuple(
                counters.group_use(group, quota, members, (self._files_before.get(stat), files.get(stat)))
                for group, quota, members in self._groups.values()
                for stat in [group.stat_file]
            ),
            cpu_used_s=cost_s,
            polls=len(self._polls),
            # As it went, not as it was meant to go: an answer may take longer than a period.
            hz=round((len(self._polls) - 1) / lasted_s, 2) if lasted_s > 0 else 1 / self._period_s,
            pressure=pressure_between(self._pressure, self._files_before, files, files_s - self._files_s),
            clocks=(self._clock.as_record(f"sampler ({self._host.over})"),),
        )

    def _run(self) -> None:
        realtime(True)  # this thread alone, until its end
        due_s = time.monotonic() + self._period_s
        try:
            while not self._stop.wait(max(0.0, due_s - time.monotonic())):
                self._poll()
                due_s = max(due_s + self._period_s, time.monotonic() + self._period_s / 4)
        except Exception as error:
            self._error = error

    def _poll(self) -> None:
        with_cpus = time.monotonic() >= self._next_timeline_s
        poll = self._host.poll(with_cpus)
        at_s = self._clock.note(poll.sent_s, poll.received_s, poll.host_s, poll.grain_s)
        if self._polls and at_s <= self._polls[-1]:
            at_s = (self._polls[-1] + poll.received_s) / 2
        for track, reading in zip(self._tracks, poll.readings, strict=True):
            track.poll(at_s, reading)
        if with_cpus:
            self._timeline.append((at_s, cpu_lines(poll.cpus.encode())))
            self._next_timeline_s = time.monotonic() + TIMELINE_S
        self._polls.append(at_s)

    def _snapshots(self) -> list[dict[str, str | None]]:
        files = self._host.read_all([f"{folder}/{name}" for folder in self._folders for name in _FILES])
        return [{name: files.get(f"{folder}/{name}") for name in _FILES} for folder in self._folders]

    def _group_files(self) -> Mapping[str, str]:
        return self._host.read_all([*(group.stat_file for group, _, _ in self._groups.values()), *self._pressure])

    def _others(self) -> dict[str, list[Any]]:
        """Command, CPU ticks, CPU and start of every process that is neither watched nor dbcpu's own."""
        found: dict[str, list[Any]] = {}
        for text in self._host.process_stats():
            with suppress(ValueError):  # it ended meanwhile
                stat = ProcessStat.parse(text)
                if stat.pid not in self._skip:
                    found[str(stat.pid)] = [stat.command, stat.cpu_ticks, stat.cpu, stat.start_ticks]
        return found

    def _cost_s(self) -> float:
        """CPU time so far of the processes there that serve us."""
        pids = self._host.own_pids
        files = self._host.read_all([f"/proc/{pid}/{name}" for pid in pids for name in ("stat", "schedstat")])
        return sum(
            counters.cpu_s(files.get(f"/proc/{pid}/stat"), files.get(f"/proc/{pid}/schedstat"), self._host.clock_ticks)
            for pid in pids
        )


class _Track(Stretches):
    """One process under watch."""

    def __init__(self) -> None:
        super().__init__()
        self._start_ticks: int | None = None
        self._gone = False

    def poll(self, now: float, reading: Reading | None) -> None:
        """A pid that came to mean another process is gone too; amid a poll only its counters show that, by less."""
        if self._gone or reading is None or reading.start_ticks != (self._start_ticks or reading.start_ticks):
            self._gone = True
            return
        if reading.run_ns is not None and reading.run_ns < self.run:
            self._gone = True
            return
        self._start_ticks = reading.start_ticks
        self.note(now, reading.cpu, reading.state, reading.run_ns or 0, reading.run_delay_ns or 0)

    def polled(self, ordinal: int, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> dict[str, Any]:
        """In the form of ``_poller``."""
        self.end()
        return {
            "ordinal": ordinal,
            "before": before,
            "after": dict.fromkeys(after) if self._gone else after,
            "intervals": self.intervals,
            "seen": self.seen,
            "gone": self._gone,
            "last": [self.run, self.delay],
        }

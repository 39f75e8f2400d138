"""The sampler's own process: reads /proc through kept file descriptors, at real time stamps.

Run as a script with the standard library only (it starts fast, stays small, and could be sent to another
host as text). Commands come as lines of JSON on stdin, answers leave as lines of JSON on stdout:

    {"start": [[ordinal, pid, tid or null], ...], "hz": 20, "root": "/", "skip": [pids], "files": [paths]}
    {"stop": true}

Between them nothing is written. A kept descriptor gives fresh data at each pread and fails with ESRCH
once its process is gone, even if the pid was given to another. Times are CLOCK_MONOTONIC seconds.
"""

import contextlib
import json
import os
import resource
import select
import sys
import time
from typing import Any

TIMELINE_S = 0.5
STAT_BYTES = 1024
COUNTED_KB = 1 << 20
"""Of how large a process, shared memory included, the memory is counted by node."""


def main() -> None:
    """Serve commands until stdin closes."""
    poller: Poller | None = None
    buffer = b""
    while True:
        wait_s = None if poller is None else max(0.0, poller.next_s - time.monotonic())
        if select.select([0], [], [], wait_s)[0]:
            chunk = os.read(0, 1 << 20)
            if not chunk:
                return
            buffer += chunk
            while b"\n" in buffer:
                line, buffer = buffer.split(b"\n", 1)
                command = json.loads(line)
                if "start" in command:
                    poller = Poller(command)
                    answer(poller.begin())
                elif poller is not None:
                    answer(poller.end())
                    poller = None
        elif poller is not None:
            poller.poll()


def answer(message: dict[str, Any]) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def cpu_used_s() -> float:
    """CPU time of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def realtime(wanted: bool) -> None:
    """SCHED_FIFO where it is permitted. sched(7)

    With N busy sessions a fair share of a CPU is less than polling N processes takes: at N = 256 on
    2 CPUs it left 3 polls a second of 20.
    """
    with contextlib.suppress(OSError, AttributeError):
        policy, priority = (os.SCHED_FIFO, 1) if wanted else (os.SCHED_OTHER, 0)
        os.sched_setscheduler(0, policy, os.sched_param(priority))


def text(path: str) -> str | None:
    """A whole file, or None if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs this process 10 ms of start-up
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


class Stretches:
    """Residency of one process as run-length intervals, made from polls of its CPU, state and counters."""

    def __init__(self) -> None:
        self.intervals: list[list[Any]] = []
        self.seen = 0
        self.cpu, self.state = -1, ""
        self.from_s = self.last_s = 0.0
        self.from_run = self.from_delay = 0.0
        self.run = self.delay = 0

    def note(self, now: float, cpu: int, state: str, run: int, delay: int) -> None:
        """One poll: extend the interval or begin another halfway between the two polls."""
        if cpu != self.cpu or state != self.state:
            if self.intervals or self.state:
                self._turn(now, run, delay)
            else:
                self.from_s, self.from_run, self.from_delay = now, run, delay
            self.seen += bool(self.state) and cpu != self.cpu
            self.cpu, self.state = cpu, state
        self.last_s, self.run, self.delay = now, run, delay

    def end(self) -> None:
        """Close the last interval."""
        if self.state and self.last_s > self.from_s:
            self._close(self.last_s, self.run, self.delay)

    def _turn(self, now: float, run: int, delay: int) -> None:
        middle_s, middle_run, middle_delay = (self.last_s + now) / 2, (self.run + run) / 2, (self.delay + delay) / 2
        self._close(middle_s, middle_run, middle_delay)
        self.from_s, self.from_run, self.from_delay = middle_s, middle_run, middle_delay

    def _close(self, to_s: float, run: float, delay: float) -> None:
        self.intervals.append([self.cpu, self.state, self.from_s, to_s, run - self.from_run, delay - self.from_delay])


class Track(Stretches):
    """One process under watch, through kept descriptors."""

    def __init__(self, root: str, ordinal: int, pid: int, tid: int | None) -> None:
        super().__init__()
        self.ordinal, self.pid = ordinal, pid
        self.folder = f"{root}proc/{pid}" + (f"/task/{tid}" if tid else "")
        self.gone = False
        self.schedstat = -1
        self.stat = -1
        try:
            self.stat = os.open(f"{self.folder}/stat", os.O_RDONLY)
            raw = os.pread(self.stat, STAT_BYTES, 0)
        except OSError:
            self.gone = True
            return
        # Field 39 counted from the end, so that a poll splits no more than it must.
        self.after_cpu = len(raw[raw.rindex(b")") + 2 :].split()) - 36
        with contextlib.suppress(OSError):
            self.schedstat = os.open(f"{self.folder}/schedstat", os.O_RDONLY)

    def poll(self, now: float) -> None:
        """Read state, CPU and counters."""
        try:
            raw = os.pread(self.stat, STAT_BYTES, 0)
            counters = os.pread(self.schedstat, 80, 0).split() if self.schedstat >= 0 else ()
        except OSError:
            self.gone = True
            return
        mark = raw.rindex(b")") + 2
        run, delay = (int(counters[0]), int(counters[1])) if counters else (0, 0)
        self.note(now, int(raw.rsplit(None, self.after_cpu)[1]), chr(raw[mark]), run, delay)

    def end(self) -> None:
        """Close the last interval and the descriptors."""
        super().end()
        for descriptor in (self.stat, self.schedstat):
            if descriptor >= 0:
                os.close(descriptor)

    def snapshot(self) -> dict[str, str | None]:
        """The exact counters and settings, as the kernel prints them."""
        names = ("stat", "schedstat", "status", "sched", "cgroup")
        return {name: text(f"{self.folder}/{name}") for name in names}

    def memory(self) -> str | None:
        """numa_maps of a process on several memory nodes; of one with much memory no more than address and policy.

        The kernel looks at every page that it counts, and makes no more lines than are read.
        """
        status = dict(line.split(":", 1) for line in (text(f"{self.folder}/status") or "").splitlines() if ":" in line)
        nodes, resident = status.get("Mems_allowed_list", "").strip(), status.get("VmRSS", "").split()
        if nodes.isdecimal() or not nodes or not resident:
            return None
        if int(resident[0]) <= COUNTED_KB:
            return text(f"{self.folder}/numa_maps")
        try:
            with open(f"{self.folder}/numa_maps", "rb", buffering=0) as file:  # noqa: PTH123 - as above
                return b" ".join(file.read(80).split()[:2]).decode("utf-8", "replace")
        except OSError:
            return None


class Poller:
    """One round of watching."""

    def __init__(self, command: dict[str, Any]) -> None:
        self.root: str = command["root"]
        self.period_s = 1.0 / command["hz"]
        self.files: list[str] = command["files"]
        self.skip = set(command["skip"])
        self.tracks = [Track(self.root, *watched) for watched in command["start"]]
        self.skip.update(track.pid for track in self.tracks)
        self.polls = 0
        self.next_s = 0.0
        self.timeline: list[tuple[float, bytes]] = []
        self.next_timeline_s = 0.0
        self.cpu_stat = os.open(f"{self.root}proc/stat", os.O_RDONLY)

    def begin(self) -> dict[str, Any]:
        """Counters before, and the first poll."""
        self.before = [track.snapshot() for track in self.tracks]
        self.files_before = {path: text(self.root.rstrip("/") + path) for path in self.files}
        self.files_s = time.monotonic()
        self.others_before = self.others()
        self.cpu_before_s = cpu_used_s()
        self.next_s = time.monotonic()
        realtime(True)
        self.poll()
        return {"started": len(self.tracks), "gone": [track.ordinal for track in self.tracks if track.gone]}

    def poll(self) -> None:
        """All processes once, and twice a second all CPUs."""
        now = time.monotonic()
        for track in self.tracks:
            if not track.gone:
                track.poll(now)
        if now >= self.next_timeline_s:
            self.timeline.append((now, os.pread(self.cpu_stat, 1 << 18, 0)))
            self.next_timeline_s = now + TIMELINE_S
        self.polls += 1
        # A missed deadline is not made up for: the stamps tell what really happened.
        self.next_s = max(self.next_s + self.period_s, now + self.period_s / 2)

    def end(self) -> dict[str, Any]:
        """The last poll, counters after, and everything that was seen."""
        self.next_timeline_s = 0.0
        self.poll()
        cpu_used = cpu_used_s() - self.cpu_before_s
        realtime(False)
        for track in self.tracks:
            track.end()
        after = [track.snapshot() | {"numa_maps": track.memory()} for track in self.tracks]
        os.close(self.cpu_stat)
        return {
            "sessions": [
                {
                    "ordinal": track.ordinal,
                    "before": before,
                    "after": now,
                    "intervals": track.intervals,
                    "seen": track.seen,
                    "gone": track.gone,
                    "last": [track.run, track.delay],
                }
                for track, before, now in zip(self.tracks, self.before, after, strict=True)
            ],
            "timeline": [[now, cpu_lines(raw)] for now, raw in self.timeline],
            "files_s": time.monotonic() - self.files_s,
            "files": {path: [self.files_before[path], text(self.root.rstrip("/") + path)] for path in self.files},
            "others": [self.others_before, self.others()],
            "cpu_used_s": cpu_used,
            "polls": self.polls,
        }

    def others(self) -> dict[int, list[Any]]:
        """Command, CPU ticks and CPU of every process that is neither watched nor dbcpu's own."""
        found: dict[int, list[Any]] = {}
        own = os.getpid()
        for name in os.listdir(f"{self.root}proc"):  # noqa: PTH208 - as above
            if not name.isdecimal() or int(name) in self.skip or int(name) == own:
                continue
            raw = text(f"{self.root}proc/{name}/stat")
            if raw and ")" in raw:
                fields = raw[raw.rindex(")") + 2 :].split()
                command = raw[raw.index("(") + 1 : raw.rindex(")")]
                found[int(name)] = [command, int(fields[11]) + int(fields[12]), int(fields[36]), int(fields[19])]
        return found


def cpu_lines(raw: bytes) -> dict[str, list[int]]:
    """The per-CPU lines of /proc/stat: ticks as user nice system idle iowait irq softirq steal."""
    lines = (line.split() for line in raw.split(b"\n") if line.startswith(b"cpu") and line[3:4].isdigit())
    return {fields[0][3:].decode(): [int(value) for value in fields[1:9]] for fields in lines}


if __name__ == "__main__":
    main()

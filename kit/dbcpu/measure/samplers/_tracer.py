"""The tracing process: asks the kernel for every switch between processes, and adds up what the sessions met.

Run as a script with the standard library only. Commands come as lines of JSON on stdin, answers leave as lines of JSON
on stdout:

    {"open": true}                                       {"ready": true}, or {"error": "why not"}
    {"start": [[ordinal, pid, tid or null], ...]}        {"started": n}
    {"stop": true}                                       {"sessions": [...], "events": n, "lost": n, "why": ""}

It has a tracing instance of its own, so that tracing by others is left alone, and tracefs mounted where only this
process sees it. Both are gone when it ends, and that is when its stdin ends: also when its parent was killed.
Sources: kernel Documentation/trace/ftrace.rst (instances, trace_clock, per_cpu/cpuN/stats) and events.rst (filters);
mount_namespaces(7); proc_pid_stat(5).
"""

import contextlib
import ctypes
import json
import os
import re
import sys
import time
from typing import Any

MOUNT_POINT = "/sys/kernel/tracing"
PREFIX = "dbcpu-"
EVENTS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task")
BUFFER_KB, MIN_BUFFER_KB, ALL_BUFFERS_KB = 8192, 1024, 262_144
"""Of one CPU, and of all together."""
MAX_FILTER = 4000
"""Characters; the kernel takes less than a page. Source: kernel/trace/trace_events_filter.c"""
MIN_SLEEP_S = 0.01
"""A shorter sleep, as a poll would hardly see, makes no stretch of its own."""
MAX_STRETCHES = 2000
MAX_NAMED = 8
"""Processes named for each session: those that ran longest while it waited."""
PROBE_S = 0.02
_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x00020000, 0x4000, 1 << 18
_LINE = re.compile(r"\[(\d+)\] \S+ +(\d+\.\d+): (sched_\w+): (.*)")
_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio="
)
_WAKE = re.compile(r" pid=(\d+) prio=-?\d+ (?:success=\d+ )?target_cpu=(\d+)")
_MIGRATE = re.compile(r" pid=(\d+) prio=-?\d+ orig_cpu=\d+ dest_cpu=(\d+)")
_LOST = re.compile(r"(?:overrun|dropped events): (\d+)")


class NoTrace(Exception):
    """The kernel gives no trace; the text says why."""


def main() -> None:
    """Serve commands until stdin closes."""
    instance: Instance | None = None
    watched: list[list[Any]] = []
    tally: Tally | None = None
    try:
        for line in sys.stdin:
            command = json.loads(line)
            try:
                if "open" in command:
                    instance = Instance()
                    instance.check()
                    answer({"ready": True})
                elif "start" in command and instance is not None:
                    watched = command["start"]
                    tally = instance.begin({tid or pid: ordinal for ordinal, pid, tid in watched})
                    answer({"started": len(watched)})
                elif tally is not None and instance is not None:
                    answer(instance.end(tally))
                    tally = None
            except (NoTrace, OSError) as error:
                answer({"error": str(error)})
    finally:
        if instance is not None:
            instance.remove()


def answer(message: dict[str, Any]) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Instance:
    """A tracing instance. ``begin`` and ``end`` once per round."""

    def __init__(self) -> None:
        self.mounted_at = _mounted()
        instances = f"{self.mounted_at}/instances"
        self.folder = f"{instances}/{PREFIX}{os.getpid()}"
        for left in os.listdir(instances):  # noqa: PTH208 - pathlib costs this process 10 ms of start-up
            if left.startswith(PREFIX) and not os.path.exists(f"/proc/{left.removeprefix(PREFIX)}"):  # noqa: PTH110
                _remove(f"{instances}/{left}")
        cpus = os.sysconf("SC_NPROCESSORS_CONF")
        try:
            os.mkdir(self.folder)  # noqa: PTH102
            self.write("trace_clock", "mono")
            self.write("buffer_size_kb", str(max(MIN_BUFFER_KB, min(BUFFER_KB, ALL_BUFFERS_KB // cpus))))
        except OSError as error:
            self.remove()
            raise NoTrace(f"a tracing instance could not be made: {error.strerror}") from None

    def check(self) -> None:
        """Raises NoTrace where the trace does not show this very process, as in a container with its own numbers."""
        tally = self.begin({os.getpid(): 0})
        until = time.monotonic() + PROBE_S
        while time.monotonic() < until:
            time.sleep(PROBE_S / 10)
        if not self.end(tally)["sessions"][0]["stretches"]:
            raise NoTrace(
                "the trace does not show this process: it may be in a container with process numbers of its own"
            )

    def begin(self, ordinals: "dict[int, int]") -> "Tally":
        """Trace from now on; ``ordinals`` by number of process or thread."""
        self.write("tracing_on", "0")
        self.write("trace", "")
        only = " || ".join(f"pid=={pid}" for pid in sorted(ordinals))
        for event in EVENTS:
            # The process that ran instead is any, so switches are not filtered.
            if event != "sched_switch":
                self.write(f"events/sched/{event}/filter", only if 0 < len(only) <= MAX_FILTER else "0")
            self.write(f"events/sched/{event}/enable", "1")
        self.write("tracing_on", "1")
        return Tally(ordinals, time.monotonic(), {pid: _state(pid) for pid in ordinals})

    def end(self, tally: "Tally") -> "dict[str, Any]":
        """What the sessions met since ``begin``."""
        self.write("tracing_on", "0")
        until_s = time.monotonic()
        lost = 0
        for cpu in os.listdir(f"{self.folder}/per_cpu"):  # noqa: PTH208
            lost += sum(map(int, _LOST.findall(self.read(f"per_cpu/{cpu}/stats"))))
        with open(f"{self.folder}/trace", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                tally.take(line)
        self.write("trace", "")
        return tally.sum_up(until_s, lost)

    def remove(self) -> None:
        """Stop tracing, and leave nothing behind."""
        _remove(self.folder)

    def write(self, name: str, text: str) -> None:
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)

    def read(self, name: str) -> str:
        with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()


def _mounted() -> str:
    """Where tracefs is; where it is not mounted, it is for this process alone. Raises NoTrace."""
    if not os.path.isdir(f"{MOUNT_POINT}/instances"):  # noqa: PTH112
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.unshare(_CLONE_NEWNS) or libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
        done = done or libc.mount(b"tracefs", MOUNT_POINT.encode(), b"tracefs", 0, None)
        if done:
            raise NoTrace(f"tracefs could not be mounted at {MOUNT_POINT}: {os.strerror(ctypes.get_errno())}")
        if not os.path.isdir(f"{MOUNT_POINT}/instances"):  # noqa: PTH112
            raise NoTrace("this kernel's tracefs has no instances")
    os.chdir(MOUNT_POINT)
    return MOUNT_POINT


def _remove(folder: str) -> None:
    for name, text in (("tracing_on", "0"), ("events/enable", "0")):
        with contextlib.suppress(OSError), open(f"{folder}/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106


def _state(pid: int) -> "tuple[str, int]":
    """State and CPU of a process or thread, as /proc has them; a gone one sleeps."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
        return fields[0], int(fields[36])
    except (OSError, IndexError, ValueError):
        return "S", 0


class Life:
    """One session's server process: what it does now, and its stretches so far."""

    def __init__(self, state: str, cpu: int, at_s: float) -> None:
        # Whether a runnable one runs is seen at its next switch; until then it is taken to run.
        self.mode, self.cpu, self.since_s = ("run" if state == "R" else state), cpu, at_s
        self.parts: list[tuple[int, str, float, float]] = []
        self.moves = 0
        self.woken_s: float | None = None
        self.delays_s: list[float] = []
        self.instead_s: dict[tuple[int, str], float] = {}

    def turn(self, now_s: float, mode: str, cpu: int) -> None:
        """What it did ends, and ``mode`` begins: run, wait, or the letter of a sleeping state."""
        if now_s > self.since_s:
            self.parts.append((self.cpu, self.mode, self.since_s, now_s))
        self.mode, self.cpu, self.since_s = mode, cpu, now_s


class Tally:
    """Adds up the events of a round, in the order in which the trace has them, which is that of time."""

    def __init__(self, ordinals: "dict[int, int]", from_s: float, states: "dict[int, tuple[str, int]]") -> None:
        self.ordinals, self.from_s = ordinals, from_s
        self.lives = {pid: Life(*states[pid], from_s) for pid in ordinals}
        self.waiting: dict[int, set[int]] = {}
        self.running: dict[int, tuple[int, str]] = {}
        self.credited_s: dict[int, float] = {}
        self.switched_s: dict[int, float] = {}
        self.events = self.lost = 0

    def take(self, line: str) -> None:
        """One line of the trace. What is no event that can be read counts as lost."""
        found = _LINE.search(line)
        if found is None:
            self.lost += bool(line.strip()) and not line.startswith("#")
            return
        cpu, now_s, event, detail = int(found[1]), max(float(found[2]), self.from_s), found[3], found[4]
        self.events += 1
        if event == "sched_switch":
            if (switched := _SWITCH.search(detail)) is None:
                self.lost += 1
            else:
                leaves, enters = (int(switched[2]), switched[1]), (int(switched[5]), switched[4])
                self._switch(cpu, now_s, leaves, switched[3], enters)
            return
        moved = (_MIGRATE if event == "sched_migrate_task" else _WAKE).search(detail)
        if moved is None:
            self.lost += 1
        elif (life := self.lives.get(int(moved[1]))) is not None:
            pid, to, migrated = int(moved[1]), int(moved[2]), event == "sched_migrate_task"
            life.moves += migrated
            if migrated and life.mode == "wait":
                self._queue(pid, life, now_s, to)
            elif not migrated and life.mode not in ("run", "wait"):
                life.woken_s = now_s
                self._queue(pid, life, now_s, to)

    def _switch(self, cpu: int, now_s: float, leaves: "tuple[int, str]", state: str, enters: "tuple[int, str]") -> None:
        life = self.lives.get(leaves[0])
        if life is not None and life.mode == "wait":
            # The kernel leaves some switches out of the trace (seen in 6.18): it runs since the one before, at most.
            self.waiting[life.cpu].discard(leaves[0])
            life.turn(max(life.since_s, self.switched_s.get(cpu, self.from_s)), "run", cpu)
            life.woken_s = None
        # Likewise of who ran; and who did before the first switch of a CPU is known by that switch.
        self.running[cpu] = leaves
        self._credit(cpu, now_s)
        self.switched_s[cpu] = now_s
        if life is not None:
            life.mode, life.cpu = "run", cpu
            if state.startswith("R"):
                self._queue(leaves[0], life, now_s, cpu)
            else:
                life.turn(now_s, state[0], cpu)
        if (life := self.lives.get(enters[0])) is not None:
            self._leave_queue(enters[0], life, now_s)
        self.running[cpu] = enters
        if life is not None:
            if life.mode == "run":  # it was runnable at the start, and did not run yet
                life.mode = "wait"
            if life.woken_s is not None:
                life.delays_s.append(now_s - life.woken_s)
                life.woken_s = None
            life.turn(now_s, "run", cpu)

    def _queue(self, pid: int, life: Life, now_s: float, cpu: int) -> None:
        self._leave_queue(pid, life, now_s)
        self._credit(cpu, now_s)
        life.turn(now_s, "wait", cpu)
        self.waiting.setdefault(cpu, set()).add(pid)

    def _leave_queue(self, pid: int, life: Life, now_s: float) -> None:
        if pid in self.waiting.get(life.cpu, ()):
            self._credit(life.cpu, now_s)
            self.waiting[life.cpu].discard(pid)

    def _credit(self, cpu: int, now_s: float) -> None:
        """Who ran on ``cpu`` since it was last asked, to all that waited there. An idle CPU is nobody."""
        who, since_s = self.running.get(cpu), self.credited_s.get(cpu, self.from_s)
        self.credited_s[cpu] = now_s
        if who is None or not who[0] or now_s <= since_s:
            return
        for pid in self.waiting.get(cpu, ()):
            instead_s = self.lives[pid].instead_s
            instead_s[who] = instead_s.get(who, 0.0) + now_s - since_s

    def sum_up(self, until_s: float, lost: int) -> "dict[str, Any]":
        """The answer: by session stretches, migrations, who ran instead, and how long it took to run once woken."""
        sessions, why = [], ""
        for pid, life in self.lives.items():
            self._credit(life.cpu, until_s)
            life.turn(until_s, life.mode, life.cpu)
            stretches = merged(life.parts)
            if len(stretches) > MAX_STRETCHES:
                why = f"a session moved or slept more than {MAX_STRETCHES} times"
            sessions.append(
                {
                    "ordinal": self.ordinals[pid],
                    "stretches": stretches,
                    "migrations": life.moves,
                    "instead": self._instead(life),
                    "woken": percentiles(life.delays_s),
                }
            )
        lost += self.lost
        return {"sessions": sessions, "events": self.events, "lost": lost, "why": why}

    def _instead(self, life: Life) -> "list[list[Any]]":
        """[pid, command, seconds, ordinal, cgroup], those that ran longest; then the sums of all others, as pid 0."""
        ran = sorted(life.instead_s.items(), key=lambda each: -each[1])
        sessions = [each for each in ran if each[0][0] in self.ordinals]
        others = [each for each in ran if each[0][0] not in self.ordinals]
        rows = [
            [who, name, ran_s, self.ordinals.get(who), _cgroup(who)]
            for (who, name), ran_s in sessions[:MAX_NAMED] + others[:MAX_NAMED]
        ]
        for rest, name, ordinal in ((sessions[MAX_NAMED:], "sessions", 0), (others[MAX_NAMED:], "processes", None)):
            if rest:
                rows.append([0, f"other {name}", sum(each[1] for each in rest), ordinal, None])
        return sorted(rows, key=lambda row: -row[2])


def merged(parts: "list[tuple[int, str, float, float]]") -> "list[list[Any]]":
    """[cpu, state, from, to, seconds run, seconds waited]: as long as it was runnable on one CPU, or slept."""
    rows: list[list[Any]] = []
    for cpu, mode, from_s, to_s in parts:
        length_s = to_s - from_s
        runnable = mode in ("run", "wait")
        if not runnable and length_s < MIN_SLEEP_S and rows:
            rows[-1][3] = to_s
            continue
        state = "R" if runnable else mode
        if not rows or rows[-1][:2] != [cpu, state]:
            rows.append([cpu, state, from_s, to_s, 0.0, 0.0])
        rows[-1][3] = to_s
        rows[-1][4] += length_s * (mode == "run")
        rows[-1][5] += length_s * (mode == "wait")
    return rows


def percentiles(values: "list[float]") -> "list[float] | None":
    """How many there are, the 50th, 95th and 99th percentile, and the largest."""
    if not values:
        return None
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return [len(ordered), at(0.5), at(0.95), at(0.99), ordered[-1]]


def _cgroup(pid: int) -> "str | None":
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().strip().splitlines()[-1].split(":", 2)[-1]
    except (OSError, IndexError):
        return None


if __name__ == "__main__":
    main()

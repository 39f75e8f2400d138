"""What the sessions met, added up from the kernel's trace of every switch between processes.

Source: kernel Documentation/trace/ftrace.rst (the lines of the file trace) and events.rst (filters).
"""

import re
from collections.abc import Iterable
from typing import Any

MAX_FILTER = 4000
"""Characters; the kernel takes less than a page. Source: kernel/trace/trace_events_filter.c"""
MAX_EVENT = 1000
"""Characters; the kernel's events have 200."""
MAX_NAME_PART = 16
"""Characters of a line that can be a part of a name: the kernel fills its 15 bytes up to so many."""
MIN_SLEEP_S = 0.01
"""A shorter sleep, as a poll would hardly see, makes no stretch of its own."""
MAX_STRETCHES = 2000
MAX_NAMED = 8
"""Processes named for each session: those that ran longest while it waited."""
_LINE = re.compile(r"\[(\d+)\] \S+ +(\d+\.\d+): (sched_\w+): (.*)")
_SWITCH = re.compile(
    r"prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=",
    re.DOTALL,
)
_WAKE = re.compile(r" pid=(\d+) prio=-?\d+ (?:success=\d+ )?target_cpu=(\d+)")
_MIGRATE = re.compile(r" pid=(\d+) prio=-?\d+ orig_cpu=\d+ dest_cpu=(\d+)")


def wakes_of(pids: Iterable[int]) -> str:
    """The kernel's filter of wake-ups and moves of these processes; "0": of all."""
    only = " || ".join(f"pid=={pid}" for pid in sorted(pids))
    return only if 0 < len(only) <= MAX_FILTER else "0"


def switches_on(cpus: Iterable[int], online: int) -> str:
    """The filter of switches on these CPUs, of any process: who runs instead may be any. "0": of all there are."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    only = " || ".join(f"(CPU>={first} && CPU<={last})" for first, last in runs)
    many = sum(last - first + 1 for first, last in runs)
    return only if many < online and 0 < len(only) <= MAX_FILTER else "0"


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

    def __init__(self, ordinals: dict[int, int], from_s: float, states: dict[int, tuple[str, int]]) -> None:
        self.ordinals, self.from_s = ordinals, from_s
        self.lives = {pid: Life(*states[pid], from_s) for pid in ordinals}
        self.waiting: dict[int, set[int]] = {}
        self.running: dict[int, tuple[int, str]] = {}
        self.credited_s: dict[int, float] = {}
        self.switched_s: dict[int, float] = {}
        self.events = self.lost = 0
        self._begun: tuple[int, float, str, str] | None = None

    def take(self, line: str) -> None:
        """One line of the trace. Any user may name a process with line breaks: such an event has several lines.

        No name is long enough for what an event begins with. What is no event that can be read counts as lost.
        """
        if len(line) <= MAX_EVENT and (begins := _LINE.search(line)) is not None:
            self.events += 1
            self.lost += self._begun is not None
            event = (int(begins[1]), max(float(begins[2]), self.from_s), begins[3], begins[4])
        elif self._begun is not None and len(self._begun[3]) + len(line) < MAX_EVENT:
            event = (*self._begun[:3], f"{self._begun[3]}\n{line}")
        else:
            self.lost += len(line) > MAX_NAME_PART and not line.startswith("#")
            return
        self._begun = None if self._whole(*event) else event

    def _whole(self, cpu: int, now_s: float, event: str, detail: str) -> bool:
        """Adds it up, unless its end is in another line."""
        if event == "sched_switch":
            if (switched := _SWITCH.search(detail)) is None:
                return False
            leaves, enters = (int(switched[2]), switched[1]), (int(switched[5]), switched[4])
            self._switch(cpu, now_s, leaves, switched[3], enters)
            return True
        moved = (_MIGRATE if event == "sched_migrate_task" else _WAKE).search(detail)
        if moved is None:
            return False
        if (life := self.lives.get(int(moved[1]))) is not None:
            pid, to, migrated = int(moved[1]), int(moved[2]), event == "sched_migrate_task"
            life.moves += migrated
            if migrated and life.mode == "wait":
                self._queue(pid, life, now_s, to)
            elif not migrated and life.mode not in ("run", "wait"):
                life.woken_s = now_s
                self._queue(pid, life, now_s, to)
        return True

    def _switch(self, cpu: int, now_s: float, leaves: tuple[int, str], state: str, enters: tuple[int, str]) -> None:
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

    def sum_up(self, until_s: float, lost: int) -> dict[str, Any]:
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
        lost += self.lost + (self._begun is not None)
        return {"sessions": sessions, "events": self.events, "lost": lost, "why": why}

    def _instead(self, life: Life) -> list[list[Any]]:
        """[pid, command, seconds, ordinal], those that ran longest; then the sums of all others, as pid 0."""
        ran = sorted(life.instead_s.items(), key=lambda each: -each[1])
        sessions = [each for each in ran if each[0][0] in self.ordinals]
        others = [each for each in ran if each[0][0] not in self.ordinals]
        rows = [
            [who, name, ran_s, self.ordinals.get(who)]
            for (who, name), ran_s in sessions[:MAX_NAMED] + others[:MAX_NAMED]
        ]
        for rest, name, ordinal in ((sessions[MAX_NAMED:], "sessions", 0), (others[MAX_NAMED:], "processes", None)):
            if rest:
                rows.append([0, f"other {name}", sum(each[1] for each in rest), ordinal])
        return sorted(rows, key=lambda row: -row[2])


def merged(parts: list[tuple[int, str, float, float]]) -> list[list[Any]]:
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


def percentiles(values: list[float]) -> list[float] | None:
    """How many there are, the 50th, 95th and 99th percentile, and the largest."""
    if not values:
        return None
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return [len(ordered), at(0.5), at(0.95), at(0.99), ordered[-1]]

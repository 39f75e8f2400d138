"""The witness's own processes: one per CPU, each doing a small known piece of work again and again.

Run as a script with the standard library only: ``_witness.py CPU,CPU,...``. It answers with one line of JSON when
ready, and then to each command, a line on stdin:

    begin HZ    from now on each process does HZ pieces a second on its CPU
    end         stop, and hand over, by CPU: [cpu, [end of each piece], [its CPU time], CPU time in all], in ns

Between ``end`` and ``begin`` nothing runs. All processes end when stdin closes, so none outlives the driver. The
moments vary by half a period: pieces in step with the load would see it always at the same point.
"""

import contextlib
import json
import os
import select
import sys
import time
from typing import Any

TIMES, WARM_UP = 500, 120
"""Iterations of a piece; those before it bring its code and data back into the caches, and are not timed."""
ANSWER = 2318
PRIORITY = 1


def piece(times: int) -> int:
    """Interpreted work that never leaves the first caches: it slows down nearly as the executor of a database does."""
    seen: dict[int, int] = {}
    for i in range(times):
        seen[i & 511] = seen.get((i * 7) & 511, 0) + len(str(i))
    return sum(seen.values())


class Pacer:
    """The process of one CPU; ``commands`` and ``answers`` are its ends of two pipes."""

    def __init__(self, cpu: int, commands: int, answers: int) -> None:
        self.cpu, self.commands, self.answers = cpu, commands, answers
        self.period_s = 0.0
        self.next_s = 0.0
        self.ends: list[int] = []
        self.took: list[int] = []
        self.began_ns = 0
        self.chance = (os.getpid() * 2654435761 + cpu) & 0xFFFFFFFF

    def serve(self) -> None:
        """Until the pipe closes."""
        while True:
            wait_s = None if not self.period_s else max(0.0, self.next_s - time.monotonic())
            if not select.select([self.commands], [], [], wait_s)[0]:
                self.tick()
                continue
            text = os.read(self.commands, 64)
            if not text:
                return
            for line in text.decode().splitlines():
                self.obey(line)

    def obey(self, line: str) -> None:
        """``begin HZ`` or ``end``; a CPU that is offline or not allowed brings no pieces."""
        if line.startswith("begin"):
            self.ends, self.took, self.began_ns = [], [], time.thread_time_ns()
            try:
                os.sched_setaffinity(0, {self.cpu})
            except OSError:
                return
            self.period_s = 1.0 / float(line.split()[1])
            self.next_s = time.monotonic() + self.period_s * self.random()
            return
        self.period_s = 0.0
        report = [self.cpu, self.ends, self.took, time.thread_time_ns() - self.began_ns]
        write_all(self.answers, json.dumps(report, separators=(",", ":")).encode() + b"\n")

    def tick(self) -> None:
        """One piece, and the moment of the next one."""
        piece(WARM_UP)
        began_ns = time.thread_time_ns()
        right = piece(TIMES) == ANSWER
        took_ns = time.thread_time_ns() - began_ns
        now_ns = time.monotonic_ns()
        if right:
            self.ends.append(now_ns)
            self.took.append(took_ns)
        self.next_s = now_ns / 1e9 + self.period_s * (0.5 + self.random())

    def random(self) -> float:
        """From 0 to 1. Marsaglia, "Xorshift RNGs", 2003; the module ``random`` takes longer to load than all else."""
        x = self.chance or 1
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        self.chance = x
        return x / 0x100000000


def write_all(descriptor: int, data: bytes) -> None:
    """A pipe takes 64 KiB at once."""
    while data:
        data = data[os.write(descriptor, data) :]


def realtime() -> bool:
    """The lowest real-time priority where it is permitted: a piece begins on time however many sessions queue."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except (OSError, AttributeError):
        return False
    return True


def tick_s() -> float:
    """CPU seconds of one piece with its warm-up: the longest but for the first, as the CPU may be fast just now."""
    found = []
    for _ in range(12):
        began_ns = time.thread_time_ns()
        piece(WARM_UP)
        piece(TIMES)
        found.append(time.thread_time_ns() - began_ns)
    return max(found[4:]) / 1e9


def start(cpu: int, ours: list[int]) -> tuple[int, int, int]:
    """Fork the process of one CPU; returns its pid and the ends of its pipes. ``ours``: those of the others."""
    commands, to_child = os.pipe()
    from_child, answers = os.pipe()
    pid = os.fork()
    if pid == 0:
        # An end kept here would keep another process from noticing that this program is gone.
        for descriptor in (0, 1, to_child, from_child, *ours):
            os.close(descriptor)
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            Pacer(cpu, commands, answers).serve()
        os._exit(0)
    os.close(commands)
    os.close(answers)
    return pid, to_child, from_child


def main() -> None:
    """Serve commands until stdin closes."""
    cpus = [int(cpu) for cpu in sys.argv[1].split(",")]
    cost_s, is_realtime = tick_s(), realtime()
    pacers: list[tuple[int, int, int]] = []
    for cpu in cpus:
        pacers.append(start(cpu, [end for _, *ends in pacers for end in ends]))
    files = [os.fdopen(from_child, "rb") for _, _, from_child in pacers]
    answer({"tick_s": cost_s, "realtime": is_realtime, "pids": [pid for pid, _, _ in pacers]})
    for line in sys.stdin:
        for _, to_child, _ in pacers:
            write_all(to_child, line.encode())
        if line.startswith("end"):
            answer([json.loads(file.readline()) for file in files])
    for pid, to_child, _ in pacers:
        os.close(to_child)
        os.waitpid(pid, 0)


def answer(message: Any) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()

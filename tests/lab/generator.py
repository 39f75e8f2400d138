"""A generator makes one cause of lost time on real server processes, and labels every session of its round.

It says how many sessions it wants and what each truly loses to (``none`` for bystanders), may alter a session's SQL
before it is prepared, does something to the processes before the sampler takes its first counters (``before``), goes
on while they run (``begin``), and undoes all of it (``end``). CPUs are two of those this machine has; which one the
victim gets is drawn.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from random import Random

from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.targets.base import Work


class Generator:
    """Nothing at all, and what the others have in common."""

    name = "nothing at all"

    def __init__(self, rng: Random, guard: Guard, conninfo: str, alone_s: float) -> None:
        self.rng, self.guard, self.conninfo, self.alone_s = rng, guard, conninfo, alone_s
        usable = sorted(os.sched_getaffinity(0))
        self.cpu, self.other = rng.sample([usable[0], usable[-1]], 2)
        self.pids: list[int] = []
        self.helpers: list[subprocess.Popen[str]] = []
        self.undo = ExitStack()
        self.setting = ""
        self.labels: tuple[str, ...] = ("none", "none")
        self.victim = rng.randrange(2)
        self.choose()

    @classmethod
    def why_not(cls) -> str | None:
        """Why this cannot be made here, or None."""
        return "this machine has one CPU" if len(os.sched_getaffinity(0)) < 2 else None

    def choose(self) -> None:
        """Draw what is free, and set ``labels``."""

    def ready(self) -> None:
        """Called before anybody connects."""

    def alter(self, ordinal: int, work: Work) -> Work:
        return work

    def before(self, pids: Sequence[int]) -> None:
        """``pids``: the server processes by ordinal."""
        self.pids = list(pids)
        for ordinal, pid in enumerate(pids):
            cpus = self.place(ordinal)
            if cpus:
                os.sched_setaffinity(pid, cpus)

    def place(self, ordinal: int) -> set[int]:
        """CPUs of a session: the victim on one, the bystander on the other."""
        return {self.cpu if ordinal == self.victim else self.other}

    def begin(self) -> None:
        """Called after the first counters were read, before the release."""

    def end(self) -> None:
        """Undo everything, last first; called once, also when the round failed."""
        self.undo.close()
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def only_victim_loses_to(self, cause: str) -> None:
        self.labels = tuple(cause if ordinal == self.victim else "none" for ordinal in range(2))

    def help_with(self, script: str, *arguments: object, cpu: int | None = None) -> None:
        """A helper process that has said it is ready. It ends with the round, or with the driver."""
        helper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", script, *(str(each) for each in arguments)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._own(helper)
        if cpu is not None:
            os.sched_setaffinity(helper.pid, {cpu})
        assert helper.stdout is not None
        helper.stdout.readline()

    def _own(self, helper: subprocess.Popen[str], how: signal.Signals = signal.SIGKILL) -> None:
        def gone() -> None:
            helper.send_signal(how)
            helper.communicate()
            self.guard.forget(helper.pid)

        self.helpers.append(helper)
        self.guard.end_later(helper.pid)
        self.undo.callback(gone)

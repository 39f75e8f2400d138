"""The kernel's trace of every switch between processes, by shell/trace-host: here, or on a host that ssh reaches.

Stamps of the trace are of that host's CLOCK_MONOTONIC. Marks that are written into it at known moments of ours move
them to this machine's.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

from dbcpu.errors import HostError, MeasureError
from dbcpu.formatting import parse_cpu_list
from dbcpu.hosts.base import Host
from dbcpu.hosts.proc import ProcessStat
from dbcpu.hosts.shell_connection import ShellConnection
from dbcpu.hosts.shell_host import ShellHost
from dbcpu.hosts.topology import group_named
from dbcpu.hosts.transport import BOOTSTRAP, Transport
from dbcpu.measure.samplers._clock import RemoteClock
from dbcpu.measure.samplers._tally import Tally, switches_on, wakes_of
from dbcpu.measure.samplers.base import Watched
from dbcpu.record.rounds import Clock

HERE = Transport("this machine", "local", ("sh", "-c", BOOTSTRAP), (), "it has a shell", takes_input=False)
MARKS = 6
"""Before a round and after it; each takes a round trip and narrows what is known of the other clock."""
STAMP_GRAIN_S = 1e-6
MAX_TRACE_BYTES, TRACE_TIMEOUT_S = 512 * 1024**2, 600.0
"""Of the text of one round: its buffers hold 64 MB, and text is three times as long."""
PROBE_S = 0.02
_LACKS = {
    "no-tracefs": "this kernel has no tracefs",
    "no-instances": "this kernel's tracefs has no instances",
    "no-unshare": "tracefs is not mounted, and there is no unshare to mount it for dbcpu alone",
    "no-unshare-right": "tracefs is not mounted, and to mount it for dbcpu alone needs CAP_SYS_ADMIN",
    "no-mount": "tracefs could not be mounted, which needs CAP_SYS_ADMIN",
    "no-instance": "a tracing instance could not be made",
    "no-sudo": "tracing needs root, and there is no sudo",
    "refused": "tracing needs root, and sudo -n sh is refused",
    "unasked": "tracing needs root, or a sudo without a password (sudo -n sh), which only a run tries",
}
_MARK = re.compile(r"(\d+\.\d+): tracing_mark_write: dbcpu (\d+)$")
_LOST = re.compile(r"(?:overrun|dropped events): (\d+)")


class Tracer:
    """``open``, then ``begin``, ``end`` and ``collect`` once per round, then ``close``.

    ``host``: its files. All but ``close`` raise MeasureError; after ``open`` that means: there is no
    trace of this round, and of none after it.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._there = host if isinstance(host, ShellHost) else None
        self._connection: ShellConnection | None = None
        self._pids: tuple[int, ...] = ()
        self._round = _Round({}, {})

    @property
    def pid(self) -> int | None:
        """The ssh of this machine. A shell of this machine ends with its input, and has to tidy up."""
        return self._connection.pid if self._connection and self._there else None

    @property
    def helpers(self) -> tuple[int, ...]:
        """Processes on the traced host that serve the trace."""
        return self._pids

    def open(self, *, sudo: bool = True) -> None:
        """Raises MeasureError where nothing can be traced. ``sudo``: ask it, too; hosts report one that is refused."""
        script = (files("dbcpu") / "shell" / "trace-host").read_text("utf-8")
        script = script if sudo else f"dbcpu_sudo=no\n{script}"
        try:
            made = self._there.further(script) if self._there else ShellConnection(HERE, script)
        except HostError as error:
            raise MeasureError(str(error)) from None
        self._connection = made
        match made.greeting:
            case ["none", why, *said] if why in _LACKS:
                raise MeasureError(": ".join(filter(None, (_LACKS[why], " ".join(said).strip()))))
            case [_, *pids] if len(pids) == 3 and all(each.isdecimal() for each in pids):
                self._pids = tuple(map(int, pids))
            case words:
                raise MeasureError(f"the tracing program answered {' '.join(words)[:60]!r}")
        self._check()

    def _check(self) -> None:
        """Whether the trace shows the program that serves it: it does not in a container with its own numbers."""
        try:
            self.begin([Watched(0, self._pids[0], None)])
            until = time.monotonic() + PROBE_S
            while time.monotonic() < until:
                time.sleep(PROBE_S / 10)
            self.end()
            stretches = self.collect()["sessions"][0]["stretches"]
        except (MeasureError, IndexError) as error:
            raise MeasureError(f"the trace does not work: {error}") from None
        if not stretches:
            raise MeasureError(
                "the trace does not show this process: it may be in a container with process numbers of its own"
            )

    def begin(self, watched: Sequence[Watched]) -> None:
        """Trace from now on."""
        ordinals = {one.tid or one.pid: one.ordinal for one in watched}
        states: dict[int, tuple[str, int]] = dict.fromkeys(ordinals, ("S", 0))
        self._round = _Round(ordinals, states)

        def state(line: str) -> None:
            pid, _, stat = line.removeprefix("|").partition(" ")
            if pid.isdecimal() and int(pid) in states:
                with suppress(ValueError):  # a gone one sleeps
                    seen = ProcessStat.parse(stat)
                    states[int(pid)] = (seen.state, seen.cpu)
            elif line == "!":
                raise MeasureError("the kernel refused to trace these events")

        self._marked(("b", self._switches(watched), wakes_of(ordinals), " ".join(map(str, ordinals))), 0, state)
        for number in range(1, MARKS):
            self._marked(("m", str(number)), number)

    def end(self) -> None:
        """Trace no more."""
        for number in range(MARKS, 2 * MARKS):
            self._marked(("m", str(number)), number)
        lost: list[str] = []
        self._ask(("s",), lost.append)
        self._round.lost = sum(int(each) for line in lost for each in _LOST.findall(line))

    def collect(self) -> Mapping[str, Any]:
        """What the sessions met: ``sessions events lost why``, as ``Tally.sum_up``, on this machine's clock."""
        self._ask(("t",), self._round.take, TRACE_TIMEOUT_S, MAX_TRACE_BYTES)
        summary = self._round.sum_up()
        offset_s = self.clock.offset_s if self.clock else 0.0
        groups = self._groups({row[0] for each in summary["sessions"] for row in each["instead"]})
        for each in summary["sessions"]:
            for stretch in each["stretches"]:
                stretch[2:4] = (stretch[2] - offset_s, stretch[3] - offset_s)
            each["instead"] = [[*row, groups.get(row[0])] for row in each["instead"]]
        return summary

    @property
    def clock(self) -> Clock | None:
        """How the traced host's clock was moved to this machine's in this round; None where it is this machine's."""
        return self._round.clock.as_record(f"trace ({self._there.over})") if self._there else None

    def close(self) -> None:
        """Remove the instance, and end the connection."""
        if self._connection is not None:
            with suppress(HostError):
                self._connection.ask(("q",))
            self._connection.close()
            self._connection = None

    def _marked(self, question: Sequence[str], number: int, take: Callable[[str], object] = str) -> None:
        sent_s = time.monotonic()
        self._ask(question, take)
        self._round.asked_s[number] = (sent_s, time.monotonic())

    def _ask(self, question: Sequence[str], take: Callable[[str], object], *limits: Any) -> None:
        try:
            if self._connection is None:
                raise HostError("the tracing program has ended")
            self._connection.stream(question, take, *limits)
        except HostError as error:
            raise MeasureError(str(error)) from None

    def _switches(self, watched: Sequence[Watched]) -> str:
        """The filter of switches on the CPUs that sessions may use."""
        names = {one: f"/proc/{one.pid}/task/{one.tid or one.pid}/status" for one in watched}
        found = self._read([*names.values(), "/sys/devices/system/cpu/online"])
        allowed: set[int] = set()
        for path in names.values():
            mine = re.search(r"^Cpus_allowed_list:\s*(\S+)", found.get(path, ""), re.MULTILINE)
            if mine is None:
                return "0"
            allowed.update(parse_cpu_list(mine[1]))
        online = parse_cpu_list(found.get("/sys/devices/system/cpu/online", "").strip())
        return switches_on(allowed, len(online))

    def _groups(self, pids: set[int]) -> dict[int, str]:
        """Control groups of processes that are still there."""
        paths = {f"/proc/{pid}/cgroup": pid for pid in pids if pid}
        return {
            paths[path]: group
            for path, text in self._read(list(paths)).items()
            if (group := group_named(text)) is not None
        }

    def _read(self, paths: Sequence[str]) -> Mapping[str, str]:
        """Those that can be read."""
        try:
            if self._there is not None:
                return self._there.read_all(paths)
        except HostError as error:
            raise MeasureError(str(error)) from None
        found = {}
        for path in paths:
            with suppress(OSError):
                found[path] = self._host.read(path)
        return found


class _Round:
    """The lines of one round's trace, from its first mark to its last."""

    def __init__(self, ordinals: dict[int, int], states: dict[int, tuple[str, int]]) -> None:
        self._ordinals, self._states = ordinals, states
        self._tally: Tally | None = None
        self._until_s: float | None = None
        self._odd = 0
        self.asked_s: dict[int, tuple[float, float]] = {}
        self.lost = 0
        self.clock = RemoteClock()

    def take(self, line: str) -> None:
        """A line of the answer."""
        line = line.removeprefix("|")
        if (mark := _MARK.search(line[-100:])) is not None:
            self._mark(int(mark[2]), float(mark[1]))
        elif self._tally is not None and self._until_s is None:
            self._tally.take(line)
        elif self._tally is None:
            # Before the first mark nothing is asked for; where events were lost it is not there.
            self._odd += 1

    def _mark(self, number: int, at_s: float) -> None:
        if number in self.asked_s:
            self.clock.note(*self.asked_s.pop(number), at_s, STAMP_GRAIN_S)
        if number == 0 and self._tally is None:
            self._tally = Tally(self._ordinals, at_s, self._states)
        if number == 2 * MARKS - 1:
            self._until_s = at_s

    def sum_up(self) -> dict[str, Any]:
        if self._tally is None or self._until_s is None:
            return {
                "sessions": [], "events": self._odd, "lost": self.lost,
                "why": "" if self.lost else "its beginning or its end is missing",
            }  # fmt: skip
        return self._tally.sum_up(self._until_s, self.lost)

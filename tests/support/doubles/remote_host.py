"""A remote host without a connection: the files of a faked /proc, and a clock that tests set."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dbcpu.errors import HostError
from dbcpu.hosts.base import Finished, HostPoll, Reading


class FakeRemote:
    """See ``hosts.base.RemoteHost``. ``asked`` counts polls; ``on_poll`` is called before each."""

    live = True
    clock_ticks = 100
    pid = 0

    def __init__(self, root: Path, over: str = "ssh") -> None:
        self.name, self.over, self.root = f"{over}:fake", over, root
        self.own_pids: tuple[int, ...] = (60,)
        self.asked = 0
        self.closed = False
        self.watched: tuple[str, ...] = ()
        self.history: list[tuple[str, ...]] = []
        self.on_poll: Callable[[int], None] = lambda number: None
        self.lost = False

    def read(self, path: str) -> str:
        while not (text := (self.root / path.lstrip("/")).read_text()) and path.startswith("/proc/"):
            pass  # a test is about to write it
        return text

    def list(self, path: str) -> tuple[str, ...]:
        folder = self.root / path.lstrip("/")
        return tuple(sorted(entry.name for entry in folder.iterdir())) if folder.is_dir() else ()

    def write(self, path: str, text: str) -> None:
        raise HostError("not here")

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Finished:
        raise HostError("not here")

    def clock(self) -> float:
        return time.monotonic()

    def read_all(self, paths: Sequence[str]) -> dict[str, str]:
        self._check()
        return {path: self.read(path) for path in paths if (self.root / path.lstrip("/")).is_file()}

    def read_matching(self, patterns: Sequence[str]) -> dict[str, str]:
        return {f"/{file.relative_to(self.root)}": file.read_text() for pattern in patterns
                for file in self.root.glob(pattern.lstrip("/")) if file.is_file()}  # fmt: skip

    def process_stats(self) -> tuple[str, ...]:
        self._check()
        return tuple(self.read_all([f"/proc/{name}/stat" for name in self.list("/proc") if name.isdecimal()]).values())

    def watch(self, folders: Sequence[str]) -> None:
        self.watched = tuple(folders)
        self.history.append(self.watched)

    def poll(self, cpus: bool) -> HostPoll:
        self.on_poll(self.asked)
        self.asked += 1
        self._check()
        sent_s = time.monotonic()
        readings = tuple(self._reading(folder) for folder in self.watched)
        text = self.read("/proc/stat") if cpus else ""
        return HostPoll(sent_s, time.monotonic(), sent_s + 1000.0, 0.0, readings, text)

    def close(self) -> None:
        self.closed = True

    def _reading(self, folder: str) -> Reading | None:
        try:
            fields = self.read(f"{folder}/stat").rpartition(") ")[2].split()
        except OSError:
            return None
        counters = self.read_all([f"{folder}/schedstat"]).get(f"{folder}/schedstat", "").split()
        run, delay = (int(counters[0]), int(counters[1])) if counters else (None, None)
        return Reading(fields[0], int(fields[36]), int(fields[19]), run, delay)

    def _check(self) -> None:
        if self.lost:
            raise HostError("the connection to ssh:fake ended: nobody knows why")

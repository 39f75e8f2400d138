"""What was changed on a host, written down before it is changed, so that it can be undone whatever happens.

A journal is a file of JSON lines, one for the run and one per change, forced to disk before the change is made. Its
driver holds a lock on it: who can lock it knows that the driver is gone, and undoes. That is done by the driver
itself at any end but kill -9; then by the guard, by the next command, or by ``dbcpu restore``. Nothing survives a
restart of the host; a journal of an earlier boot is dropped.
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from dbcpu.config.folders import state_folder
from dbcpu.errors import DbcpuError, HostError
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.driver_process import boot_id, this_process
from dbcpu.variants._settings import Hands

SCHEMA = 1
SUFFIX, INCOMPLETE_SUFFIX = ".journal", ".new"
ROOTS = Path("/var/lib/dbcpu/journal")
"""Where root's journals are, whatever HOME is: a command of root's finds them."""
STEPS = ("begun", "written", "changed", "verified", "undoing", "undone", "noted", "emptied")
"""Moments between two of which the driver can be killed; tests do, at each of them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``after`` '': it is not changed on purpose, but has to be as before in the end (other changes may disturb it)."""

    number: int
    what: str
    before: str
    after: str


def folder() -> Path:
    """$DBCPU_JOURNAL, ``ROOTS`` for root, else below the user's state folder."""
    if named := os.environ.get("DBCPU_JOURNAL"):
        return Path(named)
    if os.geteuid() == 0 and not os.environ.get("XDG_STATE_HOME"):
        return ROOTS
    state = state_folder()
    return ROOTS if state is None else state / "journal"


class Journal:
    """A context manager; leaving it undoes what is still changed. ``step`` is told each of ``STEPS`` as it comes.

    ``target``: which database parameters belong to, as ``dbcpu restore`` will be told. ``tell`` hears of what was found
    changed by somebody else, and was left to them.
    """

    def __init__(
        self,
        host: Host,
        hands: Hands,
        guard: Guard | None,
        target: str,
        step: Callable[[str], object] = lambda _: None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._tell = tell
        self._host, self._hands, self._guard, self._target, self._step = host, hands, guard, target, step
        self._file: IO[str] | None = None
        self._path: Path | None = None
        self._start = 0
        self._entries: list[Entry] = []
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.undo()
        finally:
            self._close()

    @property
    def open(self) -> tuple[Entry, ...]:
        """What is changed now."""
        return tuple(self._entries)

    def apply(self, changes: Iterable[tuple[str, str]], keep: Sequence[str] = ()) -> tuple[Entry, ...]:
        """Make the changes (what, after) in order, each verified; what is so already is left alone.

        ``keep``: what other changes may disturb, and has to be as before in the end.

        Raises:
            HostError, ServerError: one could not be made; nothing is undone yet (``undo`` does).
        """
        entries: list[Entry] = []
        for what, after in [*((each, "") for each in keep), *changes]:
            before = self._hands.read(what)
            if before is None and after and what.startswith("file:"):
                raise HostError(f"{what.partition(':')[2]} does not exist on this host, so it cannot be changed")
            if before is not None and before != after:
                entries.append(Entry(self._count + len(entries), what, before, after))
        self._count += len(entries)
        if not entries:
            return ()
        self._begin()
        self._entries += entries
        self._write([{"change": each.number, "what": each.what, "before": each.before, "after": each.after}
                     for each in entries])  # fmt: skip
        self._step("written")
        for each in entries:
            if each.after:
                self._hands.write(each.what, each.after)
                self._step("changed")
                _verify(self._hands, each.what, each.after)
                self._step("verified")
        return tuple(entries)

    def undo(self, entries: Sequence[Entry] | None = None) -> None:
        """Put these (None: everything) back, the last first, and verify. Raises HostError naming what could not be."""
        wanted = self._entries if entries is None else [each for each in entries if each in self._entries]
        failures: list[str] = []
        for each in reversed(list(wanted)):
            self._step("undoing")
            left = put_back(self._hands, each)
            self._step("undone")
            if left.why:
                failures.append(left.why)
                continue
            if left.remark:
                self._tell(left.remark)
            self._entries.remove(each)
            self._write([{"undone": each.number}], now=each.what.startswith("file:"))
            self._step("noted")
        if not self._entries and self._file is not None:
            self._file.truncate(self._start)
            self._file.seek(self._start)
            os.fsync(self._file.fileno())
            self._step("emptied")
        if failures:
            raise HostError("; ".join(failures))

    def _begin(self) -> None:
        if self._file is not None:
            return
        place = folder()
        try:
            place.mkdir(parents=True, exist_ok=True)
            path = place / f"{secrets.token_hex(8)}{SUFFIX}"
            self._path = path.with_suffix(INCOMPLETE_SUFFIX)
            self._file = file = self._path.open("x")
            fcntl.flock(file, fcntl.LOCK_EX)
            me = this_process()
            header = {"journal": SCHEMA, "host": self._host.name, "boot_id": boot_id(self._host),
                      "target": self._target, "pid": me.pid}  # fmt: skip
            self._write([header])
            self._start = file.tell()
            # It gets its name when it is whole and locked: nobody ever sees another one.
            self._path = self._path.rename(path)
            _sync_folder(place)
        except OSError as error:
            raise HostError(
                f"no journal could be written in {place}, so nothing was changed: {error.strerror}; "
                "free some space there, or name another folder in DBCPU_JOURNAL"
            ) from None
        if self._guard:
            self._guard.undo_later(path)
        self._step("begun")

    def _write(self, lines: Iterable[dict[str, Any]], now: bool = True) -> None:
        assert self._file is not None
        self._file.write("".join(f"{json.dumps(line)}\n" for line in lines))
        self._file.flush()
        if now:
            os.fsync(self._file.fileno())

    def _close(self) -> None:
        """The file stays where something could not be undone."""
        if self._path is not None and not self._entries:
            self._path.unlink(missing_ok=True)
            if self._guard:
                self._guard.forget(self._path)
        if self._file is not None:
            self._file.close()
        self._file = self._path = None


@dataclass(frozen=True, slots=True)
class Left:
    """How an undo ended. ``why``: it could not be done. ``remark``: it was left to who has changed it since.

    ``written``: something had to be put back, and was.
    """

    why: str = ""
    remark: str = ""
    written: bool = False


def put_back(hands: Hands, entry: Entry) -> Left:
    """Undo one change and verify it."""
    name = entry.what.partition(":")[2]
    foreign = entry.what.startswith(("file:", "parameter:")) and entry.after
    try:
        now = hands.read(entry.what)
        if now is None or now == entry.before:
            return Left()
        if foreign and now != entry.after:
            return Left(remark=f"{name} is {now!r}: somebody has set it since, it was {entry.before!r} and is left so")
        hands.write(entry.what, entry.before)
        _verify(hands, entry.what, entry.before)
    except DbcpuError as error:
        by_hand = f"by hand: echo {entry.before} > {name}" if entry.what.startswith("file:") else f"to {entry.before}"
        return Left(why=f"{name} could not be put back: {error}; as root: dbcpu restore, or {by_hand}")
    return Left(written=True)


def _verify(hands: Hands, what: str, wanted: str) -> None:
    now = hands.read(what)
    if now is not None and now != wanted:
        raise HostError(
            f"{what.partition(':')[2]} was set to {wanted!r} and is {now!r}; "
            "something else decides it (a cpuset, the hypervisor, another program)"
        )


def _sync_folder(place: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""The table of sessions that all server processes share, and the journal of what happened in them.

Both live in anonymous memory that the listener makes before the first fork. A session writes its own entry
only; readers see it as it was before or as it is after, also when its writer gets no CPU in the middle.
"""

import contextlib
import fcntl
import json
import mmap
import os
import secrets
import zlib
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

_ENTRY_BYTES = 16384
_LENGTH_BYTES = 4
_WRITINGS_BYTES = 8
"""How often an entry was written: it stands in the first or the second of two places in turn."""
_INDEX_BYTES = 2
_CURSOR_SLOTS = 1 << 22
_PLACE_BYTES = 4
"""Of a session: its instance, and which of that instance's SIDs it has."""
_USES_BYTES = 2
_PID_BYTES = 8
MOST_INSTANCES = 8
OF_THE_DATABASE = 0
"""In place of the number of an instance, for what is altered in all of them."""
_FIRST_SID = 11
PRIVATE_TABLE = "private_table"
"""The table of workload logical_io is defined."""
_FLAGS = (PRIVATE_TABLE,)
Entry = dict[str, Any]


class SessionTable:
    """One entry per session: its writings and two places, each a length and so many bytes of JSON.

    A length of 0 is a free entry.
    """

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._memory = mmap.mmap(-1, size * 2 * _ENTRY_BYTES)
        self._writings = memoryview(mmap.mmap(-1, size * _WRITINGS_BYTES)).cast("Q")
        self._indices = memoryview(mmap.mmap(-1, size * _INDEX_BYTES)).cast("H")
        self._places = memoryview(mmap.mmap(-1, size * _PLACE_BYTES)).cast("H")
        self._uses = memoryview(mmap.mmap(-1, MOST_INSTANCES * size * _USES_BYTES)).cast("H")
        self._first_serial = 1 + secrets.randbelow(30000)
        self._flags = mmap.mmap(-1, len(_FLAGS))
        self._altered = mmap.mmap(-1, _ENTRY_BYTES)
        self._parsed = mmap.mmap(-1, _CURSOR_SLOTS)
        self._process_of_all = mmap.mmap(-1, _PID_BYTES)
        self._lock = os.memfd_create("oracle-double-lock")
        self._pids: dict[int, int] = {}
        self._taken = 0

    # --- the listener's side

    def claim(self) -> int:
        """A number for a new session: the least recently used free one."""
        for _ in range(self._size):
            number = self._taken % self._size
            self._taken += 1
            if number not in self._pids.values():
                return number
        raise RuntimeError(f"more than {self._size} sessions")

    def started(self, pid: int, number: int) -> None:
        self._pids[pid] = number

    def ended(self, pid: int) -> None:
        """The process is gone: its entry is free."""
        number = self._pids.pop(pid, None)
        if number is not None:
            self.clear(number)

    def pids(self) -> tuple[int, ...]:
        """All server processes that have not been reaped, in the order of their connections."""
        return tuple(self._pids)

    # --- the sessions' side

    def write(self, number: int, entry: Entry) -> None:
        data = msgspec.json.encode(entry)
        if len(data) > _ENTRY_BYTES - _LENGTH_BYTES:
            raise ValueError(f"an entry of {len(data)} bytes does not fit")
        self._put(number, data)

    def clear(self, number: int) -> None:
        """The entry, and the index of a worker, are free."""
        self._put(number, b"")
        self._indices[number] = 0
        self._places[2 * number] = self._places[2 * number + 1] = 0

    def take_place(self, number: int, instance: int) -> tuple[int, int]:
        """SID and SERIAL# of a new session; each instance counts for itself, from the same numbers on."""
        with self.locked():
            every = self._places.tolist()
            taken = {place for of, place in zip(every[::2], every[1::2], strict=True) if of == instance}
            place = next(value for value in range(1, self._size + 1) if value not in taken)
            self._places[2 * number], self._places[2 * number + 1] = instance, place
            at = (instance - 1) * self._size + place - 1
            uses = self._uses[at]
            self._uses[at] = uses + 1
        return _FIRST_SID + place - 1, self._first_serial + uses

    def take_index(self, number: int) -> int:
        """The smallest index that no other worker has; in ``locked``. Entries may be under a writer just then."""
        taken = set(self._indices.tolist())
        one_more = next(value for value in range(1, self._size + 1) if value not in taken)
        self._indices[number] = one_more
        return one_more - 1

    def _put(self, number: int, data: bytes) -> None:
        """Into the place that is not read; counting the writing shows it, in one store of eight bytes."""
        writings = self._writings[number] + 1
        at = _place(number, writings)
        self._memory[at : at + _LENGTH_BYTES + len(data)] = len(data).to_bytes(_LENGTH_BYTES, "big") + data
        self._writings[number] = writings

    def _get(self, number: int) -> bytes:
        """As it was at one moment: read again if it was written meanwhile, for then its place may be in use."""
        while True:
            writings = self._writings[number]
            at = _place(number, writings)
            length = int.from_bytes(self._memory[at : at + _LENGTH_BYTES], "big")
            data = self._memory[at + _LENGTH_BYTES : at + _LENGTH_BYTES + length]
            if self._writings[number] == writings:
                return data

    def entries(self) -> list[Entry]:
        """All sessions that have logged on."""
        written = (number for number, writings in enumerate(self._writings.tolist()) if writings)
        return [msgspec.json.decode(data) for number in written if (data := self._get(number))]

    def process_of_all(self, pids: Collection[int]) -> int:
        """Where all sessions are threads of one process: the same of ``pids`` for as long as it is among them."""
        with self.locked():
            known = int.from_bytes(self._process_of_all[:], "big")
            if known not in pids:
                known = min(pids, default=0)
                self._process_of_all[:] = known.to_bytes(_PID_BYTES, "big")
            return known

    def flag(self, name: str) -> bool:
        """A fact that all sessions share."""
        return bool(self._flags[_FLAGS.index(name)])

    def set_flag(self, name: str, value: bool) -> None:
        self._flags[_FLAGS.index(name)] = int(value)

    def parse(self, cursor: str) -> bool:
        """Whether nobody parsed this text in this environment before: the shared pool outlives sessions."""
        at = zlib.crc32(cursor.encode()) % _CURSOR_SLOTS
        known, self._parsed[at] = self._parsed[at], 1
        return not known

    def altered(self, instance: int) -> dict[str, str]:
        """Parameters that ALTER SYSTEM has set in this instance."""
        return self._altered_everywhere().get(str(instance), {})

    def alter(self, name: str, value: str, instance: int) -> None:
        with self.locked():
            every = self._altered_everywhere()
            every.setdefault(str(instance), {})[name] = value
            self._altered[:] = json.dumps(every).encode().ljust(_ENTRY_BYTES, b"\0")

    def _altered_everywhere(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = json.loads(self._altered[:].rstrip(b"\0") or b"{}")
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Only one session at a time is in here."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


def _place(number: int, writings: int) -> int:
    """Where the entry stands that was written last."""
    return (2 * number + writings % 2) * _ENTRY_BYTES


class Journal:
    """Events as lines of JSON in a file without a name; appended by every session, read by the listener."""

    def __init__(self) -> None:
        self._file = os.memfd_create("oracle-double-journal")
        fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)

    def note(self, event: str, **facts: object) -> None:
        os.write(self._file, json.dumps({"event": event, "pid": os.getpid(), **facts}).encode() + b"\n")

    def read(self) -> list[dict[str, Any]]:
        size = os.fstat(self._file).st_size
        return [json.loads(line) for line in os.pread(self._file, size, 0).splitlines()]

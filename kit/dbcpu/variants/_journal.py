"""The write side of the undo log: a change is written down before it is made, so that it can always be undone.

A journal is a file of JSON lines, one for the run and one per change, forced to disk before the change is made. Its
driver holds a lock: who can take it knows that the driver is gone, and undoes. The lock is a file of its own that only
its owner can open, since whoever can read a file can lock it. The driver itself undoes at any end but kill -9; after
that ``_restore``, the read side, does: for the guard, the next command or ``dbcpu restore``.
Nothing survives a restart of the host; a journal of an earlier boot is dropped.
"""

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from msgspec import Struct
from msgspec.structs import asdict

from dbcpu.config.folders import state_folder
from dbcpu.config.trusted_file import UntrustedFile, open_trusted
from dbcpu.errors import DbcpuError, HostError
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.hosts.driver_process import boot_id, this_process
from dbcpu.variants import _journal_lock
from dbcpu.variants._settings import SettingAccess, may_stay, named, remedy

SCHEMA = 2
"""From 2 on a parameter has its instance, which earlier versions do not know: they leave such a journal alone."""
SUFFIX = ".journal"
UNFINISHED_SUFFIX = ".new"
"""Of a journal whose header is not written yet; nothing is changed before it has its name."""
ROOT_JOURNALS = Path("/var/lib/dbcpu-journal")
"""Where root's journals are, whatever its environment says; every user looks here, so that ``doctor`` mentions them.

Not below /var/lib/dbcpu, which a unit of systemd may give to another user.
"""
_ANOTHER = "name another folder in DBCPU_JOURNAL"
_FULL = (errno.ENOSPC, errno.EDQUOT)
STEPS = ("begun", "written", "changed", "verified", "undoing", "undone", "noted", "emptied")
"""The driver can be killed between any two of them; tests do so at each."""


class JournalEntry(Struct, frozen=True):
    """One change. ``after`` '': not changed on purpose; other changes may, and it has to be as before in the end."""

    number: int
    what: str
    before: str
    after: str


def folder() -> Path:
    """$DBCPU_JOURNAL, ``ROOT_JOURNALS`` for root (who may have inherited $XDG_STATE_HOME), else in the state folder."""
    if named := os.environ.get("DBCPU_JOURNAL"):
        return Path(named)
    if os.geteuid() == 0:
        return ROOT_JOURNALS
    state = state_folder()
    return ROOT_JOURNALS if state is None else state / "journal"


def check_folder() -> None:
    """Before anything is measured. Raises HostError where no journal can be written, by what is there of the way."""
    above = journals = folder()
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if not os.access(above, os.W_OK | os.X_OK, effective_ids=True):
        raise HostError(
            f"no journal could be written in {journals}, so nothing was changed: nothing may be written in {above}; "
            f"{_ANOTHER}"
        )


class UndoJournal:
    """A context manager; leaving it undoes what is still changed. ``step`` is called with each of ``STEPS``.

    ``target``: the name of the database that parameters belong to, as ``dbcpu restore`` takes it. ``notify`` is called
    with a sentence about each setting that somebody else has changed meanwhile, and that is left as it is, and about
    interrupts that the kernel does not let be moved.
    """

    def __init__(
        self,
        host: Host,
        settings: SettingAccess,
        guard: Guard | None,
        target: str,
        step: Callable[[str], object] = lambda _: None,
        notify: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._host, self._settings, self._guard, self._target = host, settings, guard, target
        self._step, self._notify = step, notify
        self._file: IO[str] | None = None
        self._lock: int | None = None
        self._path: Path | None = None
        self._start = 0
        self._entries: list[JournalEntry] = []
        self._count = 0
        self._refused: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.undo()
        except HostError as failure:
            # An error that says so already says more: which rounds are stored.
            if str(failure) not in str(error):
                raise
        finally:
            self._close()

    @property
    def open(self) -> tuple[JournalEntry, ...]:
        """What is changed now."""
        return tuple(self._entries)

    def apply(self, changes: Iterable[tuple[str, str]], keep: Sequence[str] = ()) -> tuple[JournalEntry, ...]:
        """Make the changes (what, after) in order, each verified; a setting with that value already is left alone.

        ``keep``: what other changes may disturb, and has to be as before in the end.

        Raises:
            HostError, ServerError: one could not be made, or could not be put back; nothing is undone yet (``undo``
                does that).
        """
        entries: list[JournalEntry] = []
        for what, after in [*((kept, "") for kept in keep), *changes]:
            before = self._settings.read(what)
            if before is None and after and what.startswith("file:") and not may_stay(what):
                raise HostError(f"{what.partition(':')[2]} does not exist on this host, so it cannot be changed")
            if before is not None and before != after:
                if after:
                    self._settings.refuse_if_final(what, before)
                entries.append(JournalEntry(self._count + len(entries), what, before, after))
        self._count += len(entries)
        if not entries:
            return ()
        self._begin()
        self._entries += entries
        self._write([{"change": entry.number, "what": entry.what, "before": entry.before, "after": entry.after}
                     for entry in entries])  # fmt: skip
        self._step("written")
        wanted = [entry for entry in entries if entry.after]
        refused = {entry.what: why for entry in wanted if (why := self._change(entry))}
        if refused and len(refused) == len(wanted):
            raise HostError(f"the kernel lets none of these be changed: {next(iter(refused.values()))}")
        if refused.keys() - self._refused:
            self._refused |= refused.keys()
            self._notify(f"{len(refused)} of {len(wanted)} settings stay as they are: {next(iter(refused.values()))}")
        return tuple(entries)

    def _change(self, entry: JournalEntry) -> str:
        """Make one change and verify it; why it was refused where it may stay as it is, else ''. Raises HostError."""
        try:
            self._settings.write(entry.what, entry.after)
        except HostError as error:
            if not may_stay(entry.what) or self._settings.read(entry.what) not in (entry.before, None):
                raise
            return str(error)
        self._step("changed")
        _verify(self._settings, entry.what, entry.after)
        self._step("verified")
        return ""

    def undo(self, entries: Sequence[JournalEntry] | None = None) -> None:
        """Put these (None: everything) back, the last first, and verify. Raises HostError naming what could not be."""
        wanted = self._entries if entries is None else [entry for entry in entries if entry in self._entries]
        failures: list[str] = []
        for entry in reversed(list(wanted)):
            self._step("undoing")
            result = put_back(self._settings, entry)
            self._step("undone")
            if result.failure:
                failures.append(result.failure)
                continue
            if result.remark:
                self._notify(result.remark)
            self._entries.remove(entry)
            self._write([{"undone": entry.number}], now=entry.what.startswith("file:"))
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
        journals = folder()
        try:
            journals.mkdir(mode=0o755, parents=True, exist_ok=True)
            path = journals / f"{secrets.token_hex(8)}{SUFFIX}"
            self._path = path.with_suffix(UNFINISHED_SUFFIX)
            self._file = file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644), "r+")
            os.close(open_trusted(self._path))  # what cannot be trusted later could not be undone
            self._lock = _journal_lock.create(path)
            me = this_process()
            header = {"journal": SCHEMA, "host": self._host.name, "boot_id": boot_id(self._host),
                      "target": self._target, "pid": me.pid, "driver": asdict(me)}  # fmt: skip
            self._write([header])
            self._start = file.tell()
            # It gets its name when it is complete and locked: no other process ever sees it before.
            self._path = self._path.rename(path)
            _sync_folder(journals)
        except UntrustedFile as error:
            raise HostError(f"nothing was changed, as its undoing could not be written down safely: {error}") from None
        except OSError as error:
            helps = f"free some space there, or {_ANOTHER}" if error.errno in _FULL else _ANOTHER
            raise HostError(
                f"no journal could be written in {journals}, so nothing was changed: {error.strerror}; {helps}"
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
            _journal_lock.remove(self._path)
        if self._file is not None:
            self._file.close()
        if self._lock is not None:
            os.close(self._lock)
        self._file = self._path = self._lock = None


class UndoResult(Struct, frozen=True):
    """``failure``: why it could not be undone. ``remark``: somebody else has changed it since, and it is left so.

    ``written``: something had to be put back, and was.
    """

    failure: str = ""
    remark: str = ""
    written: bool = False


def is_left(settings: SettingAccess, entry: JournalEntry) -> bool:
    """Whether a setting is still as the run changed it; True where it cannot be read, False of a process that ended."""
    try:
        now = settings.read(entry.what)
    except DbcpuError:
        return True
    return now not in (None, entry.before) and (not entry.after or now == entry.after)


def put_back(settings: SettingAccess, entry: JournalEntry) -> UndoResult:
    """Undo one change and verify it."""
    name = named(entry.what)
    try:
        now = settings.read(entry.what)
        if why := _perhaps_elsewhere(settings, entry, now) or _passing(settings, entry, now):
            return UndoResult(failure=why)
        if now is None or now == entry.before:
            return UndoResult()
        if entry.after and now != entry.after:
            return UndoResult(remark=f"{name} is left at {now!r}, not {entry.before!r}: somebody else has set it since")
        settings.write(entry.what, entry.before)
        _verify(settings, entry.what, entry.before)
        here = settings.perhaps_elsewhere(entry.what)
    except DbcpuError as error:
        return UndoResult(failure=_why_failed(entry, error))
    others = f"{name} was put back in instance {here}; other instances of its cluster were not looked at"
    return UndoResult(remark=others if here else "", written=True)


def why_not(settings: SettingAccess, entry: JournalEntry) -> str:
    """Why a parameter could not be put back, before it is tried: '' for one that could, and for other settings."""
    if not entry.what.startswith("parameter:"):
        return ""
    try:
        now = settings.read(entry.what)
        return _perhaps_elsewhere(settings, entry, now) or _passing(settings, entry, now)
    except DbcpuError as error:
        return _why_failed(entry, error)


def _why_failed(entry: JournalEntry, error: DbcpuError) -> str:
    advice = remedy(entry.what, entry.before)
    return f"{named(entry.what)} could not be put back: {error}{f'; {advice}' if advice else ''}"


def _perhaps_elsewhere(settings: SettingAccess, entry: JournalEntry, now: str | None) -> str:
    """Of a journal without instances: one that is as it was may be another than the one that was changed."""
    here = settings.perhaps_elsewhere(entry.what)
    if not here or now == entry.after:
        return ""
    name = named(entry.what)
    return (
        f"{name} is {now!r} in instance {here}, and an earlier version of dbcpu set it to {entry.after!r} in an "
        "instance that its journal does not name: dbcpu restore with each of the others (?instance_name=NAME in the "
        f"URL); where none has {entry.after!r}, remove the journal"
    )


def _passing(settings: SettingAccess, entry: JournalEntry, now: str | None) -> str:
    """Of a value that the database itself takes back: what the run has set is there again then.

    Source: Oracle Database PL/SQL Packages and Types Reference, DBMS_SCHEDULER.CREATE_WINDOW (resource_plan)
    """
    if now in (None, entry.before, entry.after) or not settings.passes(entry.what, now):
        return ""
    return (
        f"{named(entry.what)} is {now!r} while a scheduler window is open, and {entry.after!r} again when it closes: "
        f"then {remedy(entry.what, entry.before)}"
    )


def _verify(settings: SettingAccess, what: str, wanted: str) -> None:
    now = settings.read(what)
    if now is not None and now != wanted:
        raise HostError(
            f"{named(what)} was set to {wanted!r} and is {now!r}; "
            "something else decides it (a cpuset, the hypervisor, another program)"
        )


def _sync_folder(path: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

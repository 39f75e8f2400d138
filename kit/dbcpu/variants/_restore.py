"""The read side of the undo log: undoes what ``_journal`` wrote and its driver did not live to undo.

For the guard, the next command and ``dbcpu restore``. Who can take a journal's lock knows that its driver is gone. A
lock that another process holds for a moment is waited for; one that stays is said, and never passed over in silence.
"""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from dbcpu.config.given_file import is_hidden
from dbcpu.config.trusted_file import UntrustedFile, open_trusted
from dbcpu.errors import DbcpuError
from dbcpu.hosts.base import Host, RemoteHost
from dbcpu.hosts.driver_process import boot_id
from dbcpu.hosts.local import LocalHost
from dbcpu.record.findings import Finding, noted
from dbcpu.variants import _journal_lock
from dbcpu.variants._journal import (
    ROOT_JOURNALS,
    SUFFIX,
    UNFINISHED_SUFFIX,
    JournalEntry,
    folder,
    is_left,
    put_back,
    why_not,
)
from dbcpu.variants._journal_reader import DamagedJournal, LeftoverJournal, parse
from dbcpu.variants._settings import Parameters, SettingAccess, named

HELD = ".held"
"""Of shell/smt: the user wants it changed until ``smt restore`` or ``dbcpu restore``; no other command undoes it."""
BEGINNING_S = 60.0
"""Younger than this, a journal without its lasting name may be one that another process begins just now."""


class RestoreResult(Struct):
    """What became of the journals: things put back (what, value), remarks, and why others could not be.

    ``dry_run``: what would be put back.
    """

    undone: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    dry_run: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """A sentence for each, failures last."""
        form = "would be put back: {} to {}" if self.dry_run else "put back: {} is {} again"
        done = (form.format(named(what), value or "''") for what, value in self.undone)
        return (*done, *self.remarks, *self.failures)


def leftovers() -> tuple[LeftoverJournal, ...]:
    """Every journal that can be read, the newest last."""
    return tuple(found for path in _paths() if (found := _look(path)) is not None and found.entries)


def findings() -> tuple[Finding, ...]:
    """For ``doctor``: what a killed run left changed."""
    # What a restart of this host undid is not left; of another host that is seen when it is put back.
    here = LocalHost()
    settings = SettingAccess(here)
    left = [
        entry
        for journal in leftovers()
        if not journal.running
        for entry in (_lasting(journal, boot_id(here)) if journal.host == here.name else journal).entries
        if journal.host != here.name or entry.what.startswith("parameter:") or is_left(settings, entry)
    ]
    if not left:
        return ()
    shown = _names(left)
    return (noted("left-changed", f"a run that was killed left {shown} changed"),)


def _names(entries: Iterable[JournalEntry]) -> str:
    """What was changed on purpose."""
    changed = [named(entry.what) for entry in entries if entry.after]
    return ", ".join(changed[:4]) + (f" and {len(changed) - 4} more" if len(changed) > 4 else "")


def restore(
    target: str = "",
    parameters: Parameters | None = None,
    only: Path | None = None,
    dry_run: bool = False,
    held: bool = False,
) -> RestoreResult:
    """Put back what journals of dead drivers say. ``parameters``: of the database ``target``, if there is one.

    ``held``: also what shell/smt holds.
    ``dry_run``: say what would be put back. Nothing is raised: what could not be done is among the failures.
    """
    restored = RestoreResult(dry_run=dry_run)
    if only is None and is_hidden(folder() / "x"):
        restored.failures.append(
            f"what a killed run left changed is not known: journals in {folder()} cannot be looked at, Permission "
            "denied; name your own folder in DBCPU_JOURNAL, or start dbcpu as the user whose folder it is"
        )
    for path in [only] if only else _paths((SUFFIX, HELD) if held else (SUFFIX,)):
        _restore(path, target, parameters, dry_run, restored)
    return restored


def restore_database(target: str, parameters: Parameters | None, say: Callable[[str], object]) -> None:
    """What a command does once it is connected: ``restore`` without a database has said all the rest before.

    ``say`` gets a sentence for each parameter that was put back, and for each that could not be.
    """
    restored = RestoreResult()
    for path in _paths() if parameters else ():
        found = _look(path)
        if found is None or found.running or found.target != target:
            continue
        if any(entry.what.startswith("parameter:") for entry in found.entries):
            _restore(path, target, parameters, False, restored)
    for line in restored.lines:
        say(line)


def main(path: str) -> None:
    """What the guard runs when the driver has died."""
    restore(only=Path(path))


def _restore(path: Path, target: str, parameters: Parameters | None, dry_run: bool, restored: RestoreResult) -> None:
    with ExitStack() as stack:
        file = _held(path, dry_run, stack, restored)
        if file is None:
            return
        try:
            found = parse(path, file)
        except DamagedJournal as error:
            restored.failures.append(str(error))
            return
        if dry_run and found.running:
            _say_who_holds(path, restored)
            return
        if found.newer:
            restored.failures.append(f"journal {path} is of a newer version of dbcpu; run that version's dbcpu restore")
            return
        file.seek(0, os.SEEK_END)
        try:
            host = host_named(found.host)
            if isinstance(host, RemoteHost):
                stack.callback(host.close)
            now = boot_id(host)
        except DbcpuError as error:
            restored.failures.append(f"{found.host} cannot be reached to put things back there: {error}")
            return
        lasting = _lasting(found, now)
        if found.entries and not lasting.entries:
            restored.remarks.append(f"the journal of an earlier start of {found.host} was dropped: nothing is left")
        found = lasting
        settings = SettingAccess(host, parameters if found.target == target else None)
        if _undo(found, file, settings, dry_run, restored) and not dry_run:
            path.unlink(missing_ok=True)
            _journal_lock.remove(path)


def _lasting(found: LeftoverJournal, now: str | None) -> LeftoverJournal:
    """Without what a restart of its host has undone. ``now``: the boot id there, None if unknown."""
    if not (found.boot_id and now and found.boot_id != now):
        return found
    # What was set in a database elsewhere outlives a restart of this host.
    return replace(found, entries=tuple(entry for entry in found.entries if entry.what.startswith("parameter:")))


def _held(path: Path, dry_run: bool, stack: ExitStack, restored: RestoreResult) -> IO[str] | None:
    """The journal, with its lock where it is to be undone; None where it is not available, which is said."""
    try:
        if not dry_run:
            stack.callback(os.close, _journal_lock.take(path, lambda: _is_running(path)))
        return stack.enter_context(_opened(path, "r" if dry_run else "r+"))
    except FileNotFoundError:
        pass
    except UntrustedFile as error:
        restored.failures.append(f"a journal was left alone: {error}")
    except BlockingIOError:
        _say_who_holds(path, restored)
    except OSError as error:
        restored.failures.append(f"journal {path} cannot be opened: {error.strerror}; run as root: dbcpu restore")
    return None


def _say_who_holds(path: Path, restored: RestoreResult) -> None:
    found = _look(path)
    if found is None or not found.entries:
        return
    names = _names(found.entries)
    if found.running:
        restored.remarks.append(f"process {found.pid} still measures with {names} changed, and puts it back itself")
    else:
        restored.failures.append(
            f"journal {path} is locked by {_journal_lock.holder(path)}, so {names} may still be changed; "
            "when that has ended: dbcpu restore"
        )


def _undo(
    found: LeftoverJournal, file: IO[str], settings: SettingAccess, dry_run: bool, restored: RestoreResult
) -> bool:
    """Whether nothing is left to do."""
    complete = True
    for entry in reversed(found.entries):
        if entry.what.startswith("parameter:") and not settings.has_parameters:
            name, database = named(entry.what), found.target
            restored.failures.append(
                f"{name} of {database} is still {entry.after}, it was {entry.before!r}; "
                f"dbcpu restore {shlex.quote(database)}"
            )
            complete = False
            continue
        if dry_run and (why := why_not(settings, entry)):
            restored.failures.append(why)
            complete = False
            continue
        if dry_run:
            restored.undone += [(entry.what, entry.before)] if is_left(settings, entry) else []
            continue
        result = put_back(settings, entry)
        if result.failure:
            restored.failures.append(f"{result.failure}; the journal is kept: {found.path}")
            complete = False
            continue
        restored.remarks += [result.remark] if result.remark else []
        restored.undone += [(entry.what, entry.before)] if result.written else []
        file.write("\n" + json.dumps({"undone": entry.number}) + "\n")  # the line before may have been cut short
        file.flush()
        os.fsync(file.fileno())
    return complete


def host_named(name: str) -> Host:
    """The host as a journal names it. Raises DbcpuError where it is not reached."""
    if name == "local":
        return LocalHost()
    if name.startswith("/"):
        return LocalHost(Path(name))
    from dbcpu.hosts.shell_routes import is_shell_route, open_route  # an undo of this machine needs no connection

    return open_route(name if is_shell_route(name) else f"ssh:{name}")


def _paths(suffixes: tuple[str, ...] = (SUFFIX,)) -> Iterator[Path]:
    folders = [folder()] if "DBCPU_JOURNAL" in os.environ else dict.fromkeys((folder(), ROOT_JOURNALS))
    for path in folders:
        try:
            names = sorted(file for file in path.iterdir() if file.suffix in suffixes)
            for unfinished in path.glob(f"*{UNFINISHED_SUFFIX}"):
                _remove_unfinished(unfinished)
            for lock in path.glob(f"*{_journal_lock.SUFFIX}"):
                # In this order: a journal that begins now gets its lasting name meanwhile.
                if not any(lock.with_suffix(suffix).exists() for suffix in (UNFINISHED_SUFFIX, SUFFIX, HELD)):
                    lock.unlink(missing_ok=True)
        except OSError:
            continue
        yield from names


def _remove_unfinished(path: Path) -> None:
    """A journal whose driver died before its first change. One that begins now has no lock yet for a moment."""
    with suppress(OSError, UntrustedFile):
        if time.time() - path.stat().st_mtime < BEGINNING_S:
            return
        lock = _journal_lock.open_file(path)
        try:
            if _journal_lock.is_taken(lock):
                path.unlink()
                _journal_lock.remove(path)
        finally:
            os.close(lock)


def _is_running(path: Path) -> bool:
    found = _look(path)
    return found is not None and found.running


def _look(path: Path) -> LeftoverJournal | None:
    try:
        with _opened(path, "r") as file:
            return parse(path, file)
    except (OSError, UntrustedFile, DamagedJournal):
        return None


def _opened(path: Path, mode: Literal["r", "r+"]) -> IO[str]:
    """What a journal says is done with the user's rights, so nobody else may have written it. Raises UntrustedFile."""
    descriptor = open_trusted(path, os.O_RDWR if mode == "r+" else os.O_RDONLY)
    return os.fdopen(descriptor, mode, encoding="utf-8", errors="replace")

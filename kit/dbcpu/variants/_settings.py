"""Reads and writes one setting of a host, a server process or a database instance, by its name.

Nothing else in dbcpu changes one of these. ``UndoJournal`` writes down what it changes through ``SettingAccess``;
``bind_until_exit`` needs no journal, because what it changes ends with the process.

    file:PATH                 a file of /sys or /proc
    affinity:PID@START        CPUs that a process may use, as a list; START is its start time in clock ticks
    affinity:PID/TID@START    the same of one thread
    policy:PID@START          other, batch or idle
    parameter:NAME@INSTANCE   a parameter of that instance of the database; in journals of earlier versions no instance

What is gone (a file, or a process that ended, or whose number another one has) reads as None.
Sources: sched_setaffinity(2), sched(7), proc(5)
"""

import errno
import os
import re
import shlex
from typing import Protocol, runtime_checkable

from dbcpu.errors import HostError, MeasureError
from dbcpu.formatting import parse_cpu_list, ranges
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import start_ticks
from dbcpu.hosts.interrupts import interrupt_of
from dbcpu.hosts.proc import NORMAL_POLICIES, ProcessStat
from dbcpu.record.service_remedies import by_oracle_window

COMMAND_S = 10.0
_PROCESS = re.compile(r"(\d+)(?:/(\d+))?@(\d+)")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w$#]*", re.ASCII)
"""A parameter or an instance of Oracle that needs no quotes."""
_WRITABLE = re.compile(
    r"/sys/devices/system/cpu/(smt/control|cpu\d+/online)"
    r"|/proc/irq/\d+/smp_affinity_list"
    r"|(/[\w.:@\\-]+)+/cpuset\.cpus"
)
"""The files that variants change, or that the kernel changes when they do; a journal can name no other."""


@runtime_checkable
class Parameters(Protocol):
    """A database whose instance parameters can be read and set, in memory only."""

    def parameter(self, name: str, instance: str = "") -> str:
        """Of that instance, '' for the one connected to; '' where it is not set. Raises ServerError."""

    def set_parameter(self, name: str, value: str, instance: str = "") -> None:
        """Raises ServerError, also where the instance is not reached."""

    def perhaps_one_of_several(self) -> str:
        """The name of the instance connected to, where it is or may be one of a cluster; '' for a single one."""

    def why_kept(self, name: str, value: str) -> str:
        """Why a parameter with this value is not to be changed: it could not be put back; '' where it could."""

    def passes(self, name: str, value: str) -> bool:
        """Whether the database has set this value for a time, and then sets again what was there before."""

    def without_effect(self, instance: str = "") -> str:
        """Why what was set has no effect there; '' where it has, or where that may not be seen. Raises ServerError."""

    def next_window(self) -> tuple[str, float] | None:
        """What will set parameters next, and in how many seconds; None where nothing does, or none is seen."""


def parameters_of(target: object) -> Parameters | None:
    """The target as a database whose instance parameters can be set; None for one that offers none."""
    return target if isinstance(target, Parameters) else None


def named(what: str) -> str:
    """A setting in words: the path of a file, ``affinity of process 7``, ``cpu_count of instance ORCL1``."""
    kind, _, name = what.partition(":")
    if kind == "parameter":
        parameter, _, instance = name.partition("@")
        return f"{parameter} of instance {instance}" if instance else parameter
    process = _PROCESS.fullmatch(name) if kind in ("affinity", "policy") else None
    if process is None:
        return name
    return f"{kind} of {f'thread {process[2]} of ' if process[2] else ''}process {process[1]}"


def remedy(what: str, before: str) -> str:
    """How a person puts a setting back to ``before``: by dbcpu, or with a command by hand, quoted for its shell.

    '' for what dbcpu never changes: a journal that names it is damaged or was written by another, and no advice comes
    of it.
    """
    kind, _, name = what.partition(":")
    if kind == "parameter":
        parameter, _, instance = name.partition("@")
        if not _IDENTIFIER.fullmatch(parameter) or (instance and not _IDENTIFIER.fullmatch(instance)):
            return ""
        if not instance:
            return f"put it back by dbcpu restore TARGET, or set {name} to {before or repr(before)} in the database"
        if by_oracle_window(before):
            return (
                f"{before!r} is a scheduler window's and cannot be set by hand; when it has closed, see {parameter}, "
                f"set what is meant (alter system set {parameter} = '' scope = memory sid = '{instance}' for no plan), "
                "and remove the journal"
            )
        value = before if before.isdecimal() else "'" + before.replace("'", "''") + "'"
        statement = f"alter system set {parameter} = {value} scope = memory sid = '{instance}'"
        return f"put it back by dbcpu restore TARGET, or by hand: {statement}; a restart of that instance does it, too"
    process = _PROCESS.fullmatch(name) if kind in ("affinity", "policy") else None
    if process is None and (kind != "file" or not _is_changed(name)):
        return ""
    by_echo = f"echo {shlex.quote(before)} > {shlex.quote(name)}"
    command = by_echo if process is None else shlex.join(_command(kind, before, _thread(name)))
    return f"put it back to {before} as root: dbcpu restore, or by hand: {command}"


class SettingAccess:
    """Settings of one host, and of one database instance. ``parameters`` None: there is no connection to one."""

    def __init__(self, host: Host, parameters: Parameters | None = None) -> None:
        self._host = host
        self._parameters = parameters

    @property
    def has_parameters(self) -> bool:
        return self._parameters is not None

    def read(self, what: str) -> str | None:
        """The value now, in a form that can be compared and written back. Raises HostError, ServerError."""
        kind, _, name = what.partition(":")
        if kind == "file":
            return self._read_file(_known_file(name))
        if kind in ("affinity", "policy"):
            return self._read_process(kind, name)
        if kind == "parameter":
            parameter, _, instance = name.partition("@")
            return self._database(parameter).parameter(parameter, instance)
        raise HostError(f"this version cannot change {what}; undo it with the version that changed it")

    def write(self, what: str, text: str) -> None:
        """Set it. Raises HostError, ServerError."""
        kind, _, name = what.partition(":")
        if kind == "file":
            self._host.write(_known_file(name), text)
        elif kind == "parameter":
            parameter, _, instance = name.partition("@")
            self._database(parameter).set_parameter(parameter, text, instance)
        elif self.read(what) is not None:
            self._set_process(kind, name, text)

    def perhaps_elsewhere(self, what: str) -> str:
        """The name of the instance connected to, where another one of a cluster may be the one that was changed."""
        kind, _, name = what.partition(":")
        if kind != "parameter" or "@" in name:
            return ""
        return self._database(name).perhaps_one_of_several()

    def refuse_if_final(self, what: str, before: str) -> None:
        """Raises HostError where ``before`` could not be set again: a real-time policy has a priority as well."""
        kind, _, name = what.partition(":")
        if kind == "parameter" and (why := self._database(name).why_kept(name.partition("@")[0], before)):
            raise HostError(f"{named(what)} is {before!r} and is left so: {why}")
        if kind == "policy" and before not in NORMAL_POLICIES:
            raise HostError(
                f"process {_thread(name)} has scheduling policy {before}, which dbcpu "
                "cannot set again, so it is left as it is; leave the variant out, or give it policy other by chrt"
            )

    def passes(self, what: str, value: str) -> bool:
        """Whether the database has set this value for a time, and then sets again what was there before."""
        kind, _, name = what.partition(":")
        return kind == "parameter" and self._database(name).passes(name.partition("@")[0], value)

    def without_effect(self, what: str) -> str:
        """Why a parameter that was set has no effect; '' for other settings, and where it has. Raises ServerError."""
        kind, _, name = what.partition(":")
        return self._database(name).without_effect(name.partition("@")[2]) if kind == "parameter" else ""

    def _read_file(self, path: str) -> str | None:
        try:
            return self._host.read(path).strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HostError(f"{path} cannot be read: {error.strerror}") from None

    def _database(self, name: str) -> Parameters:
        if self._parameters is None:
            raise HostError(f"{name} is a parameter of the database; name its target: dbcpu restore TARGET")
        return self._parameters

    # --- processes

    def _read_process(self, kind: str, name: str) -> str | None:
        folder, started = _folder(name)
        try:
            stat = ProcessStat.parse(self._host.read(f"{folder}/stat"))
            if stat.has_ended or stat.start_ticks != int(started):
                return None
            if kind == "policy":
                return stat.policy
            status = self._host.read(f"{folder}/status")
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return None
        except OSError as error:
            raise HostError(f"{folder} cannot be read: {error.strerror}") from None
        listed = [line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list:")]
        return ranges(parse_cpu_list(listed[0])) if listed else None

    def _set_process(self, kind: str, name: str, text: str) -> None:
        thread = _thread(name)
        if self._host.name != "local":
            command = _command(kind, text, thread)
            done = self._host.run(command, COMMAND_S)
            if done.code and self._read_process(kind, name) is not None:  # else it ended between look and command
                raise HostError(f"{command[0]} failed on {self._host.name}: {(done.stderr or done.stdout).strip()}")
            return
        try:
            if kind == "affinity":
                os.sched_setaffinity(thread, parse_cpu_list(text))
            else:
                os.sched_setscheduler(thread, NORMAL_POLICIES[text], os.sched_param(0))
        except ProcessLookupError:
            return
        except KeyError:
            raise HostError(f"scheduling policy {text} cannot be set by dbcpu; use chrt") from None
        except OSError as error:
            raise HostError(_refused(kind, text, thread, error)) from None


def bind_until_exit(pid: int, started: int, cpus: frozenset[int]) -> None:
    """Let a server process that ends with its session run on ``cpus`` only; nothing is left to undo then.

    ``started``: its start time in clock ticks, looked at before and after: a process that got its number meanwhile
    has its CPUs as before. Raises MeasureError. Source: sched_setaffinity(2)
    """
    try:
        before = os.sched_getaffinity(pid)
        if start_ticks(pid) != started:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        os.sched_setaffinity(pid, cpus)
        if start_ticks(pid) != started:
            os.sched_setaffinity(pid, before)
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    except OSError as error:
        raise MeasureError(
            f"server process {pid} could not be bound to CPUs {ranges(cpus)}: {error.strerror}; "
            "these CPUs have to be online and allowed, and the process your own, or you root (CAP_SYS_NICE)"
        ) from None


def process_setting(kind: str, pid: int, tid: int | None, start_ticks: int) -> str:
    """The name of a setting of a process: ``affinity:PID/TID@START``."""
    return f"{kind}:{pid}{f'/{tid}' if tid else ''}@{start_ticks}"


def may_stay(what: str) -> bool:
    """Whether the kernel may refuse that change, and the others be made: interrupts that their driver has spread."""
    kind, _, name = what.partition(":")
    return kind == "file" and interrupt_of(name) is not None


def _is_changed(path: str) -> bool:
    return _WRITABLE.fullmatch(path) is not None and ".." not in path.split("/")


def _known_file(path: str) -> str:
    if not _is_changed(path):
        raise HostError(f"{path} is no file that dbcpu changes; look at the journal that names it, then remove it")
    return path


def _thread(name: str) -> int:
    found = _PROCESS.fullmatch(name)
    if found is None:
        raise HostError(f"{name!r} names no process; the journal that holds it is damaged")
    return int(found[2] or found[1])


def _folder(name: str) -> tuple[str, str]:
    found = _PROCESS.fullmatch(name)
    if found is None:
        raise HostError(f"{name!r} names no process; the journal that holds it is damaged")
    return (f"/proc/{found[1]}/task/{found[2]}" if found[2] else f"/proc/{found[1]}"), found[3]


def _command(kind: str, text: str, thread: int) -> tuple[str, ...]:
    """Source: taskset(1), chrt(1)."""
    return (
        ("taskset", "-pc", text, str(thread)) if kind == "affinity" else ("chrt", f"--{text}", "-p", "0", str(thread))
    )


def _refused(kind: str, text: str, thread: int, error: OSError) -> str:
    what = f"CPUs {text}" if kind == "affinity" else f"policy {text}"
    if isinstance(error, PermissionError):
        return (
            f"process {thread} may not be given {what}: it runs as another user; "
            "start dbcpu as root, as that user, or with CAP_SYS_NICE"
        )
    return f"process {thread} cannot be given {what}: {error.strerror}; are these CPUs online, and in its cpuset?"

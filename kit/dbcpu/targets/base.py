"""A database on which sessions can be opened.

A member module offers what ``TargetModule`` asks for. A new database is one such file and its folder below sql/;
in a package of its own, one such module and a folder ``sql`` beside it.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from msgspec import Struct, field

from dbcpu import registry
from dbcpu.config.request import Request
from dbcpu.hosts.base import Host
from dbcpu.hosts.cleanup_guard import Guard
from dbcpu.record.findings import Finding
from dbcpu.record.header import Database
from dbcpu.record.rounds import Clock, Execution, Wait

ANSWER_WITHIN_S = 60.0
"""A session that is a process of this machine has to answer within this time what is no measured work."""
CLOCK_PROBES = 12
"""How often the clock of a server is read: the reading with the shortest way counts."""


class Work(Struct, frozen=True):
    """What a session has to execute: setup statements (untimed) and the measured text.

    ``answer`` is compared as text with the first column of the single row that the text returns.
    """

    name: str
    size: str
    n: int
    rows: int
    setup: tuple[str, ...]
    sql: str
    answer: str
    warm_sql: str
    """The same text at the smallest size: the untimed warm-up."""
    memory_bytes: int
    timeout_s: float = 3600.0
    """Longest that one execution may take before the server is to end it by itself."""


class ServerClaim(Struct, frozen=True):
    """The server process of a session according to the database; ``measure.identity`` verifies it before use.

    ``started_at_s``: start of the server process, seconds since the epoch, if known. ``local``: None unknown,
    False when the connection goes to another machine. ``command``: text that its name or command
    line must contain, or else ``or_command``.
    ``may_be_older``: the database also serves sessions by processes that it started ahead of them.
    ``inner_pid``: set by ``identity`` once ``pid`` is this host's number for what the database calls ``inner_pid``.
    """

    pid: int | None
    tid: int | None = None
    started_at_s: float | None = None
    local: bool | None = None
    command: str = ""
    or_command: str = ""
    why_not: str = ""
    inner_pid: int | None = None
    may_be_older: bool = False


class SessionOutcome(Struct, frozen=True):
    """The result of one session. ``start_s`` of its executions is absolute, in driver monotonic seconds
    (the gate subtracts the release); server stamps are seconds since the epoch on the server's clock."""

    executions: tuple[Execution, ...]
    answer_ok: bool | None
    error: str | None = None
    db: Mapping[str, float] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    blocked: tuple[Execution, ...] = ()
    """Jobs that only waited, see ``Blocks``."""

    def followed_by(self, later: "SessionOutcome") -> "SessionOutcome":
        """Both as one: of a session that delivered twice before anybody asked."""
        known = [each for each in (self.answer_ok, later.answer_ok) if each is not None]
        return SessionOutcome(
            executions=self.executions + later.executions,
            answer_ok=all(known) if known else None,
            error=self.error or later.error,
            db={name: self.db.get(name, 0.0) + later.db.get(name, 0.0) for name in {**self.db, **later.db}},
            waits=self.waits + later.waits,
            blocked=self.blocked + later.blocked,
        )


class DatabaseSession(Protocol):
    """One session. Methods are called in this order, by one thread at a time.

    With a descriptor (``fileno``) ``start`` returns at once and ``finish`` is called whenever the
    descriptor is readable, until it says True. Without one, the gate gives the session a thread of its
    own: ``start`` blocks until all is done, and ``finish`` says True. ``cancel`` may come from another
    thread at any time. No method raises for a failure of the database after ``start``: ``outcome`` has the error.
    """

    ordinal: int

    def identify(self) -> ServerClaim: ...

    def prepare(self, work: Work) -> None:
        """Settings, setup, parse; nothing measured runs yet. Raises ServerError."""

    def warm(self) -> None:
        """One short execution: pages are loaded, and the CPU time of the process rises. Raises ServerError."""

    def start(self, executions: int | None, until_s: float | None) -> float:
        """Send the first execution, at once; return the monotonic stamp taken just before. Queue the rest later.

        ``executions`` for fixed work; else new ones begin until driver monotonic time ``until_s``. May be called
        again once that is finished, unless the session has ``failed``: ``outcome`` then gives what came since its last
        call.
        """

    def feed(self) -> None:
        """Called once after all sessions have started: queue further executions ahead."""

    def fileno(self) -> int | None: ...

    def finish(self) -> bool:
        """Receive the available answers; True when nothing more will come."""

    def failed(self) -> bool:
        """Whether ``outcome`` will have an error or a wrong answer: such a session gets no more work."""

    def outcome(self, *, more: bool = False) -> SessionOutcome:
        """What came since the first start, or since the start after the last call of this.

        ``more``: the session will be started again, so that what can be checked only at its end has to wait.
        """

    def cancel(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Target(AbstractContextManager["Target"], Protocol):
    """A database, running while the context lasts."""

    kind: str
    """The record's ``database.kind`` and the folder below sql/."""
    private: bool
    """True for one that dbcpu started for itself: no confirmation needed."""

    def connect(self, ordinal: int, timeout_s: float) -> DatabaseSession:
        """Open one session (called from several threads). Raises ConnectError, without the password in it."""

    def describe(self) -> Database: ...

    def explain(self, work: Work) -> str | None:
        """Names of the plan's operators, outermost first, or None where the database does not report them."""

    def clock(self) -> Clock:
        """The server's clock against this machine's ``time.time()``, by the probe of least round trip."""

    def connections_free(self) -> int | None:
        """How many more sessions the server accepts, if it reports this."""

    def host(self) -> Host | None:
        """The machine the server processes run on, if its files can be read from here."""

    def vcpus(self) -> tuple[int, str] | None:
        """How many CPUs the database may use, and which of its figures says so; None if it reports none."""

    def findings(self) -> tuple[Finding, ...]:
        """What in the database would distort a measurement, for ``doctor``."""


@runtime_checkable
class Arms(Protocol):
    """A session whose first execution can be made ready, so that ``start`` only has to send it."""

    def arm(self) -> None:
        """Sends nothing. Called after ``warm`` and ``Blocks.block``, right before the release; raises nothing."""


@runtime_checkable
class Blocks(Protocol):
    """A session that can be given a job which only waits: it holds its session and uses no CPU."""

    def block(self, for_s: float) -> None:
        """The next ``start``, of one execution, waits so long on the server instead: ``SessionOutcome.blocked``."""


@runtime_checkable
class HasBlockingJobs(Protocol):
    """A target all sessions of which are ``Blocks``."""

    blocks_by: str
    """What such a job calls, as a person would write it: ``pg_sleep``; '' where this version has none."""


class HostReading(Struct, frozen=True):
    """The host's CPU counters at one moment (``at_s``, driver monotonic seconds), as a database reports them.

    ``seconds``: cumulative, by the names of the fields of ``record.HostCounters``; what is not counted is absent.
    ``host``: its name as the database has it, '' if that is not known.
    """

    source: str
    at_s: float
    seconds: Mapping[str, float]
    cpus: int | None = None
    load: float | None = None
    host: str = ""


@runtime_checkable
class CountsItsHost(Protocol):
    """A target whose database counts what its host's CPUs do: the evidence where nothing else of the host is seen."""

    def host_reading(self) -> HostReading | None:
        """The counters now, or None where they may not be read. Raises ServerError."""


@runtime_checkable
class TakesTurns(Protocol):
    """A target that several drivers may reach: one of them measures at a time."""

    def take_turn(self) -> str | None:
        """Take it for this driver until it is closed; None, or in words which other driver has it.

        Raises ServerError.
        """


@runtime_checkable
class NamesItsLimit(Protocol):
    """A target that knows which of several limits decides how many sessions may connect."""

    def connection_limit(self) -> str:
        """In words, which one makes ``connections_free`` as few as it is; '' where none is known."""


@runtime_checkable
class LeavesWork(Protocol):
    """A target whose server may go on with what a session was given, although nobody waits for it any more."""

    def still_working(self) -> str:
        """In words, which sessions of this driver that were closed go on, and what ends them; '' for none."""


@runtime_checkable
class TargetModule(Protocol):
    """What a member module of this room offers; its name is the kind on the command line and of URLs."""

    def open_target(self, request: Request, guard: Guard) -> Target:
        """The database of ``request``, not yet started. ``guard`` ends its processes if the driver dies.

        Raises:
            UsageError: the URL or an option asks for something that the database does not have.
            ConnectError: it is not there.
        """


def load_target(kind: str) -> TargetModule:
    """The member called ``kind``. Raises UnknownName, PlugInError."""
    member = registry.load("targets", kind)
    if not isinstance(member, TargetModule):
        raise registry.misfit("targets", kind, "open_target(request, guard)")
    return member


def open_target(request: Request, guard: Guard) -> Target:
    """The database of ``request``, opened by its member. Raises as ``load_target`` and ``TargetModule.open_target``."""
    module = load_target(request.kind)
    with registry.called("targets", request.kind):
        opened = module.open_target(request, guard)
    if not isinstance(opened, Target):
        raise registry.misfit("targets", request.kind, "an open_target that returns a Target (dbcpu.targets.base)")
    return opened

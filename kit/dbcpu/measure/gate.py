"""The gate: connects N sessions, verifies their server processes, and releases all sessions together.

Nothing is released unless every session is ready. Between the release and the last answer this module only sends,
receives and takes time stamps: it prints nothing and writes no file.
"""

import contextlib
import gc
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol, Self

from msgspec import Struct
from msgspec.structs import replace

from dbcpu.errors import DbcpuError, GateError
from dbcpu.formatting import plural
from dbcpu.hosts.base import Host
from dbcpu.measure.abandonable_pool import AbandonablePool
from dbcpu.measure.blocking_sessions import IDLE, Again, BlockingSessions, realtime
from dbcpu.measure.driver_memory import give_back, one_heap
from dbcpu.measure.verification import AtGate, verify
from dbcpu.record.rounds import TOO_LATE, Server
from dbcpu.targets.base import Arms, DatabaseSession, ServerClaim, SessionOutcome, Target, Work

BATCH = 8
"""Sessions that connect at the same time: with all at once the listener's queue would be measured."""
CONNECT_TIMEOUT_S = 20.0
CANCEL_S = 5.0
CANCEL_AGAIN_S = 0.2


class Released(Struct, frozen=True):
    """The measures of one release. ``*_monotonic_s`` on the driver's clock, ``epoch_s`` on its ``time.time()``."""

    at: str
    monotonic_s: float
    epoch_s: float
    skew_s: float
    realtime: bool
    window_s: float
    driver_cpu_s: float


class Incoming(Protocol):
    """Where work comes from while sessions run."""

    def fileno(self) -> int:
        """Readable when more has come."""

    def take(self) -> int:
        """Receive what has come; how much. Raises MeasureError when no more will come."""


class SessionGate:
    """A context manager around the sessions of one round: on exit it cancels running statements and closes all."""

    def __init__(self, target: Target, host: Host | None, clock_ticks: int, batch: int = BATCH) -> None:
        self._target = target
        self._host = host
        self._ticks = clock_ticks
        self._batch = batch
        self._selector = selectors.DefaultSelector()
        self._threads: BlockingSessions | None = None
        self._running: set[DatabaseSession] = set()
        self._late: dict[int, str] = {}
        self._again: Again = lambda _: None
        self._paused = False
        self._waiting: list[DatabaseSession] = []
        self._idle: dict[DatabaseSession, None] = {}
        self._incoming: Incoming | None = None
        self._keys: dict[DatabaseSession, selectors.SelectorKey] = {}
        self._order: tuple[int | None, float | None] = (None, None)
        self.members: list[AtGate] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self._end_running()
        finally:
            for member in self.members:
                member.session.close()
            if self._threads:
                self._threads.close()
            self._selector.close()
        give_back()

    # --- before the release

    def gather(self, level: int, work: Work) -> None:
        """Connect, prepare, verify and warm ``level`` sessions.

        Raises:
            GateError: not all could be connected; the text has their number and the reason.
            ServerError: a session was refused its settings, setup or warm-up.
        """

        def connect(ordinal: int) -> AtGate:
            began_s = time.perf_counter()
            session = self._target.connect(ordinal, CONNECT_TIMEOUT_S)
            connect_s = time.perf_counter() - began_s
            return AtGate(session, connect_s, ServerClaim(None), Server(None))

        one_heap()
        pool = AbandonablePool(connect, self._batch, too_late=lambda late: late.session.close())
        try:
            pool.work(range(level))
        finally:
            self.members = sorted(pool.results, key=lambda member: member.session.ordinal)
        if isinstance(pool.error, DbcpuError):
            reason = f"{pool.error}{_remedy(str(pool.error))}"
            raise GateError(f"{len(self.members)} of {plural(level, 'session')} connected: {reason}")
        if pool.error is not None:
            raise pool.error
        self._each(self.members, lambda member: _prepare(member, work))

        def warm(members: Sequence[AtGate]) -> None:
            self._each(members, lambda member: member.session.warm())

        verify(self.members, self._host, self._ticks, warm)

    def _each(self, members: Sequence[AtGate], action: Callable[[AtGate], None]) -> None:
        pool = AbandonablePool(action, self._batch)
        pool.work(members)
        if pool.error is not None:
            raise pool.error

    # --- the release

    def release(
        self,
        executions: int | None,
        for_s: float | None,
        timeout_s: float,
        at_most: int | None = None,
        again: Again | None = None,
        incoming: Incoming | None = None,
    ) -> Released:
        """Send to all, then receive answers until all have finished or ``timeout_s`` has passed.

        One of ``executions`` (fixed work) and ``for_s`` (fixed time) is given. A session that is late is
        cancelled, and its outcome has the error. ``at_most`` sessions run at once: when one ends, the next one
        starts; the skew is that of the first ones. ``again`` gives more work to those that have finished; those that
        it lets wait are asked again when something is ``incoming``.
        """
        self._again = again or self._again
        sessions = [member.session for member in self.members]
        every = [session for session in sessions if session.fileno() is not None]
        polled, self._waiting = every[:at_most], every[at_most:] if at_most is not None else []
        for session in every:
            self._keys[session] = self._selector.register(session.fileno() or 0, selectors.EVENT_READ, session)
        threads = self._threads = BlockingSessions(
            [session for session in sessions if session.fileno() is None], lambda session: self._again(session), at_most
        )
        self._selector.register(threads.done, selectors.EVENT_READ, threads)
        self._incoming = incoming
        if incoming:
            self._selector.register(incoming.fileno(), selectors.EVENT_READ, incoming)
        self._running = set(sessions)
        for session in sessions:
            if isinstance(session, Arms):
                session.arm()
        with _undisturbed():
            is_realtime = realtime(True)
            cpu_s, at, epoch_s, now_s = time.process_time(), datetime.now(UTC), time.time(), time.monotonic()
            until_s = None if for_s is None else now_s + for_s
            self._order = (executions, until_s)
            threads.release(executions, until_s)
            stamps = [session.start(executions, until_s) for session in polled]
            # Threads that send need the interpreter lock: until they have sent, its holder must not be preempted.
            blocking = len(every) < len(sessions)
            if is_realtime and not blocking:
                realtime(False)
            for session in polled:
                if not self._feed(session):
                    self._begin_next()
            try:
                self._receive(now_s + timeout_s)
            finally:
                if is_realtime and blocking:
                    realtime(False)
            window_s, cpu_s = time.monotonic() - now_s, time.process_time() - cpu_s
        self._end_late(timeout_s)
        stamps += sorted(threads.stamps)[:at_most]
        return Released(
            at=at.isoformat(),
            monotonic_s=now_s,
            epoch_s=epoch_s,
            skew_s=max(stamps) - min(stamps) if stamps else 0.0,
            realtime=is_realtime,
            window_s=window_s,
            driver_cpu_s=cpu_s,
        )

    def pause(self) -> None:
        """From within ``again``: ``release`` or ``resume`` returns, and the sessions continue. Any thread."""
        self._paused = True

    @property
    def running(self) -> bool:
        """Whether any session has not ended yet."""
        return bool(self._running)

    def resume(self, timeout_s: float) -> None:
        """After a pause: receive answers again, as ``release`` does."""
        self._paused = False
        with _undisturbed():
            self._receive(time.monotonic() + timeout_s)
        self._end_late(timeout_s)

    def _receive(self, deadline_s: float) -> None:
        over = False
        while self._running and not self._paused and not over:
            left_s = max(deadline_s - time.monotonic(), 0.0)
            over = not left_s  # and it looks once more: what kept it from a CPU may have lasted until now
            for key, _ in self._selector.select(left_s):
                if isinstance(key.data, BlockingSessions):
                    self._running.difference_update(key.data.take())
                elif self._incoming and key.data is self._incoming:
                    self._take_in(self._incoming)
                elif key.data.finish() and not self._gave_more(key.data):
                    self._drop(key.data)
                    self._begin_next()

    def _take_in(self, incoming: Incoming) -> None:
        """Those that wait for work are asked again, the longest waiting first, until there is no more for them."""
        came = incoming.take()
        for session in list(self._idle):
            if not self._gave_more(session):
                self._drop(session)
                self._begin_next()
            elif session in self._idle:
                break
        if self._threads:
            self._threads.wake(came)

    def _feed(self, session: DatabaseSession) -> bool:
        """False: it has ended already. A broken connection has no descriptor any more that would say so."""
        session.feed()
        if not (session.failed() and session.finish()):
            return True
        self._again(session)  # it failed and gets no more; whoever gives work has to know
        self._drop(session)
        return False

    def _drop(self, session: DatabaseSession) -> None:
        self._running.discard(session)
        if key := self._keys.pop(session, None):
            self._selector.unregister(key.fd)

    def _begin_next(self) -> None:
        """A session has ended: start the next one, if one waits."""
        while self._waiting:
            session = self._waiting.pop(0)
            session.start(*self._order)
            if self._feed(session):
                return

    def _gave_more(self, session: DatabaseSession) -> bool:
        order = self._again(session)
        if order == IDLE:
            self._idle.setdefault(session)
            return True
        self._idle.pop(session, None)
        if order is None:
            return False
        session.start(*order)
        if not self._feed(session):
            self._begin_next()
        return True

    def _end_late(self, timeout_s: float) -> None:
        if self._running and not self._paused:
            late = self._running - self._without_work()
            self._late = {session.ordinal: f"{TOO_LATE} {timeout_s:g} s; cancelled" for session in late}
            self._end_running()

    def _without_work(self) -> set[DatabaseSession]:
        """Those that wait for it."""
        return {*self._idle, *(self._threads.idle if self._threads else ())}

    def _end_running(self) -> None:
        """Cancel until all have stopped: one request ends one batch of a pipeline. Gives up after ``CANCEL_S``."""
        deadline_s = time.monotonic() + CANCEL_S
        self._again, self._paused = lambda _: None, False
        self._running.difference_update(self._waiting, self._without_work())
        self._waiting, self._idle = [], {}
        if self._incoming:
            self._selector.unregister(self._incoming.fileno())
            self._incoming = None
        if self._threads:
            self._threads.give_up()
        while self._running and (left_s := deadline_s - time.monotonic()) > 0:
            pool = AbandonablePool[DatabaseSession, None](lambda session: session.cancel(), self._batch)
            pool.work(list(self._running), left_s)
            self._receive(min(deadline_s, time.monotonic() + CANCEL_AGAIN_S))

    def outcomes(self) -> list[SessionOutcome]:
        """The result of each session, in the order of ``members``."""
        results = [member.session.outcome() for member in self.members]
        return [
            replace(outcome, error=_late(why, outcome)) if (why := self._late.get(member.session.ordinal)) else outcome
            for member, outcome in zip(self.members, results, strict=True)
        ]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage collection: with many sessions one takes longer than the release itself."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _prepare(member: AtGate, work: Work) -> None:
    member.claim = member.session.identify()
    member.session.prepare(work)


def _late(why: str, outcome: SessionOutcome) -> str:
    """Why the session was cancelled, and how many executions it had finished."""
    return f"{why} after {plural(len(outcome.executions), 'execution')}" if outcome.executions else why


def _remedy(reason: str) -> str:
    full = ("too many clients", "connection slots", "too many connections", "remaining connection")
    if not any(text in reason for text in full):
        return ""
    of_role = "connections for role" in reason or "connections for database" in reason
    return f"; use fewer sessions or raise {'its CONNECTION LIMIT' if of_role else 'max_connections'}"

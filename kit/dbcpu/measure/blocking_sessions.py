"""Sessions at the gate whose driver has no descriptor to wait for: each blocks in a thread of its own."""

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Sequence

from dbcpu.targets.base import DatabaseSession

Order = tuple[int | None, float | None]
"""Executions, or driver monotonic time until which new ones start; as ``DatabaseSession.start`` takes them."""
IDLE: Order = (0, None)
"""No work now: the session waits, and is asked again when some has come."""
Again = Callable[[DatabaseSession], Order | None]
"""Gives more work to a session that has finished, failed or waits, in its own thread if it has one; None ends it."""


class BlockingSessions:
    """Sessions of drivers that block: a thread each, all waiting for one event."""

    def __init__(self, sessions: Sequence[DatabaseSession], again: Again, at_most: int | None = None) -> None:
        self._again = again
        # Sockets, not a bare pipe: a late thread writes into a closed object, never into a reused descriptor.
        self._receiver, self._notifier = socket.socketpair()
        self.done = self._receiver.fileno()
        self._finished: queue.SimpleQueue[DatabaseSession | None] = queue.SimpleQueue()
        self._go = threading.Event()
        self._order: Order = (None, None)
        self._places = threading.Semaphore(max(1, len(sessions) if at_most is None else at_most))
        self._given_up = False
        self._changed = threading.Condition()
        self.idle: set[DatabaseSession] = set()
        self.stamps: list[float] = []
        for session in sessions:
            threading.Thread(target=self._run, args=(session,), daemon=True).start()

    def release(self, executions: int | None, until_s: float | None) -> None:
        self._order = (executions, until_s)
        self._go.set()

    def take(self) -> list[DatabaseSession]:
        count = len(self._receiver.recv(4096))
        return [session for _ in range(count) if (session := self._finished.get()) is not None]

    def wake(self, came: int) -> None:
        """Ask as many of those that wait for work again."""
        with self._changed:
            self._changed.notify(came)

    def give_up(self) -> None:
        """Sessions that have not started will not start, and those that wait for work end."""
        with self._changed:
            self._given_up = True
            self._changed.notify_all()

    def close(self) -> None:
        self.give_up()
        self._go.set()
        self._receiver.close()
        self._notifier.close()

    def _run(self, session: DatabaseSession) -> None:
        # For this thread alone, until its end: it sends once, waits, and stamps the answer.
        realtime(True)
        self._go.wait()
        if self._order == (None, None):
            return
        with self._places:
            if not self._given_up:
                self.stamps.append(session.start(*self._order))
                while (order := self._more(session)) is not None:
                    # Notified of each end, not only of the last: the gate may have been paused by it.
                    self._notify(None)
                    session.start(*order)
        self._notify(session)

    def _more(self, session: DatabaseSession) -> Order | None:
        """Its next order, once there is one."""
        order = self._again(session)
        while order == IDLE and not self._given_up:
            with self._changed:
                order = self._again(session)  # no work comes unseen between this and the wait
                if order == IDLE and not self._given_up:
                    self.idle.add(session)
                    self._changed.wait()
                    self.idle.discard(session)
        if order is None:
            self.wake(1)  # perhaps there is nothing left for the next one, either
        return None if order == IDLE else order

    def _notify(self, session: DatabaseSession | None) -> None:
        self._finished.put(session)
        with contextlib.suppress(OSError):
            self._notifier.send(b".")


def realtime(wanted: bool) -> bool:
    """SCHED_FIFO while sending, so that the first released sessions cannot preempt the sender. sched(7)"""
    try:
        if wanted:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        else:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (OSError, AttributeError):
        return False
    return True

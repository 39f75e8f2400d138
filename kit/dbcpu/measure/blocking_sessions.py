"""Sessions at the gate whose driver has no descriptor to wait for: each blocks in a thread of its own."""

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Sequence

from dbcpu.targets.base import Session

Order = tuple[int | None, float | None]
"""Executions, or driver monotonic time until which new ones start; as ``Session.start`` takes them."""
Again = Callable[[Session], Order | None]
"""Gives more work to a session that has finished or failed, in its own thread if it has one; None ends it."""


class BlockingSessions:
    """Sessions of drivers that block: a thread each, all waiting for one event."""

    def __init__(self, sessions: Sequence[Session], again: Again, at_most: int | None = None) -> None:
        self._again = again
        # Sockets, not a bare pipe: a late thread writes into a closed object, never into a reused descriptor.
        self._receiver, self._notifier = socket.socketpair()
        self.done = self._receiver.fileno()
        self._finished: queue.SimpleQueue[Session | None] = queue.SimpleQueue()
        self._go = threading.Event()
        self._order: Order = (None, None)
        self._places = threading.Semaphore(max(1, len(sessions) if at_most is None else at_most))
        self._given_up = False
        self.stamps: list[float] = []
        for session in sessions:
            threading.Thread(target=self._run, args=(session,), daemon=True).start()

    def release(self, executions: int | None, until_s: float | None) -> None:
        self._order = (executions, until_s)
        self._go.set()

    def take(self) -> list[Session]:
        count = len(self._receiver.recv(4096))
        return [session for _ in range(count) if (session := self._finished.get()) is not None]

    def give_up(self) -> None:
        """Sessions that have not started will not start."""
        self._given_up = True

    def close(self) -> None:
        self.give_up()
        self._go.set()
        self._receiver.close()
        self._notifier.close()

    def _run(self, session: Session) -> None:
        # For this thread alone, until its end: it sends once, waits, and stamps the answer.
        realtime(True)
        self._go.wait()
        if self._order == (None, None):
            return
        with self._places:
            if not self._given_up:
                self.stamps.append(session.start(*self._order))
                while (order := self._again(session)) is not None:
                    # Notified of each end, not only of the last: the gate may have been paused by it.
                    self._notify(None)
                    session.start(*order)
        self._notify(session)

    def _notify(self, session: Session | None) -> None:
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

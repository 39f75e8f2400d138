"""A thread pool that can be abandoned: the wait for it can be interrupted, and its threads are daemons.

So Ctrl-C never waits for a listener that does not answer.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class AbandonablePool(Generic[Item, Result]):
    """Runs ``action`` on items, ``width`` at a time; after the first error no further item is started.

    ``results`` are in the order in which they were finished; ``error`` is the first failure. A result that
    arrives after the pool was abandoned goes to ``too_late``.
    """

    def __init__(
        self,
        action: Callable[[Item], Result],
        width: int,
        too_late: Callable[[Result], object] = lambda _: None,
    ) -> None:
        self._action = action
        self._width = width
        self._too_late = too_late
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._abandoned = threading.Event()
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.results: list[Result] = []
        self.error: BaseException | None = None

    def work(self, items: Iterable[Item], timeout_s: float | None = None) -> None:
        """Return when all items are done, or no thread ended for ``timeout_s``. Never raises an action's error."""
        todo = list(items)
        waiting = iter(todo)
        threads = [
            threading.Thread(target=self._run, args=(waiting,), daemon=True) for _ in range(min(self._width, len(todo)))
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in threads:
                self._ended.get(timeout=timeout_s)
        except queue.Empty:
            pass
        finally:
            self._stop.set()
            # Under the lock: a result is either in results when this returns, or goes to too_late.
            with self._lock:
                self._abandoned.set()

    def _run(self, waiting: Iterator[Item]) -> None:
        try:
            while not self._stop.is_set():
                with self._lock:
                    item = next(waiting, _NOTHING)
                if isinstance(item, _Nothing):
                    return
                result = self._action(item)
                with self._lock:
                    if not self._abandoned.is_set():
                        self.results.append(result)
                        continue
                self._too_late(result)
        except BaseException as error:
            with self._lock:
                self.error = self.error or error
            self._stop.set()
        finally:
            self._ended.put(None)


class _Nothing:
    """Marks the end of the items."""


_NOTHING = _Nothing()

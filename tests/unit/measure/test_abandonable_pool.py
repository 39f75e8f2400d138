"""A pool works off items, and its wait can be given up."""

import threading
from typing import Any

import pytest

from dbcpu.measure.abandonable_pool import AbandonablePool

PATIENCE_S = 60.0


class WaitsForBegin:
    """The queue that a pool waits for, from when an action has begun on: a thread that comes later does nothing."""

    def __init__(
        self, pool: AbandonablePool[Any, Any], begun: threading.Event, error: type[BaseException] | None
    ) -> None:
        self._queue, self._begun, self._error = pool._ended, begun, error

    def get(self, timeout: float | None) -> None:
        assert self._begun.wait(PATIENCE_S)
        if self._error:
            raise self._error
        self._queue.get(timeout=timeout)

    def put(self, _: None) -> None:
        self._queue.put(None)


def test_no_more_than_the_width_at_once() -> None:
    running, most, lock = 0, 0, threading.Lock()
    pair = threading.Barrier(2, timeout=PATIENCE_S)

    def action(item: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait()
        with lock:
            running -= 1
        return item * item

    pool = AbandonablePool(action, 2)
    pool.work(range(6))
    assert sorted(pool.results) == [0, 1, 4, 9, 16, 25]
    assert most == 2
    assert pool.error is None


def test_nothing_to_do_is_done_at_once() -> None:
    pool = AbandonablePool[int, int](lambda item: item, 8)
    pool.work([])
    assert pool.results == []


def test_first_error_stops_the_rest_and_is_kept() -> None:
    begun: list[int] = []

    def action(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise ValueError("the third")
        return item

    pool = AbandonablePool(action, 1)
    pool.work(range(100))
    assert str(pool.error) == "the third"
    assert begun == [0, 1, 2]
    assert pool.results == [0, 1]


def test_items_that_fail_to_come_are_an_error_too() -> None:
    pool = AbandonablePool[int, int](lambda item: 1 // item, 4)
    pool.work([0, 0, 0, 0])
    assert isinstance(pool.error, ZeroDivisionError)


def test_result_after_the_wait_was_given_up_goes_to_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, late, arrived = threading.Event(), threading.Event(), [], threading.Event()

    def take(result: str) -> None:
        late.append(result)
        arrived.set()

    def action(item: str) -> str:
        begun.set()
        assert go.wait(PATIENCE_S)
        return item

    pool = AbandonablePool(action, 1, too_late=take)
    monkeypatch.setattr(pool, "_ended", WaitsForBegin(pool, begun, None))
    pool.work(["a", "b"], timeout_s=0.01)
    assert pool.results == []
    go.set()
    assert arrived.wait(PATIENCE_S)
    assert late == ["a"], "b must not be begun"


def test_interrupted_wait_raises_and_late_results_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, arrived = threading.Event(), threading.Event(), threading.Event()
    late: list[int] = []

    def take(result: int) -> None:
        late.append(result)
        arrived.set()

    def action(item: int) -> int:
        begun.set()
        assert go.wait(PATIENCE_S)
        return item

    pool = AbandonablePool(action, 1, too_late=take)
    monkeypatch.setattr(pool, "_ended", WaitsForBegin(pool, begun, KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        pool.work([7])
    go.set()
    assert arrived.wait(PATIENCE_S)
    assert (late, pool.results) == ([7], [])

"""A crew works off items, and its wait can be given up."""

import threading

import pytest

from dbcpu.measure.interruptible_pool import Crew

PATIENCE_S = 60.0


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

    crew = Crew(action, 2)
    crew.work(range(6))
    assert sorted(crew.results) == [0, 1, 4, 9, 16, 25]
    assert most == 2
    assert crew.error is None


def test_nothing_to_do_is_done_at_once() -> None:
    crew = Crew[int, int](lambda item: item, 8)
    crew.work([])
    assert crew.results == []


def test_first_error_stops_the_rest_and_is_kept() -> None:
    begun: list[int] = []

    def action(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise ValueError("the third")
        return item

    crew = Crew(action, 1)
    crew.work(range(100))
    assert str(crew.error) == "the third"
    assert begun == [0, 1, 2]
    assert crew.results == [0, 1]


def test_items_that_fail_to_come_are_an_error_too() -> None:
    crew = Crew[int, int](lambda item: 1 // item, 4)
    crew.work([0, 0, 0, 0])
    assert isinstance(crew.error, ZeroDivisionError)


def test_result_after_the_wait_was_given_up_goes_to_too_late() -> None:
    go, late, arrived = threading.Event(), [], threading.Event()

    def take(result: str) -> None:
        late.append(result)
        arrived.set()

    def action(item: str) -> str:
        assert go.wait(PATIENCE_S)
        return item

    crew = Crew(action, 1, too_late=take)
    crew.work(["a", "b"], timeout_s=0.01)
    assert crew.results == []
    go.set()
    assert arrived.wait(PATIENCE_S)
    assert late == ["a"], "b must not be begun"


def test_interrupted_wait_raises_and_late_results_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    go, arrived = threading.Event(), threading.Event()
    late: list[int] = []

    def take(result: int) -> None:
        late.append(result)
        arrived.set()

    def action(item: int) -> int:
        assert go.wait(PATIENCE_S)
        return item

    class Interrupting:
        """A queue during whose wait Ctrl-C is pressed."""

        def get(self, timeout: float | None) -> None:
            raise KeyboardInterrupt

        def put(self, _: None) -> None: ...

    crew = Crew(action, 1, too_late=take)
    monkeypatch.setattr(crew, "_ended", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        crew.work([7])
    go.set()
    assert arrived.wait(PATIENCE_S)
    assert (late, crew.results) == ([7], [])

"""The jobs of a pool: each is handed out once, and those that only wait are spread evenly."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from dbcpu.measure.blocking_sessions import IDLE
from dbcpu.measure.shared_jobs import JobQueue, Jobs


class Worker:
    """As much of a session as a queue of jobs sees."""

    def __init__(self, ordinal: int = 0) -> None:
        self.told: list[float] = []
        self.ordinal = ordinal
        self.has_failed = False

    def block(self, for_s: float) -> None:
        self.told.append(for_s)

    def failed(self) -> bool:
        return self.has_failed


@pytest.mark.parametrize(("pieces", "blocking"), [(100, 30), (10, 1), (7, 3), (5, 0)])
def test_those_that_wait_are_as_many_as_asked_for_and_spread(pieces: int, blocking: int) -> None:
    waits = Jobs(pieces, blocking).waits()
    assert (len(waits), sum(waits)) == (pieces, blocking)
    places = [at for at, wait in enumerate(waits) if wait]
    apart = [later - earlier for earlier, later in itertools.pairwise(places)]
    assert not apart or max(apart) - min(apart) <= 1


def test_every_job_is_handed_out_once_whoever_takes_it() -> None:
    queue = JobQueue(Jobs(200, 50, 0.25))
    workers = [Worker() for _ in range(4)]
    queue.begin(workers)  # type: ignore[arg-type]

    def all_of(worker: Worker) -> int:
        taken = 1
        while queue.again(worker) is not None:  # type: ignore[arg-type]
            taken += 1
        return taken

    with ThreadPoolExecutor(len(workers)) as pool:
        assert sum(pool.map(all_of, workers)) == 200
    told = [for_s for worker in workers for for_s in worker.told]
    assert told == [0.25] * 50


def test_a_session_that_failed_gets_no_more() -> None:
    queue = JobQueue(Jobs(3))
    broken = Worker()
    broken.has_failed = True
    assert queue.again(broken) is None  # type: ignore[arg-type]
    assert queue.again(Worker()) == (1, None)  # type: ignore[arg-type]


def test_each_job_that_was_done_is_told_and_who_took_it() -> None:
    done: list[int] = []
    queue = Jobs(5).queue(done.append)
    one, other = Worker(3), Worker(7)
    queue.begin([one, other])  # type: ignore[list-item]
    for each in (other, one, one, other):
        queue.again(each)  # type: ignore[arg-type]
    assert done == [1, 0, 3, 2]
    assert queue.taken == (3, 7, 7, 3, 3)
    one.has_failed = True
    assert queue.again(one) is None  # type: ignore[arg-type]
    assert done == [1, 0, 3, 2, 4], "whoever called for it has to hear that its session failed"


def test_a_session_waits_while_no_job_has_come_and_ends_when_all_were_handed_out() -> None:
    come, done = 1, list[int]()
    queue = Jobs(3).queue(done.append, lambda: come)
    one, other = Worker(0), Worker(1)
    queue.begin([one])  # type: ignore[list-item]
    assert queue.again(other) == IDLE  # type: ignore[arg-type]
    assert queue.again(one) == IDLE  # type: ignore[arg-type]
    assert queue.again(one) == IDLE  # type: ignore[arg-type]
    assert done == [0], "a session that is asked again has nothing new to tell"
    come = 3
    assert queue.again(other) == (1, None)  # type: ignore[arg-type]
    assert queue.again(one) == (1, None)  # type: ignore[arg-type]
    assert queue.again(other) is None  # type: ignore[arg-type]
    assert (queue.taken, done) == ((0, 1, 0), [0, 1])

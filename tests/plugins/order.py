"""What takes long comes first, and each worker has a share of it.

``--dist=worksteal`` gives each worker as many tests as any other, neighbours, and moves tests from the end of the
longest queue. In the order of the files some workers would be at those that wait for servers until the end, when the
others have nothing left to take.
"""

import itertools
import os
from collections.abc import Sequence

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In each worker alike, after marks have selected."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = dealt(items, workers)


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Neighbours stay neighbours: files that share a server are one worker's."""
    by_length: dict[int, list[pytest.Item]] = {0: [], 1: [], 2: []}
    for _, each in itertools.groupby(items, key=lambda item: item.path):
        tests = list(each)
        by_length[_rank(tests)] += tests
    return [
        item for number in range(workers) for tests in by_length.values() for item in _share(tests, number, workers)
    ]


def _rank(tests: Sequence[pytest.Item]) -> int:
    """Of one file's tests: 0 wait for servers, 1 start browsers or scripts or are marked, 2 take no time."""
    folder = tests[0].nodeid.split("/")[1]
    if folder == "server":
        return 0
    return 1 if folder not in {"unit", "contracts"} or any(item.get_closest_marker("slow") for item in tests) else 2


def _share(tests: Sequence[pytest.Item], number: int, workers: int) -> Sequence[pytest.Item]:
    return tests[len(tests) * number // workers : len(tests) * (number + 1) // workers]

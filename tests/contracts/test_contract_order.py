"""The order in which several workers take the tests: none is lost, and each worker begins with those that take long."""

from pathlib import Path
from typing import Any

import pytest

from plugins.order import dealt


class Item:
    """As much of a test as its place in the order depends on."""

    def __init__(self, file: str, name: str, *, slow: bool = False) -> None:
        self.path, self.nodeid, self._slow = Path(file), f"{file}::{name}", slow

    def get_closest_marker(self, name: str) -> bool | None:
        return True if self._slow and name == "slow" else None


def collected() -> list[Any]:
    """As pytest finds them: by name. One test of ``test_f.py`` is marked."""
    files = {"browser/test_a": 6, "contracts/test_b": 9, "server/test_c": 5, "server/test_d": 4, "unit/cli/test_e": 9}
    plain = [Item(f"tests/{file}.py", f"test_{number}") for file, tests in files.items() for number in range(tests)]
    return plain + [Item("tests/unit/cli/test_f.py", f"test_{number}", slow=number == 2) for number in range(3)]


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 100])
def test_each_test_is_taken_once(workers: int) -> None:
    items = collected()
    assert sorted(each.nodeid for each in dealt(items, workers)) == sorted(each.nodeid for each in items)


def test_each_worker_begins_with_a_share_of_those_that_take_long() -> None:
    order = [each.nodeid.split("/")[1] for each in dealt(collected(), 3)]
    for worker in range(3):
        share = order[12 * worker : 12 * (worker + 1)]
        assert share[:6] == ["server"] * 3 + (["browser"] * 3 if worker < 2 else ["unit"] * 3), share
        assert set(share[6:]) <= {"contracts", "unit"}


def test_files_stay_in_their_order() -> None:
    order = [each.nodeid for each in dealt(collected(), 3)]
    servers = [each for each in order if "/server/" in each]
    assert servers == sorted(servers)

"""Whether a cage holds in a pluggable database, by what the last whole minute of V$RSRCPDBMETRIC shows."""

import time
from typing import Any, cast

import pytest

from dbcpu.targets.oracle import caging
from dbcpu.targets.oracle.caging import COUNT, Cage
from dbcpu.targets.oracle.driver import Views

PARAMETER = (COUNT, "2", "FALSE", "SYSTEM_MOD")


class Metric:
    """Views of a pluggable database with 16 CPUs, which a plan of the root lets use ``allowed`` of them."""

    def __init__(self, allowed: int, age_s: float) -> None:
        self.rows_of: dict[str, list[tuple[Any, ...]]] = {
            "parameters": [PARAMETER],
            "pdb_cpus": [(16, allowed, 100 * allowed / 16, 0, age_s)],
            "osstat": [("NUM_CPUS", 16)],
        }

    def rows(self, connection: object, name: str) -> list[tuple[Any, ...]]:
        return self.rows_of[name]

    def one(self, connection: object, name: str) -> tuple[Any, ...] | None:
        return next(iter(self.rows_of[name]), None)


def caged(views: Metric, monkeypatch: pytest.MonkeyPatch, later_s: float, ahead_s: float = 0.0) -> str:
    """What is said so long after CPU_COUNT was set to 2."""
    monkeypatch.setattr(caging, "query", lambda *_: [])
    cage = Cage(lambda: cast(Any, None), cast(Views, views), "ORCL1", pluggable=True, ahead_s=ahead_s)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    cage.write(COUNT, "2")
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 + later_s)
    return cage.without_effect()


@pytest.mark.parametrize(
    ("allowed", "age_s", "ahead_s", "later_s", "holds"),
    [
        (2, 5.0, 0.0, 200.0, True),
        (16, 5.0, 0.0, 200.0, False),
        (16, 5.0, 0.0, 60.0, True),
        (16, 3600.0, 0.0, 200.0, True),
        (16, 3605.0, 3600.0, 200.0, False),
    ],
    ids=["it holds", "it does not", "a minute that began before", "metrics that stopped", "another time zone"],
)
def test_a_cage_in_a_pluggable_database_is_looked_at_after_a_whole_minute(
    monkeypatch: pytest.MonkeyPatch, allowed: int, age_s: float, ahead_s: float, later_s: float, holds: bool
) -> None:
    said = caged(Metric(allowed, age_s), monkeypatch, later_s, ahead_s)
    assert said == ("" if holds else "V$RSRCPDBMETRIC shows 16 CPUs a minute after cpu_count = 2 was set, so it limits "
                                     "nothing")  # fmt: skip


def test_a_row_that_is_not_granted_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Metric(16, 5.0)
    views.rows_of["pdb_cpus"] = []
    assert caged(views, monkeypatch, 200.0) == ""

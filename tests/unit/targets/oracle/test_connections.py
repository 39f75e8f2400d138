"""Which of several limits decides how many sessions may connect is named, since each is raised by somebody else."""

from typing import Any

import pytest

from dbcpu.targets.oracle.connections import tightest_limit
from dbcpu.targets.oracle.facts import Facts

ROWS = (("processes", 90, "100"), ("sessions", 95, "172"))
PARAMETERS = {"processes": "300", "sessions": "20"}


@pytest.mark.parametrize(
    ("rows", "facts", "free", "said"),
    [
        (ROWS, {}, 10, "PROCESSES of the instance is 100, with 90 in use"),
        (ROWS, {"limits": {"SESSIONS_PER_USER": 2}}, 1, "SESSIONS_PER_USER of the profile of BENCH is 2"),
        (ROWS, {"limits": {"SESSIONS_PER_USER": 50}}, 10, "PROCESSES of the instance is 100"),
        ((("processes", 101, "100"),), {}, 0, "PROCESSES of the instance is 100, with 101 in use"),
        ((("sessions", 5, "UNLIMITED"),), {}, None, ""),
        ((), {"parameters": PARAMETERS}, 19, "SESSIONS of the pluggable database is 20"),
        (
            (),
            {"parameters": {**PARAMETERS, "processes": "8"}},
            7,
            "PROCESSES of the whole container database is 8, which takes a restart",
        ),
        ((), {}, None, ""),
    ],
)
def test_the_limit_that_leaves_least_is_named(
    rows: tuple[tuple[Any, ...], ...], facts: dict[str, Any], free: int | None, said: str
) -> None:
    found = tightest_limit(rows, Facts(user="BENCH", **facts))
    assert (found and found[0]) == free
    assert said in (found[1] if found else "")

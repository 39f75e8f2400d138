"""Queries of the whole cluster: each needs all of its instances, and one may be joining, leaving or hanging."""

from typing import Any, cast

import pytest

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import driver
from dbcpu.targets.oracle.driver import Views


class Asked:
    """A connection of which nothing but its timeout is used."""

    call_timeout = 60_000


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("ORA-12801: error signaled in parallel query server PZ99 ORA-12850: could not allocate slaves", "ORA-12850"),
        ("DPY-4024: call timeout of 15000 ms exceeded", "DPY-4024"),
        ("the server gave no reason", "no code"),
    ],
)
def test_a_view_of_the_cluster_that_fails_is_unknown_and_asked_once(
    monkeypatch: pytest.MonkeyPatch, error: str, code: str
) -> None:
    asked: list[int] = []

    def fail(connection: Any, *_: object) -> None:
        asked.append(connection.call_timeout)
        raise ServerError(error)

    monkeypatch.setattr(driver, "query", fail)
    monkeypatch.setattr(driver, "is_healthy", lambda _: True)
    views, connection = Views(), cast(Any, Asked())
    for _ in range(2):
        assert views.rows(connection, "tagged_sessions_cluster") is None
    assert (views.denied, asked) == ({"tagged_sessions_cluster": code}, [driver.CLUSTER_TIMEOUT_MS])
    assert connection.call_timeout == Asked.call_timeout, "other queries have their usual time"
    with pytest.raises(ServerError):
        views.rows(connection, "tagged_sessions")
    monkeypatch.setattr(driver, "is_healthy", lambda _: False)
    with pytest.raises(ServerError):
        Views().rows(connection, "cluster_instances")

"""Ending a session from another one: the form that is sent, and what is tried where the first is refused."""

from typing import Any

import pytest

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import leftovers
from dbcpu.targets.oracle.facts import Facts
from dbcpu.targets.oracle.identity import SessionKey
from dbcpu.targets.oracle.leftovers import FromControl, Leftover, Unended, findings, goes_on

LEFT = Leftover(12, 345, "db1/77/1/0", 5, dead=True)
KEY = SessionKey(12, 345, 2)
"""Of a session on another instance than the control connection's."""


class Server:
    """Records what is sent; refuses statements with one of these words in them, with ``error``."""

    def __init__(self, *refused: str, error: str = "ORA-01031: insufficient privileges") -> None:
        self.refused, self.error, self.sent = refused, error, list[str]()

    def __call__(self, connection: object, sql: str, binds: Any = None) -> list[tuple[Any, ...]]:
        self.sent.append(" ".join(sql.lower().split()))
        if any(word in self.sent[-1] for word in self.refused):
            raise ServerError(self.error)
        return []


def control_of(monkeypatch: pytest.MonkeyPatch, server: Server, facts: Facts, left: list[Unended]) -> FromControl:
    monkeypatch.setattr(leftovers, "query", server)
    return FromControl(lambda: None, lambda: facts, left.append)  # type: ignore[arg-type, return-value]


def asked(
    monkeypatch: pytest.MonkeyPatch, server: Server, *, rds: bool = False, cluster: bool | None = False
) -> tuple[list[str], list[str]]:
    """What is sent to cancel, and what to end."""
    control = control_of(monkeypatch, server, Facts(rds=rds, cluster=cluster, instance=1), [])
    control.cancel(KEY)
    cancelled, server.sent = server.sent, []
    control.end(KEY)
    return cancelled, server.sent


def told(monkeypatch: pytest.MonkeyPatch, server: Server, **facts: object) -> str:
    """The last words about a session that could not be ended."""
    left: list[Unended] = []
    control = control_of(monkeypatch, server, Facts(**facts), left)  # type: ignore[arg-type]
    assert not control.end(KEY)
    control.leave(KEY)
    return goes_on(left, rds=bool(facts.get("rds")))


@pytest.mark.parametrize("cluster", [True, None])
def test_in_a_cluster_the_instance_is_named(monkeypatch: pytest.MonkeyPatch, cluster: bool | None) -> None:
    """Also where it may be one: the same numbers are another session's on the instance that is asked."""
    cancelled, ended = asked(monkeypatch, Server(), cluster=cluster)
    assert cancelled == ["alter system cancel sql '12, 345, @2'"]
    assert ended == ["alter system kill session '12,345,@2' immediate"]


def test_a_single_instance_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, ended = asked(monkeypatch, Server())
    assert cancelled == ["alter system cancel sql '12, 345'"]
    assert ended == ["alter system kill session '12,345' immediate"]


def test_want_of_a_privilege_is_said_of_that_error_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"cluster": True, "instance": 1}
    by = "a DBA ends them by: alter system kill session '12,345,@2' immediate;"
    assert told(monkeypatch, Server("kill"), **cluster).endswith(f"since this user may not end sessions; {by}")
    gone = Server("kill", error="ORA-00030: User session ID does not exist.")
    said = told(monkeypatch, gone, **cluster)
    assert said.endswith(f"ends: ending failed with ORA-00030: User session ID does not exist; {by}")
    assert "privilege" not in said
    assert "may not" not in said


def test_on_rds_the_error_that_says_more_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    denied = Server("rdsadmin", "alter", error="ORA-06550: PLS-00201: identifier must be declared")
    assert "since this user may not end sessions" in told(monkeypatch, denied, rds=True)


def test_a_session_that_is_marked_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = Server("kill", error="ORA-00031: session marked for kill")
    assert control_of(monkeypatch, marked, Facts(), []).end(KEY)


def test_on_rds_its_own_form_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, ended = asked(monkeypatch, Server("alter system"), rds=True)
    assert [len(cancelled), len(ended)] == [1, 1]
    assert "rdsadmin_util.cancel" in cancelled[0]
    assert "rdsadmin_util.kill" in ended[0]


def test_on_rds_custom_alter_system_is_tried_where_the_package_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the user RDSADMIN as RDS has, and ALTER SYSTEM as a database of one's own."""
    cancelled, ended = asked(monkeypatch, Server("rdsadmin_util"), rds=True)
    assert cancelled[1:] == ["alter system cancel sql '12, 345'"]
    assert ended[1:] == ["alter system kill session '12,345' immediate"]


def test_elsewhere_the_package_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled, ended = asked(monkeypatch, Server("alter system"), rds=False)
    assert not [text for text in (*cancelled, *ended) if "rdsadmin" in text]


def test_what_refuses_both_forms_is_left_with_the_statement_that_its_user_may_send() -> None:
    (plain,), (rds,) = findings([LEFT]), findings([LEFT], rds=True)
    assert plain.remedy == "end these sessions: `alter system kill session '12,345' immediate;`"
    assert "exec rdsadmin.rdsadmin_util.kill(sid => 12, serial => 345, method => 'IMMEDIATE');" in rds.remedy

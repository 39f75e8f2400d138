"""Ending a session from another one: the form that is sent, and what is tried where the first is refused."""

from typing import Any

import pytest

from dbcpu.errors import ServerError
from dbcpu.targets.oracle import leftovers
from dbcpu.targets.oracle.leftovers import FromControl, Leftover, findings

LEFT = Leftover(12, 345, "db1/77/1/0", 5, dead=True)


class Server:
    """Records what is sent; refuses statements with one of these words in them."""

    def __init__(self, *refused: str) -> None:
        self.refused, self.sent = refused, list[str]()

    def __call__(self, connection: object, sql: str, binds: Any = None) -> list[tuple[Any, ...]]:
        self.sent.append(" ".join(sql.lower().split()))
        if any(word in self.sent[-1] for word in self.refused):
            raise ServerError("ORA-01031: insufficient privileges")
        return []


def asked(monkeypatch: pytest.MonkeyPatch, server: Server, *, rds: bool) -> tuple[list[str], list[str]]:
    """What is sent to cancel, and what to end."""
    monkeypatch.setattr(leftovers, "query", server)
    control = FromControl(lambda: None, lambda: rds)  # type: ignore[arg-type, return-value]
    control.cancel(12, 345)
    cancelled, server.sent = server.sent, []
    control.end(12, 345)
    return cancelled, server.sent


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

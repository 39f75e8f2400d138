"""PL/SQL: each block of the catalogue by its own function, with the directions of its binds.

Only these are known; nothing interprets PL/SQL. A function gets the values that came in and returns those that go out.
"""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from oracle_double import workloads
from oracle_double.catalogue import Kind, Statement
from oracle_double.errors import OracleError
from oracle_double.requests import IN, IN_OUT, OUT, BindValue
from oracle_double.session import Session
from oracle_double.values import number_text

_LONGEST_VARCHAR2 = 32767
_LONGEST_ANSWER = 40
_PASSED_ON = (1013, 28)

Values = Mapping[str, BindValue]


@dataclass(frozen=True, slots=True)
class Block:
    """What a block does, and its binds that are not IN."""

    run: Callable[[Session, Values], dict[str, BindValue]]
    directions: Mapping[str, int]


class Cursors:
    """The DBMS_SQL cursors of one session: parsed statements by number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1_000_001)
        self._parsed: dict[int, Statement] = {}

    def parse(self, session: Session, values: Values) -> dict[str, BindValue]:
        """``parse.sql``: the measured text is recognised, not executed."""
        statement = session.server.catalogue.recognise(str(values["text"]))
        if bool(values["is_query"]) != statement.is_query:
            raise OracleError(1003, "no statement parsed")
        session.become_worker()
        session.note_parse(statement)
        number = next(self._numbers)
        self._parsed[number] = statement
        return {"cursor_id": number}

    def run(self, session: Session, values: Values) -> dict[str, BindValue]:
        """``run.sql``: executions one after another with the server's clock around each."""
        statement = self._parsed.get(_whole(values["cursor_id"]))
        ran = ""
        try:
            if statement is None:
                raise OracleError(1001)
            until, batch = _decimal(values["until_s"]), _decimal(values["batch_s"])
            first = _now()
            for _ in range(_whole(values["most"])):
                began = _now()
                answer = workloads.execute(statement, session)
                ended = _now()
                ran += f"{number_text(began)} {number_text(ended - began)} {answer[:_LONGEST_ANSWER]}\n"
                if len(ran) > _LONGEST_VARCHAR2:
                    raise OracleError(6502, "PL/SQL: numeric or value error: character string buffer too small")
                if (until is not None and ended >= until) or (batch is not None and ended - first >= batch):
                    break
        except OracleError as error:
            if error.code in _PASSED_ON:
                raise
            return {"ran": ran[:_LONGEST_VARCHAR2], "failure": str(error)}
        return {"ran": ran, "failure": None}


def block_of(statement: Statement, cursors: Cursors) -> Block:
    """The function for a block.

    Raises:
        OracleError: ORA-06550 for a block that the catalogue has and the double does not play.
    """
    if statement.kind is Kind.WORK:

        def work(session: Session, values: Values) -> dict[str, BindValue]:
            return {"answer": workloads.execute(statement, session)}

        return Block(work, {"answer": OUT})
    blocks = {
        "parse": Block(cursors.parse, {"cursor_id": OUT}),
        "run": Block(cursors.run, {"ran": OUT, "failure": OUT}),
        "end_session_rds": Block(_end_session, {}),
        "begin :doubled := 2 * :given; end;": Block(_double, {"doubled": OUT}),
        "begin :text := :text || :text; end;": Block(_repeat, {"text": IN_OUT}),
    }
    if statement.name not in blocks:
        raise OracleError(6550, f"the double does not play the block {statement.name}")
    return blocks[statement.name]


def directions(block: Block, names: tuple[str, ...]) -> list[int]:
    """IN, OUT or both for each bind of a block."""
    return [block.directions.get(name, IN) for name in names]


def _now() -> Decimal:
    """The server's clock: seconds since 1970 with six decimals."""
    return Decimal(time.time_ns() // 1000).scaleb(-6)


def _whole(value: BindValue) -> int:
    return int(str(value))


def _decimal(value: BindValue) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _double(session: Session, values: Values) -> dict[str, BindValue]:
    given = _decimal(values["given"])
    return {"doubled": None if given is None else 2 * given}


def _repeat(session: Session, values: Values) -> dict[str, BindValue]:
    return {"text": 2 * str(values["text"] or "")}


def _end_session(session: Session, values: Values) -> dict[str, BindValue]:
    if not session.server.instance.rds:
        raise OracleError(6550, "line 2, column 3:\nPLS-00201: identifier 'RDSADMIN.RDSADMIN_UTIL' must be declared")
    session.end_other(_whole(values["sid"]), _whole(values["serial"]))
    return {}

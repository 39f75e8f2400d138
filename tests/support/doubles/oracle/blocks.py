"""PL/SQL: each known block by its own function, with the directions of its binds.

Nothing interprets PL/SQL. A block is known by its text as it was sent, whatever its file is called: one that has been
changed is no longer played until its function here has been compared with it. A function gets the values that
came in and returns those that go out.
"""

import hashlib
import itertools
import re
import time
from collections.abc import Callable, Mapping
from decimal import Decimal

from msgspec import Struct

from support.doubles.oracle import workloads
from support.doubles.oracle.catalogue import Kind, Statement, normal
from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.requests import IN, IN_OUT, OUT
from support.doubles.oracle.session import Session
from support.doubles.oracle.values import Value, number_text

_LONGEST_VARCHAR2 = 32767
_LONGEST_ANSWER = 40
_PASSED_ON = (1013, 28)
_FILLED_IN = re.compile(r"/\d+")
"""Numbers of a template."""
_REVOCABLE = ("dbms_sql", "dbms_output", "dbms_utility")

Values = Mapping[str, Value]


class Block(Struct, frozen=True):
    """What a block does, and its binds that are not IN."""

    run: Callable[[Session, Values], dict[str, Value]]
    directions: Mapping[str, int]


class Cursors:
    """The DBMS_SQL cursors of one session: parsed statements by number."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1_000_001)
        self._parsed: dict[int, Statement] = {}
        self._put: list[str] = []
        """What DBMS_OUTPUT holds."""

    def parse(self, session: Session, values: Values) -> dict[str, Value]:
        """``parse.sql``: the measured text is recognised, not executed."""
        statement = session.server.catalogue.recognise(str(values["text"]))
        if bool(values["is_query"]) != statement.is_query:
            raise OracleError(1003, "no statement parsed")
        session.become_worker()
        session.note_parse(statement)
        number = next(self._numbers)
        self._parsed[number] = statement
        return {"cursor_id": number}

    def run(self, session: Session, values: Values) -> dict[str, Value]:
        """``run.sql``: executions one after another with the server's clock around each."""
        statement = self._parsed.get(_whole(values["cursor_id"]))
        ran, self._put = "", []
        try:
            if statement is None:
                raise OracleError(1001)
            until, batch = _decimal(values["until_s"]), _decimal(values["batch_s"])
            first, begun_cpu_s = _now(), time.thread_time()
            for _ in range(_whole(values["most"])):
                began = _now()
                answer = workloads.execute(statement, session)
                _check_call(session, time.thread_time() - begun_cpu_s)
                ended = _now()
                times = (number_text(began), number_text(ended - began), answer[:_LONGEST_ANSWER])
                line = session.number_words(" ".join(times))
                ran += f"{line}\n"
                self._put.append(line)
                if len(ran) > _LONGEST_VARCHAR2:
                    raise OracleError(6502, "PL/SQL: numeric or value error: character string buffer too small")
                if (until is not None and ended >= until) or (batch is not None and ended - first >= batch):
                    break
        except OracleError as error:
            if error.code in _PASSED_ON:
                raise
            return {"ran": ran[:_LONGEST_VARCHAR2], "failure": str(error)}
        return {"ran": ran, "failure": None}

    def run_native(self, session: Session, values: Values) -> dict[str, Value]:
        """``run_native.sql``: parsed at each execution, and nothing is kept of a call that is cancelled."""
        number = self.parse(session, values)["cursor_id"]
        ran = self.run(session, {**values, "cursor_id": number})
        self._put = []
        return ran

    def ran_before(self, session: Session, values: Values) -> dict[str, Value]:
        """``ran_before.sql``: what DBMS_OUTPUT holds, once."""
        lines, self._put = self._put, []
        return {"ran": "".join(f"{line}\n" for line in lines) or None}


def _check_call(session: Session, cpu_s: float) -> None:
    """CPU_PER_CALL of the profile, where RESOURCE_LIMIT is TRUE: a call is a whole block, here up to an execution."""
    limit = session.server.instance.limits.get("CPU_PER_CALL", "UNLIMITED")
    if limit.isdecimal() and cpu_s > int(limit) / 100 and session.value_of("resource_limit", "TRUE") == "TRUE":
        raise OracleError(2393, "exceeded call limit on CPU usage")


def fingerprint(sql: str) -> str:
    """Of a block's text as it is sent, white space and case aside."""
    return hashlib.sha256(normal(sql).encode()).hexdigest()[:16]


def block_of(statement: Statement, cursors: Cursors, session: Session) -> Block:
    """The function for a block.

    Raises:
        OracleError: ORA-06550 for a block that the catalogue has and the double does not play.
    """
    if statement.kind is Kind.WORK:

        def work(session: Session, values: Values) -> dict[str, Value]:
            return {"answer": workloads.execute(statement, session)}

        return Block(work, {"answer": OUT})
    known = {
        "721657b7b4110972": Block(cursors.parse, {"cursor_id": OUT}),  # parse.sql
        "68dfaea479c6db8f": Block(cursors.run, {"ran": OUT, "failure": OUT}),  # run.sql
        "cf35421a88fb1dc5": Block(cursors.ran_before, {"ran": OUT}),  # ran_before.sql
        "f82427650f153f61": Block(_wait, {}),  # wait.sql
        "29201120ff0f0282": Block(cursors.run_native, {"ran": OUT, "failure": OUT}),  # run_native.sql
        "aaea64c9980f4958": Block(_nothing, {}),  # packages.sql
        "9d89725ccd1ef50e": Block(_is_cluster, {"answer": OUT}),  # is_cluster.sql
        "4f04175e3c3a156d": Block(_cancel_other, {}),  # cancel_statement_rds.sql
        "adbd1e4ce0ff2956": Block(_end_session, {}),  # end_session_rds.sql
        "46668a5cb37341f0": Block(_tagging(statement.numbers), {}),  # fanout_tag.sql
        fingerprint("begin :doubled := 2 * :given; end;"): Block(_double, {"doubled": OUT}),
        fingerprint("begin :text := :text || :text; end;"): Block(_repeat, {"text": IN_OUT}),
    }
    number = fingerprint(_FILLED_IN.sub("/:n", statement.sql))
    for package in _REVOCABLE:
        if f"{package}." in statement.sql.lower() and not session.may_execute(package):
            raise OracleError(6550, f"line 2, column 16:\nPLS-00201: identifier '{package.upper()}' must be declared")
    if number not in known:
        raise OracleError(6550, f"the double does not play this block ({number})")
    return known[number]


def directions(block: Block, names: tuple[str, ...]) -> list[int]:
    """IN, OUT or both for each bind of a block."""
    return [block.directions.get(name, IN) for name in names]


def _now() -> Decimal:
    """The server's clock: seconds since 1970 with six decimals."""
    return Decimal(time.time_ns() // 1000).scaleb(-6)


def _whole(value: Value) -> int:
    return int(str(value))


def _decimal(value: Value) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _nothing(session: Session, values: Values) -> dict[str, Value]:
    return {}


def _is_cluster(session: Session, values: Values) -> dict[str, Value]:
    """``is_cluster.sql``: DBMS_UTILITY.IS_CLUSTER_DATABASE."""
    return {"answer": int(session.server.instance.instances > 1)}


def _wait(session: Session, values: Values) -> dict[str, Value]:
    """``wait.sql``: DBMS_SESSION.SLEEP, 18c and newer."""
    if session.server.profile.version[0] < 18:
        raise OracleError(6550, "line 2, column 20:\nPLS-00302: component 'SLEEP' must be declared")
    session.sleep(float(str(values["for_s"])))
    return {}


def _double(session: Session, values: Values) -> dict[str, Value]:
    given = _decimal(values["given"])
    return {"doubled": None if given is None else 2 * given}


def _repeat(session: Session, values: Values) -> dict[str, Value]:
    return {"text": 2 * str(values["text"] or "")}


def _tagging(numbers: Mapping[str, int]) -> Callable[[Session, Values], dict[str, Value]]:
    def run(session: Session, values: Values) -> dict[str, Value]:
        rest = f"/{numbers['pid']}/{numbers['start']}/{numbers['where']}"
        identifier = str(session.entry.get("machine") or "")[: 64 - len(rest)] + rest
        session.publish(module="dbcpu", action="sqlplus-fanout", client_identifier=identifier)
        return {}

    return run


def _end_session(session: Session, values: Values) -> dict[str, Value]:
    _require_rds(session)
    session.end_other(_whole(values["sid"]), _whole(values["serial"]))
    return {}


def _cancel_other(session: Session, values: Values) -> dict[str, Value]:
    _require_rds(session)
    session.cancel_other(_whole(values["sid"]), _whole(values["serial"]))
    return {}


def _require_rds(session: Session) -> None:
    if not session.server.instance.rds:
        raise OracleError(6550, "line 2, column 3:\nPLS-00201: identifier 'RDSADMIN.RDSADMIN_UTIL' must be declared")

"""The work itself: real CPU, row by row, until the rows are counted. Nothing is looked up, everything is computed.

The count comes from the statement's own text (how many row sources of which size), the time from a plain loop of
about 45 ns per row; between chunks of some 20 ms the session looks for a break.
"""

import hashlib
import math
import os
import re
import signal
import time
from collections.abc import Callable

from support.doubles.oracle.catalogue import Statement
from support.doubles.oracle.errors import OracleError
from support.doubles.oracle.session import CPU_QUANTUM, Session, sql_id
from support.doubles.oracle.sessions import PRIVATE_TABLE

CHUNK_ROWS = 400_000
POLL_S = 0.02
_LEVELS = re.compile(r"connect\s+by\s+level\s*<=\s*(\d+)", re.IGNORECASE)
_SELF_JOIN = re.compile(r"\bfrom\s+(t(?:\s*,\s*t)+)\s*$", re.IGNORECASE)
_LOOP = re.compile(r"\bin\s+1\s*\.\.\s*(\d+)\s+loop", re.IGNORECASE)
_SLEEP = re.compile(r"\bdbms_session\s*\.\s*sleep\s*\(\s*([\d.]+)\s*\)", re.IGNORECASE)
_PRIVATE_TABLE_NAME = "dbcpu_logical_io"
_MODULUS = 999_999


def execute(statement: Statement, session: Session) -> str:
    """One execution of a workload: its answer as text.

    Raises:
        OracleError, Break, ClientGone: see ``Session.poll``; or an error that was asked for.
    """
    session.become_worker()
    session.note_parse(statement)
    session.executions[sql_id(statement.sql)] += 1
    nth = session.executions[sql_id(statement.sql)]
    faults = session.server.faults
    counts = session.affected() and statement.numbers.get("n", 0) >= faults.least_n
    due = counts and nth == faults.at_execution
    began_s, began_cpu_s, gets = time.monotonic(), time.thread_time(), session.statistics["session logical reads"]
    if due and (faults.kill or faults.error):
        _work(statement, session, 0.5, count_rows)
        if faults.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OracleError(faults.error or 600)
    while due and faults.endless:
        session.poll()
        time.sleep(POLL_S)
    if faults.resource_manager_wait_s and session.affected():
        time.sleep(faults.resource_manager_wait_s)
        session.wait(CPU_QUANTUM, faults.resource_manager_wait_s)
    idle = _from_cache(statement, session, nth) or (faults.skips_work and counts and nth >= faults.at_execution)
    count = _given if idle else _grouped if faults.groups_early and counts and statement.is_query else count_rows
    answer = _work(statement, session, 1.0, count)
    session.statistics["physical reads"] += faults.extra_io
    session.statistics["workarea executions - onepass"] += faults.spilled
    session.count_execution(
        statement,
        time.thread_time() - began_cpu_s,
        time.monotonic() - began_s,
        round(session.statistics["session logical reads"] - gets),
    )
    if faults.wrong_count and counts and nth >= faults.at_execution:
        answer += 1
    return str(answer) if isinstance(answer, int) else f"{answer:.2f}".removeprefix("0")


def _from_cache(statement: Statement, session: Session, nth: int) -> bool:
    """Whether the result cache has the answer: with FORCE, for a query without the hint, or where hints are ignored."""
    return nth > 1 and statement.is_query and session.caches(statement.name)


def _given(rows: int, poll: Callable[[], None]) -> int:
    """So many rows, not counted."""
    poll()
    return rows


def _grouped(rows: int, poll: Callable[[], None]) -> int:
    """So many rows, of which a tenth is counted and multiplied."""
    count_rows(rows // 10, poll)
    return rows


def _work(
    statement: Statement, session: Session, part: float, count: Callable[[int, Callable[[], None]], int]
) -> int | float:
    """Do ``part`` of the statement's work, its rows counted by ``count``."""
    if statement.is_block:
        turns = round(int(_found(_LOOP, statement)[0]) * part)
        slept = _SLEEP.search(statement.sql)
        return _bursts(turns, statement, float(slept[1]), session) if slept else _sum_roots(turns, session)
    levels = [int(level) for level in _found(_LEVELS, statement)]
    if _PRIVATE_TABLE_NAME in statement.sql.lower():
        if not session.server.table.flag(PRIVATE_TABLE):
            raise OracleError(942)
        rows = math.prod(levels) * session.entry["private_rows"]
        session.statistics["session logical reads"] += round(rows * part)
        return count(round(rows * part), session.poll)
    if "standard_hash" in statement.sql.lower():
        return _hash_rows(round(math.prod(levels) * part), session)
    joined = _SELF_JOIN.search(statement.sql)
    product = levels[0] ** (joined[1].count(",") + 1) if joined else math.prod(levels)
    return count(round(product * part), session.poll)


def _found(pattern: re.Pattern[str], statement: Statement) -> list[str]:
    found = pattern.findall(statement.sql)
    if not found:
        raise OracleError(900, f"the double does not know how to work off {statement.name}")
    return found


def count_rows(rows: int, poll: Callable[[], None]) -> int:
    """Count so many rows one by one, as a cartesian product without any input."""
    counted = 0
    while counted < rows:
        counted = _count(counted, min(rows, counted + CHUNK_ROWS))
        poll()
    return counted


def _count(counted: int, until: int) -> int:
    mixed = 0
    for row in range(counted, until):
        mixed ^= row
        counted += 1
    return counted


def _bursts(turns: int, statement: Statement, sleep_s: float, session: Session) -> int:
    """Count a product and sleep, again and again: all rows that were counted."""
    rows = math.prod(int(level) for level in _found(_LEVELS, statement))
    counted = 0
    for _ in range(turns):
        counted += count_rows(rows, session.poll)
        session.sleep(sleep_s)
    return counted


def _hash_rows(rows: int, session: Session) -> int:
    """How many of the numbers from 1 to ``rows`` have a SHA-256 whose first byte is below 128."""
    counted = 0
    for begin in range(1, rows + 1, CHUNK_ROWS // 10):
        numbers = range(begin, min(begin + CHUNK_ROWS // 10, rows + 1))
        counted += sum(hashlib.sha256(b"%d" % number).digest()[0] < 128 for number in numbers)
        session.poll()
    return counted


def _sum_roots(iterations: int, session: Session) -> float:
    value = 0.0
    for begin in range(1, iterations + 1, CHUNK_ROWS // 2):
        for f in range(begin, min(begin + CHUNK_ROWS // 2, iterations + 1)):
            value = math.fmod(value, _MODULUS) + math.sqrt(f)
        session.poll()
    return value

"""Every PostgreSQL workload gives its tiny answer on a real server, without a temporary file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from dbcpu.measure import workloads
from dbcpu.targets.base import Work

pytestmark = pytest.mark.postgres


@contextmanager
def prepared(url: str, work: Work) -> Iterator[psycopg.Connection[Any]]:
    """As a session of the kit before its gate."""
    dsn = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set temp_file_limit = 0")
        connection.execute("set enable_memoize = off")
        for statement in work.setup:
            connection.execute(statement.encode())
        yield connection


@pytest.mark.parametrize("name", workloads.names("postgresql"))
def test_the_tiny_answer_comes_out_on_postgresql(name: str, postgres_url: str) -> None:
    work = workloads.load("postgresql", name).work("tiny")
    with prepared(postgres_url, work) as connection:
        rows = connection.execute(work.sql.encode()).fetchall()
    assert [str(row[0]) for row in rows] == [work.answer]


def test_logical_io_reads_a_page_for_each_row_and_nothing_from_disk(postgres_url: str) -> None:
    work = workloads.load("postgresql", "logical_io").work("tiny")
    with prepared(postgres_url, work) as connection:
        (row,) = connection.execute(f"explain (analyze, buffers, format json) {work.sql}".encode()).fetchall()
    plan = row[0][0]["Plan"]
    assert plan["Local Hit Blocks"] == work.rows
    read = {name: blocks for name, blocks in plan.items() if name.endswith(("Read Blocks", "Written Blocks"))}
    assert set(read.values()) == {0}, read

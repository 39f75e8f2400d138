"""Every PostgreSQL workload gives its tiny answer on a real server, without a temporary file."""

import psycopg
import pytest
from sqlalchemy.engine import make_url

from dbcpu.measure import workloads

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("name", workloads.names("postgresql"))
def test_the_tiny_answer_comes_out_on_postgresql(name: str, postgres_url: str) -> None:
    work = workloads.load("postgresql", name).work("tiny")
    dsn = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("set temp_file_limit = 0")
        connection.execute("set enable_memoize = off")
        for statement in work.setup:
            connection.execute(statement.encode())
        rows = connection.execute(work.sql.encode()).fetchall()
    assert [str(row[0]) for row in rows] == [work.answer]

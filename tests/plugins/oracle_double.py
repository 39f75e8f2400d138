"""A test double of an Oracle server (tests/support/doubles/oracle), and connections of the real driver to it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dbcpu.targets.oracle.driver import Connection
from support.doubles.oracle.double import OracleDouble

Connect = Callable[..., Connection]


@pytest.fixture(scope="module")
def oracle_double() -> Iterator[OracleDouble]:
    """A well-behaved 19c for the tests of one module."""
    with OracleDouble() as double:
        yield double


@pytest.fixture
def oracle_connect() -> Iterator[Connect]:
    """``connect(double, **options)``: connections that are closed after the test, if the test did not do it."""
    opened: list[Connection] = []

    def connect(double: OracleDouble, **options: Any) -> Connection:
        given = {"user": double.user, "password": double.password, "dsn": double.dsn, **options}
        connection = Connection(**given)
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        if connection.is_healthy():
            connection.close()

"""An Oracle server for tests: a real one where a DSN is given, else the test double.

``--oracle-dsn URL`` or DBCPU_TEST_ORACLE_DSN names a real database as a SQLAlchemy URL with user and password, for
example ``oracle+oracledb://bench:secret@localhost:1521/?service_name=FREEPDB1``. Tests that play on the double
alone (those of a module that imports it) then skip themselves.
"""

import os
from collections.abc import Iterator
from types import ModuleType

import pytest

from support.doubles.oracle.double import OracleDouble

VARIABLE = "DBCPU_TEST_ORACLE_DSN"
REAL = "a real database was given, and this plays on the test double alone"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--oracle-dsn", help=f"URL of a real Oracle database to test with (or {VARIABLE})")


def real_dsn(config: pytest.Config) -> str | None:
    """The URL of a real database, if one was given."""
    return config.getoption("--oracle-dsn") or os.environ.get(VARIABLE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if real_dsn(config):
        for item in items:
            if plays_on_the_double(getattr(item, "module", None)):
                item.add_marker(pytest.mark.skip(reason=REAL))


def plays_on_the_double(module: ModuleType | None) -> bool:
    """Whether a test module starts doubles of its own, so that a real database is none of its business."""
    return any(value is OracleDouble for value in vars(module).values()) if module else False


def pytest_report_header(config: pytest.Config) -> str:
    return f"oracle: {'a real database' if real_dsn(config) else 'the test double'}"


@pytest.fixture(scope="session")
def oracle_dsn(pytestconfig: pytest.Config) -> Iterator[str]:
    """A SQLAlchemy URL with user and password."""
    if real := real_dsn(pytestconfig):
        yield real
        return
    with OracleDouble() as double:
        yield double.url

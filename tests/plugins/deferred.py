"""A test that other work on the machine kept from an answer is run again by itself, when the other tests have ended.

``DBCPU_TEST_DEFER_TO`` names the file that such tests are written to, and ``DBCPU_TEST_DEFERRED`` the one whose tests
have the mark ``alone`` now (tox.ini).
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.busy import BUSY


class Deferring:
    """Of all workers: it is registered where their reports come together."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._deferred: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if report.skipped and reason.removeprefix("Skipped: ").startswith(BUSY):
            self._deferred.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("".join(f"{each}\n" for each in self._deferred))


def pytest_configure(config: pytest.Config) -> None:
    file = os.environ.get("DBCPU_TEST_DEFER_TO")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Deferring(Path(file)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Before marks select."""
    file = Path(os.environ.get("DBCPU_TEST_DEFERRED") or os.devnull)
    deferred = set(file.read_text().splitlines()) if file.exists() else set()
    for item in items:
        if item.nodeid in deferred:
            item.add_marker(pytest.mark.alone)

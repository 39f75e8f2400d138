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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the files that hold no test to run by itself none is loaded: all of them take a quarter of a minute."""
    wanted = config.getoption("markexpr") == "alone" and "DBCPU_TEST_DEFERRED" in os.environ
    if not wanted or collection_path.suffix != ".py":
        return None
    if "mark.alone" in collection_path.read_text():
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if all(each.split("::")[0] != name for each in _deferred()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Before marks select."""
    deferred = set(_deferred())
    for item in items:
        if item.nodeid in deferred:
            item.add_marker(pytest.mark.alone)


def _deferred() -> list[str]:
    file = Path(os.environ.get("DBCPU_TEST_DEFERRED") or os.devnull)
    return file.read_text().splitlines() if file.exists() else []

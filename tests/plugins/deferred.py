"""A test that other work on the machine may have kept from its answer is run again by itself, after all others.

That is one that says so (support/busy.py), and the first few that fail where several run at once: whoever fails by
itself too has failed. What each of them said is printed. ``DBCPU_TEST_DEFER_TO`` names the file that such tests are
written to, and ``DBCPU_TEST_DEFERRED`` the one whose tests have the mark ``alone`` now (tox.ini).
"""

import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from support.busy import BUSY

MAX_FAILED = 3
"""More failures than that are no accident, and stay failures."""
FAILED = ".failed"
"""Ending of a file beside that of the deferred ones, as long as failures among them have not been run again."""


class Deferring:
    """Of all workers: it is registered where their reports come together."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._deferred: list[str] = []
        self._failed: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Before the report is counted."""
        if report.failed and (report.nodeid in self._failed or len(self._failed) < MAX_FAILED):
            said = self._failed.setdefault(report.nodeid, report.longreprtext)
            report.outcome = "skipped"
            last = (said.splitlines() or ["it failed"])[-1]
            report.longrepr = (report.nodeid, 0, f"Skipped: {BUSY} with other tests: {last}")
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if report.skipped and reason.removeprefix("Skipped: ").startswith(BUSY):
            self._deferred.append(report.nodeid)
        return (yield)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("".join(f"{each}\n" for each in dict.fromkeys(self._deferred)))
        failed = self._file.with_suffix(FAILED)
        failed.write_text("".join(f"{each}\n" for each in self._failed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name, said in self._failed.items():
            terminalreporter.write_sep("_", f"failed beside other tests, is run again by itself: {name}")
            terminalreporter.write_line(said)


def pytest_configure(config: pytest.Config) -> None:
    file = os.environ.get("DBCPU_TEST_DEFER_TO")
    if file and _marks(config) == "not alone" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Deferring(Path(file)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the files that hold no test to run by itself none is loaded: all of them take a quarter of a minute."""
    if not _has_deferred(config) or collection_path.suffix != ".py":
        return None
    if "mark.alone" in collection_path.read_text():
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if all(each.split("::")[0] != name for each in _deferred()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Before marks select."""
    deferred = _deferred() if _has_deferred(config) else []
    if missing := set(deferred) - {item.nodeid for item in items}:
        raise pytest.UsageError(f"to be run again, and not there any more: {', '.join(sorted(missing))}")
    for item in items:
        if item.nodeid in deferred:
            item.add_marker(pytest.mark.alone)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The failures have been run again, and this session is green or red by them."""
    if _has_deferred(session.config) and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        _file().with_suffix(FAILED).unlink(missing_ok=True)


def _has_deferred(config: pytest.Config) -> bool:
    return _marks(config) == "alone" and "DBCPU_TEST_DEFERRED" in os.environ


def _marks(config: pytest.Config) -> str:
    return str(config.getoption("markexpr"))


def _file() -> Path:
    return Path(os.environ.get("DBCPU_TEST_DEFERRED") or os.devnull)


def _deferred() -> list[str]:
    file = _file()
    return file.read_text().splitlines() if file.exists() else []

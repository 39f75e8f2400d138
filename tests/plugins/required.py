"""With DBCPU_TEST_REQUIRE=1, as in CI, a test that skips itself has failed: a missing part must not look green.

The exceptions are what no package can mend: a reason that begins with "this machine" (no tracefs, one CPU), and tests
of a double where a real database was given.
"""

import os
from collections.abc import Generator

import pytest

UNMENDABLE = ("this machine", "a real database was given")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or os.environ.get("DBCPU_TEST_REQUIRE") != "1":
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith(UNMENDABLE):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} skipped itself, which DBCPU_TEST_REQUIRE=1 forbids: {reason}"

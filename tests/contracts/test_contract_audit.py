"""``shell/test -e audit`` calls no package safe that was not looked up."""

import json
from typing import Any

import pytest

from scripts.audit import account

OWN = {"name": "dbcpu", "skip_reason": "not found"}
FINE = {"name": "click", "version": "8.5.1", "vulns": []}
WEAK = {"name": "jinja2", "version": "2.0", "vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"]}]}
UNMENDED = {"name": "mako", "version": "1.0", "vulns": [{"id": "GHSA-x", "fix_versions": []}]}
UNKNOWN = {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited"}


@pytest.mark.parametrize(
    ("packages", "code", "lines"),
    [
        ([OWN, FINE], 0, ["1 of 1 packages were looked up, 0 weaknesses are known"]),
        (
            [WEAK, FINE, UNMENDED],
            1,
            [
                "jinja2 2.0: PYSEC-2019-217, mended in 2.10.1",
                "mako 1.0: GHSA-x, mended in ?",
                "3 of 3 packages were looked up, 2 weaknesses are known",
            ],
        ),
        (
            [OWN, UNKNOWN, FINE],
            0,
            [
                "1 of 2 packages were looked up, 0 weaknesses are known",
                "not looked up, so nothing is known of them: numpy",
            ],
        ),
        (
            [OWN, UNKNOWN],
            0,
            [
                "0 of 1 packages were looked up, 0 weaknesses are known",
                "not looked up, so nothing is known of them: numpy",
            ],
        ),
    ],
)
def test_what_was_looked_up_is_said(packages: list[dict[str, Any]], code: int, lines: list[str]) -> None:
    assert account(json.dumps({"dependencies": packages, "fixes": []})) == (code, "\n".join(lines))


@pytest.mark.parametrize("report", ["", "Traceback", "[]", "{}", "null"])
def test_without_an_account_nothing_is_known_and_nothing_fails(report: str) -> None:
    assert account(report) == (
        0,
        "nothing was looked up: pip-audit gave no account; can pypi.org be reached?",
    )

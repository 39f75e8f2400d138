"""``tox -e alone`` looks into the folders that have tests of its mark, and collects no others."""

import re

from support.paths import ROOT, TESTS


def test_what_measures_is_where_it_is_looked_for() -> None:
    found = re.search(r"-m alone ((?:tests/\w+ )+)", (ROOT / "tox.ini").read_text("utf-8"))
    assert found, "tox.ini does not name them"
    mark = re.compile(r"mark\.alone\b")
    files = [file for file in TESTS.rglob("test_*.py") if mark.search(file.read_text("utf-8"))]
    assert {f"tests/{file.relative_to(TESTS).parts[0]}" for file in files} == set(found[1].split())

"""A test that other work kept from an answer is run again by itself: a busy machine must not hide that it fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.busy import BUSY
from support.paths import ROOT

TESTS = f"""
import os

import pytest


@pytest.mark.parametrize("name", ["a b", "c"])
def test_it_measures(name):
    if "DBCPU_TEST_DEFERRED" not in os.environ:
        pytest.skip("{BUSY} with other work" if name == "a b" else "this machine has one CPU")
    raise AssertionError("it measures wrongly")


def test_it_computes():
    pass
"""
MARKS = "[pytest]\nmarkers = alone: by itself\n"


def run(folder: Path, marks: str, *options: str, **variables: Path) -> tuple[int, str]:
    """With temporary folders of its own: of those of the whole suite pytest keeps three runs, and this is one of it."""
    named = {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-pplugins.deferred", "-pno:cacheprovider", f"--basetemp={folder}/its",
         "-m", marks, *options],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **named, "PYTHONPATH": f"{ROOT}/tests:{ROOT}/kit"},
    )  # fmt: skip
    return done.returncode, done.stdout


def test_what_was_skipped_for_other_work_runs_with_those_that_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DBCPU_TEST_DEFER_TO", "DBCPU_TEST_DEFERRED", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "test_x.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(MARKS)
    list_ = tmp_path / "deferred-tests"
    code, out = run(tmp_path, "not alone", "--numprocesses=2", DBCPU_TEST_DEFER_TO=list_)
    assert (code, "1 passed, 2 skipped" in out) == (0, True), out
    assert list_.read_text() == "test_x.py::test_it_measures[a b]\n"
    code, out = run(tmp_path, "alone", DBCPU_TEST_DEFERRED=list_)
    assert (code, "1 failed, 2 deselected" in out, "it measures wrongly" in out) == (1, True, True), out


def test_a_file_without_a_test_to_run_by_itself_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("raise AssertionError('it was loaded')")
    (tmp_path / "test_y.py").write_text("import pytest\n\n@pytest.mark.alone\ndef test_it_measures(): pass\n")
    (tmp_path / "pytest.ini").write_text(MARKS)
    code, out = run(tmp_path, "alone", DBCPU_TEST_DEFERRED=tmp_path / "deferred-tests")
    assert (code, "1 passed" in out, "deselected" in out) == (0, True, False), out


def test_nothing_deferred_leaves_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_it_computes():\n    pass\n")
    (tmp_path / "pytest.ini").write_text(MARKS)
    list_ = tmp_path / "deferred-tests"
    list_.write_text("test_x.py::test_of_the_run_before\n")
    code, out = run(tmp_path, "not alone", DBCPU_TEST_DEFER_TO=list_)
    assert (code, list_.read_text()) == (0, ""), out


FAILING = """
import os

import pytest


@pytest.mark.parametrize("number", range({failing}))
def test_it_waits(number):
    assert "DBCPU_TEST_DEFERRED" in os.environ and number in {right}, "no answer in time"


def test_it_computes():
    pass
"""


def test_what_fails_beside_others_is_said_and_has_failed_if_it_fails_by_itself(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(FAILING.format(failing=2, right=[0]))
    (tmp_path / "pytest.ini").write_text(MARKS)
    list_, failed = tmp_path / "deferred-tests", tmp_path / "deferred-tests.failed"
    code, out = run(tmp_path, "not alone", "--numprocesses=2", DBCPU_TEST_DEFER_TO=list_)
    assert (code, "1 passed, 2 skipped" in out) == (0, True), out
    assert out.count("AssertionError: no answer in time") >= 2
    names = [f"test_x.py::test_it_waits[{number}]" for number in (0, 1)]
    assert all(f"failed beside other tests, is run again by itself: {name}" in out for name in names)
    assert sorted(list_.read_text().splitlines()) == sorted(failed.read_text().splitlines()) == names
    code, out = run(tmp_path, "alone", DBCPU_TEST_DEFERRED=list_)
    assert (code, "1 failed, 1 passed, 1 deselected" in out) == (1, True), out
    assert not failed.exists()


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(FAILING.format(failing=5, right=[]))
    (tmp_path / "pytest.ini").write_text(MARKS)
    code, out = run(tmp_path, "not alone", "--numprocesses=2", DBCPU_TEST_DEFER_TO=tmp_path / "deferred-tests")
    assert (code, "2 failed, 1 passed, 3 skipped" in out) == (1, True), out


def test_a_failure_that_is_not_there_to_be_run_again_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(FAILING.format(failing=1, right=[0]))
    (tmp_path / "pytest.ini").write_text(MARKS)
    list_, failed = tmp_path / "deferred-tests", tmp_path / "deferred-tests.failed"
    run(tmp_path, "not alone", DBCPU_TEST_DEFER_TO=list_)
    (tmp_path / "test_x.py").write_text("def test_it_computes(): pass\n")
    list_.write_text("test_x.py::test_it_waits[0]\n")
    done = run(tmp_path, "alone", DBCPU_TEST_DEFERRED=list_)
    assert (done[0], failed.exists()) == (pytest.ExitCode.USAGE_ERROR, True), done


def test_what_somebody_asks_for_by_name_fails_at_once(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(FAILING.format(failing=1, right=[0]))
    (tmp_path / "pytest.ini").write_text(MARKS)
    code, out = run(tmp_path, "", DBCPU_TEST_DEFER_TO=tmp_path / "deferred-tests")
    assert (code, "1 failed" in out) == (1, True), out

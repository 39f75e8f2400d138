"""With a real Oracle database given, tests of the double stand aside and all others run on it."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from plugins.oracle import plays_on_the_double
from plugins.oracle_evidence import BEGIN, END, Proof, proofs, text_of
from support.doubles.oracle import double as oracle_double
from support.paths import ROOT

ON_THE_DOUBLE = (
    "server.test_oracle_cli", "server.test_oracle_connect", "server.test_oracle_container", "server.test_oracle_faults",
    "server.test_oracle_pinned", "server.test_sqlplus_fanout", "unit.doubles.test_oracle_work",
)  # fmt: skip
ON_EITHER = ("server.test_oracle", "unit.targets.oracle.test_preflight", "unit.measure.test_gate")


@pytest.mark.parametrize("name", ON_THE_DOUBLE)
def test_modules_that_start_a_double_stand_aside(name: str) -> None:
    assert plays_on_the_double(import_module(name))


@pytest.mark.parametrize("name", ON_EITHER)
def test_other_modules_run_on_either(name: str) -> None:
    assert not plays_on_the_double(import_module(name))


def test_what_belongs_to_no_module_is_left_alone() -> None:
    assert not plays_on_the_double(None)


def report(outcome: str, when: str = "call", nodeid: str = "a", longrepr: object = "", **seen: str) -> SimpleNamespace:
    properties = [("proves", "it works"), *seen.items()]
    kinds = {name: name == outcome for name in ("passed", "failed", "skipped")}
    return SimpleNamespace(
        nodeid=nodeid, when=when, outcome=outcome, user_properties=properties, longrepr=longrepr, **kinds
    )


def test_a_claim_is_proved_only_by_the_call_and_lost_by_any_failure() -> None:
    assert proofs([report("passed", "setup")]) == []
    assert proofs([report("passed", seen="19.3")]) == [Proof("it works", "passed", "19.3")]
    assert [each.outcome for each in proofs([report("passed"), report("failed", "teardown")])] == ["failed"]
    skipped = report("skipped", "setup", longrepr=("file", 1, "Skipped: not granted"))
    assert proofs([skipped]) == [Proof("it works", "skipped", "not granted")]


def test_what_was_disproved_comes_first() -> None:
    found = [Proof("b", "skipped", "why"), Proof("c", "passed"), Proof("a", "failed")]
    lines = text_of(found).splitlines()
    assert lines == [BEGIN, "DISPROVED  a", "proved     c", "not asked  b", "           why", END]


def test_a_claim_of_several_tests_is_one_with_what_each_saw() -> None:
    found = [
        Proof("valid", "passed", "cartesian"),
        Proof("valid", "failed", "mixed"),
        Proof("valid", "passed", "hashing"),
    ]
    assert text_of(found).splitlines()[1:-1] == [
        "DISPROVED  valid", "           mixed", "proved     valid", "           cartesian", "           hashing",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_suite_on_a_given_database_ends_with_what_it_proved(tmp_path: Path) -> None:
    """The double plays the database that a user names."""
    with oracle_double.OracleDouble() as double:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/server/test_oracle.py"]
        command += ["-k", "described or cartesian_join or counters_move", "--oracle-dsn", double.url]
        command += [f"--basetemp={tmp_path}/its"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        secrets = (double.password, str(double.port), double.user)
    assert done.returncode == 0, done.stdout
    evidence = done.stdout.partition(BEGIN)[2].partition(END)[0]
    assert "proved     version, edition and driver (below)\n           Oracle Database 19c" in evidence
    assert "SELECT STATEMENT > SORT AGGREGATE > MERGE JOIN CARTESIAN" in evidence
    assert not [each for each in secrets if each in evidence]

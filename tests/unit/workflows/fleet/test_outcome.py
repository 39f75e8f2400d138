"""What becomes of a target, from what is known of its process and its run."""

from pathlib import Path

import pytest

from dbcpu.errors import ServerError, StoreError
from dbcpu.store.campaigns import CANCELLED, DONE, PARTIAL, PLANNED, REFUSED, UNKNOWN
from dbcpu.workflows.fleet.failure import Failure, failure_line
from dbcpu.workflows.fleet.outcome import ItemOutcome, failure_in, file_stem, outcome

COMPLETE, CUT = ("r1", "complete", 3), ("r1", "running", 2)
CHANGED = "run r1 in the store x was changed meanwhile; try again"


@pytest.mark.parametrize(
    ("run", "code", "said", "expected"),
    [
        (COMPLETE, 0, "", ItemOutcome(DONE, "r1")),
        (COMPLETE, -9, "", ItemOutcome(DONE, "r1")),
        (COMPLETE, None, "", ItemOutcome(DONE, "r1")),
        (CUT, -9, "", ItemOutcome(PARTIAL, "r1", "its process was ended by signal 9")),
        (CUT, 3, "lost", ItemOutcome(PARTIAL, "r1", "lost")),
        (CUT, None, "", ItemOutcome(PARTIAL, "r1", "its process ended after 2 rounds")),
        (CUT, 130, "interrupted", ItemOutcome(CANCELLED, "r1", "interrupted")),
        (None, 3, "is taken", ItemOutcome(REFUSED, None, "is taken")),
        (None, None, "is taken", ItemOutcome(REFUSED, None, "is taken")),
        (None, 0, "", ItemOutcome(REFUSED, None, "exit code 0")),
        (None, -9, "", ItemOutcome(UNKNOWN, None, "its process was ended by signal 9")),
        (None, None, "", ItemOutcome(PLANNED)),
    ],
)
def test_outcome(run: tuple[str, str, int] | None, code: int | None, said: str, expected: ItemOutcome) -> None:
    assert outcome(run, code, Failure(said)) == expected


@pytest.mark.parametrize("code", [3, None])
def test_a_target_is_measured_again_where_the_store_failed_whatever_was_said(code: int | None) -> None:
    assert outcome(None, code, Failure(CHANGED, of_store=True)) == ItemOutcome(PLANNED, None, CHANGED)
    assert outcome(None, code, Failure("the store x failed")).state == REFUSED


def test_the_last_sentence_of_dbcpu_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert failure_in(log) == Failure()
    log.write_bytes(b"warning of ssh\n" * 5000 + b"dbcpu: first\ndbcpu: second\n\xff\n")
    assert failure_in(log) == Failure("second")
    log.write_text("Usage: dbcpu run\n\nError: no such option\n")
    assert failure_in(log) == Failure("no such option")
    log.write_text("dbcpu: /home/me/.local/state/dbcpu/fleet/q4/target-a_1b/dbcpu.toml, [targets.x]: no PW is set\n")
    assert failure_in(log) == Failure("[targets.x]: no PW is set")


def test_the_line_for_the_station_counts_before_any_sentence(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"{failure_line(StoreError(CHANGED))}\ndbcpu: {CHANGED}\n")
    assert failure_in(log) == Failure(CHANGED, of_store=True)
    log.write_text(f'dbcpu: {CHANGED}\ndbcpu-failure {{"said": "run')
    assert failure_in(log) == Failure(CHANGED)


def test_what_to_do_with_a_run_on_its_own_is_not_said_in_a_campaign(tmp_path: Path) -> None:
    log, error = tmp_path / "log", ServerError("lost; no round was finished, and dbcpu more r1 continues it")
    error.in_campaign = "lost; no round was finished"
    log.write_text(failure_line(error))
    assert failure_in(log) == Failure("lost; no round was finished")


def test_every_target_has_a_file_of_its_own() -> None:
    names = ["a", "A", "a/b", "a-b", "../x", "ä", "x" * 128, "x" * 127]
    stems = [file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert all("/" not in stem and len(stem) < 60 for stem in stems)

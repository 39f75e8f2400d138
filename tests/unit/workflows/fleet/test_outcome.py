"""What becomes of a target, from what is known of its process and its run."""

from pathlib import Path

import pytest

from dbcpu.store.campaigns import CANCELLED, DONE, PARTIAL, PLANNED, REFUSED, UNKNOWN
from dbcpu.workflows.fleet.outcome import ItemOutcome, file_stem, last_sentence, outcome

COMPLETE, CUT = ("r1", "complete", 3), ("r1", "running", 2)
EMPTY = "no round was finished, and the run is kept without one: dbcpu more r1 goes on with it"


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
        (CUT, 130, f"interrupted; {EMPTY}", ItemOutcome(CANCELLED, "r1", "interrupted; no round was finished")),
        (CUT, 3, f"lost; {EMPTY}", ItemOutcome(PARTIAL, "r1", "lost; no round was finished")),
        (None, 3, "is taken", ItemOutcome(REFUSED, None, "is taken")),
        (None, None, "is taken", ItemOutcome(REFUSED, None, "is taken")),
        (None, 0, "", ItemOutcome(REFUSED, None, "exit code 0")),
        (None, -9, "", ItemOutcome(UNKNOWN, None, "its process was ended by signal 9")),
        (None, None, "", ItemOutcome(PLANNED)),
        (None, 3, "the store x failed: refused", ItemOutcome(PLANNED, None, "the store x failed: refused")),
        (None, None, "the store x failed: refused", ItemOutcome(PLANNED, None, "the store x failed: refused")),
    ],
)
def test_outcome(run: tuple[str, str, int] | None, code: int | None, said: str, expected: ItemOutcome) -> None:
    assert outcome(run, code, said) == expected


def test_the_last_sentence_of_dbcpu_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_sentence(log) == ""
    log.write_bytes(b"warning of ssh\n" * 5000 + b"dbcpu: first\ndbcpu: second\n\xff\n")
    assert last_sentence(log) == "second"
    log.write_text("Usage: dbcpu run\n\nError: no such option\n")
    assert last_sentence(log) == "no such option"
    log.write_text("dbcpu: /home/me/.local/state/dbcpu/fleet/q4/target-a_1b/dbcpu.toml, [targets.x]: no PW is set\n")
    assert last_sentence(log) == "[targets.x]: no PW is set"


def test_every_target_has_a_file_of_its_own() -> None:
    names = ["a", "A", "a/b", "a-b", "../x", "ä", "x" * 128, "x" * 127]
    stems = [file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert all("/" not in stem and len(stem) < 60 for stem in stems)

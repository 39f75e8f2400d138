"""One session alone, again and again: a host that changes meanwhile says so."""

import pytest

from build_record import SOLO_S, record, round_of, session, solos
from dbcpu.analysis.drift import drift
from dbcpu.analysis.explain import explain
from dbcpu.analysis.reference import reference
from dbcpu.analysis.spans import timed
from dbcpu.record import RunRecord


def run_of(*factors: float) -> RunRecord:
    return record([round_of([session(0, SOLO_S * factor)]) for factor in factors])


def moved(run: RunRecord) -> tuple[str, str] | None:
    sessions = timed(run)
    found = drift(run, sessions, reference(run, sessions))
    return (found.earlier, found.later) if found else None


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((1.0, 1.01, 0.99), None),
        ((1.0, 1.0, 1.2), ("at the start", "at the end")),
        ((1.0, 1.2, 1.0), ("at the start", "in the middle")),
        ((1.2, 1.0, 1.0, 1.0, 1.0, 1.0), None),  # one slow round of two in a third is no drift
        ((1.0, 1.0, 1.1, 1.1, 1.25, 1.25), ("at the start", "at the end")),
        ((1.0, 1.3), None),  # two rounds alone may be that far apart by noise
    ],
)
def test_the_parts_of_a_run_are_compared(factors: tuple[float, ...], expected: tuple[str, str] | None) -> None:
    assert moved(run_of(*factors)) == expected


def test_it_is_a_finding_with_both_times() -> None:
    (finding,) = [each for each in explain(run_of(1.0, 1.0, 1.2)).findings if each.code == "solo-drift"]
    assert "1.80 s at the start and 2.16 s at the end (20 %)" in finding.seen


def test_without_a_solo_round_nothing_is_said() -> None:
    run = record([round_of([session(0), session(1)])])
    assert drift(run, timed(run), None) is None
    assert moved(record(solos(1))) is None

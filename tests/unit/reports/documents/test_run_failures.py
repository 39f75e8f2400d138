"""A page of which sessions failed says so at once, and names the same open levels in its headline and its text."""

from msgspec.structs import replace

from dbcpu.analysis.conclusions.host_findings import NOT_SLOWED, Loaded, foreign_of
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.reports.documents.run import document
from support.builders.record import record, round_of, session, solos


def test_failed_sessions_are_in_the_headline_and_on_a_card() -> None:
    failed = round_of([session(0), session(1, answer_ok=None, error="terminated")], order=9, repeat=1)
    run = record([*solos(), failed])
    front = document(run, explain(run)).front
    assert front.headline == "Inconclusive; no whole round at N=2"
    (card,) = [each for each in front.tiles if each.name == "failed sessions"]
    assert (card.value, card.beside) == ("1", "of 5, at N=2")
    whole = record([*solos(), round_of([session(0), session(1)], order=8), failed])
    beside = document(whole, explain(whole)).front
    assert "failed" not in beside.headline, "the level has a whole round"
    assert "failed sessions" in {each.name for each in beside.tiles}
    fine = record([*solos(), round_of([session(0), session(1)])])
    assert "failed sessions" not in {each.name for each in document(fine, explain(fine)).front.tiles}


def test_a_single_session_measured_once_is_not_said_to_be_open_in_the_headline_alone() -> None:
    run = record([*solos()[:1], round_of([session(0), session(1)], order=1)])
    front = document(run, explain(run)).front
    assert front.headline == "Inconclusive at N=2"
    assert "Inconclusive at N=2:" in front.sentences[0]


def test_who_is_named_as_a_cause_is_not_said_to_have_slowed_nobody() -> None:
    run = record([*solos(), round_of([session(0), session(1)])])
    (level,) = [each for each in explain(run).levels if each.level == 2]
    loaded = [Loaded(0.6, 0.0, run.rounds[-1])]
    quiet = foreign_of(loaded, [replace(level, causes=())])
    named = foreign_of(loaded, [replace(level, causes=((Cause.COMPETITOR, 2),))])
    assert quiet is not None
    assert named is not None
    assert quiet.meaning == NOT_SLOWED
    assert named.meaning != NOT_SLOWED

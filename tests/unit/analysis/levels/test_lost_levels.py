"""A level of which no round is whole is named wherever a run is answered, with what to do."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline, one_word
from dbcpu.analysis.experiments import MAX_KEPT
from dbcpu.analysis.explain import explain, explain_rounds
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.answer import Outcome
from dbcpu.record.rounds import Round, RunRecord, Session
from dbcpu.reports.documents.run import document
from dbcpu.reports.tables.of_run import RUNS
from dbcpu.reports.tables.table import ExplainedRun
from dbcpu.simulator import SimulatedHost, simulate
from support.builders import experiments
from support.builders.record import host, record, round_of, session, solos

LEVELS = (1, 2, 3, 4, 5, 6)


def swept() -> RunRecord:
    """Equal up to the four vCPUs."""
    return simulate(SimulatedHost(cores=4, threads=1), LEVELS, repeats=6, seed=1)


def failed(one: Session) -> Session:
    return replace(one, error="ORA-00600", answer_ok=None)


def with_failed_sessions(run: RunRecord, *levels: int, every: bool = False) -> RunRecord:
    """In each round of ``levels`` the first session failed, or all of them."""

    def changed(one: Round) -> Round:
        if one.level not in levels:
            return one
        kept = () if every else one.sessions[1:]
        return replace(one, sessions=(*map(failed, one.sessions[: len(one.sessions) - len(kept)]), *kept))

    return replace(run, rounds=tuple(map(changed, run.rounds)))


def with_failed_rounds(run: RunRecord, level: int) -> RunRecord:
    return replace(run, rounds=tuple(replace(e, error="lost" if e.level == level else None) for e in run.rounds))


def test_a_level_of_which_every_round_failed_is_in_headline_verdict_and_on_a_card() -> None:
    """The headline said yes up to 3 and unequal above 4, and nothing of 4."""
    run = with_failed_rounds(swept(), 4)
    found = explain(run)
    front = document(run, found).front
    assert found.levels_lost == (4,)
    assert headline(found).headline == "Equal CPU up to 3 sessions; no whole round at N=4"
    assert (headline(found).kind, one_word(found)) == (Outcome.UNKNOWN, "inconclusive")
    assert "N=4 has no whole round, because each failed, or a session of it; when that" in found.verdict
    assert [(each.value, each.beside) for each in front.tiles if each.name == "failed rounds"] == [
        ("6", "of 36, at N=4")
    ]
    assert "`dbcpu doctor TARGET` checks what can prevent a run" in front.remedy


def test_a_lost_level_above_the_vcpus_leaves_the_answer_up_to_them() -> None:
    found = explain(with_failed_sessions(swept(), 5))
    assert headline(found).headline == "Yes up to 4 sessions; above 4 shares are unequal at N=6; no whole round at N=5"
    assert headline(found).kind is Outcome.PARTLY
    assert "inconclusive" not in found.verdict, "rounds that failed again would decide nothing"


def test_where_all_levels_failed_no_further_ones_are_asked_for() -> None:
    """120 of 126 sessions had failed, and the advice was to measure several sessions beside each other."""
    found = explain(with_failed_sessions(swept(), *LEVELS[1:], every=True))
    first = headline(found)
    assert first.headline == "Too few measurements for an answer; no whole round at N=2-6"
    assert first.remedy.startswith("read the error in the database's log")
    assert "measure more sessions" not in found.verdict
    assert "N=2-6 have no whole round" in found.verdict and "measure them again." in found.verdict


def test_without_a_whole_single_session_the_failure_is_what_is_to_be_helped() -> None:
    found = headline(explain(with_failed_sessions(swept(), 1)))
    assert found.headline.endswith("; no whole round at N=1")
    assert found.remedy.startswith("read the error")


def test_a_measured_run_says_how_the_level_is_measured_again() -> None:
    lost = [round_of([session(0), session(1, answer_ok=None, error="lost")], repeat=at) for at in range(3)]
    run = record([*solos(), *lost], host(2), repeats=3)
    said = explain(run).verdict
    assert f"measure it again (on its host: `dbcpu more {run.header.run_id} --sessions 2 --rounds 3`)" in said


def test_one_whole_round_is_enough_for_a_level_not_to_be_lost() -> None:
    run = swept()
    spared = next(each.order for each in run.rounds if each.level == 4)
    lost = with_failed_sessions(run, 4)
    rounds = (new if old.order != spared else old for old, new in zip(run.rounds, lost.rounds, strict=True))
    found = explain(replace(run, rounds=tuple(rounds)))
    assert found.levels_lost == ()
    assert "no whole round" not in headline(found).headline + found.verdict


@pytest.mark.parametrize("levels", [(4,), (5,), LEVELS[1:]], ids=str)
def test_kept_figure_table_page_and_json_have_one_headline(levels: tuple[int, ...]) -> None:
    """What failed stood on the page and in JSON alone."""
    run = with_failed_sessions(swept(), *levels)
    found = explain(run)
    made = document(run, found)
    (column,) = [each for each in RUNS.columns if each.name == "headline"]
    said = headline(found).headline
    assert "no whole round" in said
    assert run_figures(run, found).text("headline") == said
    assert column.value(ExplainedRun(run.header, found, "0")) == said
    assert made.front is not None and made.front.headline == f"{said} (simulated)"
    assert made.data()["outcome"]["headline"] == said


def test_a_pool_of_which_no_round_is_whole_was_measured_nevertheless() -> None:
    """Larger pools had not been measured, it said."""
    run = experiments.pool({1: 10.0, 2: 5.0, 4: 5.0})
    found = explain(with_failed_sessions(run, 4))
    assert found.pool is not None
    assert (found.pool.lost, found.levels_lost) == ((4,), (4,))
    assert "larger pools were not measured" not in found.verdict
    assert "The pool of 4 has no whole round" in found.verdict
    assert headline(found).headline.endswith("; no whole round at N=4")
    assert headline(found).remedy.startswith("read the error")
    assert "has no whole round" not in explain(run).verdict


def test_of_one_pool_that_is_whole_the_others_are_not_said_to_be_unmeasured() -> None:
    found = explain(with_failed_sessions(experiments.pool({1: 10.0, 2: 5.0, 4: 5.0}), 2, 4))
    assert "no other size was measured" not in found.verdict
    assert "The pools of 2 and 4 have no whole round" in found.verdict


def test_failures_of_a_long_soak_are_those_of_all_its_segments() -> None:
    run = experiments.soak(lambda *_: 2.0, segments=2 * MAX_KEPT, sessions=2)
    run = with_failed_sessions(run, 2)
    kept, found = explain_rounds(run.header, run.rounds)
    assert len(kept.rounds) < len(run.rounds)
    assert found.failures is not None
    assert (found.failures.sessions, found.failures.of_sessions) == (2 * MAX_KEPT, 4 * MAX_KEPT + 1)

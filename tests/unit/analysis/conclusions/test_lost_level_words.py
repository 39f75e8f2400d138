"""What failed is named and helped wherever no round is whole: in a soak, and under a further variant of a run."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Outcome
from dbcpu.analysis.results.failures import LostLevel
from dbcpu.record.rounds import RunRecord
from dbcpu.reports.documents.run import document
from dbcpu.simulator import SimulatedHost, simulate
from support.builders import experiments
from support.builders.spoilt import spoilt

DOCTOR = "`dbcpu doctor TARGET` checks what can prevent a run"
ERROR = f"read the error in the database's log; {DOCTOR}"
BY_HAND = "run the workload's file below `sql/` by hand and compare its answer with the header of the file"
HOW = {"error": ("failed-session", ERROR), "round": ("failed-round", DOCTOR), "wrong answer": ("wrong-answer", BY_HAND)}
"""By how rounds are spoilt: the finding, and what helps."""


def varied() -> RunRecord:
    host = SimulatedHost(cores=4, threads=2)
    return simulate(host, (1, 2, 4), repeats=6, seed=1, variants=("baseline", "smt_off"))


def test_a_soak_of_which_each_segment_failed_says_so_and_what_helps() -> None:
    """Neither drift nor two speeds were found, it said, and nothing of the segments, as a soak records them."""
    run = spoilt(experiments.soak(lambda *_: 2.0), "round", 4)
    found = explain(run)
    first = headline(found)
    assert first.headline == "Inconclusive: whether it drifts is not known; 12 rounds failed"
    assert (first.kind, first.remedy) == (Outcome.UNKNOWN, DOCTOR)
    assert "whether it drifts is not known, for every segment was cut short" in found.verdict
    assert "no drift was found" not in found.verdict
    assert "drift" not in {each.name for each in document(run, found).front.tiles}
    (failed,) = [each for each in found.findings if each.code == "failed-round"]
    assert failed.meaning == "executions that ended before count in the course of the soak, and in no slowdown"


def test_of_a_soak_in_which_nothing_ended_the_failure_is_what_is_to_be_helped() -> None:
    run = experiments.soak(lambda *_: 2.0)
    run = replace(run, rounds=tuple(e if e.anchor else replace(e, error="lost", sessions=()) for e in run.rounds))
    found = explain(run)
    assert headline(found).headline == "Nothing was measured; 12 rounds failed"
    assert headline(found).remedy == DOCTOR
    assert "drift" not in {each.name for each in document(run, found).front.tiles}


def test_a_soak_with_one_whole_segment_is_answered() -> None:
    run = experiments.soak(lambda *_: 2.0)
    failed = spoilt(run, "round", 4).rounds
    whole = next(each.order for each in run.rounds if not each.anchor)
    rounds = (old if old.order == whole else new for old, new in zip(run.rounds, failed, strict=True))
    found = explain(replace(run, rounds=tuple(rounds)))
    assert found.soak is not None
    assert found.soak.whole
    assert headline(found).headline == "Neither drift nor two speeds were found"


def test_segments_of_one_session_are_not_whole_because_it_was_whole_before_the_soak() -> None:
    run = experiments.soak(lambda *_: 2.0, sessions=1)
    failed = spoilt(run, "error", 1).rounds
    rounds = (old if old.anchor else new for old, new in zip(run.rounds, failed, strict=True))
    found = explain(replace(run, rounds=tuple(rounds)))
    assert found.soak is not None
    assert not found.soak.whole
    assert headline(found).headline.endswith("; 12 sessions failed")


@pytest.mark.parametrize("how", HOW)
def test_a_level_that_is_lost_under_a_further_variant_is_named_however_it_failed(how: str) -> None:
    """It was yes and nothing else after failed rounds or wrong answers, and after errors it named no variant."""
    run = spoilt(varied(), how, 4, variant="smt_off")
    found = explain(run)
    first, (code, helps) = headline(found), HOW[how]
    assert first.headline == "Yes: equal CPU at full speed up to 4 sessions; no whole round at N=4 under smt_off"
    assert first.remedy == helps
    assert found.levels_lost == ()
    assert found.failures is not None
    assert found.failures.lost == (LostLevel("smt_off", 4, (code,)),)
    assert found.verdict.endswith(
        " Under smt_off N=4 has no whole round: each failed, or a session of it failed or gave a wrong answer."
    )
    assert "under smt_off" in next(each.seen for each in found.findings if each.code == code)


def test_what_lost_levels_of_the_first_variant_is_helped_before_what_lost_those_of_others() -> None:
    """Errors of the second variant were to be helped first, and they had lost nothing of the answer."""
    found = headline(
        explain(spoilt(spoilt(varied(), "wrong answer", 2, variant="baseline"), "error", 2, variant="smt_off"))
    )
    assert found.headline == "Inconclusive; no whole round at N=2; no whole round at N=2 under smt_off"
    assert [(each.against, each.text) for each in found.advice] == [("", BY_HAND), ("failed sessions", ERROR)]


@pytest.mark.parametrize("variant", ["baseline", "smt_off"])
@pytest.mark.parametrize("how", HOW)
def test_a_level_with_a_whole_round_is_lost_under_no_variant(how: str, variant: str) -> None:
    run = varied()
    once = {each.order for each in run.rounds if each.repeat == 1}
    rounds = spoilt(run, how, 4, variant=variant).rounds
    found = explain(
        replace(run, rounds=tuple(o if o.order in once else n for o, n in zip(run.rounds, rounds, strict=True)))
    )
    assert found.failures is not None
    assert found.failures.lost == ()
    assert "no whole round" not in headline(found).headline + found.verdict

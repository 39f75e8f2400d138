"""A level of which no round is whole is named wherever a run is answered, with what to do."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline, one_word
from dbcpu.analysis.experiments import MAX_KEPT
from dbcpu.analysis.explain import explain, explain_rounds
from dbcpu.analysis.history.run_figures import run_figures
from dbcpu.analysis.results.answer import Answer, Outcome
from dbcpu.record.plan import auto_levels
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.reports.documents.run import document
from dbcpu.reports.documents.run_readings import reading
from dbcpu.reports.documents.run_scaling import scaling_words
from dbcpu.reports.tables.of_run import RUNS
from dbcpu.reports.tables.table import ExplainedRun
from dbcpu.simulator import SimulatedHost, simulate
from dbcpu.simulator.experiments import RunOptions, simulate_pool, simulate_together
from support.builders import experiments
from support.builders.record import host, record, round_of, session, solos
from support.builders.spoilt import SPOILT, failed, spoilt

LEVELS = (1, 2, 3, 4, 5, 6)


def swept() -> RunRecord:
    """Equal up to the four vCPUs."""
    return simulate(SimulatedHost(cores=4, threads=1), LEVELS, repeats=6, seed=1)


def with_failed_sessions(run: RunRecord, *levels: int, every: bool = False) -> RunRecord:
    """In each round of ``levels`` the first session failed, or all of them."""

    def changed(one: Round) -> Round:
        if one.level not in levels:
            return one
        kept = () if every else one.sessions[1:]
        return replace(one, sessions=(*map(failed, one.sessions[: len(one.sessions) - len(kept)]), *kept))

    return replace(run, rounds=tuple(map(changed, run.rounds)))


ROUNDS_HELP = "`dbcpu doctor TARGET` checks what can prevent a run"


def below(run: RunRecord, level: int) -> tuple[Round, ...]:
    return tuple(each for each in run.rounds if each.level < level)


def remedies(run: RunRecord) -> list[str]:
    return [each.text for each in headline(explain(run)).advice]


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
    assert (
        "N=4 has no whole round: each failed, or a session of it failed or gave a wrong answer; when that"
        in found.verdict
    )
    assert [(each.value, each.beside) for each in front.tiles if each.name == "failed rounds"] == [
        ("6", "of 36, at N=4")
    ]
    assert "`dbcpu doctor TARGET` checks what can prevent a run" in front.remedy


@pytest.mark.parametrize("how", SPOILT)
def test_whatever_is_wrong_with_a_session_of_each_round_the_level_is_named_and_helped(how: str) -> None:
    """After a wrong answer in each round of four sessions the headline said equal up to three, and nothing of four."""
    run = spoilt(swept(), how, 4)
    found = explain(run)
    front = document(run, found).front
    _, card, helps = SPOILT[how]
    assert headline(found).headline == "Equal CPU up to 3 sessions; no whole round at N=4"
    assert [(each.name, each.value, each.beside) for each in front.tiles if each.name == card] == [
        (card, "6", "of 126, at N=4")
    ]
    assert headline(found).remedy.startswith(helps)
    everywhere = headline(explain(spoilt(swept(), how, *LEVELS[1:])))
    assert everywhere.headline == "Inconclusive; no whole round at N=2-6"
    assert [each.text[: len(helps)] for each in everywhere.advice] == [helps], "more rounds of that decide nothing"


@pytest.mark.parametrize("how", SPOILT)
def test_the_headline_counts_as_failed_what_the_finding_does(how: str) -> None:
    found = explain(spoilt(swept(), how, 3, 4))
    seen = {each.code: each.seen for each in found.findings}
    failures = found.failures
    assert failures is not None
    assert ("failed-session" in seen) is bool(failures.sessions)
    assert ("wrong-answer" in seen) is bool(failures.wrong)
    counted = failures.sessions + failures.wrong
    assert seen.get("failed-session", seen.get("wrong-answer", "")).startswith(f"{counted} sessions ")


@pytest.mark.parametrize("how", [*SPOILT, "round"])
def test_all_parts_leave_a_level_open_of_which_no_round_is_whole(how: str) -> None:
    """Four sessions had equal shares at full speed, and all levels were even, where the rounds of three had failed."""
    found = explain(spoilt(swept(), how, 3))
    assert headline(found).headline == "Equal CPU up to 2 sessions; no whole round at N=3"
    assert found.verdict.startswith("Up to 2 sessions all get equal CPU at full speed")
    assert found.capacity is not None
    assert (found.capacity.full_speed_up_to, found.capacity.even_up_to) == (2, 2)
    assert found.capacity.evenness is not None
    assert found.capacity.evenness.even is Answer.UNDECIDED
    assert found.capacity.evenness.interval is None
    assert "inconclusive" not in {each.code for each in found.findings}
    assert "--repeats" not in headline(found).remedy, "more rounds do not help against what failed"
    assert found.more_rounds is None


@pytest.mark.parametrize("how", [*SPOILT, "round"])
def test_without_a_level_up_to_the_vcpus_nothing_is_said_of_those_above_alone(how: str) -> None:
    """It was no, by those above the vCPUs, where the rounds up to them had failed."""
    found = headline(explain(spoilt(swept(), how, 2, 3, 4)))
    assert (found.kind, found.headline) == (Outcome.UNKNOWN, "Inconclusive; no whole round at N=2-4")


def test_what_else_is_open_is_to_be_decided_after_the_failure() -> None:
    noisy = simulate(SimulatedHost(cores=4, threads=1, noise=0.08), LEVELS, repeats=3, seed=2)
    assert headline(explain(noisy)).headline.startswith("Inconclusive at N=2-4"), "else this tests nothing"
    found = headline(explain(spoilt(noisy, "error", 3)))
    assert found.headline == "Inconclusive at N=2,4; no whole round at N=3"
    assert found.remedy.startswith("read the error in the database's log")
    assert "To decide: " in found.remedy


def test_advised_is_what_helps_against_the_failure_that_lost_the_level() -> None:
    """Against rounds that failed it was to read the error of a session that failed at another level."""
    run = spoilt(spoilt(swept(), "error", 2, only=1), "round", 3)
    assert remedies(run)[0] == ROUNDS_HELP
    assert not any("read the error" in each for each in remedies(run))
    both = remedies(spoilt(spoilt(swept(), "error", 2), "wrong answer", 3))
    assert both[0].startswith("read the error")
    assert both[1].startswith("run the workload's file")


def test_a_lost_level_above_the_vcpus_leaves_the_answer_up_to_them() -> None:
    found = explain(with_failed_sessions(swept(), 5))
    assert headline(found).headline == "Yes up to 4 sessions; above 4 shares are unequal; no whole round at N=5"
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


def test_a_pool_that_failed_was_measured() -> None:
    """Whether four are enough was not measured, it said."""
    small = experiments.pool({1: 10.0, 2: 9.0, 4: 5.0, 8: 4.0}, pieces=40)
    run = explain(with_failed_sessions(small, 4))
    assert run.pool is not None
    assert run.pool.enough == 8
    assert "whether 4 would be enough is not known" in run.verdict
    assert "not measured (" not in run.verdict
    assert "sizes between" not in run.verdict


def test_where_the_largest_pool_failed_no_larger_ones_are_asked_for() -> None:
    """Eight was the largest measured pool, it said, and the headline said of sixteen the same twice."""
    run = simulate_pool(SimulatedHost(cores=16, threads=1), 60, (2, 4, 8, 16), RunOptions(repeats=6, seed=1))
    assert "the largest measured pool, with 8" in explain(replace(run, rounds=below(run, 16))).verdict
    found = explain(with_failed_sessions(run, 16))
    assert headline(found).headline == "Inconclusive: no pool size is shown to be enough; no whole round at N=16"
    assert "the largest pool with a whole round, with 8, takes the shortest time" in found.verdict
    assert "measure larger ones" not in found.verdict
    fastest = "of those measured, larger ones {}"
    for each, words in (
        (found, "have no whole round"),
        (explain(replace(run, rounds=below(run, 16))), "were not measured"),
    ):
        (tile,) = [one for one in document(run, each).front.tiles if one.name == "fastest pool"]
        assert tile.beside == fastest.format(words)


def test_the_picture_of_a_pool_says_that_larger_ones_failed() -> None:
    found = explain(with_failed_sessions(experiments.pool({1: 10.0, 2: 5.0, 4: 5.0}), 4))
    assert reading("pool", found, ()).endswith("Larger ones have no whole round.")


def test_where_all_pools_failed_they_are_named_with_what_helps() -> None:
    """There was no advice, and no level was said to be without a whole round."""
    found = explain(with_failed_sessions(experiments.pool({1: 10.0, 2: 5.0, 4: 5.0}), 1, 2, 4))
    first = headline(found)
    assert found.levels_lost == (1, 2, 4)
    assert first.headline == "No pool finished all of its jobs; no whole round at N=1-2,4"
    assert first.remedy.startswith("read the error")
    assert "The pools of 1, 2 and 4 have no whole round" in found.verdict


@pytest.mark.parametrize("how", SPOILT)
def test_a_soak_of_which_no_segment_is_whole_says_so_and_what_helps(how: str) -> None:
    run = spoilt(experiments.soak(lambda *_: 2.0, sessions=4), how, 4)
    found = explain(run)
    first = headline(found)
    words = "12 sessions gave a wrong answer" if how == "wrong answer" else "12 sessions failed"
    assert first.headline.endswith(f"; {words}")
    assert first.remedy.startswith(SPOILT[how][2])
    assert "Every segment failed, or a session of it failed or gave a wrong answer" in found.verdict
    once = explain(spoilt(experiments.soak(lambda *_: 2.0, sessions=4), how, 4, only=3))
    assert "Every segment failed" not in once.verdict


def test_who_ends_no_execution_in_a_segment_of_a_soak_but_does_later_did_not_fail() -> None:
    """Of executions that last longer than a segment the sessions had failed, it said."""
    run = spoilt(experiments.soak(lambda *_: 2.0, sessions=4), "no execution", 4, only=3)
    found = explain(run)
    assert found.failures is None
    assert "failed-session" not in {each.code for each in found.findings}
    assert [each.why for each in found.sessions if not each.valid] == ["no execution ended in this segment"]


def test_slower_targets_without_a_whole_round_have_advice() -> None:
    """A target was slower by half, and nothing was said of what helps: no round of all was whole."""
    run = simulate_together(SimulatedHost(cores=4, threads=1), (4, 4), (), RunOptions(repeats=6, seed=1))
    first = headline(explain(with_failed_sessions(run, 8)))
    assert first.headline.startswith("Slower beside the others: database-2")
    assert first.remedy.startswith("run no more than 4 busy sessions")
    assert "Against failed sessions: read the error in the database's log" in first.remedy


def test_a_target_of_which_each_round_alone_failed_has_that_helped_first() -> None:
    """Longer executions were to decide what it loses."""
    run = simulate_together(SimulatedHost(cores=8, threads=1), (2, 3), (), RunOptions(repeats=6, seed=1))
    first = headline(explain(spoilt(run, "wrong answer", 2)))
    assert first.headline.startswith("Inconclusive: what database-1 loses beside the others is not known")
    assert first.remedy.startswith("run the workload's file below `sql/` by hand")


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


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((6,), "No: above 2 they take turns, in unequal shares at N=3; no whole round at N=6"),
        ((3, 4), "No: above 2 they take turns; no whole round at N=3-4"),
    ],
)
def test_a_lost_level_above_the_vcpus_does_not_hide_what_the_others_lost(levels: tuple[int, ...], said: str) -> None:
    """ "Inconclusive at all levels" stood above a verdict that all are slower."""
    run = simulate(SimulatedHost(cores=2, threads=1), (1, 3, 4, 6), repeats=6, seed=1)
    assert headline(explain(spoilt(run, "error", *levels))).headline == said


@pytest.mark.parametrize("how", ["error", "round"])
def test_from_a_level_on_is_not_said_where_a_later_one_has_no_whole_round(how: str) -> None:
    """From 5 on some are slower, it said where the rounds of 10 had failed, and not where a session of each had."""
    run = simulate(SimulatedHost(cores=4, threads=2), (1, 4, 5, 8, 10), repeats=6, seed=1)
    assert headline(explain(run)).headline == "Yes up to 4 sessions, from 5 on some are slower"
    found = explain(spoilt(run, how, 10))
    assert headline(found).headline == "Yes up to 4 sessions, at N=5 some are slower; no whole round at N=10"
    assert "on, some are slower" not in found.verdict


def test_a_lost_level_gives_the_usable_cores_that_there_are_without_it() -> None:
    """5.0 of an interval from 5.0 to 5.0, beside a peak of 5.35 times a single session."""
    run = simulate(SimulatedHost(cores=4, threads=2), (1, 2, 4, 5, 6, 8, 10), repeats=6, seed=1)
    unmeasured = replace(run, rounds=tuple(each for each in run.rounds if each.level != 8))
    spoiled, without = (explain(each).capacity for each in (spoilt(run, "round", 8), unmeasured))
    assert spoiled is not None
    assert without is not None
    assert without.usable_cores is not None
    assert spoiled.usable_cores == without.usable_cores
    assert spoiled.usable_cores_interval == without.usable_cores_interval


def test_sessions_at_full_speed_are_advised_whatever_level_below_is_lost() -> None:
    """Shown at full speed up to 1, beside a verdict with 6 at full speed."""
    run = simulate(SimulatedHost(cores=4, threads=1, waits=0.5), (1, 2, 4, 6, 16), repeats=6, seed=1)
    found = explain(spoilt(run, "wrong answer", 2))
    assert "equal CPU at full speed at N=4,6" in found.verdict
    helps = " ".join(each.text for each in headline(found).advice)
    assert "shown at full speed up to 6 and inconclusive beyond" in helps


@pytest.mark.parametrize(("host", "levels", "lost", "most"), [
    (SimulatedHost(cores=4, threads=2, waits=0.5, quota_cpus=6.2, scheduler="smt_balancing"), (6, 7, 8, 12), 7, 8),
    (SimulatedHost(cores=4, threads=2, waits=0.6, scheduler="smt_balancing"), (1, 4, 8, 9, 10, 14), 9, 10),
], ids=["under a quota", "on shared cores"])  # fmt: skip
def test_one_number_of_sessions_is_advised_beside_a_lost_level(
    host: SimulatedHost, levels: tuple[int, ...], lost: int, most: int
) -> None:
    """Six or eight, and eight where ten were at full speed, were advised: the level before the lost one."""
    found = explain(spoilt(simulate(host, levels, 6, seed=1, size="medium"), "error", lost))
    assert set(re.findall(r"no more than (\d+)", headline(found).remedy)) == {str(most)}
    assert set(re.findall(r"[Aa]bove (\d+)", found.verdict)) == {str(most)}


@pytest.mark.parametrize("how", ["error", "round"])
def test_a_level_without_a_whole_round_was_measured(how: str) -> None:
    """`--sessions auto` was advised, which had measured it, and 5 sessions were called the highest level."""
    run = simulate(SimulatedHost(cores=4, threads=1, noise=0.2), auto_levels(4, 4), repeats=3, seed=1)
    spoiled = spoilt(run, how, 4)
    words = scaling_words(spoiled, explain(spoiled))
    assert "no curve was found" in words
    assert "--sessions auto" not in words
    run = simulate(SimulatedHost(cores=8, threads=1), (1, 2, 3, 4, 5, 6), repeats=3, seed=1)
    spoiled = spoilt(run, how, 6)
    words = scaling_words(spoiled, explain(spoiled))
    assert "no knee was found up to 5 sessions, the highest level that has a throughput" in words
    assert "no knee was found up to 6 sessions, the highest level measured" in scaling_words(run, explain(run))


@pytest.mark.parametrize("how", ["error", "round"])
@pytest.mark.parametrize("level", [2, 3, 4])
def test_rounds_of_a_level_with_one_whole_round_are_not_said_to_differ(level: int, how: str) -> None:
    run = simulate(SimulatedHost(cores=4, threads=1), LEVELS[:4], repeats=3, seed=1)
    found = explain(spoilt(spoilt(run, how, level, only=1), how, level, only=2))
    words = f"at N={level} one round proves no equality"
    assert "rounds differ" not in found.verdict
    assert words in found.verdict
    assert words in next(each.seen for each in found.findings if each.code == "inconclusive")

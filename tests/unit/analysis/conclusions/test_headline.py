"""The first screen: yes or no, how much, to what, and what helps."""

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import Headline, headline, one_word, who_has_cause
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.answer import Outcome
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import Foreign, Round, RunRecord
from support.builders.comparison import noisy_run
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import SOLO_S, host, record, round_of, session, solos


def answered(run: RunRecord) -> Headline:
    return headline(explain(run))


def pairs(rounds: int = 5) -> list[Round]:
    return [round_of([session(0), session(1)], repeat=at, order=10 + at) for at in range(rounds)]


def facts(run: RunRecord) -> dict[str, tuple[str, str]]:
    return {each.name: (each.value, each.beside) for each in answered(run).facts}


def test_equal_sessions_are_a_yes_without_a_remedy() -> None:
    found = answered(record([*solos(), *pairs()]))
    assert (found.kind, found.headline, found.remedy) == (
        Outcome.GOOD,
        "Yes: equal CPU at full speed up to 2 sessions",
        "",
    )


def test_noise_that_hides_a_shared_core_is_no_yes() -> None:
    alone = [round_of([session(0, run_s)], repeat=i, order=i) for i, run_s in enumerate((1.0, 1.8, 3.1))]
    found = answered(record([*alone, *pairs()]))
    assert (found.kind, found.headline) == (Outcome.UNKNOWN, "Inconclusive at N=2")
    assert "a dedicated host" in found.remedy


def test_noise_by_waiting_asks_for_a_quieter_host() -> None:
    alone = [round_of([session(0, 0.9, gap_s=gap_s)], repeat=i, order=i) for i, gap_s in enumerate((0.1, 0.9, 2.2))]
    found = answered(record([*alone, *pairs()]))
    assert found.headline == "Inconclusive at N=1-2", "nor is it known what a single session gets"
    assert "measure on a quieter host" in found.remedy


def test_noise_by_steal_asks_for_cpus_of_its_own() -> None:
    alone = [
        round_of([session(0, run_s)], order=i, busy_s={0: run_s}, steal_s={0: 0.08 * run_s})
        for i, run_s in enumerate((1.1, 1.8, 3.1))
    ]
    found = answered(record([*alone, *pairs()]))
    assert found.headline == "Inconclusive at N=2"
    assert found.remedy.startswith("use a dedicated host")


def test_little_steal_in_one_round_is_not_why_the_noise_is_large() -> None:
    runs_s = (1.1, 1.8, 3.1)
    alone = [
        round_of([session(0, run_s)], order=i, busy_s={0: run_s}, steal_s={0: 0.02 * run_s if i == 0 else 0.0})
        for i, run_s in enumerate(runs_s)
    ]
    run = record([*alone, *pairs()])
    assert "steal" in {each.code for each in explain(run).findings}
    assert "hypervisor" not in answered(run).remedy


def test_what_a_single_session_loses_has_one_cause_in_verdict_figures_and_remedy() -> None:
    behind = [
        round_of([session(0, 1.0, 0.8)], order=i, busy_s={0: 1.8}, foreign=(Foreign(7, "gzip", 0.8, (0,)),))
        for i in range(3)
    ]
    run = record([*behind, *pairs()])
    assert "(other processes)" in explain(run).verdict
    assert facts(run)["main cause"] == ("other processes", "44 % of the time at N = 1")
    assert facts(run)["single session"][1].endswith(", lost 44 % of its time (median of rounds)")
    assert answered(run).remedy == {each.code: each.remedy for each in explain(run).findings}["foreign-load"]


def test_losing_though_there_are_vcpus_is_bad_and_the_remedy_fits_the_cause() -> None:
    found = answered(nine_on_eight())
    assert (found.kind, found.headline) == (Outcome.BAD, "Yes up to 8 sessions, at N=9 some are slower")
    assert found.remedy.startswith("run one session per core: fewer sessions (a pool of 8)")
    assert facts(nine_on_eight())["slowest over fastest"] == ("1.51x", "median of rounds, at 9 sessions")
    assert facts(nine_on_eight())["single session"] == ("22.8", "Mrows/s, 1.80 s")


def test_losing_beyond_the_vcpus_only_is_half_a_yes() -> None:
    found = answered(three_on_two())
    assert (found.kind, found.headline) == (Outcome.PARTLY, "Yes up to 2 sessions; above 2 shares are unequal")
    assert found.remedy.startswith("run no more than 2 busy sessions")
    assert facts(three_on_two())["main cause"] == ("run-queue wait", "6 of 9 sessions at N = 3")


def test_all_slow_from_the_start_is_a_no() -> None:
    slow = [round_of([session(0, 3.6), session(1, 3.6)], repeat=i) for i in range(5)]
    found = answered(record([*solos(), *slow], host(4), vcpus=4))
    assert (found.kind, found.headline) == (Outcome.BAD, "No: at N=2 all are slower")


def test_misplaced_sessions_are_to_be_placed_better_not_to_be_fewer() -> None:
    crowded = [session(0, 2.7, cpu=0), session(1, 2.7, cpu=2), session(2, 1.8, cpu=1)]
    wide = [replace(each, allowed_cpus=tuple(range(8))) for each in crowded]
    run = record([*solos(), *(round_of(wide, repeat=i) for i in range(3))], host(2, 2), vcpus=4)
    three_cores = answered(run).remedy
    assert three_cores.startswith("run one session per core")
    roomy = [replace(session(at, 2.7, cpu=cpu), allowed_cpus=tuple(range(8))) for at, cpu in enumerate((0, 4))]
    counted = [round_of(roomy, repeat=i, busy_s={0: 2.7, 4: 2.7}) for i in range(3)]
    run = record([*solos(), *counted], host(4, 2), vcpus=8)
    assert answered(run).remedy.startswith("pin each session to a CPU")
    assert run.header.host is not None
    old = replace(run, header=replace(run.header, host=replace(run.header.host, kernel="5.15.0-1")))
    assert answered(old).remedy.startswith("use a kernel whose scheduler balances over SMT")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (record([], status="failed"), "Nothing was measured"),
        (record(solos()), "Too few measurements for an answer"),
        (record([round_of([session(0), session(1, 2.7)])]), "Too few measurements for an answer"),
    ],
    ids=["empty", "solo only", "no solo"],
)
def test_without_levels_to_hold_against_each_other_there_is_no_answer(run: RunRecord, words: str) -> None:
    assert (answered(run).kind, answered(run).headline) == (Outcome.UNKNOWN, words)


def test_waiting_behind_other_processes_is_not_mended_by_fewer_sessions() -> None:
    """There are two CPUs for two sessions, and others use one of them all the time."""
    others = (Foreign(7, "gzip", 1.8, (0,)),)
    slow = [
        round_of([session(0, SOLO_S, SOLO_S), session(1)], order=at, busy_s={0: 3.6, 1: 1.8}, foreign=others)
        for at in range(10, 13)
    ]
    alone = [replace(each, foreign=others) for each in solos()]
    run = record([*alone, *slow])
    found = answered(run)
    assert found.kind == Outcome.BAD
    assert "fewer" not in found.remedy and "no more than" not in found.remedy
    assert found.remedy == {each.code: each.remedy for each in explain(run).findings}["foreign-load"]


@pytest.mark.parametrize(
    ("run", "word"),
    [
        (noisy_run(1, cores=4, threads=1, levels=(1, 2, 3, 4)), "equal"),
        (noisy_run(1, uneven=1.5), "unequal"),
        (three_on_two(), "partly"),
        (noisy_run(1, levels=(1,)), "inconclusive"),
    ],
)
def test_the_answer_in_one_word(run: RunRecord, word: str) -> None:
    assert one_word(explain(run)) == word


def test_a_single_session_that_loses_half_its_time_is_a_no_with_the_remedy_of_its_cause() -> None:
    behind = [
        round_of([session(0, 1.0, 0.8)], order=i, busy_s={0: 1.8}, foreign=(Foreign(7, "gzip", 0.8, (0,)),))
        for i in range(3)
    ]
    found = answered(record(behind))
    assert (found.kind, found.headline) == (Outcome.BAD, "No: even a single session does not get a whole CPU")
    assert found.remedy == {each.code: each.remedy for each in explain(record(behind)).findings}["foreign-load"]


def test_after_single_sessions_alone_the_remedy_is_to_measure_several() -> None:
    assert "--sessions auto" in answered(record(solos())).remedy


def test_without_an_explanation_a_sampled_host_is_not_sent_to_be_sampled() -> None:
    """Two sessions are slow, off CPU and with nothing counted for it."""
    gone = [round_of([session(0, SOLO_S, gap_s=SOLO_S), session(1)], order=at) for at in range(10, 13)]
    found = answered(record([*solos(), *gone]))
    assert facts(record([*solos(), *gone]))["main cause"][0] == "unexplained"
    assert "sampler trace" in found.remedy and "can be sampled" not in found.remedy


def test_a_main_cause_of_few_sessions_is_shown_beside_that_of_most() -> None:
    level = explain(nine_on_eight()).levels[-1]
    level = replace(level, causes=((Cause.SHARED_CORE, 2), (Cause.RUN_QUEUE, 5)), sessions=9)
    assert who_has_cause(level, Cause.SHARED_CORE) == "2 of 9 sessions, the most time lost (run-queue wait: 5)"
    most = replace(level, causes=((Cause.SHARED_CORE, 5), (Cause.NONE, 7)))
    assert who_has_cause(most, Cause.SHARED_CORE) == "5 of 9 sessions"

"""A round in which a session failed has fewer sessions than its level: its rate is none of that level."""

import pytest

from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.round_figures import figures_by_round
from dbcpu.record.rounds import Round, RunRecord
from dbcpu.reports.documents.run_scaling import scaling_words
from support.builders.record import host, record, round_of, session


def one_core(failed: int, repeats: int = 3) -> RunRecord:
    """Two threads of one core, on which two sessions take 1.5 times as long; in ``failed`` rounds one fails."""
    rounds: list[Round] = []
    for at in range(repeats):
        error = "terminated" if at < failed else None
        both = [session(0, run_s=1.5), session(1, run_s=1.5, answer_ok=None if error else True, error=error)]
        rounds += [round_of([session(0, run_s=1.0)], repeat=at), round_of(both, repeat=at)]
    return record(rounds, host(cores=1, threads=2))


@pytest.mark.parametrize("failed", [0, 1])
def test_rounds_without_a_failure_are_the_level(failed: int) -> None:
    run = one_core(failed)
    found = explain(run)
    assert found.levels[1].throughput == pytest.approx(2 / 1.5 * (found.levels[0].throughput or 0))
    words = scaling_words(run, found)
    assert "SMT adds 33 % (95 % CI" in words and "; consistent with the reported topology" in words


def test_a_level_without_a_whole_round_has_no_rate_and_says_nothing_of_the_host() -> None:
    run = one_core(failed=3)
    found = explain(run)
    level = found.levels[1]
    assert (level.throughput, level.makespan_throughput, level.lasting_throughput, level.efficiency) == (None,) * 4
    assert (found.scaling.smt_yield, found.scaling.knees, found.topology, found.capacity) == (None, (), None, None)
    assert scaling_words(run, found) == ""
    assert {each.level for each in figures_by_round(run)} == {1}, "what comparisons resample"


@pytest.mark.parametrize(("failed", "level"), [(0, 3), (2, 3), (3, 2)])
def test_evenness_is_quoted_of_no_level_without_a_whole_round(failed: int, level: int) -> None:
    rounds: list[Round] = []
    for at in range(3):
        error = "terminated" if at < failed else None
        last = session(2, run_s=1.0, answer_ok=None if error else True, error=error)
        rounds += [round_of([session(each, run_s=1.0) for each in range(n)], repeat=at) for n in (1, 2)]
        rounds.append(round_of([session(0, run_s=1.0), session(1, run_s=1.8), last], repeat=at))
    room = explain(record(rounds, host(cores=4, threads=1), vcpus=4)).capacity
    assert room is not None and room.evenness is not None
    found = room.evenness
    assert (found.level, round(found.value, 2)) == (level, 1.0 if level == 2 else 0.56)


def test_one_round_a_level_verifies_no_core_and_no_second_thread() -> None:
    run = one_core(failed=0, repeats=1)
    words = scaling_words(run, explain(run))
    assert "SMT" not in words and "consistent" not in words, words
    assert "not verified whether there are as many cores as reported" in words

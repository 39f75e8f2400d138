"""The stacked parts of a session's time: they add up, and steal and waits are told apart within the gap."""

import pytest

from dbcpu.analysis.causes.time_parts import PART_WORDS, TimeParts, pieces, time_parts
from dbcpu.analysis.explain import explain
from dbcpu.analysis.results.cause import Cause
from dbcpu.record.rounds import Round, RunRecord, Wait
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.example import nine_on_eight, three_on_two
from support.builders.record import record, round_of, session, solos


def slowest(*rounds: Round) -> TimeParts:
    run = record([*solos(), *rounds])
    return time_parts(run, explain(run))[0]


def test_stolen_time_is_told_apart_from_other_time_off_the_cpu() -> None:
    pair = round_of([session(0, 1.8, gap_s=1.8), session(1, 1.8)], busy_s={0: 1.8, 1: 1.8}, steal_s={0: 1.5})
    parts = slowest(pair)
    assert parts.steal_s == pytest.approx(1.5, rel=0.02)
    assert parts.off_s == pytest.approx(0.3, rel=0.1)
    assert parts.wait_s == 0.0


def test_sleep_and_counted_waits_are_waiting() -> None:
    asleep = slowest(round_of([session(0, 1.8, gap_s=1.8, gap_state="S"), session(1, 1.8)]))
    counted = slowest(round_of([session(0, 1.8, gap_s=1.8, waits=(Wait("Lock", 1, 1.2),)), session(1, 1.8)]))
    assert asleep.wait_s == pytest.approx(1.8, rel=0.02)
    assert counted.wait_s == pytest.approx(1.2)
    assert counted.off_s == pytest.approx(0.6)


def test_cpu_time_beyond_that_alone_is_stolen_only_where_steal_covers_most_of_it() -> None:
    def parts(steal_s: float) -> TimeParts:
        rounds = round_of([session(0, 3.0), session(1, 1.8)], busy_s={0: 3.0, 1: 1.8}, steal_s={0: steal_s})
        return slowest(rounds)

    assert [parts(1.2).steal_s, parts(1.2).inflation_s] == pytest.approx([1.2, 0.0])
    assert [parts(0.3).steal_s, parts(0.3).inflation_s] == pytest.approx([0.0, 1.2])


@pytest.mark.parametrize("run", [three_on_two(), nine_on_eight()], ids=["three_on_two", "nine_on_eight"])
def test_parts_add_up_to_the_elapsed_time_and_none_is_negative(run: RunRecord) -> None:
    found = time_parts(run, explain(run))
    assert [each.view.elapsed_s or 0.0 for each in found] == sorted(
        (each.view.elapsed_s or 0.0 for each in found), reverse=True
    )
    for each in found:
        parts = [getattr(each, name) for name in PART_WORDS]
        assert min(parts) >= 0.0
        assert sum(parts) == pytest.approx(each.view.elapsed_s, rel=0.01)


def test_a_bar_names_its_largest_loss_as_its_label_does() -> None:
    """A wait for other processes was blue and called run-queue wait, beside the words other processes."""
    host = SimulatedHost(cores=4, threads=1, scheduler="frozen", noisy_neighbour=0.8)
    run = simulate(host, (1, 4), 3, seed=1, size="medium")
    found = [each for each in time_parts(run, explain(run)) if each.view.cause is Cause.COMPETITOR]
    assert found
    for parts in found:
        lost = {each.words: each.seconds for each in pieces(parts) if each.name != "reference_s"}
        assert max(lost, key=lambda words: lost[words]) == Cause.COMPETITOR.words


@pytest.mark.parametrize("run", [three_on_two(), nine_on_eight()], ids=["three_on_two", "nine_on_eight"])
def test_pieces_are_the_parts_divided(run: RunRecord) -> None:
    for parts in time_parts(run, explain(run)):
        assert min(each.seconds for each in pieces(parts)) >= 0.0
        whole_s = sum(getattr(parts, name) for name in PART_WORDS)
        assert sum(each.seconds for each in pieces(parts)) == pytest.approx(whole_s)


def test_without_a_reference_there_are_no_parts() -> None:
    run = record([round_of([session(0), session(1)])])
    assert time_parts(run, explain(run)) == ()


def test_a_session_that_needed_less_cpu_time_than_alone_has_no_longer_bar() -> None:
    less = slowest(round_of([session(0, 1.5, queue_s=1.2), session(1, 1.8)]))
    assert (less.view.inflation_s or 0.0) < -0.1
    assert sum(getattr(less, name) for name in PART_WORDS) == pytest.approx(less.view.elapsed_s)
    assert 0.0 < less.reference_s < (less.view.reference_s or 0.0)

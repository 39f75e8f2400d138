"""Rounds of one level in some of which sessions are slow, and in the others none."""

import re

import pytest
from msgspec.structs import replace

from dbcpu.analysis.conclusions.headline import headline
from dbcpu.analysis.explain import explain
from dbcpu.analysis.levels.answers import EVEN_LIMIT
from dbcpu.analysis.levels.rounds_apart import level_with_most_slow_rounds, rounds_apart, rounds_differ
from dbcpu.analysis.results.answer import Answer
from dbcpu.analysis.results.cause import Cause
from dbcpu.analysis.results.run import Analysis, RoundsApart
from dbcpu.reports.documents.run_summary import cause_counts
from dbcpu.simulator import SimulatedHost, simulate
from support.builders.record import SOLO_S, host, record, round_of, session, solos

SLOW = 1.5


def of(*slowed: int, sessions: int = 2, vcpus: int = 8) -> Analysis:
    """Of so many slowed sessions in each round of a level."""
    rounds = [
        round_of(
            [session(i, SOLO_S * (SLOW if i < many else 1.0), cpu=i) for i in range(sessions)], repeat=at, order=10 + at
        )
        for at, many in enumerate(slowed)
    ]
    return explain(record([*solos(6), *rounds], measured_host=host(vcpus), vcpus=vcpus))


@pytest.mark.parametrize(
    ("slower", "slowest", "found"),
    [
        ([[1.5, 1.5], []], [1.5, 1.0], RoundsApart(1, 2, 1.5, 2)),
        ([[1.5, 1.5], [], [1.4], []], [1.5, 1.1, 1.4, 1.0], RoundsApart(2, 1, 1.5, 2)),
        ([[1.5, 1.5], [1.5]], [1.5, 1.5], None),
        ([[], []], [1.0, 1.0], None),
        ([[1.12, 1.12], []], [1.12, 1.08], None),
        ([], [], None),
    ],
)
def test_the_two_kinds(slower: list[list[float]], slowest: list[float], found: RoundsApart | None) -> None:
    assert rounds_apart(slower, slowest) == found


def test_a_slowdown_that_no_session_had_is_not_said_of_all() -> None:
    """CPUs that share cores unseen: two sessions are both slow, or both fast."""
    hidden = SimulatedHost(cores=4, threads=2, hidden_smt=True)
    found = explain(simulate(hidden, (1, 2, 3, 4, 5, 6, 7, 8), repeats=6, seed=5))
    level = found.levels[1]
    assert (level.even, level.full_speed) == (Answer.YES, Answer.UNDECIDED), (
        "of the usual round three of six say little"
    )
    assert level.slowdown_median == pytest.approx(1.25, abs=0.02)
    assert level.rounds_apart is not None and level.rounds_apart.rounds == 3
    assert not re.search(r"1\.25x|equally slow|turbo", found.verdict)


def test_some_of_the_sessions_of_some_rounds() -> None:
    found = of(0, 2, 0, 0, 2, 2, sessions=4)
    assert (
        "at 4 sessions, in 3 of 6 rounds 2 of 4 have a slowdown of 1.50x, in the others none" in found.verdict.lower()
    )
    assert "more rounds may decide" in found.verdict


def test_rounds_with_unlike_many_slow_sessions() -> None:
    assert "in 2 of 6 rounds 2 to 4 of 4 have a slowdown of 1.50x, in the others none" in (
        of(0, 4, 0, 2, 0, 0, sessions=4).verdict
    )


def test_what_is_slow_in_most_rounds_is_said_of_the_usual_one() -> None:
    assert "t 2 sessions all are equally slow, with a slowdown of 1.50x" in of(2, 2, 2, 2, 2, 2, 2, 0).verdict


@pytest.mark.parametrize(
    ("slow", "answer"),
    [((2, 0), "undecided"), ((2, 2), "no"), ((2, 2, 2, 2, 0), "undecided"), ((2,) * 7 + (0,), "no")],
)
def test_rounds_that_differ_speak_for_the_usual_one_where_so_few_are_calm(slow: tuple[int, ...], answer: str) -> None:
    """By the sign test, as a yes does: one calm round of five is as likely as not, one of eight is not."""
    (level,) = [each for each in of(*slow).levels if each.level == 2]
    assert level.full_speed.value == answer


def test_rounds_that_differ_are_no_noise() -> None:
    found = of(2, 0, 2, 0, 0, 0)
    assert "rounds differ (at 2 sessions, in 2 of 6 rounds all have a slowdown of 1.50x, in the others none)" in (
        found.verdict
    )
    assert "within noise" not in found.verdict
    [finding] = [each for each in found.findings if each.code == "inconclusive"]
    assert "rounds at N=2 differ: in 2 of 6 rounds all have a slowdown of 1.50x" in finding.seen
    assert "within noise" not in finding.seen


def test_verdict_and_finding_name_the_level_with_the_most_slow_rounds() -> None:
    """Of three sessions in one round of six, of two in two."""
    slowed = {2: (2, 0, 2, 0, 0, 0), 3: (3, 0, 0, 0, 0, 0)}
    rounds = [
        round_of(
            [session(i, SOLO_S * (SLOW if many else 1.0), cpu=i) for i in range(level)],
            repeat=at,
            order=10 * level + at,
        )
        for level, each in slowed.items()
        for at, many in enumerate(each)
    ]
    found = explain(record([*solos(6), *rounds], measured_host=host(8), vcpus=8))
    assert level_with_most_slow_rounds(found.levels) is found.levels[1]
    [finding] = [each for each in found.findings if each.code == "inconclusive"]
    assert "rounds differ (at 2 sessions, in 2 of 6 rounds" in found.verdict
    assert "rounds at N=2 differ: in 2 of 6 rounds" in finding.seen


def test_a_single_session_that_is_slow_in_some_rounds_has_no_median_slowdown() -> None:
    """Half of its rounds ran on another node than the memory."""
    far = SimulatedHost(sockets=2, cores=4, threads=1, nodes=2, remote_slowdown=0.6, memory_node=0)
    for seed in range(1, 20):
        found = explain(simulate(far, (1, 4), repeats=6, seed=seed))
        apart = found.levels[0].rounds_apart
        if apart is not None and apart.rounds == 3:
            break
    assert rounds_differ(found.levels[0])
    assert "even a single session is not always fast: in 3 of 6 rounds it has a slowdown of " in found.verdict.lower()
    assert "median slowdown" not in found.verdict


def test_rounds_that_differ_by_interrupts_do_not_send_the_reader_to_hidden_cores() -> None:
    found = explain(
        simulate(
            SimulatedHost(cores=4, threads=1, irq=0.5, scheduler="smt_balancing"), (1, 2), 5, seed=2, size="medium"
        )
    )
    (level,) = [each for each in found.levels if each.level == 2]
    assert level.rounds_apart is not None and level.rounds_apart.cause == "irq"
    assert "x through interrupts, in the others none" in found.verdict
    assert "share cores" not in found.verdict + headline(found).remedy
    assert "more rounds" in found.verdict
    assert headline(found).remedy.startswith("move interrupts")


@pytest.mark.parametrize("repeats", [2, 3, 6])
def test_one_busy_cpu_makes_few_levels_unequal(repeats: int) -> None:
    """Over many rounds the usual round of two sessions is even: a busy CPU meets one of eight."""
    host = SimulatedHost(cores=8, threads=1, irq=0.4, scheduler="smt_balancing")
    runs = [explain(simulate(host, (1, 2), repeats, seed, size="short")) for seed in range(20)]
    assert sum(each.levels[1].even is Answer.NO for each in runs) <= 1


def kept_waiting(*queued_s: float) -> Analysis:
    """Of two sessions that wait so long in each round, beside single sessions that wait as well, or not, by turns."""
    alone = [round_of([session(0, 1.4, wait_s)], repeat=at, order=at) for at, wait_s in enumerate((0.0, 0.8, 0.1, 0.9))]
    pairs = [
        round_of([session(i, 1.4, wait_s, cpu=i) for i in range(2)], repeat=at, order=10 + at)
        for at, wait_s in enumerate(queued_s)
    ]
    return explain(record([*alone, *pairs], measured_host=host(8), vcpus=8))


def test_a_count_that_differs_from_round_to_round_is_no_noise_and_no_loss() -> None:
    """The table said 51 % lost of a level of which the verdict said that slowdowns below 3.08x are within noise."""
    found = kept_waiting(0.0, 1.4, 1.4)
    level = found.levels[1]
    assert level.full_speed is Answer.UNDECIDED
    assert level.rounds_apart is not None
    as_whole = replace(level.rounds_apart, slowdown=round(level.rounds_apart.slowdown, 6))
    assert as_whole == RoundsApart(2, 2, 2.0, 2, Cause.RUN_QUEUE, counted=True)
    said = "in 2 of 3 rounds the kernel counted a loss of 50 % through run-queue wait, in the other none"
    [finding] = [each for each in found.findings if each.code == "inconclusive"]
    assert said in found.verdict and said in finding.seen
    assert "within noise" not in found.verdict + finding.seen
    assert "smallest visible slowdown" not in [each.name for each in headline(found).facts]
    assert cause_counts(level) == "run-queue wait (2 of 3 rounds)"


def test_what_was_counted_in_every_round_is_a_loss_whatever_single_sessions_lost() -> None:
    """A round as fast as single sessions, which lost time as well, made it undecided, and noise of what was counted."""
    found = kept_waiting(0.3, 1.4, 1.4)
    level = found.levels[1]
    assert level.slowdown_median is not None and level.slowdown_median > EVEN_LIMIT
    assert level.full_speed is Answer.NO
    assert "within noise" not in found.verdict
    assert cause_counts(level).endswith("; 50 % lost")

"""What is found of a round is held while a run is explained, and no longer."""

from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from dbcpu.analysis.placement.kept_answers import answers_kept, kept
from dbcpu.analysis.placement.residency import Bounds, stretches, stretches_within
from dbcpu.record import Round
from support.builders.comparison import noisy_run


def test_stretches_are_kept_while_asked_and_no_longer() -> None:
    first = noisy_run(1).rounds[0]
    with answers_kept():
        found = stretches(first)
        assert stretches(first) is found
        assert stretches(replace(first)) is not found, "another round, though an equal one"
    assert stretches(first) is not found


def test_those_that_end_with_the_sessions_are_kept_by_their_ends() -> None:
    first = noisy_run(1).rounds[0]
    bounds = [Bounds.of([(0.0, end_s)] * len(first.sessions)) for end_s in (1.0, 1.0, 2.0)]
    with answers_kept():
        found, again, other = (stretches_within(first, each) for each in bounds)
    assert found is again
    assert found is not other


def test_each_thread_keeps_its_own() -> None:
    first = noisy_run(1).rounds[0]
    with ThreadPoolExecutor(1) as other, answers_kept():
        found = stretches(first)
        made = [other.submit(stretches, first).result() for _ in range(2)]
    assert made[0] is not found
    assert made[0] is not made[1]


def test_answers_differ_by_what_else_is_asked() -> None:
    @kept
    def level_times(round_: Round, factor: float, *, more: int = 0) -> list[float]:
        return [round_.level * factor + more]

    first = noisy_run(1).rounds[0]
    with answers_kept():
        found = level_times(first, 2.0)
        assert level_times(first, 2.0) is found
        assert level_times(first, 3.0) == [first.level * 3.0]
        assert level_times(first, 2.0, more=1) == [found[0] + 1]

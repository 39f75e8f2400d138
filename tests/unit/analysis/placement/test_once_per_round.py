"""What is found of a round is held while a run is explained, and no longer."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from msgspec.structs import replace

from dbcpu.analysis.placement.once_per_round import answers_kept, kept
from dbcpu.analysis.placement.residency import stretches
from dbcpu.record.rounds import Round
from support.builders.comparison import noisy_run


def test_stretches_are_kept_while_asked_and_no_longer() -> None:
    first = noisy_run(1).rounds[0]
    with answers_kept():
        found = stretches(first)
        assert stretches(first) is found
        assert stretches(replace(first)) is not found, "another round, though an equal one"
    assert stretches(first) is not found


def test_those_of_all_rounds_are_those_of_each() -> None:
    rounds = noisy_run(1).rounds
    with answers_kept(rounds):
        together = [stretches(each) for each in rounds]
    for each, found in zip(rounds, together, strict=True):
        for name in found.__struct_fields__:
            assert np.array_equal(getattr(found, name), getattr(stretches(each), name), equal_nan=True)


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

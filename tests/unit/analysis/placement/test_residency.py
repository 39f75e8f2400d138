"""The residency of a round is converted once while a run is explained, and not kept after that."""

from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from dbcpu.analysis.placement.residency import stretches, stretches_kept
from support.builders.comparison import noisy_run


def test_stretches_are_kept_while_asked_and_no_longer() -> None:
    first = noisy_run(1).rounds[0]
    with stretches_kept():
        kept = stretches(first)
        assert stretches(first) is kept
        assert stretches(replace(first)) is not kept, "another round, though an equal one"
    assert stretches(first) is not kept


def test_each_thread_keeps_its_own() -> None:
    first = noisy_run(1).rounds[0]
    with ThreadPoolExecutor(1) as other, stretches_kept():
        kept = stretches(first)
        made = [other.submit(stretches, first).result() for _ in range(2)]
    assert made[0] is not kept
    assert made[0] is not made[1]

"""The residency of a round is converted once while a run is explained, and not kept after that."""

from dataclasses import replace

from dbcpu.analysis.placement.residency import stretches, stretches_kept
from support.builders.comparison import noisy_run


def test_stretches_are_kept_while_asked_and_no_longer() -> None:
    first = noisy_run(1).rounds[0]
    with stretches_kept():
        kept = stretches(first)
        assert stretches(first) is kept
        assert stretches(replace(first)) is not kept, "another round, though an equal one"
    assert stretches(first) is not kept

"""N sessions released together, for each level N: what ``dbcpu run`` does with one target."""

from collections.abc import Callable, Iterator

from dbcpu.measure.experiments.base import ExperimentOptions, ExperimentShape
from dbcpu.measure.rounds import RoundSetup, measure
from dbcpu.record import plan
from dbcpu.record.plan import NextRound, RoundSpec
from dbcpu.record.rounds import Round


class SweepShape(ExperimentShape):
    """Rounds of every level, as the plan or the adaptive planner orders them."""

    def specs(
        self, levels: tuple[int, ...], repeats: int, seed: int, variants: tuple[str, ...]
    ) -> tuple[RoundSpec, ...]:
        return plan.rounds(levels, repeats, seed, variants)

    def rounds(
        self,
        setup: RoundSetup,
        specs: tuple[RoundSpec, ...],
        next_round: NextRound,
        begun: Callable[[RoundSpec], object],
    ) -> Iterator[Round]:
        return measure(setup, next_round, begun)


def open_experiment(options: ExperimentOptions) -> ExperimentShape:
    """It has no options of its own."""
    return SweepShape()

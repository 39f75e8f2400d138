"""Did the host stay the same while it was measured? One session alone is measured again and again to see.

Solo rounds stand at the start, between the others, and at the end. They are put in three thirds by time; if the
medians of any two differ by more than the tolerance, the anchor has moved, and levels measured at
different times compare badly. With fewer than three the first and the last are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbcpu.analysis.base import Reference
from dbcpu.analysis.noise import NORMAL_CONSISTENT
from dbcpu.analysis.reference import LEAST_TOLERANCE, SPREADS, solo
from dbcpu.analysis.spans import Timed
from dbcpu.record import RunRecord

WHEN = ("at the start", "in the middle", "at the end")


@dataclass(frozen=True, slots=True)
class Drift:
    """Seconds per execution of one session alone: the two parts of the run that differ most, in order of time."""

    earlier_s: float
    later_s: float
    earlier: str
    later: str

    @property
    def change(self) -> float:
        return self.later_s / self.earlier_s - 1


def drift(record: RunRecord, sessions: Sequence[Timed], reference: Reference | None) -> Drift | None:
    """How the anchor moved, or None when it did not by more than the tolerance."""
    alone = [each.span.per_execution_s for each in solo(record, sessions) if each.span]
    if reference is None or len(alone) < 2:
        return None
    parts = np.array_split(np.array(alone), 3) if len(alone) > 2 else [np.array(alone[:1]), np.array(alone[1:])]
    when = WHEN if len(parts) == 3 else (WHEN[0], WHEN[2])
    medians = [float(np.median(part)) for part in parts]
    pairs = [(i, j) for i in range(len(medians)) for j in range(i + 1, len(medians))]
    first, second = max(pairs, key=lambda pair: round(abs(float(np.log(medians[pair[1]] / medians[pair[0]]))), 9))
    moved = Drift(medians[first], medians[second], when[first], when[second])
    return moved if max(moved.change, 1 / (1 + moved.change) - 1) > _tolerance(alone, reference) else None


def _tolerance(alone: Sequence[float], reference: Reference) -> float:
    """As for losses, but drift itself must not widen it: what follows each other differs by noise alone."""
    steps = np.abs(np.diff(alone)) / reference.elapsed_s
    from_step_to_step = float(NORMAL_CONSISTENT * np.median(steps)) / 2**0.5
    return max(LEAST_TOLERANCE, SPREADS * min(reference.spread, from_step_to_step))

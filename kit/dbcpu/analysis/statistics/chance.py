"""How large is chance, and what follows from it: a standard deviation that is known with so many degrees of freedom.

Source: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd ed., ch. 2 (the least difference that is
seen).
"""

from functools import lru_cache

from msgspec import Struct

POWER = 0.80
"""A difference of the size that is called detectable is found in four of five cases."""


class Chance(Struct, frozen=True):
    """Standard deviation of a value that only chance moves, and the degrees of freedom with which it is known.

    Of times and rates it is relative, or that of their logarithms.
    """

    spread: float
    freedom: float

    def times(self, factor: float) -> "Chance":
        """The same of an estimate whose standard error is so many of these."""
        return Chance(self.spread * factor, self.freedom)

    def passed_by(self, alarm: float) -> float:
        """What a value passes on one side with this probability: Student's t."""
        return float(self.spread * _student(self.freedom, 1 - alarm))

    def detectable(self, error: float) -> float:
        """The difference that a two-sided t-test at ``error`` finds with a power of 80 %; this is the difference's."""
        return self.passed_by(error / 2) + self.passed_by(1 - POWER)


@lru_cache(maxsize=512)
def _student(freedom: float, share: float) -> float:
    """Below it is this share of Student's t."""
    from dbcpu.analysis.statistics.special_functions import stdtrit  # loads slowly

    return float(stdtrit(freedom, share))

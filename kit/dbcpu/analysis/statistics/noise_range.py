"""Between which standard deviations the noise of a session lies."""

from math import inf

from msgspec import Struct

NOISE_ERROR = 0.01
"""Of the error of 5 %: the chance that the noise lies outside its interval, on either side."""


class NoiseRange(Struct, frozen=True):
    """Between which standard deviations (of logarithms) the noise of a session lies, but for ``NOISE_ERROR``."""

    low: float
    high: float

    @classmethod
    def of(cls, spread: float, freedom: float) -> "NoiseRange":
        """The interval of a standard deviation that was estimated with ``freedom`` degrees of freedom."""
        from dbcpu.analysis.statistics.special_functions import chdtri

        if freedom <= 0:
            return cls(0.0, inf)
        tail = NOISE_ERROR / 2
        least, most = chdtri(freedom, tail), chdtri(freedom, 1 - tail)
        return cls(float(spread * (freedom / least) ** 0.5), float(spread * (freedom / most) ** 0.5))

    def with_range(self, other: "NoiseRange") -> "NoiseRange":
        """The interval that holds both."""
        return NoiseRange(min(self.low, other.low), max(self.high, other.high))

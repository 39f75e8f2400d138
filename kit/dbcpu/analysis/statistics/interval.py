"""An interval of an estimate."""

from msgspec import Struct

CONFIDENCE = 0.95
"""Of all intervals and answers."""
NORMAL_95 = 1.96
"""Standard errors from the middle of such an interval to its ends, of a normal distribution."""


class Interval(Struct, frozen=True):
    """95 % of what other rounds would have given."""

    low: float
    high: float

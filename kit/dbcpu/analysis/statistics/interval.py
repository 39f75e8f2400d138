"""An interval of an estimate."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """95 % of what other rounds would have given."""

    low: float
    high: float

"""An interval of an estimate."""

from msgspec import Struct


class Interval(Struct, frozen=True):
    """95 % of what other rounds would have given."""

    low: float
    high: float

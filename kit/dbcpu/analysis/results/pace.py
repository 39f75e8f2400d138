"""The answers about the pace of the CPUs, by the witness."""

from msgspec import Struct


class Pace(Struct, frozen=True):
    """By what the witness compares paces, and how sure that is.

    ``exponent`` with its standard error: the workload slows down by this power of what a piece does. ``full_ns``: a
    piece at full speed; ``alone``: median speed beside single sessions (1: full). ``spread`` and ``tolerance``: as
    those of the reference, without the witness.
    """

    exponent: float
    exponent_error: float
    full_ns: float
    alone: float
    spread: float
    tolerance: float


class TwoSpeeds(Struct, frozen=True):
    """CPUs that are fast and slow by turns, while at most one session is at work.

    ``slow_share`` of the time a piece takes ``factor`` times as long; ``by_cpu``: the share over the whole run, by CPU
    in this order, of ``cpus``. A piece slower than ``limit_ns`` is slow.
    """

    slow_share: float
    factor: float
    cpus: tuple[int, ...]
    by_cpu: tuple[float, ...]
    limit_ns: float

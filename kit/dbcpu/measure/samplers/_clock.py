"""Another machine's clock on this machine's scale, from the answers it gives.

An answer stamped h on a clock that stands still for g seconds at a time, requested at s and received at r (both on
this machine's clock), was given at some moment of [s, r], while the other clock showed [h, h + g). So the offset,
theirs less ours, lies in [h - r, h + g - s]; every further answer narrows that. Also far coarser clocks
than the round trip become known to about the round trip, if answers come at many moments of a tick.
"""

from dbcpu.record.rounds import Clock

DRIFT = 1e-4
"""Seconds per second by which two quartz clocks may part: what is known of the offset ages so fast."""


class RemoteClock:
    """The offset of another machine's clock, as far as the answers so far bound it."""

    def __init__(self) -> None:
        self._low_s, self._high_s = float("-inf"), float("inf")
        self._noted_s = 0.0

    def note(self, sent_s: float, received_s: float, host_s: float, grain_s: float) -> float:
        """Take in one answer; returns when it was given, on this machine's clock."""
        low_s, high_s = host_s - received_s, host_s + grain_s - sent_s
        aged_s = DRIFT * max(0.0, received_s - self._noted_s)
        self._low_s, self._high_s = max(low_s, self._low_s - aged_s), min(high_s, self._high_s + aged_s)
        self._noted_s = received_s
        if self._low_s > self._high_s:
            # One of the two clocks was set, or stood still: what was known before is worth nothing.
            self._low_s, self._high_s = low_s, high_s
        first_s = max(sent_s, host_s - self._high_s)
        last_s = min(received_s, host_s + grain_s - self._low_s)
        return (first_s + max(first_s, last_s)) / 2

    def as_record(self, source: str) -> Clock:
        """As the record keeps it."""
        return Clock(source, (self._low_s + self._high_s) / 2, (self._high_s - self._low_s) / 2)

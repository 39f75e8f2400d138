"""What sessions took longer than one alone, split into parts that add up exactly; one row for each session."""

from typing import NamedTuple

import numpy as np

from dbcpu.analysis.statistics.cumulative import Floats, Mask, or_zero


class AloneTimes(NamedTuple):
    """What one session takes alone for as many executions: the ``Reference`` of each row, NaN where there is none.

    Seconds but for ``tolerance``, ``counted_tolerance`` and ``spread`` (one standard deviation): shares of
    ``elapsed_s``.
    """

    elapsed_s: Floats
    cpu_s: Floats
    queue_s: Floats
    throttled_s: Floats
    tolerance: Floats
    counted_tolerance: Floats
    spread: Floats


class Loss(NamedTuple):
    """Losses in seconds; a part is NaN where the host did not count it, all of them where there is no reference."""

    total_s: Floats
    inflation_s: Floats
    queue_s: Floats
    throttled_s: Floats
    gap_s: Floats
    unsplit_s: Floats

    @property
    def is_split(self) -> Mask:
        """Whether the host counted all of its parts."""
        return np.asarray(~np.isnan(self.gap_s))


def loss(elapsed_s: Floats, cpu_s: Floats, delay_s: Floats, throttled_s: Floats, alone: AloneTimes) -> Loss:
    """Split what sessions took beyond the reference; the gap is the rest, so the parts add up exactly.

    Args:
        delay_s: run delay, of which ``throttled_s`` is a part; NaN where it, or ``cpu_s``, was not counted.
    """
    total_s, inflation_s = elapsed_s - alone.elapsed_s, cpu_s - alone.cpu_s
    counted = ~np.isnan(inflation_s) & ~np.isnan(delay_s)
    queue_s = np.where(counted, delay_s - throttled_s - alone.queue_s, np.nan)
    beyond_s = np.where(counted, throttled_s - alone.throttled_s, np.nan)
    unsplit_s = np.where(counted, 0.0, total_s - or_zero(inflation_s))
    return Loss(total_s, inflation_s, queue_s, beyond_s, total_s - inflation_s - queue_s - beyond_s, unsplit_s)


def loss_at_one_pace(split: Loss, pace_s: Floats) -> Loss:
    """What is lost beside what the pace of their CPUs explains: the rules are for this."""
    pace_s = np.where(np.isnan(split.inflation_s), 0.0, pace_s)
    return split._replace(total_s=split.total_s - pace_s, inflation_s=split.inflation_s - pace_s)


def at_usual_steal(split: Loss, less_s: Floats) -> Loss:
    """What is lost as if the sessions had not been spared ``less_s`` of the steal that single sessions meet."""
    less_s = np.where(split.is_split, less_s, 0.0)
    return split._replace(total_s=split.total_s + less_s, gap_s=split.gap_s + less_s)


def counted_only(split: Loss, alone: AloneTimes, least: Floats) -> tuple[Mask, Loss]:
    """Where the CPU time is within the noise and the rest is not, and what is lost there without it.

    ``least``: share of its time alone that a session lost in all.
    """
    counted_s = split.queue_s + split.throttled_s + split.gap_s
    more = (split.total_s > least * alone.elapsed_s) & (counted_s > alone.counted_tolerance * alone.elapsed_s)
    return more, split._replace(total_s=counted_s, inflation_s=np.where(split.is_split, 0.0, split.inflation_s))

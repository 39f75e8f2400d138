"""Interrupts as they are counted: a tick of 10 ms goes to who has the CPU then, and one or two are chance.

Source: proc_stat(5), columns irq and softirq, in units of USER_HZ.
"""

from dbcpu.record import CpuSeries

MIN_S = 0.03
"""Three ticks."""
WORTH_SHARE = 0.05
"""Of a CPU: what is less slows nobody, and a long round has more ticks than it takes to see it."""


def irq_s(cpu: CpuSeries, lasted_s: float) -> float:
    """Seconds of interrupts of either kind in a round that lasted so long; 0 where they may be chance alone."""
    counted_s = sum(cpu.irq_s) + sum(cpu.softirq_s)
    return 0.0 if WORTH_SHARE * lasted_s < counted_s < MIN_S else counted_s
